"""The record of a round: its rows, and what `plan` noted, as JSON.

Only what changed since the round before is written. Numbers are exact: JSON keeps every digit of a float,
and the few that are not finite are written as words.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from mfbandit.core import OWN, State
from mfbandit.errors import StorageError

__all__ = ["Notes", "apply_notes", "dump_state", "load_state", "read_round", "write_round"]



#: Up to here a loop is faster than NumPy.
_SMALL = 64


class Notes:
    """What an algorithm had noted when it was last asked for a round, to tell what it has changed since."""

    __slots__ = ("clock", "memory", "notes")

    def __init__(self, state: State) -> None:
        self.notes = state.notes.tobytes()
        self.clock = state.clock[OWN:].tobytes()
        self.memory = state.memory.tobytes()

    def changes(self, state: State) -> str:
        """The changes since, as the inside of a JSON object; from now on they are known."""
        text = ""
        notes, clock, memory = state.notes.tobytes(), state.clock[OWN:].tobytes(), state.memory.tobytes()
        if notes != self.notes:
            text += f',"notes":{state.notes.tolist()}'
            self.notes = notes
        if clock != self.clock:
            text += f',"clock":{state.clock[OWN:].tolist()}'
            self.clock = clock
        if memory != self.memory:
            text += f',"memory":{{{_differences(self.memory, memory)}}}'
            self.memory = memory
        return text


def _differences(old: bytes, new: bytes) -> str:
    """The numbers that changed, by place, as the inside of a JSON object."""
    # Bits are compared, since NaN differs from itself.
    count = len(new) // 8
    if count <= _SMALL:
        before, after = struct.unpack(f"{count}q", old), struct.unpack(f"{count}q", new)
        changed = [place for place in range(count) if before[place] != after[place]]
    else:
        changed = np.flatnonzero(np.frombuffer(old, np.int64) != np.frombuffer(new, np.int64)).tolist()
    numbers = struct.unpack(f"{count}d", new)
    return ",".join([f'"{place}":{_json(numbers[place])}' for place in changed])


def _json(value: float) -> str:
    return repr(value) if math.isfinite(value) else f'"{value!r}"'


def _plain(value: float) -> float | str:
    return value if math.isfinite(value) else repr(value)


def write_round(rows: Sequence[tuple[int, int, int]], cut: bool, changes: str) -> str:
    """The text of a round's record."""
    listed = ",".join([f"[{arm},{fidelity},{count}]" for arm, fidelity, count in rows])
    return f'{{"rows":[{listed}]{_CUT if cut else ""}{changes}}}'


_CUT = ',"cut":true'


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
    for place, value in body.get("memory", {}).items():
        state.memory[int(place)] = float(value)


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
