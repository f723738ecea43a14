"""Logs of older versions. In format 1 an algorithm's memory was one block of numbers: how it becomes fields with names.

The block of every policy is described once, as the indices in it that the numbers of a field come from. Its own
whole numbers followed the two of the clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mfbandit.algorithms import Beliefs, Brackets, Phase, Phases, Rungs
from mfbandit.algorithms.lucb import Ceilings
from mfbandit.algorithms.mf_grad import Ascent, CertifiedAscent
from mfbandit.algorithms.mf_toptwo import TopTwoMemory
from mfbandit.core import State, fields
from mfbandit.errors import StorageError

__all__ = ["ADDED", "drop_unrecorded", "enter_clock", "enter_flat", "is_flat"]

Indices = dict[str, npt.NDArray[np.int64]]

#: The whole numbers of a policy, in their order after the clock.
_CLOCKS: dict[type, tuple[str, ...]] = {
    TopTwoMemory: ("leader", "rows"),
    Ascent: ("answer",),
    CertifiedAscent: ("answer",),
    Ceilings: ("epoch",),
    Phases: ("phase", "pulled"),
    Phase: ("phase",),
    Rungs: ("rung", "pulled"),
    Brackets: ("rung", "pulled", "bracket"),
}
#: Thirteen numbers per arm of `mf-toptwo`, in their order; one is not needed any more.
_PER_ARM = (
    *("centre", "precision", "spent", "split", "value", "leader_gain", "gain", "due"),
    *("", "noise", "respite", "distance", "weight"),
)
_PER_ROW = ("row_arm", "row_distance", "row_active", "row_pulls", "row_sums", "row_squares")
_STATISTICS = ("pulls", "sums", "squares")
#: Fields that were added later; all zeros in studies that are older, which declare no leaders.
ADDED = {"row_leads", "victories.led", *(f"leaders.{name}" for name in ("known", "arm", *_STATISTICS))}


def is_flat(memory: dict[str, Any]) -> bool:
    """Whether the memory of a round is of format 1."""
    return "bits" in memory


def enter_clock(state: State, numbers: Sequence[int]) -> None:
    """Enter what followed the clock."""
    memory = fields(state.own)
    for name, number in zip(_CLOCKS.get(type(state.own), ()), numbers, strict=False):
        memory[name][0] = number


def enter_flat(state: State, changes: Sequence[dict[str, Any]]) -> None:
    """Enter changes of the block, in turn."""
    if not changes:
        return
    indices, size = _block(state)
    memory = fields(state.own)
    block = np.zeros(size)
    for name, at in indices.items():
        block[at] = memory[name]
    for changed in changes:
        bits = np.frombuffer(bytes.fromhex(changed["bits"]), "<i8")
        where = changed.get("places")
        if bits.size != size if where is None else max(where, default=0) >= size:
            raise StorageError(
                f"the log keeps {bits.size} numbers of the policy's memory in format 1, where {size} are expected"
            )
        block.view(np.int64)[slice(None) if where is None else where] = bits
    for name, at in indices.items():
        memory[name][:] = block[at]


def drop_unrecorded(state: State) -> None:
    """Let arms be beaten again whose defeat was noted without a record, as `mf-grad` did in format 1."""
    if isinstance(state.own, CertifiedAscent):
        state.arm_flags[state.own.victories.statistics.sum(axis=(1, 2, 3)) == 0.0] = 0


def _block(state: State) -> tuple[Indices, int]:
    """Where the numbers of every field are in the block, and its size."""
    arms, fidelities = state.pulls.shape
    cells = np.arange(arms * fidelities).reshape(arms, fidelities)
    kind, each = type(state.own), np.arange(arms)
    if kind is Ceilings:
        return {"ceiling": each, "width": np.array([arms])}, arms + 1
    if kind is Beliefs:
        return {"truth": each, "doubt": arms + each}, 2 * arms
    if kind in (Ascent, CertifiedAscent):
        names = ("model.means", "model.weights", "shares", "ascent", "tracked")
        indices: Indices = {name: i * cells.size + cells for i, name in enumerate(names)}
        end = len(names) * cells.size
        indices |= {"model.truths": end + each, "model.misfits": end + arms + each}
        if kind is Ascent:
            return indices, end + 2 * arms
        indices["due"] = end + 2 * arms + each
        return indices, end + 3 * arms + 3 * cells.size + _scratch(fidelities)
    if kind is TopTwoMemory:
        return _toptwo(state.own.row_arm.size, cells)
    raise StorageError("the log keeps a memory in format 1, which this version cannot read for this policy")


def _scratch(fidelities: int) -> int:
    """How many numbers of room to work in came last."""
    return 2 + (6 + fidelities) * 23 + fidelities + 64


def _toptwo(most_rows: int, cells: npt.NDArray[np.int64]) -> tuple[Indices, int]:
    """The block of `mf-toptwo`."""
    arms, fidelities = cells.shape
    each, rows = np.arange(arms), np.arange(most_rows)
    indices: Indices = {name: 13 * each + i for i, name in enumerate(_PER_ARM) if name}
    end = 13 * arms
    indices |= {f"active.{name}": end + 3 * cells + i for i, name in enumerate(_STATISTICS)}
    end += 3 * cells.size
    indices |= {"quiet": np.array([end]), "racers": np.array([end + 1]), "race": end + 2 + each}
    end += 2 + arms
    indices |= {name: end + 6 * rows + i for i, name in enumerate(_PER_ROW)}
    end += 6 * most_rows
    indices["victories.statistics"] = end + np.arange(12 * cells.size).reshape(arms, 2, fidelities, 6)
    return indices, end + 12 * cells.size + _scratch(fidelities)
