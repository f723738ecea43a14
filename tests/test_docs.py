"""The code in the documentation runs."""

import re
import runpy
import sys
from pathlib import Path

import pytest

import mfbandit as mf
from mfbandit import algorithms
from mfbandit.cli import main
from mfbandit.cli._study_file import read_study_file
from mfbandit.core import arrays, new_state

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def test_the_skeleton_of_a_new_algorithm_runs(monkeypatch, tmp_path, capsys):
    text = (DOCS / "new_algorithm.md").read_text()
    skeleton, use, contract, memory, line = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    (tmp_path / "mine.py").write_text(skeleton)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    exec(use, {})
    said = capsys.readouterr().out
    assert "1 trial, mean cost 1,200, 0 stopped, 0 wrong" in said
    assert "20 trials, " in said
    assert "20 stopped, 0 wrong" in said
    assert "'a' is the best, with confidence at least 95%" in said
    exec(contract, names := {})
    tests = names["TestUniform"]()
    for name in dir(tests):
        if name.startswith("test_"):
            getattr(tests, name)()
    names = vars(sys.modules.pop("mine"))
    monkeypatch.setitem(algorithms.REGISTRY, "uniform", None)
    exec(line, names)
    exec(memory, names)
    problem = arrays(mf.Problem(3, [("quick", 1.0, 0.2), ("slow", 9.0, 0.0)]))
    own = new_state(problem, names["UniformMemory"]).own
    assert (own.seen.shape, own.pairs.shape, own.scratch.stack.shape) == ((3, 2), (6,), (64,))
    plain = mf.simulate("figure-1a", "uniform", trials=1, seed=1, max_pulls=3000, device="python")
    fast = mf.simulate("figure-1a", "uniform", trials=20, seed=1)
    again = mf.simulate("figure-1a", "uniform", trials=1, seed=1, max_pulls=3000)
    assert (plain.pulls == again.pulls).all()
    assert fast.stopped.all()
    assert (fast.best == 0).all()
    assert mf.policy("uniform:batch=5").label == "uniform:batch=5"


def test_the_example_of_the_readme_prints_what_stands_below_it(capsys):
    shown = re.search(
        r"<!-- example -->\n```python\n(.*?)```\n\n```text\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL
    )
    exec(shown[1], names := {})
    assert capsys.readouterr().out.split() == shown[2].split()
    front = (DOCS / "index.md").read_text()
    assert f"```python\n{shown[1]}```\n\n```text\n{shown[2]}```" in front
    people = mf.Problem(names["problem"].arms, [mf.Fidelity("human", cost=0.30)])
    alone = mf.identify(people, names["evaluate"], delta=0.05, progress=False)
    for page in ((ROOT / "README.md").read_text(), front):
        assert f"With people alone the same answer costs {alone.cost:.2f}." in page


@pytest.mark.parametrize("page", sorted(p.name for p in DOCS.glob("*.md")))
def test_links_lead_somewhere(page):
    text = (DOCS / page).read_text()
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if "://" not in target:
            assert (DOCS / target).exists(), target


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_links_of_the_front_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / page).read_text()):
        if "://" not in target:
            assert (ROOT / target).exists(), target


def test_prose_is_broken_at_one_width():
    """`python docs/wrap_prose.py` mends it."""
    names = runpy.run_path(str(DOCS / "wrap_prose.py"))
    assert len(names["pages"]()) > 30
    for page in names["pages"]():
        text = page.read_text(encoding="utf-8")
        assert names["wrapped"](text) == text, page.name
        assert "| |--" not in text, f"{page.name}: a table that was taken for prose"
    long = "- " + "word " * 25 + "- `a b` | end"
    kept = "\n| a" + " " * 130 + "|\n   | b" + " " * 130 + "|\n```\n" + "x " * 70 + "\n```\n"
    assert names["wrapped"](long + "\n" + kept) == "- " + "word " * 22 + "word\n  word word - `a b` | end\n" + kept


