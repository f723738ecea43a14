"""The log of one study in a database.

What was read or written before must still be there at the next step: a server that crashed may have lost the
end of its log, and other processes may have written on from what was left. So each step looks first whether
the last record it knows is the same. Should it not be, nothing is written, and the study is read again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from mfbandit.errors import StorageError
from mfbandit.storage._log_digest import LogDigest
from mfbandit.storage._records import LEASE, RESULT, ROUND, Decide, Interrupted, LogChanged, Record

if TYPE_CHECKING:
    from mfbandit.storage._sql import SQLStorage

__all__ = ["SQLLog"]

#: Rows that are written by one statement, which is one message to a server.
_AT_ONCE = 100
#: A row of the log: position, kind, pull, value, text, seal.
Row = Sequence[Any]


class LogTotals(NamedTuple):
    """Rounds and results of a log as they stand, unchecked."""

    rounds: Sequence[tuple[int, str | None]]
    """The first pull of each, and its text."""
    results: Sequence[tuple[int, float]]
    """The pull of each, and its reward."""
    is_plain: bool
    """Whether nothing else counts, and results have rewards only."""


class SQLLog:
    """The log of one study in a database."""

    def __init__(self, storage: SQLStorage, number: int, name: str) -> None:
        self._storage = storage
        self._number = number
        self._name = name
        #: How many records are known, the last of them, and the digest of them all.
        self._known = 0
        self._last: Row | None = None
        self._digest = LogDigest()
        #: Which connection the last step was done on, and its version of the database afterwards; None: not known.
        self._version: tuple[int, int, int] | None = None
        mark = storage.dialect.mark
        table = f"FROM mfbandit_log WHERE study = {int(number)} AND"
        self._select = f"SELECT position, kind, pull, value, text, seal {table} position >= {mark} ORDER BY position"
        kept = f"{table} kind <> {LEASE} AND position < {mark}"
        self._select_kept = f"SELECT kind, pull, value, text {kept} ORDER BY position"
        self._count_kept = f"SELECT count(*) {kept}"
        self._select_last = f"SELECT position, text {table} kind = {ROUND} ORDER BY position DESC LIMIT 1"
        self._select_round = f"SELECT position {table} kind = {ROUND} AND pull <= {mark} ORDER BY position DESC LIMIT 1"
        self._select_seal = (
            f"SELECT position, seal {table} seal IS NOT NULL AND position < {mark} ORDER BY position DESC LIMIT 1"
        )
        # The index has its own copy of where rounds and results are.
        self._count_indexed = (
            f"SELECT count(*) FROM mfbandit_log INDEXED BY mfbandit_once WHERE study = {int(number)} "
            f"AND kind IN ({ROUND}, {RESULT}) AND position >= {mark}"
        )
        self._select_end = f"SELECT position {table} position >= 0 ORDER BY position DESC LIMIT 1"
        self._select_rounds = f"SELECT pull, text {table} kind = {ROUND} ORDER BY position"
        self._select_results = f"SELECT pull, value {table} kind = {RESULT}"
        more = f"kind NOT IN ({ROUND}, {LEASE}) AND (kind <> {RESULT} OR text IS NOT NULL)"
        self._select_more = f"SELECT 1 {table} {more} LIMIT 1"
        self._insert = "INSERT INTO mfbandit_log (study, position, kind, pull, value, text, seal) VALUES "
        self._values = f"({int(number)}, {', '.join([mark] * 6)})"
        self._insert_one = self._insert + self._values
        self._insert_two = f"{self._insert_one}, {self._values}"

    def read(self, after: int) -> Sequence[Record]:
        """The records from position `after` on."""
        if after == self._known:
            return self._storage.with_retry(lambda connection: self._news(self._storage.driver))
        # Somebody looks something up: what this object knows stays as it is.
        rows = self._storage.with_retry(lambda connection: self._rows(self._storage.driver, after))
        return [Record(*row[1:5]) for row in rows]

    def past(self) -> tuple[int, Sequence[Record], Sequence[Record]]:
        """Everything: the length, the records before the last round, the records from it on."""
        return self._storage.with_retry(lambda connection: self._past(self._storage.driver, None))

    def past_from(self, first: Callable[[str | None], int]) -> tuple[int, Sequence[Record], Sequence[Record]]:
        """The same, split at the round that planned a pull; `first` names that pull by the last round's text."""
        return self._storage.with_retry(lambda connection: self._past(self._storage.driver, first))

    def totals(self, least: int) -> LogTotals | None:
        """Rounds and results, much faster than to read and check everything; None if there are fewer records."""
        return self._storage.with_retry(lambda connection: self._totals(self._storage.driver, least))

    def exchange(self, after: int, decide: Decide, *, safe: bool) -> int:
        """Show `decide` what is new, and append what it returns, as one step."""
        return self._storage.with_retry(lambda connection: self._step(after, decide, safe))

    def _step(self, after: int, decide: Decide, safe: bool) -> int:
        """Do what `exchange` does, once."""
        storage = self._storage
        dialect, driver = storage.dialect, storage.driver
        dialect.begin(driver, self._number, safe)
        if after != self._known:
            self._start_from(driver, after)
            self._version = None
        version = dialect.version(driver)
        unchanged = version is not None and (storage.connections, *version) == self._version
        news: list[Record] = [] if unchanged else self._news(driver)
        length = self._known
        records: Sequence[Record] = ()
        self._version = None
        try:
            records = decide(news, lambda: dialect.now(driver))
            if not records:
                driver.execute("ROLLBACK")
                return length
            rows, digest = _sealed(length, records, self._digest)
            self._append(driver, rows)
            dialect.commit(driver)
        except dialect.errors as error:
            # The caller may have decided already: only the caller can try again.
            storage.drop_connection()
            if not dialect.is_transient(error, True):
                raise StorageError(dialect.explain(error)) from error
            cut_off = Interrupted(dialect.explain(error))
            cut_off.position, cut_off.records = length, records
            raise cut_off from error
        self._known, self._last, self._digest = length + len(rows), rows[-1], digest
        if version is not None:
            # Commits of its own do not change what a connection says of others'.
            self._version = storage.connections, version[0], driver.total_changes
        return self._known

    def begin_with(self, driver: Any, records: Sequence[Record]) -> None:
        """Write the first records of a new study, within the step that makes it."""
        self._append(driver, _sealed(0, records, LogDigest())[0])

    def digest(self, length: int) -> str:
        """The digest of the first `length` records."""
        if length == self._known:
            return self._digest.hex()
        kept = self._storage.with_retry(
            lambda connection: self._storage.driver.execute(self._select_kept, (length,)).fetchall()
        )
        digest = LogDigest()
        digest.add(kept)
        return digest.hex()

    def _rows(self, driver: Any, after: int) -> list[Row]:
        return driver.execute(self._select, (after,)).fetchall()  # type: ignore[no-any-return]

    def _news(self, driver: Any) -> list[Record]:
        """What was written since this object last looked; raises LogChanged if that is no longer there."""
        known = self._known
        rows = self._rows(driver, known - 1 if known else 0)
        if len(rows) == 1 and known and tuple(rows[0]) == self._last:
            return []  # as at most steps: nothing is new
        if not all(map(_is_record, rows)):
            raise self._damaged()
        if known:
            if not rows or tuple(rows[0]) != tuple(self._last or ()):
                raise self._changed("the last record that was read is not there any more")
            rows = rows[1:]
        if rows:
            # The positions of records are unique and in order: if the last one is right, there is no hole.
            if rows[-1][0] != known + len(rows) - 1:
                raise self._changed("a record is missing")
            if not self._agrees(rows):
                raise self._changed("the new records do not agree with their checksum")
            self._known, self._last = known + len(rows), rows[-1]
        return [Record(*row[1:5]) for row in rows]

    def _agrees(self, rows: Sequence[Row]) -> bool:
        """Go on with the digest by rows; returns whether they agree with their last seal."""
        sealed = [index for index, row in enumerate(rows) if row[5] is not None]
        end = sealed[-1] + 1 if sealed else 0
        digest = self._digest.copy()
        digest.add([row[1:5] for row in rows[:end]])
        if sealed and digest.seal() != rows[end - 1][5]:
            return False
        digest.add([row[1:5] for row in rows[end:]])
        self._digest = digest
        return True

    def _past(
        self, driver: Any, first: Callable[[str | None], int] | None
    ) -> tuple[int, Sequence[Record], Sequence[Record]]:
        last = driver.execute(self._select_last).fetchone()
        if last is not None and first is not None:
            last = driver.execute(self._select_round, (first(last[1]),)).fetchone()
        start = 0 if last is None else int(last[0])
        # What follows the last round may grow in the meantime; what comes before it cannot.
        rows = self._rows(driver, start)
        finished = driver.execute(self._select_kept, (start,)).fetchall()
        try:
            self._check_finished(driver, start, finished, any(row[5] is not None for row in rows))
        except (TypeError, ValueError) as error:  # a text where there should be a number
            raise self._damaged() from error
        if not all(map(_is_record, rows)) or not self._agrees(rows):
            raise self._damaged()
        # Logs that older versions wrote may have holes, which do no harm.
        self._known = int(rows[-1][0]) + 1 if rows else 0
        self._last = rows[-1] if rows else None
        self._check_end(driver)
        return self._known, finished, [Record(*row[1:5]) for row in rows]

    def _totals(self, driver: Any, least: int) -> LogTotals | None:
        end = driver.execute(self._select_end).fetchone()
        if end is None or int(end[0]) < least:
            return None
        # What follows may be planned meanwhile: results first, then all rounds that may have them.
        results = driver.execute(self._select_results).fetchall()
        rounds = driver.execute(self._select_rounds).fetchall()
        return LogTotals(rounds, results, driver.execute(self._select_more).fetchone() is None)

    def _check_end(self, driver: Any) -> None:
        """Notice that a page of a file has lost the last records, which no seal after them can tell."""
        if self._storage.dialect.may_lose_its_end:
            return
        (missing,) = driver.execute(self._count_indexed, (self._known,)).fetchone()
        # Others may have gone on meanwhile.
        if missing and not self._rows(driver, self._known):
            raise self._damaged()

    def _check_finished(self, driver: Any, start: int, finished: Sequence[Row], sealed_later: bool) -> None:
        """Begin the digest anew with all that comes before the last round."""
        self._digest = LogDigest()
        found = None if sealed_later else driver.execute(self._select_seal, (start,)).fetchone()
        end = 0
        if found is not None:
            position, seal = found
            end = int(driver.execute(self._count_kept, (position + 1,)).fetchone()[0])
            self._digest.add(finished[:end])
            if self._digest.seal() != seal:
                raise self._damaged()
        self._digest.add(finished[end:] if end else finished)

    def _start_from(self, driver: Any, after: int) -> None:
        """Learn what the first `after` records are."""
        rows = [row for row in self._rows(driver, 0) if row[0] < after]
        self._digest = LogDigest()
        if not all(map(_is_record, rows)) or not self._agrees(rows):
            raise self._damaged()
        self._known, self._last = after, rows[-1] if rows else None

    def _append(self, driver: Any, rows: Sequence[Row]) -> None:
        if len(rows) == 1:
            driver.execute(self._insert_one, rows[0])
            return
        if len(rows) == 2:  # a result that completes a round
            driver.execute(self._insert_two, (*rows[0], *rows[1]))
            return
        for start in range(0, len(rows), _AT_ONCE):
            some = rows[start : start + _AT_ONCE]
            values = [value for row in some for value in row]
            driver.execute(self._insert + ", ".join([self._values] * len(some)), values)

    def _changed(self, why: str) -> StorageError:
        dialect = self._storage.dialect
        if dialect.may_lose_its_end:
            return LogChanged(f"the log of study {self._name!r} in {dialect.label} has changed: {why}")
        return StorageError(
            f"{dialect.label} is not what study {self._name!r} has written and read: the file was replaced, "
            "restored or edited while the study was open; open the study again to go on from what is there"
        )

    def _damaged(self) -> StorageError:
        return StorageError(
            f"{self._storage.dialect.label} is damaged: the records of study {self._name!r} do not agree with "
            "their checksums, so some were changed, swapped or lost; restore the study from a copy or an export"
        )


def _is_record(row: Row) -> bool:
    """Whether a row holds what it should; pages that were written over may hold anything."""
    position, kind, pull, value, text, seal = row
    return (
        isinstance(position, int)
        and isinstance(kind, int)
        and isinstance(pull, int)
        and isinstance(value, float)
        and (text is None or isinstance(text, str))
        and (seal is None or isinstance(seal, int))
    )


def _sealed(length: int, records: Sequence[Record], before: LogDigest) -> tuple[list[Row], LogDigest]:
    """The rows of new records from a position on, and the digest with them; the last that counts has the seal."""
    rows: list[Row] = []
    last, position = -1, length
    for record in records:
        rows.append((position, *record, None))
        if record[0] != LEASE:
            last = position
        position += 1
    if last < 0:
        return rows, before
    digest, seal = before.sealed(records)
    rows[last - length] = (last, *records[last - length], seal)
    return rows, digest
