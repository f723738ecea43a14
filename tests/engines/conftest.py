import importlib
from pathlib import Path

import pytest

import mfbandit as mf
from mfbandit.study import create_study

POLICY = "lucb-c:batch=8"


@pytest.fixture
def evaluators(monkeypatch):
    """The module of evaluators, which other processes find too."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return importlib.import_module("pull_evaluators")


@pytest.fixture
def make():
    """Make a study whose course is known: 300 pulls or so."""
    problem = mf.Problem(["good", "fair", "poor"], [("quick", 1.0, 0.05), ("exact", 5.0, 0.0)], reward="bernoulli")

    def study(max_cost=300.0, **options):
        return create_study(problem, **{"policy": POLICY, "max_cost": max_cost, **options})

    return study


@pytest.fixture
def alone(make, evaluators):
    """What one worker finds who asks for one pull at a time."""

    def play(**options):
        study = make(**options)
        while not study.done:
            (pull,) = study.ask()
            study.tell(pull, evaluators.noisy(pull))
        return study.result()

    return play
