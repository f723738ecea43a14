"""What tests of commands share: a study file, and commands that are run in this process."""

import json

import pytest

from mfbandit.cli import main

PROBLEM = """
[problem]
arms = ["good", "poor"]
reward = "bernoulli"
fidelities = [{ name = "quick", cost = 1.0, bias = 0.05 }, { name = "exact", cost = 5.0 }]
"""


@pytest.fixture
def call(capsys):
    """Run a command; returns what it printed."""

    def run(*arguments, code=0):
        assert main([str(argument) for argument in arguments]) == code, capsys.readouterr().err
        return capsys.readouterr()

    return run


@pytest.fixture
def plain(call):
    """Run a command with --json; returns the object."""
    return lambda *arguments, code=0: json.loads(call(*arguments, "--json", code=code).out)


@pytest.fixture
def complaint(call):
    """What bad input says, after checking that it says it in the one way it should: in one line."""

    def said(*arguments):
        captured = call(*arguments, code=2)
        assert captured.out == ""
        assert captured.err.count("\n") == 1
        assert captured.err.startswith("mfbandit: ")
        assert "Traceback" not in captured.err
        return captured.err

    return said


@pytest.fixture
def problem():
    """The problem of study files."""
    return PROBLEM


@pytest.fixture
def file(tmp_path):
    """Write a study file."""

    def write(settings="", evaluator="", problem=None, name="mine.toml"):
        path = tmp_path / name
        problem = PROBLEM if problem is None else problem
        path.write_text(f"{settings}\n{problem}\n{evaluator}", encoding="utf-8")
        return path

    return write


@pytest.fixture
def command():
    """The part of a study file that says how to evaluate: a shell script, whose $1 is the arm."""

    def part(script, extra=""):
        return f"[evaluator]\ncommand = {json.dumps(['sh', '-c', script, 'sh', '{arm}'])}\n{extra}"

    return part


@pytest.fixture
def good():
    """A script by which the arm "good" is good."""
    return "if [ $1 = good ]; then echo 1; else echo 0; fi"
