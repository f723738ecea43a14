"""Successive halving (Jamieson and Talwalkar 2016) with fidelities as rungs.

All arms are pulled at a cheap fidelity, the best 1/eta of them go on to the next more expensive one, and so on up
to the truest fidelity, where the best mean wins. Nothing is certified: the method knows neither delta nor
the bias bounds, and a wrong answer looks like a right one.

Ties are broken by a scramble of the arms that depends on the rewards seen so far, not by the arms' order:
with few 0/1 rewards ties are the rule, and an order would decide the answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from mfbandit._checks import is_number, whole_number
from mfbandit.algorithms._parts import arms_left, put
from mfbandit.algorithms._policy import Policy
from mfbandit.core import Algorithm, Arrays, Goal, Ints, State, integers, kernel, uniform
from mfbandit.errors import PolicyError

__all__ = ["HalvingParams", "SuccessiveHalving", "climb", "keep_best", "plan", "recommend"]

_GOLDEN = 0.6180339887498949


class Rungs(NamedTuple):
    """What halving remembers."""

    rung: Ints = integers(1)
    """Rungs climbed."""
    pulled: Ints = integers(1)
    """Whether the pulls of the current one were handed out."""


class HalvingParams(NamedTuple):
    """What halving knows beside the problem."""

    eta: float
    repeats: int
    start: int
    """The rung that all arms start at."""
    last: int
    """The rung of the truest fidelity."""


@kernel
def tie_key(state: State) -> int:
    """A number that depends on all rewards so far."""
    total = 0.0
    for k in range(state.sums.shape[0]):
        for m in range(state.sums.shape[1]):
            total += state.sums[k, m]
    return int(abs(total) * _GOLDEN % 1.0 * 2.0**40)


@kernel
def mean(state: State, arm: int, column: int) -> float:
    """The mean of an arm at one fidelity; minus infinity before its first pull there."""
    n = state.pulls[arm, column]
    return state.sums[arm, column] / n if n > 0 else -math.inf


@kernel
def keep_best(state: State, column: int, keep: int) -> None:
    """Drop the arms with the lowest means at one fidelity until `keep` are left."""
    key = tie_key(state)
    for _ in range(arms_left(state) - keep):
        worst, least, luck = -1, math.inf, 1.0
        for k in range(state.arm_flags.shape[0]):
            if state.arm_flags[k] == 0:
                value, draw = mean(state, k, column), uniform(key, k, 0, 0)
                if worst < 0 or value < least or (value <= least and draw < luck):
                    worst, least, luck = k, value, draw
        state.arm_flags[worst] = 1


@kernel
def best_at(state: State, column: int, among: int) -> int:
    """The arm with the best mean at one fidelity, of those with a note of at most `among`."""
    key = tie_key(state)
    chosen, best, luck = -1, -math.inf, 0.0
    for k in range(state.arm_flags.shape[0]):
        if state.arm_flags[k] <= among and state.pulls[k, column] > 0:
            value, draw = mean(state, k, column), uniform(key, k, 0, 0)
            if chosen < 0 or value > best or (value >= best and draw > luck):
                chosen, best, luck = k, value, draw
    return chosen


@kernel
def climb(problem: Arrays, params: HalvingParams, state: State, start: int, out: Ints) -> int:
    """Pull the arms that are left at the next rung; no rows when the ladder that began at `start` ends."""
    if state.own.pulled[0] == 1:
        rung = start + state.own.rung[0]
        if rung < params.last:
            keep_best(state, problem.order[rung], int(math.ceil(arms_left(state) / params.eta)))
        state.own.rung[0] += 1
        state.own.pulled[0] = 0
    rung = start + state.own.rung[0]
    if rung > params.last:
        return 0
    rows = 0
    for k in range(problem.cost.shape[0]):
        if state.arm_flags[k] == 0:
            rows = put(out, rows, k, problem.order[rung], params.repeats)
    state.own.pulled[0] = 1
    return rows


@kernel
def plan(problem: Arrays, params: HalvingParams, state: State, out: Ints) -> int:
    """Play one rung; the end is the truest fidelity, or one arm."""
    rows = climb(problem, params, state, params.start, out)
    return 0 if arms_left(state) < 2 else rows


@kernel
def recommend(problem: Arrays, params: HalvingParams, state: State) -> int:
    """The best mean among the arms that are left, at the most expensive rung that all of them were pulled at."""
    for down in range(params.last + 1):
        column = problem.order[params.last - down]
        complete = True
        for k in range(problem.cost.shape[0]):
            if state.arm_flags[k] == 0 and state.pulls[k, column] == 0:
                complete = False
        if complete:
            return best_at(state, column, 0)
    return max(0, best_at(state, problem.order[params.start], 0))


@dataclass(frozen=True)
class SuccessiveHalving(Policy):
    """Successive halving over the fidelities: cheap, simple, without any guarantee.

    Parameters
    ----------
    eta : float
        One in eta arms goes on to the next rung (rounded up).
    repeats : int
        Pulls of each arm per rung.
    start : int or "exhaust"
        The rung of the first comparison, counted from the cheapest fidelity; "exhaust" begins so high
        that the last comparison is made at the truest fidelity.

    Examples
    --------
    >>> SuccessiveHalving(eta=2.0, repeats=4).label
    'successive-halving:eta=2.0,repeats=4'
    """

    eta: float = 3.0
    repeats: int = 1
    start: int | str = "exhaust"

    guarantee: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_halving(self.name, self.eta, self.repeats, self.batch)
        counted = isinstance(self.start, int) and not isinstance(self.start, bool) and self.start >= 0
        if self.start != "exhaust" and not counted:
            raise PolicyError(f"start must be exhaust or a whole number >= 0, got {self.start!r}")

    @property
    def name(self) -> str:
        """The registered name."""
        return "successive-halving"

    def algorithm(self, problem: Arrays, goal: Goal, unit: Callable[[float], float]) -> Algorithm:
        """Make the kernels and parameters for one problem."""
        n_arms = problem.cost.shape[0]
        last = last_rung(problem)
        if isinstance(self.start, str):
            start = max(0, last + 1 - rungs_needed(n_arms, self.eta))
        else:
            start = self.start
        if start > last:
            raise PolicyError(
                f"start must be below the number of rungs up to the truest fidelity, {last + 1}, got {start}"
            )
        return Algorithm(
            plan=plan,
            recommend=recommend,
            params=HalvingParams(float(self.eta), self.repeats, start, last),
            rows=n_arms,
            memory=Rungs,
            sums_only=True,
        )


def check_halving(name: str, eta: object, repeats: object, batch: int) -> None:
    """Refuse options that no halving can use."""
    if not is_number(eta) or not 1 < eta < math.inf:
        raise PolicyError(f"eta must be a finite number > 1, got {eta!r}")
    whole_number("repeats", repeats, 1, PolicyError)
    if batch != 1:
        raise PolicyError(f"{name} plans whole rungs: give repeats instead of batch={batch!r}")


def last_rung(problem: Arrays) -> int:
    """The rung of the truest fidelity: nothing more expensive is worth a pull."""
    return [int(column) for column in problem.order].index(problem.truest)


def rungs_needed(arms: int, eta: float) -> int:
    """How many rungs it takes until at most eta arms are compared.

    Examples
    --------
    >>> rungs_needed(5, 3.0), rungs_needed(40, 3.0)
    (2, 4)
    """
    needed = 1
    while arms > eta:
        arms, needed = math.ceil(arms / eta), needed + 1
        if arms <= 2:
            break
    return needed
