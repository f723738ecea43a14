"""Bounds of an arm from all its fidelities, and the two arms whose upper bounds are highest.

Upper bounds that all grow slowly with time need not be computed anew each round. Each arm keeps a
ceiling: a number that its upper bound cannot exceed before the end of the current epoch.
Only arms whose ceiling reaches the second highest bound can be among the top two, and only their
bounds are computed. Which two arms come out is the same as if all had been computed. For very many arms
`mfbandit.confidence.tournament` finds the same two in less time.
"""

from __future__ import annotations

import math

from mfbandit.core import Arrays, State
from mfbandit.kernel import kernel, slot

__all__ = ["SELECT_CLOCK", "lower", "lowest_line", "select_memory", "top_two", "truth_line", "upper"]

#: Places of the clock, after the algorithm-independent ones: end of epoch, first and second arm + 1.
EPOCH, FIRST, SECOND = 2, 3, 4
SELECT_CLOCK = 5
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
    """Lower confidence bound of one stream that was pulled."""


@slot
def line(problem: Arrays, state: State, arm: int, fidelity: int, width: float) -> tuple[float, float]:
    """Upper confidence bound of one stream that was pulled, as offset and slope of a line in the width."""


@kernel
def truth_line(problem: Arrays, state: State, arm: int, fidelity: int, width: float) -> tuple[float, float]:
    """UCB of an arm's true mean by one of its streams, as offset and slope of a line in the width."""
    offset, slope = line(problem, state, arm, fidelity, width)
    return problem.bias[arm, fidelity] + offset, slope


@kernel
def lowest_line(problem: Arrays, state: State, arm: int, width: float) -> tuple[float, float, int]:
    """UCB of an arm's true mean, as the lowest line over its fidelities, and the fidelity it comes from.

    Before the arm's first pull it is +inf.
    """
    lowest, offset, slope, where = math.inf, math.inf, 0.0, 0
    for m in range(problem.cost.shape[1]):
        if state.pulls[arm, m] > 0:
            start, rise = truth_line(problem, state, arm, m, width)
            bound = start + width * rise
            if bound < lowest:
                lowest, offset, slope, where = bound, start, rise, m
    return offset, slope, where


@kernel
def upper(problem: Arrays, state: State, arm: int, width: float) -> float:
    """UCB of an arm's true mean: the lowest over its fidelities; +inf before its first pull."""
    offset, slope, _ = lowest_line(problem, state, arm, width)
    return offset + width * slope


@kernel
def lower(problem: Arrays, state: State, arm: int, width: float) -> float:
    """LCB of an arm's true mean: the highest over its fidelities; -inf before its first pull."""
    highest = -math.inf
    for m in range(problem.cost.shape[1]):
        if state.pulls[arm, m] > 0:
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
    before, beside = state.clock[FIRST] - 1, state.clock[SECOND] - 1
    renew = time >= state.clock[EPOCH]
    if renew:
        state.clock[EPOCH] = time + time // _EPOCHS + 2
        state.memory[arms] = level(problem, log_factor, float(state.clock[EPOCH]))
    growth = float(state.memory[arms]) - width
    first, second = -1, -1
    best, next_best = -math.inf, -math.inf
    k = 0
    while k < arms:
        # Written as a search for the next arm to look at, since on a GPU the threads of a warp then look
        # at their arms together, whichever these are.
        while k < arms and second >= 0 and not renew and k != before and k != beside and state.memory[k] <= next_best:
            k += 1
        if k < arms:
            offset, slope, _ = lowest_line(problem, state, k, width)
            bound = offset + width * slope
            state.memory[k] = bound + growth * slope + _ROUNDING * (1.0 + abs(bound))
            if first < 0 or bound > best:
                second, next_best = first, best
                first, best = k, bound
            elif second < 0 or bound > next_best:
                second, next_best = k, bound
            k += 1
    state.clock[FIRST] = first + 1
    state.clock[SECOND] = second + 1
    return first, second, next_best
