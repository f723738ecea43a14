"""Records: what the log of a study is made of, and the small interface of what keeps it.

The log of a study is a list of records that only grows. Everything a study knows is a fold of it. Pulls
are numbered in the order in which they were asked for, so a record says which pull it is about by one
whole number::

    ROUND    pull = number of its first pull   value = how much it says: CHANGES, ALL_NOTES or CHECKPOINT
                                               text = its rows and what `plan` noted (JSON)
    LEASE    pull                              value = until when it is handed out, 0 if taken back
                                               text = for how many seconds, and which process has it; after
                                               the result how long it took and who did it, if told (JSON)
    RESULT   pull                              value = its reward
                                               text = what it cost and a note, where that was told (JSON)
    FAILURE  pull                              value = what the attempt cost, 0 if that was not told
                                               text = why it failed; the last one that is allowed may mean,
                                               by the study's settings, that the pull has no reward
    RETRY    pull                              its failures are forgiven
    SETTING  pull = number of pulls asked for  text = settings that hold from now on (JSON), and how many pulls had
                                               counted where others were out
                                               value = 1 if no pull has this number: the study had ended with a
                                               round that has it and no pulls

A storage keeps headers (JSON: the settings of a study, by name) and logs. Writing is one operation:
`Log.exchange` shows the caller what others have written and appends what the caller decides, as one step
that nobody can come between. That is all that a study needs to be shared by any number of processes.
"""

from __future__ import annotations

import json
import json.encoder
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from mfbandit.errors import StorageError

__all__ = [
    "ALL_NOTES",
    "CHANGES",
    "CHECKPOINT",
    "FAILURE",
    "KINDS",
    "LEASE",
    "RESULT",
    "RETRY",
    "ROUND",
    "SETTING",
    "Decide",
    "Interrupted",
    "Log",
    "LogChanged",
    "Record",
    "Storage",
    "json_text",
    "kept_records",
]

ROUND, LEASE, RESULT, FAILURE, RETRY, SETTING = 0, 1, 2, 3, 4, 5
#: How much a round says of what its algorithm noted: what has changed, all of it, or all of it and all statistics.
#: Older versions wrote 0.
CHANGES, ALL_NOTES, CHECKPOINT = 1.0, 2.0, 3.0
#: Names of the kinds, as they appear in exported files.
KINDS = ("round", "lease", "result", "failure", "retry", "setting")


class Interrupted(StorageError):
    """A step was cut off, and may or may not have been written: read the log, then decide again.

    `position` and `records` say what was to be written, and where, if it was decided already.
    """

    position: int = 0
    records: Sequence[Record] = ()


class LogChanged(Interrupted):
    """The log no longer holds what was read from it: its end was lost, so read all of it again."""


class Record(NamedTuple):
    """One entry of a log."""

    kind: int
    pull: int
    value: float = 0.0
    text: str | None = None


def _json_writer() -> Callable[[Any], str]:
    """Make what writes the JSON of a record.

    `JSONEncoder.encode` prepares itself anew for every text, which takes as long as to write a short one. What it
    prepares is kept, on a Python that has it in this form.
    """
    encoder = json.JSONEncoder(separators=(",", ":"), check_circular=False)
    try:
        prepared = json.encoder.c_make_encoder(  # type: ignore[attr-defined]
            None, encoder.default, json.encoder.encode_basestring_ascii, None, ":", ",", False, False, True
        )
        prepared({"rows": [[0, 1]]}, 0)
    except (AttributeError, TypeError):
        return encoder.encode
    return lambda value: "".join(prepared(value, 0))


#: Writes JSON without blanks: a record that is exported and read back is the same to the letter.
json_text = _json_writer()

#: Gets the records that are new to the caller and a clock; returns the records to append.
Decide = Callable[[Sequence[Record], Callable[[], float]], Sequence[Record]]


class Log(Protocol):
    """The log of one study."""

    def read(self, after: int) -> Sequence[Record]:
        """The records from position `after` on."""

    def past(self) -> tuple[int, Sequence[Record], Sequence[Record]]:
        """Everything, for whoever opens the study.

        Returns
        -------
        length : int
            How many records the log has.
        finished : sequence of Record
            The records before the last round, in order, without leases.
        current : sequence of Record
            All records from the last round on.
        """

    def exchange(self, after: int, decide: Decide, *, safe: bool) -> int:
        """Show `decide` what is new from position `after` on, and append what it returns, as one step.

        Parameters
        ----------
        after : int
            How many records the caller knows.
        decide : callable
            Called with the new records and a clock, which gives the time in seconds and is the same for
            all writers; returns records to append. If it raises, nothing is appended.
        safe : bool
            Whether the records must survive a loss of power.

        Returns
        -------
        int
            The length of the log afterwards.

        Raises
        ------
        LogChanged
            If the log no longer holds what was read from it before, as after a crash of a server.
        """

    def digest(self, length: int) -> str:
        """The digest of the first `length` records: see `mfbandit.storage._log_digest`."""


def kept_records(log: Log) -> Iterator[Record]:
    """The records of a log, in order, without leases."""
    _, finished, current = log.past()
    for record in (*finished, *current):
        if record[0] != LEASE:
            yield Record(*record)


class Storage(Protocol):
    """Keeps studies."""

    url: str
    """How another process opens it; empty when none can."""

    def create(self, name: str, header: str, records: Sequence[Record] = ()) -> bool:
        """Add a study with these records, all of it or nothing; False if the name is taken."""

    def headers(self) -> dict[str, str]:
        """The header of every study, by name, oldest first."""

    def log(self, name: str) -> Log:
        """The log of a study."""

    def close(self) -> None:
        """Let go of files and connections."""
