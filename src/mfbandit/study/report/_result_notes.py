"""The notes that came with results, by whoever told them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from mfbandit.storage import RESULT, kept_records

if TYPE_CHECKING:
    from mfbandit.study._study import Study

__all__ = ["ResultWithNote", "results_with_notes"]


class ResultWithNote(NamedTuple):
    """A result with a note."""

    pull: int
    reward: float
    note: str


def results_with_notes(study: Study) -> list[ResultWithNote]:
    """The results of a study that have a note, in the order in which they came.

    Examples
    --------
    >>> import mfbandit as mf
    >>> study = mf.create_study(mf.Problem(["a", "b"], [("exact", 1.0)]))
    >>> study.tell(study.ask()[0], 0.5, note="by hand")
    True
    >>> results_with_notes(study)
    [ResultWithNote(pull=0, reward=0.5, note='by hand')]
    """
    records = kept_records(study.storage.log(study.name))
    told = ((record, _note(record.text)) for record in records if record.kind == RESULT and record.text)
    return [ResultWithNote(record.pull, record.value, note) for record, note in told if note]


def _note(text: str | None) -> str:
    try:
        found: Any = json.loads(text or "")
    except ValueError:
        return ""
    note = found.get("note") if isinstance(found, dict) else None
    return note if isinstance(note, str) else ""
