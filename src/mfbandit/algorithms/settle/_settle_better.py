"""Which arms are better than a control: each other arm is settled by itself, and is then measured no longer."""

from __future__ import annotations

from mfbandit.algorithms.settle._settle_memory import SettleParams, drop, is_certain
from mfbandit.core import Arrays, State, kernel

__all__ = ["closest_to_control", "settle_better"]


@kernel
def settle_better(problem: Arrays, params: SettleParams, state: State) -> bool:
    """Note which arms are shown to be better than the control, and which not; whether all are settled."""
    own, done = state.own, True
    for arm in range(state.pulls.shape[0]):
        if arm == params.control:
            continue
        own.sides[arm] = 0
        if own.shown[0, arm] == 1:
            own.sides[arm] = 1
        elif own.shown[1, arm] == 1 or is_certain(problem, state, params.control, arm, params.shifts[1]):
            own.sides[arm] = 2
        if own.sides[arm] > 0:
            drop(state, arm)
        else:
            done = False
    return done


@kernel
def closest_to_control(params: SettleParams, state: State, arm: int) -> int:
    """The arm by which an arm is settled: the control."""
    return -1 if arm == params.control else params.control
