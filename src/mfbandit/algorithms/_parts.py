"""What several algorithms need: rows of a plan, and the arms that are left."""

from __future__ import annotations

from mfbandit.core import Ints, State, kernel

__all__ = ["arms_left", "put"]


@kernel
def put(out: Ints, row: int, arm: int, fidelity: int, count: int) -> int:
    """Write one row of a plan; return the next free row."""
    out[row, 0] = arm
    out[row, 1] = fidelity
    out[row, 2] = count
    return row + 1


@kernel
def arms_left(state: State) -> int:
    """How many arms are left, where those that are not have a note."""
    left = 0
    for k in range(state.arm_flags.shape[0]):
        if state.arm_flags[k] == 0:
            left += 1
    return left
