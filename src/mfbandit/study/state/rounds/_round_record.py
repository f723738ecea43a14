"""The record of a round: its rows, and what `plan` noted, as JSON.

Only what changed since the round before is written, an algorithm's memory field by field under their names. Now and
then a round writes all of it, so that whoever opens a study need not read back to its beginning. Numbers are exact.
Those of a memory are written as their bits in hexadecimal, 16 digits each, lowest byte first, which is much faster
than decimal digits. The first round also says the shape of every field, so that a later version can tell what changed.
"""

from __future__ import annotations

import json
import math
import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Required, TypedDict

import numpy as np
import numpy.typing as npt

from mfbandit.core import Ints, State, fields, kept_numbers
from mfbandit.errors import StorageError
from mfbandit.storage import ALL_NOTES, CHANGES, CHECKPOINT
from mfbandit.study.state.rounds._format_1 import ADDED, drop_unrecorded, enter_clock, enter_flat, is_flat

__all__ = [
    "MemoryDiff",
    "RoundRecord",
    "apply_diff",
    "apply_latest_diffs",
    "check_layout",
    "dump_state",
    "extent_of",
    "is_checkpoint",
    "load_state",
    "noted_in",
    "read_round",
    "shapes_of",
]


#: Up to here notes, and the fields of a memory, are written as a whole, which is short enough.
_SMALL, _FEW = 32, 2
#: Characters that a number takes alone and with its index, and the word for indices.
_ALONE, _PLACED, _WORD = 16, 18, 12
_LITTLE, _IS_LITTLE = np.dtype("<i8"), sys.byteorder == "little"
#: Every so many rounds all notes are written; with a large memory every so many of its numbers.
_ROUNDS, _NUMBERS = 1000, 16


class Change(TypedDict, total=False):
    """What of an array has changed: numbers at some indices, or all of them."""

    places: list[int]
    bits: Required[str]


class RoundRecord(TypedDict, total=False):
    """What the record of a round says."""

    rows: Required[list[list[int]]]
    """Arm, fidelity and number of pulls."""
    cut: bool
    """Whether rows were cut because they would exceed what may be spent."""
    counted: int
    """How many pulls had counted when it was planned, where others were out."""
    marked: list[int]
    """The rows whose rewards have mark 1, where others were out: see `mfbandit.core.Ahead`."""
    leading: list[int]
    """Those with mark 2."""
    spared: float
    """What pulls cost that were called off before they were handed out, where others were out and arms have changed."""
    opened: list[list[int]]
    """The blocks that were opened: fidelity, block, leader, runner-up."""
    blocks: list[list[int]]
    """The block of every pull, row by row."""
    arms: list[int]
    """The arms in play from here on, where that has changed."""
    broken: list[dict[str, Any]]
    """All bias bounds that the data have contradicted so far."""
    added: dict[str, float]
    """What was added to bounds since, by fidelity."""
    state: dict[str, Any]
    """All statistics, where arms or bounds have changed."""
    notes: list[int] | Change
    memory: dict[str, Change]
    """An algorithm's memory by field; that of format 1 is one `Change`."""
    clock: list[int]
    """Format 1 only: whole numbers of an algorithm."""
    all: bool
    """Whether `notes` and `memory` say all, not only what has changed."""
    layout: dict[str, list[int]]
    """The shape of every field, in the first round."""


#: Fields of a state that studies store under an older name, and these fields by that name.
_STORED_AS = {"arm_flags": "notes", "inv_sqrt_pulls": "roots", "grid_rounder": "rounder"}
_FIELD_OF = {name: field for field, name in _STORED_AS.items()}


