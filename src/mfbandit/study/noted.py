"""The record of a round: its rows, and what `plan` noted, as JSON.

Only what changed since the round before is written. Numbers are exact. Those of an algorithm's memory, which
mean nothing to anybody else, are written as their bits in hexadecimal, 16 digits each, lowest byte first,
which is much faster than decimal digits.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mfbandit.core import OWN, Ints, State
from mfbandit.errors import StorageError
from mfbandit.study.round import Row

__all__ = [
    "Notes",
    "apply_last_notes",
    "apply_notes",
    "dump_state",
    "load_state",
    "read_round",
    "read_rows",
    "write_round",
]


#: Up to here notes and a memory are written as a whole, which is shorter than to say what changed.
_SMALL = 32


class Notes:
    """What an algorithm had noted when it was last asked for a round, to tell what it has changed since.

    A memory that is `derived` from the rest of the state is left out.
    """

    __slots__ = ("clock", "derived", "memory", "notes")

    def __init__(self, state: State, derived: bool) -> None:
        self.derived = derived
        self.notes = state.notes.tobytes()
        self.clock = state.clock[OWN:].tobytes()
        self.memory = b"" if derived else state.memory.tobytes()

    def changes(self, state: State) -> str:
        """The changes since, as the inside of a JSON object; from now on they are known."""
        text = ""
        notes, clock = state.notes.tobytes(), state.clock[OWN:].tobytes()
        memory = b"" if self.derived else state.memory.tobytes()
        if notes != self.notes:
            large = len(notes) > 8 * _SMALL
            text += f',"notes":{_differences(self.notes, notes) if large else _listed(state.notes.tolist())}'
            self.notes = notes
        if clock != self.clock:
            text += f',"clock":{_listed(state.clock[OWN:].tolist())}'
            self.clock = clock
        if memory != self.memory:
            text += f',"memory":{_differences(self.memory, memory)}'
            self.memory = memory
        return text


def _differences(old: bytes, new: bytes) -> str:
    """What of a memory or of notes has changed, as JSON: all of it, or the places and their numbers."""
    if len(new) > 8 * _SMALL:
        # Bits are compared, since NaN differs from itself.
        after = np.frombuffer(new, np.int64)
        places = np.flatnonzero(np.frombuffer(old, np.int64) != after)
        if 3 * places.size < after.size:
            return f'{{"places":{_listed(places.tolist())},"bits":"{after[places].astype("<i8").tobytes().hex()}"}}'
    return f'{{"bits":"{np.frombuffer(new, np.int64).astype("<i8").tobytes().hex()}"}}'


def _listed(numbers: list[Any]) -> str:
    """Numbers as JSON without blanks: a record that is exported and read back is the same to the letter."""
    return str(numbers).replace(" ", "")


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
    if "clock" in body:
        state.clock[OWN:] = body["clock"]
    for part in ("notes", "memory"):
        if part in body:
            changed, array = body[part], getattr(state, part)
            if isinstance(changed, list):
                array[:] = changed
            else:
                bits = np.frombuffer(bytes.fromhex(changed["bits"]), "<i8")
                array.view(np.int64)[changed.get("places", slice(None))] = bits


def apply_last_notes(state: State, texts: Sequence[str]) -> None:
    """Enter what was noted in many rounds, in turn; only the records that still count are read."""
    for part in ("clock", "notes", "memory"):
        counting = []
        for text in reversed(texts):
            if f'"{part}":' in text:
                counting.append(read_round(text)[part])
                if isinstance(counting[-1], list) or "places" not in counting[-1]:
                    break
        for changed in reversed(counting):
            apply_notes(state, {part: changed})


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
    return json.dumps(
        {part: [_plain(number) for number in getattr(state, part).ravel().tolist()] for part in State._fields},
        separators=(",", ":"),
    )


def load_state(state: State, plain: dict[str, Any]) -> None:
    """Enter a whole state."""
    for part, numbers in plain.items():
        array = getattr(state, part)
        array.ravel()[:] = [float(number) for number in numbers]
