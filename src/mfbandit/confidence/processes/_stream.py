"""Bounds of one stream in a state, for processes that are functions of its statistics."""

from __future__ import annotations

import math

from mfbandit.confidence.processes._stream_sums import above, below, sums_of
from mfbandit.core import Arrays, State, kernel

__all__ = ["high", "line", "low"]


@kernel
def high(problem: Arrays, state: State, arm: int, fidelity: int, width: float) -> float:
    """Upper confidence bound of one stream that was pulled."""
    return above(problem, width, sums_of(state, arm, fidelity))


@kernel
def low(problem: Arrays, state: State, arm: int, fidelity: int, width: float) -> float:
    """Lower confidence bound of one stream; -inf before its first pull."""
    if state.pulls[arm, fidelity] == 0:
        return -math.inf
    return below(problem, width, sums_of(state, arm, fidelity))


@kernel
def line(problem: Arrays, state: State, arm: int, fidelity: int, width: float) -> tuple[float, float]:
    """Upper confidence bound of one stream, as a line in the width.

    It is flat: these processes hold at all times at once, so that their width does not change. Before the
    stream's first pull it is +inf.
    """
    if state.pulls[arm, fidelity] == 0:
        return math.inf, 0.0
    return high(problem, state, arm, fidelity, width), 0.0
