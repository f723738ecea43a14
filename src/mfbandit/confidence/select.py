"""Bounds of an arm from all its fidelities, and the two arms whose upper bounds are highest.

Upper bounds that all grow slowly with time need not be computed anew each round. Each arm keeps a
ceiling: a number that its upper bound cannot exceed before the end of the current epoch.
Only arms whose ceiling reaches the second highest bound can be among the top two, and only their
bounds are computed. Which two arms come out is the same as if all had been computed. For very many arms
`mfbandit.confidence.tournament` finds the same two in less time.
"""

from __future__ import annotations

import math

from mfbandit.core import Arrays, State, pulled
from mfbandit.kernel import kernel, slot

__all__ = ["SELECT_CLOCK", "lower", "lowest_line", "select_memory", "top_two", "truth_line", "upper"]

#: Place of the clock, after the algorithm-independent ones: end of epoch.
EPOCH = 2
SELECT_CLOCK = 3
#: An epoch lasts while the clock grows by one part in this many. Shorter epochs compute ceilings more
#: often, longer ones compute more bounds of arms that turn out not to matter.
_EPOCHS = 256
#: Ceilings are raised by this, relatively, so that rounding never hides an arm that is level.
_ROUNDING = 1e-14


def select_memory(n_arms: int) -> int:
    """How many numbers of memory the selection needs: the ceilings and their width."""
    return n_arms + 1


@slot
def level(problem: Arrays, log_factor: float, time: float) -> float:
    """What the radius has to pay at a time."""


@slot
def low(problem: Arrays, state: State, arm: int, fidelity: int, width: float) -> float:
    """Lower confidence bound of one stream; -inf (or nan) before its first pull."""


@slot
def line(problem: Arrays, state: State, arm: int, fidelity: int, width: float) -> tuple[float, float]:
    """Upper confidence bound of one stream, as offset and slope of a line in the width.

    Before the stream's first pull it is +inf (or nan), which is never the lowest.
    """


@kernel
def truth_line(problem: Arrays, state: State, arm: int, fidelity: int, width: float) -> tuple[float, float]:
    """UCB of an arm's true mean by one of its streams, as offset and slope of a line in the width."""
    offset, slope = line(problem, state, arm, fidelity, width)
    return problem.bias[arm, fidelity] + offset, slope


@kernel
def lowest_line(problem: Arrays, state: State, arm: int, width: float) -> tuple[float, float, float, int]:
    """UCB of an arm's true mean: the lowest over its fidelities, its line, and the fidelity it comes from.

    Before the arm's first pull it is +inf.
    """
    lowest, offset, slope, where = math.inf, math.inf, 0.0, 0
    for m in range(problem.cost.shape[1]):
        if pulled(state, arm, m):
            start, rise = truth_line(problem, state, arm, m, width)
            bound = start + width * rise
            if bound < lowest:
                lowest, offset, slope, where = bound, start, rise, m
    return lowest, offset, slope, where


@kernel
def upper(problem: Arrays, state: State, arm: int, width: float) -> float:
    """UCB of an arm's true mean: the lowest over its fidelities; +inf before its first pull."""
    return lowest_line(problem, state, arm, width)[0]


@kernel
def lower(problem: Arrays, state: State, arm: int, width: float) -> float:
    """LCB of an arm's true mean: the highest over its fidelities; -inf before its first pull."""
    highest = -math.inf
    for m in range(problem.cost.shape[1]):
        if pulled(state, arm, m):
            bound = low(problem, state, arm, m, width) - problem.bias[arm, m]
            if bound > highest:
                highest = bound
    return highest


@kernel
def top_two(problem: Arrays, log_factor: float, state: State, time: int, width: float) -> tuple[int, int, float]:
    """The arms with the highest and second highest UCB, and the second UCB; ties to the smaller index.

    Only the two arms it returned last may have been pulled since.
    """
    arms = problem.cost.shape[0]
    renew = time >= state.clock[EPOCH]
    if renew:
        state.clock[EPOCH] = time + time // _EPOCHS + 2
        state.memory[arms] = level(problem, log_factor, float(state.clock[EPOCH]))
    growth = float(state.memory[arms]) - width
    first, second = 0, 0
    best, next_best = -math.inf, -math.inf
    for k in range(arms):
        if renew or state.memory[k] > next_best:
            bound, _, slope, _ = lowest_line(problem, state, k, width)
            state.memory[k] = bound + growth * slope + _ROUNDING * (1.0 + abs(bound))
            if bound > best:
                second, next_best = first, best
                first, best = k, bound
            elif bound > next_best:
                second, next_best = k, bound
    # These two will be pulled, and then their ceilings no longer hold.
    state.memory[first] = math.inf
    state.memory[second] = math.inf
    return first, second, next_best
