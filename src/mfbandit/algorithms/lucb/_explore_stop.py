"""Explore-A and -B repaired where the paper's need not stop (ours): `lucb-a-stop`, `lucb-b-stop`.

The paper's procedures may pull an arm for ever at a fidelity whose bias keeps its bounds apart from what
is needed. A confidence radius far below the bias bound means that more pulls there hardly move the arm's
bounds. From then on these variants pull the truest fidelity instead. Every other fidelity is thus pulled
a limited number of times (of order log t), so the truest one decides in the end, as in `lucb-top`: if
the truths differ, they stop with probability 1. The guarantee does not depend on which fidelities are pulled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mfbandit.algorithms.lucb._explore import explore_a, explore_b
from mfbandit.core import Arrays, Ints, State, kernel, mean_of, slot

__all__ = ["EXPLORE_STOP", "explore_a_stop", "explore_b_stop"]

#: A fidelity is worn out when its radius is this part of its bias bound.
_WORN = 0.25


@slot
def high(problem: Arrays, state: State, arm: int, fidelity: int, width: float) -> float:
    """Upper confidence bound of one stream that was pulled."""


@kernel
def unstick(problem: Arrays, state: State, arm: int, width: float, out: Ints, first: int, after: int) -> int:
    """Turn planned pulls at fidelities that are worn out to the truest one; return the next free row."""
    for row in range(first, after):
        m = out[row, 1]
        if m != problem.truest and state.pulls[arm, m] > 0:
            radius = high(problem, state, arm, m, width) - mean_of(state, arm, m)
            if radius < _WORN * problem.bias[arm, m]:
                out[row, 1] = problem.truest
    return after


@kernel
def explore_a_stop(
    problem: Arrays, params: Any, state: State, arm: int, leader: int, width: float, out: Ints, row: int
) -> int:
    """Explore-A that cannot get stuck."""
    after = explore_a(problem, params, state, arm, leader, width, out, row)
    return unstick(problem, state, arm, width, out, row, after)


@kernel
def explore_b_stop(
    problem: Arrays, params: Any, state: State, arm: int, leader: int, width: float, out: Ints, row: int
) -> int:
    """Explore-B that cannot get stuck; before its commitment every sweep has the truest fidelity anyway."""
    after = explore_b(problem, params, state, arm, leader, width, out, row)
    if after > row + 1:
        return after
    return unstick(problem, state, arm, width, out, row, after)


#: The repaired procedures, by what `lucb-` takes.
EXPLORE_STOP: dict[str, Callable[..., Any]] = {"a-stop": explore_a_stop, "b-stop": explore_b_stop}
