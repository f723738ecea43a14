"""How much the state of one trial takes on a GPU, and so where it lies: in shared, local or global memory."""

from __future__ import annotations

from typing import NamedTuple

from mfbandit.core import WARP, Layout, calls, layout, shared_range
from mfbandit.simulation._trial_loop import Prepared

__all__ = ["Shape", "shape_of"]

#: Threads per block: few, since shared memory is given out by blocks.
_BLOCK = 64
#: Shared memory that a block may take, so that at least five blocks are at work on a large card.
_SHARED_BYTES = 42 * 1024
#: Local memory that a thread may take.
_LOCAL_BYTES = 24 * 1024


class Shape(NamedTuple):
    """What the machine code depends on beside the text: sizes and types of one thread's state."""

    arms: int
    fidelities: int
    streams: int
    """Fidelities of the user's problem."""
    rows: int
    memory: Layout
    whole_rewards: bool
    sums_only: bool
    marked: bool
    """Whether runs are noted at marks."""
    by_warp: bool
    """Whether a warp plays each trial, so that its threads can share loops, and not one thread."""

    @property
    def block(self) -> int:
        """Threads per block; a warp that plays a trial is a block of its own."""
        return WARP if self.by_warp else _BLOCK

    @property
    def trials(self) -> int:
        """Trials that a block plays at once."""
        return 1 if self.by_warp else _BLOCK

    @property
    def cells(self) -> int:
        """Reward streams that the policy uses."""
        return self.arms * self.fidelities

    @property
    def carried(self) -> int:
        """Columns of the carries: none that matter where rewards are whole."""
        if not self.sums_only:
            return 3 * self.fidelities
        return 1 if self.whole_rewards else self.fidelities

    @property
    def floats(self) -> int:
        """Size of the block of an algorithm's floating-point numbers; no array has no element."""
        return max(1, self.memory.floats)

    @property
    def wholes(self) -> int:
        """Size of the block of its whole numbers, likewise."""
        return max(1, self.memory.integers)

    @property
    def counts(self) -> int:
        """Whole numbers in the state of a thread, where all of them lie in global memory."""
        return self.cells + self.arms + 3 * self.rows + self.wholes

    @property
    def numbers(self) -> int:
        """Other numbers in the state of a thread, likewise."""
        # Where there are no moments, one number stands in for them.
        moments = 1 if self.sums_only else 2 * self.cells
        return 2 * self.cells + self.floats + moments + self.arms * self.carried

    @property
    def bytes(self) -> int:
        """Bytes of the state of a thread."""
        return 4 * self.counts + 8 * self.numbers

    @property
    def problem_bytes(self) -> int:
        """Bytes of what a block copies of the problem to shared memory."""
        return 8 * (3 * self.cells + self.arms * self.streams + self.fidelities)

    @property
    def memory_space(self) -> str:
        """Where the states lie."""
        if self.by_warp:
            return "shared" if self.problem_bytes + self.bytes <= _SHARED_BYTES else "global"
        hot = _BLOCK * self.cells * (16 if self.whole_rewards else 20)
        if self.problem_bytes + hot <= _SHARED_BYTES and self.bytes <= _LOCAL_BYTES:
            return "shared"
        return "local" if self.problem_bytes <= _SHARED_BYTES and self.bytes <= _LOCAL_BYTES else "global"


def shape_of(prepared: Prepared) -> Shape:
    """The shape of a simulation."""
    setting, algorithm = prepared.setting, prepared.algorithm
    arms, fidelities = setting.problem.cost.shape
    return Shape(
        arms=arms,
        fidelities=fidelities,
        streams=setting.law.streams,
        rows=setting.rows,
        memory=layout(algorithm.memory, setting.problem),
        whole_rewards=prepared.whole_rewards,
        sums_only=algorithm.sums_only,
        marked=len(setting.marks) > 0,
        by_warp=calls(algorithm.plan, shared_range),
    )
