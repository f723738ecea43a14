"""Studies kept in memory: for tests, simulations and anything that need not survive the process."""

from __future__ import annotations

import threading
import time
from array import array
from collections.abc import Sequence

from mfbandit.errors import StorageError
from mfbandit.storage._log_digest import LogDigest
from mfbandit.storage._records import LEASE, ROUND, Decide, Record

__all__ = ["MemoryLog", "MemoryStorage"]


class MemoryLog:
    """The log of one study, one array per column: small, and nothing that Python's collector searches."""

    def __init__(self) -> None:
        self._kinds = bytearray()
        self._pulls = array("q")
        self._values = array("d")
        self._texts: dict[int, str] = {}
        self._lock = threading.Lock()
        #: The digest of the first so many records, as far as somebody wanted to know.
        self._digest, self._digested = LogDigest(), 0

    def read(self, after: int) -> Sequence[Record]:
        """The records from position `after` on."""
        if len(self._kinds) <= after:
            return ()
        with self._lock:
            return self._between(after, len(self._kinds))

    def past(self) -> tuple[int, Sequence[Record], Sequence[Record]]:
        """Everything: the length, the records before the last round, the records from it on."""
        with self._lock:
            length = len(self._kinds)
            start = max(0, self._kinds.rfind(ROUND))
            finished = [record for record in self._between(0, start) if record.kind != LEASE]
            return length, finished, self._between(start, length)

    def exchange(self, after: int, decide: Decide, *, safe: bool) -> int:
        """Show `decide` what is new, and append what it returns, as one step."""
        with self._lock:
            length = len(self._kinds)
            news = self._between(after, length) if length > after else ()
            for kind, pull, value, text in decide(news, time.time):
                if text is not None:
                    self._texts[len(self._kinds)] = text
                self._pulls.append(pull)
                self._values.append(value)
                self._kinds.append(kind)
            return len(self._kinds)

    def digest(self, length: int) -> str:
        """The digest of the first `length` records."""
        with self._lock:
            if length < self._digested:
                self._digest, self._digested = LogDigest(), 0
            self._digest.add(self._between(self._digested, length))
            self._digested = length
            return self._digest.hex()

    def _between(self, start: int, end: int) -> list[Record]:
        text = self._texts.get
        columns = zip(self._kinds[start:end], self._pulls[start:end], self._values[start:end], strict=True)
        return [Record(*row, text(start + index)) for index, row in enumerate(columns)]


class MemoryStorage:
    """Studies that live as long as this object.

    Examples
    --------
    >>> storage = MemoryStorage()
    >>> storage.create("mine", "{}"), storage.create("mine", "{}"), list(storage.headers())
    (True, False, ['mine'])
    """

    url = ""

    def __init__(self) -> None:
        self._headers: dict[str, str] = {}
        self._logs: dict[str, MemoryLog] = {}
        self._lock = threading.Lock()

    def create(self, name: str, header: str, records: Sequence[Record] = ()) -> bool:
        """Add a study with these records, all of it or nothing; False if the name is taken."""
        with self._lock:
            if name in self._headers:
                return False
            log = MemoryLog()
            log.exchange(0, lambda news, clock: records, safe=True)
            self._logs[name] = log
            self._headers[name] = header
            return True

    def headers(self) -> dict[str, str]:
        """The header of every study, by name, oldest first."""
        return dict(self._headers)

    def log(self, name: str) -> MemoryLog:
        """The log of a study."""
        try:
            return self._logs[name]
        except KeyError:
            raise StorageError(f"no study is named {name!r} in this storage") from None

    def close(self) -> None:
        """Nothing to let go of."""
