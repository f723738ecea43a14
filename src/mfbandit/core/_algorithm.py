"""What a run is for, and a policy made ready to run on one problem."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mfbandit._checks import is_number
from mfbandit.core._ahead import Ahead, plan
from mfbandit.core._layouts import NoMemory
from mfbandit.core._problem_arrays import Arrays, Ints
from mfbandit.core._state import State, tally, tally_sums, tally_whole
from mfbandit.core.kernels._kernels import bind, kernel
from mfbandit.errors import PolicyError
from mfbandit.model import Question

__all__ = ["Algorithm", "Goal", "afford", "round_of", "tally_for"]


@dataclass(frozen=True)
class Goal:
    """What a run is for: the best arm with confidence 1 - delta, or the most from a budget."""

    delta: float = 0.05
    epsilon: float = 0.0
    budget: float = math.inf
    max_cost: float = math.inf
    """What is spent at most: a run that is not done then ends without a certificate."""
    open_arms: bool = False
    """Whether arms may join and leave a race on blocks: no leaders are declared then."""
    question: Question | None = None
    """What is asked, where it is not which arm is the best."""
    pairs_only: bool = False
    """Whether arms are beaten by one other arm each, as where epsilon was above 0 before: see `mf-toptwo`."""
    weights: int | None = None
    """The number of the weights that the evidence of pairs has: see `mfbandit.confidence.pair`. None: the newest."""

    def __post_init__(self) -> None:
        if not 0.0 < self.delta < 1.0:
            raise PolicyError(f"delta must lie strictly between 0 and 1, got {self.delta!r}")
        if not is_number(self.epsilon) or not 0.0 <= self.epsilon < math.inf:
            raise PolicyError(f"epsilon must be a number >= 0, got {self.epsilon!r}")
        if not self.budget > 0.0:
            raise PolicyError(f"budget must be a number > 0, got {self.budget!r}")
        if not self.max_cost > 0.0:
            raise PolicyError(f"max_cost must be a number > 0, got {self.max_cost!r}")


@kernel
def note_nothing(problem: Any, params: Any, state: Any, sides: Any) -> None:
    """Say nothing: the answer is one arm."""


@dataclass(frozen=True)
class Algorithm:
    """A policy made ready to run on one problem: its two kernels and what they need."""

    plan: Callable[..., Any]
    recommend: Callable[..., Any]
    params: Any
    """A flat NamedTuple of numbers."""
    rows: int
    """The most rows that one round can have."""
    memory: type = NoMemory
    """What it remembers, declared by name and shape: see `mfbandit.core._layouts`."""
    sums_only: bool = False
    """Whether counts, sums and what is derived from them are all the statistics it reads."""
    evidence: str = "arms"
    """What it stops by: "pairs" or "leaders" if by `mfbandit.confidence.pair`, with a record of every victory."""
    take_in: Callable[..., Any] | None = None
    """Enters the rewards of the last round into the active statistics of these, where `plan` does so later."""
    ahead: Ahead | None = None
    """How it plans while pulls are out; None if it plans when all have come back."""
    note_answer: Callable[..., Any] = note_nothing
    """``note_answer(problem, params, state, sides)`` says of each arm where it stands, for other questions than which
    arm is the best: 1 if it is chosen (or better), 2 if it is not, 0 if that is open."""


@kernel
def plan_round(problem: Arrays, params: Any, state: State, out: Ints) -> int:
    """Play one round of an algorithm, when nothing is out."""
    return int(plan(problem, params, state, out))


def round_of(algorithm: Algorithm) -> Callable[..., int]:
    """What plans a round of an algorithm, to be compiled: ``(problem, params, state, out) -> rows``.

    The algorithm's own plan is a part of it, as it is of a simulation, so that its machine code can be kept for both.
    """
    return bind(plan_round, plan=algorithm.plan)


def tally_for(algorithm: Algorithm, whole_rewards: bool) -> Callable[..., None]:
    """How rewards are counted in simulations of an algorithm; `whole_rewards` are all 0 or 1."""
    if not algorithm.sums_only:
        return tally
    return tally_whole if whole_rewards else tally_sums


@kernel
def afford(left: float, cost: float, count: int) -> int:
    """How many of `count` pulls at `cost` the money `left` pays for."""
    if count * cost <= left:
        return count
    # Rounding of the quotient may be one off either way: correct it against the product.
    paid = int(left / cost)
    if (paid + 1) * cost <= left:
        paid += 1
    if paid * cost > left:
        paid -= 1
    return paid
