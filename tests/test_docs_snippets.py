"""Every block of code on a page is run by some test, or says why not; and what the text names is there."""

import hashlib
import re
import runpy
import shlex
import shutil
from pathlib import Path

import pytest
import typer

import mfbandit as mf
from mfbandit.cli import main
from mfbandit.cli._app import application
from mfbandit.instances._loading import _LAW_KEYS, _OF_BLOCKS, _OPTIONAL, _REQUIRED

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = {path.name: path for path in [*ROOT.glob("*.md"), *DOCS.glob("*.md")]}
BLOCK = re.compile(r"^((?:<!-- not run: .+ -->\n)?)```(\w*)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)

#: Where the blocks of a page and a language are run.
RUN = {
    ("README.md", "python"): "test_docs.py",
    ("README.md", "sh"): "test_package.py",
    ("CONTRIBUTING.md", "sh"): "test_package.py",
    ("ads.md", "python"): "test_docs_snippets.py",
    ("bias_bounds.md", "python"): "test_docs_snippets.py",
    ("blocks.md", "python"): "test_docs.py",
    ("blocks.md", "toml"): "test_docs.py",
    ("budget.md", "python"): "test_docs.py",
    ("certificates.md", "sh"): "test_docs_snippets.py",
    ("goals.md", "python"): "test_docs.py",
    ("index.md", "python"): "test_docs.py",
    ("index.md", "sh"): "test_package.py",
    ("judges.md", "python"): "test_docs.py",
    ("judges.md", "sh"): "test_docs.py",
    ("logs.md", "python"): "logs/test_inspect_logs.py",
    ("logs.md", "sh"): "test_docs_snippets.py",
    ("new_algorithm.md", "python"): "test_docs.py",
    ("optuna.md", "python"): "optuna/test_optuna_bridge.py",
    ("page.md", "json"): "test_docs_snippets.py",
    ("page.md", "python"): "test_docs_snippets.py",
    ("page.md", "sh"): "test_docs_snippets.py",
    ("paper.md", "python"): "cli/test_reproduce.py",
    ("paper.md", "sh"): "cli/test_reproduce.py",
    ("ranking.md", "python"): "test_docs.py",
    ("scikit_learn.md", "python"): "test_docs.py",
    ("simulation.md", "python"): "test_docs_snippets.py",
    ("simulation.md", "sh"): "test_docs_snippets.py",
    ("simulation.md", "toml"): "test_docs_snippets.py",
    ("studies.md", "python"): "cli/test_study_commands.py",
    ("studies.md", "sh"): "test_docs_snippets.py",
    ("studies.md", "toml"): "cli/test_study_commands.py",
    ("tables.md", "python"): "test_docs.py",
    ("workers_in_any_language.md", "python"): "serve/test_worker_api.py",
    ("workers_in_any_language.md", "sh"): "serve/test_worker_api.py",
}


def read(page):
    """A page without its directives of MyST."""
    return re.sub(r"^```\{.*?^```$", "", PAGES[page].read_text(), flags=re.DOTALL | re.MULTILINE)


def snippets(page, language):
    found = BLOCK.findall(read(f"{page}.md"))
    return [text for reason, name, text in found if name == language and not reason]


def commands(page):
    return [shlex.split(line, comments=True) for text in snippets(page, "sh") for line in text.splitlines()]


def plain(page):
    """The text of a page without its blocks."""
    return BLOCK.sub("", read(page))


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_every_block_is_run_or_says_why_not():
    seen = set()
    for page in PAGES:
        text = read(page)
        found = BLOCK.findall(text)
        fences = len(re.findall(r"^ *```", text, flags=re.MULTILINE))
        assert 2 * len(found) == fences, f"{page}: a block that is indented or not closed"
        for reason, language, _ in found:
            assert language, f"{page}: a block without a language"
            # Blocks of py are never run, blocks of text are what commands print or draw.
            assert bool(reason) == (language == "py"), f"{page}: {language} {reason}"
            if language not in ("py", "text"):
                seen.add((page, language))
    assert seen == set(RUN)
    for (page, _), place in RUN.items():
        assert re.search(rf"\b{Path(page).stem}\b", (ROOT / "tests" / place).read_text()), f"{place} leaves out {page}"


@pytest.mark.parametrize("page", ["README.md", "SECURITY.md", *sorted(path.name for path in DOCS.glob("*.md"))])
def test_commands_and_names_in_the_text_are_there(page):
    text = plain(page)
    parser = typer.main.get_command(application())
    for written in re.findall(r"`mfbandit ([^`]+)`", text):
        words = shlex.split(written)
        if words[0].startswith("-"):
            continue
        assert words[0] in parser.commands, written
        options = {name for one in parser.commands[words[0]].params for name in one.opts + one.secondary_opts}
        assert {word.partition("=")[0] for word in words if word.startswith("-")} <= options | {"--help"}, written
    for name in re.findall(r"`mf\.(\w+)", text):
        assert hasattr(mf, name), name
    for file in re.findall(r"`(?:python )?((?:benchmarks|examples|tests|docs)/[\w/.-]+)", text):
        assert (ROOT / file).exists(), file


@pytest.mark.parametrize(
    ("page", "printed"),
    [("ads", "green 500.0\n"), ("page", "")],
)
def test_the_code_of_a_page_runs(page, printed, capsys):
    if page == "page":
        pytest.importorskip("starlette", reason="needs starlette: pip install 'mfbandit[serve]'")
    mf.create_study(mf.Problem(2, [("exact", 1.0)]), storage="judges.db").close()
    exec(compile("".join(snippets(page, "python")), f"{page}.md", "exec"), {"mf": mf})
    out = capsys.readouterr().out
    assert out.startswith(printed)
    assert out.count("\n") == bool(printed)


def test_the_page_about_simulations(capsys):
    advice, workers = snippets("simulation", "python")
    exec(compile(advice, "simulation.md", "exec"), {})
    assert capsys.readouterr().out.startswith("Use 'judge' and 'human' with mf-toptwo: ")
    exec(compile(workers, "simulation.md", "exec"), {})
    assert [capsys.readouterr().out] == snippets("simulation", "text")
    (file,) = snippets("simulation", "toml")
    Path("mine.toml").write_text(file)
    assert [main(words[1:]) for words in commands("simulation")] == [0, 0, 0, 0]
    assert "mine: 3 arms" in capsys.readouterr().out
    # The keys of the table are those that there are.
    keys = set(_REQUIRED + _OPTIONAL + _OF_BLOCKS) | {key for keys in _LAW_KEYS.values() for key in keys[0] + keys[1]}
    for key in re.findall(r"^\| .*$", read("simulation.md"), flags=re.MULTILINE):
        assert set(re.findall(r"`(\w+) =", key)) <= keys


def test_the_code_about_bias_bounds_prints_what_stands_below_it(capsys):
    (code,), (printed,) = snippets("bias_bounds", "python"), snippets("bias_bounds", "text")
    exec(compile(code, "bias_bounds.md", "exec"), {})
    assert capsys.readouterr().out.split() == printed.split()


def test_what_people_are_shown_and_the_command_that_shows_it(monkeypatch):
    pytest.importorskip("mfbandit.serve", reason="needs starlette: pip install 'mfbandit[serve]'")
    (shown,) = snippets("page", "json")
    Path("FILE").write_text(shown)
    exec(compile(snippets("page", "python")[0], "page.md", "exec"), names := {})
    mf.create_study(names["problem"], storage="judges.db").close()
    served = []
    run = "mfbandit.cli.commands._page_commands.run"
    monkeypatch.setattr(run, lambda *given, **settings: served.append((given, settings)))
    install, words = commands("page")
    assert install == ["pip", "install", ".[serve]"]
    assert main([*words[1:], "--show", "FILE"]) == 0
    assert len(served) == 1


def test_the_commands_of_studies_run(capsys, monkeypatch):
    exec(compile(snippets("studies", "python")[0].partition("def evaluate")[0], "studies.md", "exec"), names := {})
    mf.create_study(names["problem"], storage="sqlite:///prompts.db").close()
    asked, digest = sorted(snippets("studies", "sh"), key=lambda block: not block.startswith("mfbandit ask"))
    for line in asked.replace("&&", "\n").splitlines():
        words = shlex.split(line, comments=True)
        assert words[0] == "mfbandit"
        assert main(words[1:]) == 0, line
    assert '"status": "running"' in capsys.readouterr().out
    export, pipe = digest.splitlines()
    Path("prompts.jsonl").unlink()
    assert main(shlex.split(export)[1:]) == 0
    assert pipe == """tail -n +2 prompts.jsonl | grep -v '^{"kind": "work"' | sha256sum"""
    kept = [line for line in Path("prompts.jsonl").read_bytes().splitlines(True)[1:] if b'{"kind": "work"' not in line]
    with mf.load_study("prompts.db") as study:
        assert study.log_digest() == hashlib.sha256(b"".join(kept)).hexdigest()


def test_the_commands_of_certificates_run(capsys):
    problem = mf.Problem(["a", "b"], [("exact", 1.0)], reward="bernoulli")
    mf.identify(problem, lambda pull: float(pull.arm == "b"), storage="study.db", progress=False)
    best, *verified = commands("certificates")
    assert best[-2:] == [">", "result.json"]
    assert main(best[1:-2]) == 0
    Path("result.json").write_text(capsys.readouterr().out)
    assert [main(words[1:]) for words in verified] == [0, 0]


def test_the_commands_of_logs_run(capsys):
    runpy.run_path(str(ROOT / "examples" / "compare_logs.py"))["write_log"](Path("scores.csv"), 150)
    shutil.copytree(ROOT / "tests" / "logs" / "data" / "harness-0.4.13", "logs")
    first, folder, named, control = commands("logs")
    assert main(first[1:]) == 1
    printed = capsys.readouterr().out
    (said,) = snippets("logs", "text")
    assert [line for line in said.splitlines() if line.removesuffix(" ...") not in printed] == []
    metric = ["--metric", "acc,none"]
    assert main([*folder[1:], *metric]) == 1
    assert "toy/model-1" in capsys.readouterr().out
    # Any two logs may stand for those of Inspect, which tests/logs/test_inspect_logs.py reads.
    for day, log in zip(named[2:4], sorted(Path("logs").rglob("*.jsonl")), strict=True):
        Path(day.partition("=")[2]).with_suffix(".jsonl").write_text(log.read_text())
    assert main([word.replace(".eval", ".jsonl") for word in named[1:]] + metric) == 1
    Path("scores.csv").write_text(Path("scores.csv").read_text().replace("short", "old"))
    assert main(control[1:]) == 1
