"""Hyperband (Li et al. 2017) with fidelities as rungs: brackets of successive halving.

Which rung to start at is a gamble: cheap fidelities may mislead, expensive ones leave room for few arms.
Hyperband plays every start in turn. The first bracket starts all arms at the cheapest fidelity; a bracket
that starts i rungs higher takes K R / (R - i) / eta^i of them (R rungs in all), drawn anew. Every bracket
ends at the truest fidelity; the best mean there wins. Nothing is certified.

The arms of a bracket are drawn by a scramble that depends on the rewards seen so far, so that plans stay
deterministic and do not depend on the arms' order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from mfbandit.algorithms._policy import Policy
from mfbandit.algorithms._successive_halving import HalvingParams, best_at, check_halving, climb, last_rung, tie_key
from mfbandit.core import Algorithm, Arrays, Goal, Ints, State, integers, kernel, uniform

__all__ = ["Hyperband", "bracket_arms", "plan", "recommend"]


class Brackets(NamedTuple):
    """What Hyperband remembers; its first two fields are those of successive halving."""

    rung: Ints = integers(1)
    """Rungs climbed in this bracket."""
    pulled: Ints = integers(1)
    """Whether the pulls of the current one were handed out."""
    bracket: Ints = integers(1)
    """The bracket, which is also the rung it starts at."""


@kernel
def bracket_arms(arms: int, last: int, eta: float, start: int) -> int:
    """How many arms a bracket takes: ceil(K R / (R - i) / eta^i), at most all."""
    share = arms * (last + 1.0) / (last + 1.0 - start)
    for _ in range(start):
        share /= eta
    return min(arms, max(1, int(math.ceil(share))))


@kernel
def draw_arms(state: State, count: int) -> None:
    """Draw `count` arms to start the next bracket with."""
    key = tie_key(state)
    for k in range(state.arm_flags.shape[0]):
        state.arm_flags[k] = 0
    for _ in range(state.arm_flags.shape[0] - count):
        out, least = -1, 1.0
        for k in range(state.arm_flags.shape[0]):
            if state.arm_flags[k] == 0:
                draw = uniform(key, k, 1, 0)
                if out < 0 or draw < least:
                    out, least = k, draw
        state.arm_flags[out] = 1


@kernel
def plan(problem: Arrays, params: HalvingParams, state: State, out: Ints) -> int:
    """Play one rung of the current bracket, or the first one of the next."""
    arms = problem.cost.shape[0]
    if arms < 2:
        return 0
    while state.own.bracket[0] <= params.last:
        rows = climb(problem, params, state, state.own.bracket[0], out)
        if rows > 0:
            return rows
        state.own.bracket[0] += 1
        state.own.rung[0] = 0
        state.own.pulled[0] = 0
        if state.own.bracket[0] <= params.last:
            draw_arms(state, bracket_arms(arms, params.last, params.eta, state.own.bracket[0]))
    return 0


@kernel
def recommend(problem: Arrays, params: HalvingParams, state: State) -> int:
    """The best mean at the most expensive fidelity that was used, over all brackets."""
    for down in range(params.last + 1):
        chosen = best_at(state, problem.order[params.last - down], 1)
        if chosen >= 0:
            return chosen
    return 0


@dataclass(frozen=True)
class Hyperband(Policy):
    """Hyperband over the fidelities: successive halving from every start, without any guarantee.

    Parameters
    ----------
    eta : float
        One in eta arms goes on to the next rung (rounded up).
    repeats : int
        Pulls of each arm per rung.

    Examples
    --------
    >>> Hyperband(repeats=2).label
    'hyperband:repeats=2'
    """

    eta: float = 3.0
    repeats: int = 1

    guarantee: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_halving(self.name, self.eta, self.repeats, self.batch)

    @property
    def name(self) -> str:
        """The registered name."""
        return "hyperband"

    def algorithm(self, problem: Arrays, goal: Goal, unit: Callable[[float], float]) -> Algorithm:
        """Make the kernels and parameters for one problem."""
        return Algorithm(
            plan=plan,
            recommend=recommend,
            params=HalvingParams(float(self.eta), self.repeats, 0, last_rung(problem)),
            rows=problem.cost.shape[0],
            memory=Brackets,
            sums_only=True,
        )