def test_the_citation_has_what_the_format_requires():
    yaml = pytest.importorskip("yaml")
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["cff-version"] == "1.2.0"
    assert cited["type"] == "software"
    assert cited["message"]
    assert cited["title"]
    assert cited["authors"] == [{"name": "The mfbandit developers"}]
    newest, day = re.search(r"^## (\S+) \((\S+)\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE).groups()
    assert (cited["version"], cited["date-released"]) == (newest, day)
    assert newest == mf.__version__
    [paper] = cited["references"]
    assert {"type", "title", "authors"} <= set(paper)
    assert isinstance(paper["year"], int)
    assert all({"family-names", "given-names"} == set(author) for author in paper["authors"])


def test_the_docs_warn_of_what_runs_code(capsys):
    studies = (DOCS / "studies.md").read_text()
    assert "**A study file runs code.**" in studies
    assert "sh -c 'judge \"$MFBANDIT_ARM\"'" in studies
    assert main(["run", "--help"]) == 0
    shown = " ".join(re.sub(r"[│╭╮╰╯─]", " ", capsys.readouterr().out).split())
    assert "A study file runs code with your rights" in shown
    assert '"$MFBANDIT_ARM", never {arm}' in shown


def test_lower_bounds_are_plain():
    wanted = runpy.run_path(str(ROOT / ".ci" / "oldest"))
    pins = [wanted["oldest"](line) for line in wanted["requirements"](["all", "test", "cuda"])]
    assert "numpy==1.26" in pins
    assert all(re.fullmatch(r"[a-z-]+(\[[a-z0-9]+\])?==[0-9.]+", pin) for pin in pins)


def test_the_page_about_judges_prints_what_stands_below_its_code(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (DOCS / "judges.md").read_text()
    code, printed = ("".join(re.findall(rf"```{kind}\n(.*?)```", text, flags=re.DOTALL)) for kind in ("python", "text"))
    exec(compile(code, "judges.md", "exec"), {})
    assert capsys.readouterr().out.split() == printed.split()
    (shell,) = re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL)
    for line in shell.splitlines():
        command, _, file = line.partition(" > ")
        assert main(command.split()[1:]) == 0, line
        said = capsys.readouterr().out
        if file:
            Path(file).write_text(said)
    assert Path("report.html").exists()


def test_the_page_about_blocks(tmp_path, capsys):
    text = (DOCS / "blocks.md").read_text()
    (settings,) = re.findall(r"```toml\n(.*?)```", text, flags=re.DOTALL)
    (tmp_path / "doc.toml").write_text(settings)
    found = read_study_file(tmp_path / "doc.toml")
    assert (found.problem.blocks, found.problem.order) == (500, "shared")
    assert found.evaluate.asks_for_blocks
    if "mf-race" not in algorithms.REGISTRY:
        pytest.skip("the policy mf-race is not registered")
    code = "".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL))
    exec(compile(code, "blocks.md", "exec"), {})
    printed = "".join(re.findall(r"```text\n(.*?)```", text, flags=re.DOTALL))
    assert capsys.readouterr().out.split() == printed.split()


def test_the_page_about_many_systems(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", (DOCS / "ranking.md").read_text(), flags=re.DOTALL)
    exec(compile(code, "ranking.md", "exec"), {})
    assert capsys.readouterr().out.startswith("43 in stock certified ")


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("tables.md", [r"step by step certified \d+ of 600 scores", r"on average \d+, 0 of 20 wrong"]),
        (
            "budget.md",
            [r"step by step max_cost 100\.0", r"confidence 0\.\d+, at most 0\.\d+ below", "step by step certified"],
        ),
    ],
)
def test_the_pages_about_tables_and_budgets(page, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), flags=re.DOTALL)
    exec(compile(code, page, "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(said)
    assert all(re.match(pattern, line) for pattern, line in zip(said, lines, strict=True)), lines


def test_the_page_about_searches(tmp_path, monkeypatch, capsys):
    pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'mfbandit[sklearn]'")
    monkeypatch.chdir(tmp_path)
    page = (DOCS / "scikit_learn.md").read_text()
    code = "\n".join(re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL))
    exec(compile(code, "scikit_learn.md", "exec"), {})
    (printed,) = re.findall(r"```text\n(.*?)```", page, flags=re.DOTALL)
    assert capsys.readouterr().out == printed
    assert main(["verify", "cert.json"]) == 0


def test_the_page_about_goals(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", (DOCS / "goals.md").read_text(), flags=re.DOTALL)
    exec(compile(code, "goals.md", "exec"), {})
    out = capsys.readouterr().out
    assert out.startswith("Better than 'in use': 'examples' and 'steps'; not better by more than 0.05: 'short' and")
    assert "\n('examples', 'steps')\nexamples\nAll that may be spent is spent" in out


def test_the_page_about_logs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", (DOCS / "logs.md").read_text().split("## Ending")[0], flags=re.DOTALL)
    exec(compile(code, "logs.md", "exec"), {})
    best, settled, *_ = capsys.readouterr().out.split()
    assert (best, settled) == ("careful", "True")
