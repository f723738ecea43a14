"""The record of a round: its rows, and what `plan` noted, as JSON.

Only what changed since the round before is written, an algorithm's memory field by field under their names.
Numbers are exact. Those of a memory are written as their bits in hexadecimal, 16 digits each, lowest byte first,
which is much faster than decimal digits. The first round also says the shape of every field, so that a later
version can tell what it has changed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mfbandit.core import Ints, State
from mfbandit.errors import StorageError
from mfbandit.layout import fields
from mfbandit.study.flat_memory import FLAT_MARKS, drop_unrecorded, enter_clock, enter_flat, is_flat
from mfbandit.study.round import Row

__all__ = [
    "Notes",
    "apply_last_notes",
    "apply_notes",
    "check_layout",
    "dump_state",
    "load_state",
    "read_round",
    "read_rows",
    "write_layout",
    "write_round",
]


#: Up to here notes, and the fields of a memory, are written as a whole, which is short enough.
_SMALL, _FEW = 32, 2
#: Characters that a number takes alone and with its place, and the word for places.
_ALONE, _PLACED, _WORD = 16, 18, 12


class Notes:
    """What an algorithm had noted when it was last asked for a round, to tell what it has changed since."""

    __slots__ = ("known", "memory", "notes")

    def __init__(self, state: State) -> None:
        self.notes = state.notes.tobytes()
        self.memory = fields(state.own, kept=True)
        self.known = {name: array.tobytes() for name, array in self.memory.items()}

    def changes(self, state: State) -> str:
        """The changes since, as the inside of a JSON object; from now on they are known."""
        text = ""
        notes = state.notes.tobytes()
        if notes != self.notes:
            large = len(notes) > 8 * _SMALL
            text += f',"notes":{_differences(self.notes, notes) if large else _listed(state.notes.tolist())}'
            self.notes = notes
        changed = []
        for name, array in self.memory.items():
            now, before = array.tobytes(), self.known[name]
            if now != before:
                self.known[name] = now
                changed.append(f'"{name}":{_differences(before, now)}')
        return f'{text},"memory":{{{",".join(changed)}}}' if changed else text


def _differences(old: bytes, new: bytes) -> str:
    """What of an array has changed, as JSON: all of it, or the places and their numbers."""
    if len(new) > 8 * _FEW:
        # Bits are compared, since NaN differs from itself.
        after = np.frombuffer(new, np.int64)
        places = np.flatnonzero(np.frombuffer(old, np.int64) != after)
        if _PLACED * places.size + _WORD < _ALONE * after.size:
            return f'{{"places":{_listed(places.tolist())},"bits":"{after[places].astype("<i8").tobytes().hex()}"}}'
    return f'{{"bits":"{np.frombuffer(new, np.int64).astype("<i8").tobytes().hex()}"}}'


def _listed(numbers: list[Any]) -> str:
    """Numbers as JSON without blanks: a record that is exported and read back is the same to the letter."""
    return str(numbers).replace(" ", "")


def write_layout(state: State) -> str:
    """The shapes of the fields of a memory, as the inside of a JSON object."""
    shapes = {name: list(array.shape) for name, array in fields(state.own, kept=True).items()}
    return f',"layout":{json.dumps(shapes, separators=(",", ":"))}' if shapes else ""


def check_layout(state: State, body: dict[str, Any]) -> None:
    """Refuse the log of a version that remembers something else."""
    if "layout" not in body:
        return
    shapes = {name: list(array.shape) for name, array in fields(state.own, kept=True).items()}
    stored = body["layout"]
    if stored == shapes:
        return
    faults = [f"{name!r} is kept no more" for name in stored if name not in shapes]
    faults += [f"{name!r} is new" for name in shapes if name not in stored]
    faults += [
        f"{name!r} has shape {shapes[name]}, not {shape}"
        for name, shape in stored.items()
        if name in shapes and shapes[name] != shape
    ]
    raise StorageError(
        f"the log was written by a version of the policy that remembers something else: {'; '.join(faults)}"
    )


def _plain(value: float) -> float | str:
    return value if math.isfinite(value) else repr(value)


def write_round(rows: Sequence[Row], cut: bool, changes: str) -> str:
    """The text of a round's record."""
    listed = ",".join([f"[{row[0]},{row[1]},{row[2]}]" for row in rows])
    return f'{{"rows":[{listed}]{_CUT if cut else ""}{changes}}}'


_CUT = ',"cut":true'
_ROWS = '{"rows":[['


