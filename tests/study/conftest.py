import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mfbandit as mf
from mfbandit import algorithms
from mfbandit.core import trial_key
from mfbandit.instances import draw_of, law_arrays
from mfbandit.model import Pull

# Tests of blocks share `lockstep.py`.
sys.path.append(str(Path(__file__).parent))


@pytest.fixture
def simulated() -> Callable[..., Callable[[Pull], float]]:
    """Evaluations that return what trial 0 of a simulation with this seed sees."""

    def evaluator(instance: mf.Instance, seed: int = 0) -> Callable[[Pull], float]:
        law, draw, key = law_arrays(instance), draw_of(instance), trial_key(seed, 0)
        width = instance.problem.n_fidelities

        def evaluate(pull: Pull) -> float:
            arm, fidelity = pull.arm_index, pull.fidelity_index
            unit: Any = draw(law, key, arm * width + fidelity, arm, fidelity, pull.index)
            return float(instance.problem.reward.from_unit(unit))

        return evaluate

    return evaluator


@pytest.fixture
def pair() -> mf.Problem:
    """A small problem."""
    return mf.Problem(["a", "b"], [("quick", 1.0, 0.1), ("exact", 4.0, 0.0)], reward="bernoulli")


@pytest.fixture
def lockstep_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """The policy of `lockstep.py` can be read back by its name."""
    from lockstep import Lockstep

    entry = algorithms.Entry(Lockstep, {}, "Lockstep", "lockstep")
    monkeypatch.setitem(algorithms.REGISTRY, "lockstep", entry)