class MemoryDiff:
    """What an algorithm had noted when it was last asked for a round, to tell what it has changed since."""

    __slots__ = ("_known", "_parts", "_spaces", "_spare", "every", "notes")

    def __init__(self, state: State) -> None:
        self.notes = state.arm_flags.tobytes()
        memory = fields(state.own, kept=True)
        ends = list(accumulate(array.size for array in memory.values()))
        #: The name of every field, and from where to where it lies among all numbers.
        self._spaces = list(zip(memory, [0, *ends], ends, strict=False))
        # Bits are compared, since NaN differs from itself; all fields at once, since most are small.
        self._parts = [numbers.view(np.int64) for numbers in kept_numbers(state.own)]
        self._known = self._together()
        self._spare = self._known.copy()
        #: After how many rounds all notes are written again.
        self.every = max(_ROUNDS, self._known.size // _NUMBERS)

    def _together(self, out: Ints | None = None) -> Ints:
        return np.concatenate(self._parts, out=out) if self._parts else np.zeros(0, dtype=np.int64)

    def changes(self, state: State) -> dict[str, Any]:
        """The changes since, as a record says them; from now on they are known."""
        found: dict[str, Any] = {}
        notes = state.arm_flags.tobytes()
        if notes != self.notes:
            large = len(notes) > 8 * _SMALL
            found["notes"] = _difference(self.notes, notes) if large else state.arm_flags.tolist()
            self.notes = notes
        if not self._parts:
            return found
        if self._known.size <= _SMALL:
            # To copy so few and compare the copies takes less time than to search them for changes.
            bits = b"".join([part.tobytes() for part in self._parts])
            if bits == self._known.tobytes():
                return found
            now = np.frombuffer(bits, np.int64)
        else:
            now = self._together(self._spare)
        at = (now != self._known).nonzero()[0]
        if at.size:
            found["memory"] = self._differences(now, at)
            self._known, self._spare = now, self._known
        return found

    def everything(self, state: State) -> dict[str, Any]:
        """All notes and all of the memory, as a record says them; from now on they are known."""
        self.notes, self._known = state.arm_flags.tobytes(), self._together()
        memory = {name: {"bits": _hex(self._known[start:end])} for name, start, end in self._spaces}
        notes = {"bits": _hex(state.arm_flags)} if state.arm_flags.size > _SMALL else state.arm_flags.tolist()
        return {"all": True, "notes": notes, "memory": memory}

    def _differences(self, now: Ints, changed: Ints) -> dict[str, Change]:
        """What has changed by field."""
        found: dict[str, Change] = {}
        bits, at = _hex(now[changed]), changed.tolist()
        first, following = 0, at[0]
        at.append(now.size)
        for name, start, end in self._spaces:
            if following >= end:
                continue
            last = bisect_left(at, end, first)
            part, size = bits[16 * first : 16 * last], end - start
            if last - first == size:
                found[name] = {"bits": part}
            elif _whole_is_shorter(last - first, size):
                found[name] = {"bits": _hex(now[start:end])}
            else:
                found[name] = {"places": [index - start for index in at[first:last]], "bits": part}
            first, following = last, at[last]
        return found


def _whole_is_shorter(changed: int, size: int) -> bool:
    """Whether an array takes less room than the indices and the numbers that have changed."""
    return size <= _FEW or _PLACED * changed + _WORD >= _ALONE * size


def _hex(numbers: npt.NDArray[np.int64]) -> str:
    """Bits in hexadecimal, lowest byte first."""
    return (numbers if _IS_LITTLE else numbers.astype(_LITTLE)).tobytes().hex()


def _difference(old: bytes, new: bytes) -> Change:
    """What of one array has changed."""
    after = np.frombuffer(new, np.int64)
    at = (np.frombuffer(old, np.int64) != after).nonzero()[0]
    if _whole_is_shorter(at.size, after.size):
        return {"bits": _hex(after)}
    return {"places": at.tolist(), "bits": _hex(after[at])}


def shapes_of(state: State) -> dict[str, list[int]]:
    """The shapes of the fields of a memory."""
    return {name: list(array.shape) for name, array in fields(state.own, kept=True).items()}


def check_layout(state: State, body: RoundRecord) -> None:
    """Refuse the log of a version that remembers something else."""
    if "layout" not in body:
        return
    shapes, stored = shapes_of(state), body["layout"]
    faults = [f"{name!r} is kept no more" for name in stored if name not in shapes]
    faults += [f"{name!r} is new" for name in shapes if name not in stored and name not in ADDED]
    faults += [
        f"{name!r} has shape {shapes[name]}, not {shape}"
        for name, shape in stored.items()
        if name in shapes and shapes[name] != shape
    ]
    if faults:
        raise StorageError(
            f"the log was written by a version of the policy that remembers something else: {'; '.join(faults)}"
        )


def extent_of(body: RoundRecord) -> float:
    """How much a round says, as the value of its record: see `mfbandit.storage._records`."""
    return CHECKPOINT if "state" in body else ALL_NOTES if "all" in body else CHANGES


def is_checkpoint(record: Sequence[Any]) -> bool:
    """Whether a round brings all statistics with it, from which one can go on without the rounds before."""
    extent: float = record[2]
    # Versions that wrote none of these values left it to the text.
    return extent == CHECKPOINT or (extent not in (CHANGES, ALL_NOTES) and '"state":' in (record[3] or ""))


def noted_in(records: Iterable[Sequence[Any]]) -> Iterator[RoundRecord]:
    """What rounds have noted; of older ones, those that have noted nothing are left out without being read."""
    for record in records:
        if record[2] in (CHANGES, ALL_NOTES) or any(word in (record[3] or "") for word in _NOTED):
            yield read_round(record[3])


_NOTED = ('"notes":', '"clock":', '"memory":')


def read_round(text: str | None) -> RoundRecord:
    """Read the text of a round's record."""
    try:
        body = json.loads(text or "")
        if isinstance(body["rows"], list):
            return body  # type: ignore[no-any-return]
    except (ValueError, KeyError, TypeError):
        pass
    raise StorageError(f"the log holds a round that cannot be read: {(text or '')[:60]!r}")


def apply_diff(state: State, body: RoundRecord) -> None:
    """Enter what another process noted when it planned a round."""
    apply_latest_diffs(state, [body])


def apply_latest_diffs(state: State, newest_first: Iterable[RoundRecord]) -> None:
    """Enter what was noted in many rounds; of each part only the changes since it was last written as a whole."""
    changes: dict[str, list[Any]] = {}
    complete: set[str] = set()
    for body in newest_first:
        for name, changed in _parts(body).items():
            if name not in complete:
                changes.setdefault(name, []).append(changed)
                if isinstance(changed, list) or "places" not in changed:
                    complete.add(name)
        if "all" in body:
            break
    for found in changes.values():
        found.reverse()
    for numbers in changes.pop("clock", []):
        enter_clock(state, numbers)
    if "notes" in changes:
        _patch_all(state.arm_flags, "notes", changes.pop("notes"))
    # Records of format 1, whose memory is one block, come before all others.
    enter_flat(state, changes.pop("", []))
    memory = fields(state.own) if changes else {}
    for name, found in changes.items():
        if name not in memory:
            raise StorageError(f"the log keeps {name!r}, which this version of the policy does not remember")
        _patch_all(memory[name], name, found)
    drop_unrecorded(state)


def _parts(body: RoundRecord) -> dict[str, Any]:
    """What a round noted, by the name of a part or of a field; the memory of format 1 has no name."""
    found: dict[str, Any] = {}
    if "notes" in body:
        found["notes"] = body["notes"]
    if "clock" in body:
        found["clock"] = body["clock"]
    memory = body.get("memory", {})
    return {**found, "": memory} if is_flat(memory) else {**found, **memory}


def _patch_all(array: Any, name: str, oldest_first: list[Any]) -> None:
    """Enter many changes of an array, of which only the first may say all of it."""
    if isinstance(oldest_first[0], list) or "places" not in oldest_first[0]:
        _patch(array, name, oldest_first.pop(0))
    if oldest_first:
        # All at once: where an index has changed several times, NumPy leaves the last number there.
        at = [index for changed in oldest_first for index in changed["places"]]
        _patch(array, name, {"places": at, "bits": "".join([changed["bits"] for changed in oldest_first])})


def _patch(array: Any, name: str, changed: Any) -> None:
    """Enter the changes of an array."""
    if isinstance(changed, list):
        array[:] = changed
        return
    bits = np.frombuffer(bytes.fromhex(changed["bits"]), "<i8")
    numbers = array.reshape(-1).view(np.int64)
    at = changed.get("places")
    if at is None and bits.size != numbers.size:
        raise StorageError(f"the log keeps {bits.size} numbers of {name!r}, this version of the policy {numbers.size}")
    if at and max(at) >= numbers.size:
        raise StorageError(f"the log keeps more than the {numbers.size} numbers of {name!r} that this version has")
    numbers[slice(None) if at is None else at] = bits


def dump_state(state: State) -> dict[str, Any]:
    """A whole state as JSON can say it."""
    plain: dict[str, Any] = {
        _STORED_AS.get(part, part): _numbers(getattr(state, part))
        for part in State._fields
        if isinstance(getattr(state, part), np.ndarray)
    }
    plain["own"] = {name: _numbers(array) for name, array in fields(state.own, kept=True).items()}
    return plain


def _numbers(array: Any) -> list[Any]:
    return [number if math.isfinite(number) else repr(number) for number in array.ravel().tolist()]


def load_state(state: State, plain: dict[str, Any]) -> None:
    """Enter a whole state."""
    for part, numbers in plain.items():
        if part == "own":
            memory = fields(state.own)
            for name, listed in numbers.items():
                memory[name].reshape(-1)[:] = [float(number) for number in listed]
        elif part == "memory":
            bits = np.array([float(number) for number in numbers]).view(np.int64).astype("<i8")
            enter_flat(state, [{"bits": bits.tobytes().hex()}])
        elif part == "clock":
            state.clock[:] = numbers[: state.clock.size]
            enter_clock(state, numbers[state.clock.size :])
        else:
            getattr(state, _FIELD_OF.get(part, part)).reshape(-1)[:] = [float(number) for number in numbers]
    drop_unrecorded(state)
