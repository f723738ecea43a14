"""Bounds of an arm from all its fidelities, and the two arms whose upper bounds are highest.

Upper bounds that all grow slowly with time need not be computed anew each round. Each arm keeps a
ceiling: its upper bound at the end of the current epoch, so at least its bound at any time before.
Only arms whose ceiling reaches the second highest bound can be among the top two, and only their
bounds are computed. Which two arms come out is the same as if all had been computed.
"""

from __future__ import annotations

import math

from mfbandit.core import Arrays, State
from mfbandit.kernel import kernel, slot

__all__ = ["SELECT_CLOCK", "lower", "select_memory", "top_two", "upper"]

#: Places of the clock, after the algorithm-independent ones: end of epoch, first and second arm + 1.
EPOCH, FIRST, SECOND = 2, 3, 4
SELECT_CLOCK = 5
#: An epoch lasts while the clock grows by one part in this many. Shorter epochs compute ceilings more
#: often, longer ones compute more bounds of arms that turn out not to matter.
_EPOCHS = 256


def select_memory(n_arms: int) -> int:
    """How many numbers of memory the selection needs: the ceilings and their width."""
    return n_arms + 1


@slot
def level(problem: Arrays, log_factor: float, time: float) -> float:
    """What the radius has to pay at a time."""


@slot
def above(problem: Arrays, width: float, n: int, total: float, squared: float, deviation: float) -> float:
    """Upper confidence bound of one stream."""


@slot
def below(problem: Arrays, width: float, n: int, total: float, squared: float, deviation: float) -> float:
    """Lower confidence bound of one stream."""


@kernel
def upper(problem: Arrays, state: State, arm: int, width: float) -> float:
    """UCB of an arm's true mean: the lowest over its fidelities; +inf before its first pull."""
    lowest = math.inf
    for m in range(problem.cost.shape[1]):
        n = state.pulls[arm, m]
        if n > 0:
            bound = problem.bias[arm, m] + above(
                problem, width, n, state.sums[arm, m], state.squares[arm, m], state.deviations[arm, m]
            )
            if bound < lowest:
                lowest = bound
    return lowest


@kernel
def lower(problem: Arrays, state: State, arm: int, width: float) -> float:
    """LCB of an arm's true mean: the highest over its fidelities; -inf before its first pull."""
    highest = -math.inf
    for m in range(problem.cost.shape[1]):
        n = state.pulls[arm, m]
        if n > 0:
            bound = (
                below(
                    problem,
                    width,
                    n,
                    state.sums[arm, m],
                    state.squares[arm, m],
                    state.deviations[arm, m],
                )
                - problem.bias[arm, m]
            )
            if bound > highest:
                highest = bound
    return highest


@kernel
def raise_ceilings(problem: Arrays, log_factor: float, state: State, time: int) -> None:
    """Start an epoch: set every arm's ceiling to its upper bound at the end of it."""
    arms = problem.cost.shape[0]
    state.clock[EPOCH] = time + time // _EPOCHS + 2
    width = level(problem, log_factor, float(state.clock[EPOCH]))
    state.memory[arms] = width
    for k in range(arms):
        state.memory[k] = upper(problem, state, k, width)


@kernel
def top_two(
    problem: Arrays, log_factor: float, state: State, time: int, width: float
) -> tuple[int, int, float]:
    """The arms with the highest and second highest UCB, and the second UCB; ties to the smaller index.

    Only the two arms it returned last may have been pulled since.
    """
    arms = problem.cost.shape[0]
    before, beside = state.clock[FIRST] - 1, state.clock[SECOND] - 1
    if time >= state.clock[EPOCH]:
        raise_ceilings(problem, log_factor, state, time)
    first, second = -1, -1
    best, next_best = -math.inf, -math.inf
    for k in range(arms):
        pulled = k in (before, beside)
        if second >= 0 and not pulled and state.memory[k] <= next_best:
            continue
        bound = upper(problem, state, k, width)
        if first < 0 or bound > best:
            second, next_best = first, best
            first, best = k, bound
        elif second < 0 or bound > next_best:
            second, next_best = k, bound
    if before >= 0 and before != first and before != second:
        state.memory[before] = upper(problem, state, before, float(state.memory[arms]))
    if beside >= 0 and beside != first and beside != second:
        state.memory[beside] = upper(problem, state, beside, float(state.memory[arms]))
    state.clock[FIRST] = first + 1
    state.clock[SECOND] = second + 1
    return first, second, next_best
