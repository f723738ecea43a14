"""Snippets and commands of the guides run as they stand, in an empty folder, where no other test has a page."""

import re
import shlex
from pathlib import Path

import pytest

import mfbandit as mf
from mfbandit.cli import main

DOCS = Path(__file__).parents[1] / "docs"


def snippets(page, language):
    found = re.findall(r"^```(\w*)\n(.*?)^```$", (DOCS / f"{page}.md").read_text(), flags=re.DOTALL | re.MULTILINE)
    return [text for name, text in found if name == language]


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("page", "printed"), [("ads", "green 500.0\n"), ("simulation", ""), ("page", "")])
def test_the_code_of_a_page_runs(page, printed, capsys):
    if page == "page":
        pytest.importorskip("starlette", reason="needs starlette: pip install 'mfbandit[serve]'")
    mf.create_study(mf.Problem(2, [("exact", 1.0)]), storage="judges.db").close()
    exec(compile("".join(snippets(page, "python")), f"{page}.md", "exec"), {"mf": mf})
    assert capsys.readouterr().out == printed


def test_the_commands_of_asking_and_telling_run(capsys):
    exec(compile(snippets("studies", "python")[0].partition("def evaluate")[0], "studies.md", "exec"), names := {})
    mf.create_study(names["problem"], storage="sqlite:///prompts.db").close()
    (commands,) = [block for block in snippets("studies", "") if block.startswith("mfbandit ask")]
    for line in commands.replace("&&", "\n").splitlines():
        words = shlex.split(line, comments=True)
        assert words[0] == "mfbandit"
        assert main(words[1:]) == 0, line
    assert '"status": "running"' in capsys.readouterr().out
