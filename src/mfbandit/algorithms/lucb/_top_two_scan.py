"""Bounds of an arm from all its fidelities, and the two arms whose upper bounds are highest.

Upper bounds that all grow slowly with time need not be computed anew each round. Each arm keeps a
ceiling: a number that its upper bound cannot exceed before the end of the current epoch.
Only arms whose ceiling reaches the second highest bound can be among the top two, and only their
bounds are computed. Which two arms come out is the same as if all had been computed. For very many arms
`mfbandit.algorithms.lucb._top_two_tree` finds the same two in less time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from mfbandit.core import Arrays, Floats, Ints, State, floats, integers, kernel, pulled, slot

__all__ = ["Ceilings", "lower", "lowest_line", "top_two", "truth_line", "upper"]

#: An epoch lasts while the clock grows by one part in this many. Shorter epochs compute ceilings more
#: often, longer ones compute more bounds of arms that turn out not to matter.
_EPOCHS = 256
#: Ceilings are raised by this, relatively, so that rounding never hides an arm that is level.
_ROUNDING = 1e-14


class Ceilings(NamedTuple):
    """What the selection remembers."""

    epoch: Ints = integers(1)
    """When the ceilings end."""
    width: Floats = floats(1)
    """The width of the confidence radius then."""
    ceiling: Floats = floats("arms")


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
    own = state.own
    renew = time >= own.epoch[0]
    if renew:
        own.epoch[0] = time + time // _EPOCHS + 2
        own.width[0] = level(problem, log_factor, float(own.epoch[0]))
    growth = float(own.width[0]) - width
    first, second = 0, 0
    best, next_best = -math.inf, -math.inf
    for k in range(arms):
        if renew or own.ceiling[k] > next_best:
            bound, _, slope, _ = lowest_line(problem, state, k, width)
            own.ceiling[k] = bound + growth * slope + _ROUNDING * (1.0 + abs(bound))
            if bound > best:
                second, next_best = first, best
                first, best = k, bound
            elif bound > next_best:
                second, next_best = k, bound
    # These two will be pulled, and then their ceilings no longer hold.
    own.ceiling[first] = math.inf
    own.ceiling[second] = math.inf
    return first, second, next_best
