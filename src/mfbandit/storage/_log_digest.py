r"""The digest of a log: one number that changes when any record that counts does.

It is the SHA-256 of the lines that an export of the study has after its first one. So it can be had from an
exported file without this package::

    tail -n +2 study.jsonl | grep -v '^{"kind": "work"' | sha256sum

Leases are no part of it: they say who works on what and who did it, not what came out.

A database keeps, with the last record of each step, the first eight bytes of the digest up to there (its
seal). Records that were changed, swapped or left out no longer agree with the next seal.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from mfbandit.storage._records import FAILURE, KINDS, LEASE, RESULT, ROUND, SETTING, Log, Record

__all__ = ["LogDigest", "digest_of", "record_line", "text_seal"]

#: The first eight bytes of a digest as a whole number that every database holds.
_first_number: Callable[[bytes], tuple[int]] = struct.Struct(">q").unpack_from


def record_line(kind: int, pull: int, value: float, text: str | None) -> str:
    r"""A record as the line of JSON that an export has for it.

    Examples
    --------
    >>> record_line(RESULT, 7, 0.5, None)
    '{"kind": "result", "pull": 7, "reward": 0.5}\n'
    >>> record_line(RESULT, 7, 0.5, '{"cost":0.25}')
    '{"kind": "result", "pull": 7, "reward": 0.5, "cost":0.25}\n'
    >>> record_line(ROUND, 8, 0.0, '{"rows":[[0,0,1]]}')
    '{"kind": "round", "pull": 8, "rows":[[0,0,1]]}\n'
    """
    if kind == RESULT:
        # SQLite has no zero below zero: what is written must be what is read.
        return f'{{"kind": "result", "pull": {pull}, "reward": {value + 0.0!r}{_more(text)}\n'
    if kind == ROUND:
        return f'{{"kind": "round", "pull": {pull}{_more(text)}\n'
    if kind == SETTING:
        skips = ', "skips": true' if value else ""
        return f'{{"kind": "setting", "pull": {pull}{skips}, {(text or "{}").strip()[1:]}\n'
    said = f', "reason": {json.dumps(text)}' if kind == FAILURE else ""
    said += f', "cost": {value!r}' if kind == FAILURE and value else ""
    name = KINDS[kind] if 0 <= kind < len(KINDS) else kind
    return f'{{"kind": "{name}", "pull": {pull}{said}}}\n'


def _more(text: str | None) -> str:
    """The rest of a line, from what the text of a record says in JSON."""
    inside = (text or "{}").strip()[1:]
    return f"{', ' if inside != '}' else ''}{inside}"


def _text_of(records: Iterable[Sequence[Any]]) -> bytes:
    """The lines of all records that count."""
    # Most are results, and to call a function takes as long as to write one.
    lines = [
        f'{{"kind": "result", "pull": {pull}, "reward": {value + 0.0!r}}}\n'
        if kind == RESULT and text is None
        else record_line(kind, pull, value, text)
        for kind, pull, value, text in records
        if kind != LEASE
    ]
    return "".join(lines).encode("utf-8", "surrogatepass")


class LogDigest:
    """The digest of a log that grows.

    Examples
    --------
    >>> from mfbandit.storage import Record
    >>> digest = LogDigest()
    >>> digest.add([Record(RESULT, 0, 0.5), Record(LEASE, 1, 9.0)])
    >>> digest.hex()[:16], digest.seal()
    ('fd7a0bb3bd93e522', -181819968347445982)
    """

    __slots__ = ("_hash",)

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, records: Iterable[Sequence[Any]]) -> None:
        """Go on with records: tuples of kind, pull, value and text."""
        self._hash.update(_text_of(records))

    def sealed(self, records: Iterable[Record]) -> tuple[LogDigest, int]:
        """Another one that has also seen these records, and its seal."""
        twin = LogDigest.__new__(LogDigest)
        twin._hash = digest = self._hash.copy()
        digest.update(_text_of(records))
        return twin, _first_number(digest.digest())[0]

    def copy(self) -> LogDigest:
        """Another one that has seen the same."""
        twin = LogDigest.__new__(LogDigest)
        twin._hash = self._hash.copy()
        return twin

    def hex(self) -> str:
        """The digest, as 64 hexadecimal digits."""
        return self._hash.hexdigest()

    def seal(self) -> int:
        """Its first eight bytes, as a whole number that every database holds."""
        return _first_number(self._hash.digest())[0]


def text_seal(text: str) -> int:
    """The seal of a text, such as the header of a study."""
    return _first_number(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())[0]


def digest_of(log: Log, length: int) -> str:
    """The digest of the first `length` records of a log."""
    if hasattr(log, "digest"):
        return str(log.digest(length))
    digest = LogDigest()
    digest.add(log.read(0)[:length])
    return digest.hex()
