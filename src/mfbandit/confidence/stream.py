"""Bounds of one stream in a state, for processes that are functions of its statistics."""

from __future__ import annotations

from mfbandit.core import Arrays, State
from mfbandit.kernel import kernel, slot

__all__ = ["drift", "high", "low"]


@slot
def above(problem: Arrays, width: float, n: int, total: float, squared: float, deviation: float) -> float:
    """Upper confidence bound from statistics."""


@slot
def below(problem: Arrays, width: float, n: int, total: float, squared: float, deviation: float) -> float:
    """Lower confidence bound from statistics."""


@kernel
def high(problem: Arrays, state: State, arm: int, fidelity: int, width: float) -> float:
    """Upper confidence bound of one stream that was pulled."""
    return above(
        problem,
        width,
        state.pulls[arm, fidelity],
        state.sums[arm, fidelity],
        state.squares[arm, fidelity],
        state.deviations[arm, fidelity],
    )


@kernel
def low(problem: Arrays, state: State, arm: int, fidelity: int, width: float) -> float:
    """Lower confidence bound of one stream that was pulled."""
    return below(
        problem,
        width,
        state.pulls[arm, fidelity],
        state.sums[arm, fidelity],
        state.squares[arm, fidelity],
        state.deviations[arm, fidelity],
    )


@kernel
def drift(state: State, arm: int, fidelity: int, growth: float) -> float:
    """How much the upper bound rises with time alone: these processes hold at all times at once."""
    return 0.0
