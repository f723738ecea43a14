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


#: Up to here a memory is written as a whole, which is shorter than to say what changed.
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
            text += f',"notes":{state.notes.tolist()}'
            self.notes = notes
        if clock != self.clock:
            text += f',"clock":{state.clock[OWN:].tolist()}'
            self.clock = clock
        if memory != self.memory:
            text += f',"memory":{_differences(self.memory, memory)}'
            self.memory = memory
        return text


def _differences(old: bytes, new: bytes) -> str:
    """What of a memory has changed, as JSON: all of it, or the places and their numbers."""
    if len(new) > 8 * _SMALL:
        # Bits are compared, since NaN differs from itself.
        after = np.frombuffer(new, np.int64)
        places = np.flatnonzero(np.frombuffer(old, np.int64) != after)
        if 3 * places.size < after.size:
            return f'{{"places":{places.tolist()},"bits":"{after[places].astype("<i8").tobytes().hex()}"}}'
    return f'{{"bits":"{np.frombuffer(new, np.int64).astype("<i8").tobytes().hex()}"}}'


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
        state.notes[:] = body["notes"]
    if "clock" in body:
        state.clock[OWN:] = body["clock"]
    if "memory" in body:
        changed = body["memory"]
        bits = np.frombuffer(bytes.fromhex(changed["bits"]), "<i8")
        state.memory.view(np.int64)[changed.get("places", slice(None))] = bits


def apply_last_notes(state: State, texts: Sequence[str]) -> None:
    """Enter what was noted in many rounds, in turn; only the records that still count are read."""
    for part in ("notes", "clock"):
        last = next((text for text in reversed(texts) if f'"{part}":' in text), None)
        if last is not None:
            apply_notes(state, {part: read_round(last)[part]})
    memories = []
    for text in reversed(texts):
        if '"memory":' in text:
            memories.append(read_round(text)["memory"])
            if "places" not in memories[-1]:
                break
    for memory in reversed(memories):
        apply_notes(state, {"memory": memory})


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
        {part: [_plain(number) for number in getattr(state, part).ravel().tolist()] for part in State._fields}
    )


def load_state(state: State, plain: dict[str, Any]) -> None:
    """Enter a whole state."""
    for part in State._fields:
        array = getattr(state, part)
        array.ravel()[:] = [float(number) for number in plain[part]]
