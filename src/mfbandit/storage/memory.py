"""Studies kept in memory: for tests, simulations and anything that need not survive the process."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from mfbandit.errors import StorageError
from mfbandit.storage.records import LEASE, ROUND, Decide, Record

__all__ = ["MemoryLog", "MemoryStorage"]


class MemoryLog:
    """The log of one study as a list."""

    def __init__(self) -> None:
        self._records: list[Record] = []
        self._lock = threading.Lock()

    def read(self, after: int) -> Sequence[Record]:
        """The records from position `after` on."""
        return self._records[after:] if len(self._records) > after else ()

    def past(self) -> tuple[int, Sequence[Record], Sequence[Record]]:
        """Everything: the length, the records before the last round, the records from it on."""
        records = list(self._records)
        start = len(records)
        while start > 0:
            start -= 1
            if records[start].kind == ROUND:
                break
        settled = [record for record in records[:start] if record.kind != LEASE]
        return len(records), settled, records[start:]

    def exchange(self, after: int, decide: Decide, *, safe: bool) -> int:
        """Show `decide` what is new, and append what it returns, as one step."""
        records = self._records
        with self._lock:
            news = records[after:] if len(records) > after else ()
            records.extend(decide(news, time.time))
            return len(records)


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

    def create(self, name: str, header: str) -> bool:
        """Add a study with an empty log; False if the name is taken."""
        with self._lock:
            if name in self._headers:
                return False
            self._logs[name] = MemoryLog()
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
