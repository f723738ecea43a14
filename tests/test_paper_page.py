"""docs/paper.md: every name on it exists, and it leaves out nothing that the paper's source has a label for."""

import importlib
import os
import re
import shlex
from pathlib import Path

import pytest
import typer.main

from mfbandit.algorithms import REGISTRY, policy
from mfbandit.cli._app import application
from mfbandit.instances import builtin_instances
from mfbandit.reproduce import EXPERIMENTS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
SPANS = sorted(set(re.findall(r"`([^`]+)`", re.sub(r"^```.*?^```$", "", PAGE, flags=re.DOTALL | re.MULTILINE))))
LABEL = re.compile(r"(?:thm|lma|asp|alg|fig|tab|rmk|eq):[\w-]+")
#: The LaTeX source is not part of this repository; a folder with it may be named here, or lie beside.
SOURCES = Path(os.environ.get("MFBANDIT_PAPER_SOURCE", ROOT.parent / "shared" / "seeds"))


def spans(pattern):
    return [span for span in SPANS if re.fullmatch(pattern, span)]


def resolve(name):
    """The object that a dotted name leads to, importing modules on the way."""
    first, *rest = name.split(".")
    found = importlib.import_module("mfbandit" if first == "mf" else first)
    for part in rest:
        if not hasattr(found, part):
            importlib.import_module(f"{found.__name__}.{part}")
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("name", spans(r"(?:mf|mfbandit)(?:\.\w+)+"))
def test_names_exist(name):
    assert resolve(name) is not None


@pytest.mark.parametrize("line", spans(r"mfbandit .+"))
def test_commands_exist_with_these_options(line):
    commands = typer.main.get_command(application()).commands
    name, *arguments = shlex.split(line)[1:]
    assert name in commands
    # Parses the arguments, without doing anything; an unknown option is an error.
    given = commands[name].make_context(name, arguments).params if arguments else {}
    if given.get("instance") or (name == "instances" and given):
        assert (given.get("instance") or given["name"]) in builtin_instances()
    if name == "reproduce":
        assert given["study"] in (*EXPERIMENTS, "all")
    for one in given.get("policy") or []:
        policy(one)


@pytest.mark.parametrize("label", [span for span in SPANS if span.partition(":")[0] in REGISTRY])
def test_policies_exist(label):
    assert policy(label).label


def test_there_is_something_of_every_kind():
    assert len(spans(r"mf\..+")) > 30
    assert len(spans(r"mfbandit .+")) > 10
    assert len([span for span in SPANS if LABEL.fullmatch(span)]) > 40


def labels_of_the_paper():
    files = sorted(SOURCES.glob("*.txt")) + sorted(SOURCES.glob("*.tex"))
    texts = [file.read_text(encoding="utf-8") for file in files]
    sources = [text for text in texts if "Multi-Fidelity Multi-Armed Bandits Revisited" in text]
    if not sources:
        pytest.skip(f"the paper's LaTeX source is not in {SOURCES}")
    lines = (re.split(r"(?<!\\)%", line)[0] for line in sources[0].splitlines())
    return {label for line in lines for label in re.findall(r"\\label\{([^}]+)\}", line) if LABEL.fullmatch(label)}


def test_every_label_of_the_paper_is_covered_and_none_is_invented():
    assert labels_of_the_paper() == {span for span in SPANS if LABEL.fullmatch(span)}