def read_round(text: str | None) -> dict[str, Any]:
    """Read the text of a round's record."""
    try:
        body = json.loads(text or "")
        if isinstance(body["rows"], list):
            return body  # type: ignore[no-any-return]
    except (ValueError, KeyError, TypeError):
        pass
    raise StorageError(f"the log holds a round that cannot be read: {(text or '')[:60]!r}")


def apply_notes(state: State, body: dict[str, Any]) -> None:
    """Enter what another process noted when it planned a round."""
    if "notes" in body:
        _patch(state.notes, "notes", body["notes"])
    if "clock" in body:
        enter_clock(state, body["clock"])
    if "memory" in body:
        if is_flat(body["memory"]):
            enter_flat(state, [body["memory"]])
        else:
            _enter_memory(state, body["memory"])
    drop_unrecorded(state)


def _enter_memory(state: State, changed: dict[str, Any]) -> None:
    memory = fields(state.own)
    for name, change in changed.items():
        if name not in memory:
            raise StorageError(f"the log keeps {name!r}, which this version of the policy does not remember")
        _patch(memory[name], name, change)


def _patch(array: Any, name: str, changed: Any) -> None:
    """Enter the changes of an array."""
    if isinstance(changed, list):
        array[:] = changed
        return
    bits = np.frombuffer(bytes.fromhex(changed["bits"]), "<i8")
    numbers = array.reshape(-1).view(np.int64)
    places = changed.get("places")
    if places is None and bits.size != numbers.size:
        raise StorageError(f"the log keeps {bits.size} numbers of {name!r}, this version of the policy {numbers.size}")
    if places and max(places) >= numbers.size:
        raise StorageError(f"the log keeps more than the {numbers.size} numbers of {name!r} that this version has")
    numbers[slice(None) if places is None else places] = bits


def apply_last_notes(state: State, texts: Sequence[str]) -> None:
    """Enter what was noted in many rounds, in turn; only the records that still count are read."""
    names = ["notes", "clock", *fields(state.own, kept=True)]
    marks = {name: (f'"{name}":',) for name in names} | {"": FLAT_MARKS}
    counting: dict[str, list[Any]] = {name: [] for name in marks}
    for text in reversed(texts):
        if not any(mark in text for several in marks.values() for mark in several):
            continue
        for name, changed in _parts(read_round(text)).items():
            if name in marks:
                counting[name].append(changed)
                if isinstance(changed, list) or "places" not in changed:
                    del marks[name]
        if not marks:
            break
    for name, changes in counting.items():
        changes.reverse()
        if name == "clock":
            for changed in changes:
                enter_clock(state, changed)
        elif name == "notes":
            for changed in changes:
                _patch(state.notes, name, changed)
    # Records of format 1, whose memory is one block, come before all others.
    enter_flat(state, counting.pop(""))
    for name in names[2:]:
        for changed in counting[name]:
            _enter_memory(state, {name: changed})
    drop_unrecorded(state)


def _parts(body: dict[str, Any]) -> dict[str, Any]:
    """What a round noted, by the name of a part or of a field; the memory of format 1 has no name."""
    found: dict[str, Any] = {part: body[part] for part in ("notes", "clock") if part in body}
    memory = body.get("memory", {})
    return {**found, "": memory} if is_flat(memory) else {**found, **memory}


def read_rows(texts: Sequence[str]) -> Ints:
    """All rows (arm, fidelity, count) of many rounds, one after the other."""
    if not all(text.startswith(_ROWS) for text in texts):
        rows = [row for text in texts for row in read_round(text)["rows"]]
        return np.array(rows, dtype=np.int64).reshape(-1, 3)
    # The numbers between the brackets, read at once: ten times as fast as to read every record.
    listed = ",".join([text[len(_ROWS) : text.index("]]")] for text in texts])
    plain = listed.replace("[", "").replace("]", "").split(",")
    try:
        return np.array(plain, dtype=np.int64).reshape(-1, 3)
    except ValueError:
        raise StorageError("the log holds a round that cannot be read") from None


def dump_state(state: State) -> str:
    """A whole state as JSON."""
    plain: dict[str, Any] = {
        part: _numbers(getattr(state, part)) for part in State._fields if isinstance(getattr(state, part), np.ndarray)
    }
    plain["own"] = {name: _numbers(array) for name, array in fields(state.own, kept=True).items()}
    return json.dumps(plain, separators=(",", ":"))


def _numbers(array: Any) -> list[Any]:
    return [_plain(number) for number in array.ravel().tolist()]


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
            getattr(state, part).reshape(-1)[:] = [float(number) for number in numbers]
    drop_unrecorded(state)
