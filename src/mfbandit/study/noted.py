"""The record of a round: its rows, and what `plan` noted, as JSON.

Only what changed since the round before is written. Numbers are exact: JSON keeps every digit of a float,
and the few that are not finite are written as words.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mfbandit.core import OWN, State
from mfbandit.errors import StorageError

__all__ = ["Notes", "apply_notes", "dump_state", "load_state", "read_round", "write_round"]



class Notes:
    """What an algorithm had noted before it planned a round, to tell what it changed."""

    __slots__ = ("clock", "memory", "notes")

    def __init__(self, state: State) -> None:
        self.notes = state.notes.tobytes()
        self.clock = state.clock[OWN:].tobytes()
        self.memory = state.memory.copy()

    def changes(self, state: State) -> str:
        """The changes since, as the inside of a JSON object."""
        text = ""
        if state.notes.tobytes() != self.notes:
            text += f',"notes":{state.notes.tolist()}'
        if state.clock[OWN:].tobytes() != self.clock:
            text += f',"clock":{state.clock[OWN:].tolist()}'
        if state.memory.tobytes() != self.memory.tobytes():
            changed = np.flatnonzero(state.memory.view(np.int64) != self.memory.view(np.int64)).tolist()
            new = {str(place): _plain(float(state.memory[place])) for place in changed}
            text += f',"memory":{json.dumps(new)}'
        return text


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
