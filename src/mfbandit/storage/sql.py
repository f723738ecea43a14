"""Studies in a SQLite file or on a PostgreSQL server.

A step of a study is one transaction that takes a lock first: the lock on writing of a SQLite file, or an
advisory lock per study on PostgreSQL. Inside it, the writer reads what is new, decides and appends; the
primary key (study, position) makes sure that it knew everything before.

Results are safe when `tell` returns: SQLite writes its log ahead (WAL), and that is waited for. Leases are not
waited for, since losing one with the power only means that its pull is handed out again.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import sqlalchemy as sa

from mfbandit.errors import MissingExtra, StorageError
from mfbandit.storage.dialects import Dialect, dialect_of
from mfbandit.storage.records import LEASE, ROUND, Decide, Interrupted, Record
from mfbandit.storage.schema import check_schema, make_tables, studies_table

__all__ = ["SQLLog", "SQLStorage"]

T = TypeVar("T")

_of_parents: list[sa.Connection | None] = []

#: How often a step is tried again when the server or the file turned it away.
_ATTEMPTS = 8


class SQLStorage:
    """Studies in a database.

    Parameters
    ----------
    where : str or path
        ``sqlite:///file.db``, a path of a SQLite file, or ``postgresql://user@host/database``.
    existing : bool
        Refuse a file that does not exist instead of making it.
    """

    def __init__(self, where: str | os.PathLike[str], *, existing: bool = False) -> None:
        self.dialect: Dialect = dialect_of(where, existing)
        self.url = self.dialect.url
        self._lock = threading.RLock()
        self._connection: sa.Connection | None = None
        #: The driver's own connection: the few statements of every step go to it directly, which is faster.
        self.driver: Any = None
        self._process = os.getpid()
        self._was_connected = False
        self._engine = self._make_engine()
        self.step(self._prepare)

    def create(self, name: str, header: str, records: Sequence[Record] = ()) -> bool:
        """Add a study with these records, all of it or nothing; False if the name is taken."""
        known = sa.select(studies_table.c.id).where(studies_table.c.name == name)

        def add(connection: sa.Connection) -> bool:
            if connection.execute(known).first() is not None:
                return False
            connection.execute(sa.insert(studies_table).values(name=name, header=header))
            if records:
                number = connection.execute(known).scalar_one()
                SQLLog(self, number)._append(self.driver, 0, records)
            return True

        return self.step(lambda connection: self._alone(connection, add))

    def headers(self) -> dict[str, str]:
        """The header of every study, by name, oldest first."""
        columns = studies_table.c
        query = sa.select(columns.name, columns.header).order_by(columns.id)
        rows = self.step(lambda connection: connection.execute(query).all())
        return {row.name: row.header for row in rows}

    def log(self, name: str) -> SQLLog:
        """The log of a study."""
        query = sa.select(studies_table.c.id).where(studies_table.c.name == name)
        number = self.step(lambda connection: connection.execute(query).scalar())
        if number is None:
            raise StorageError(f"no study is named {name!r} in {self.dialect.place}")
        return SQLLog(self, number)

    def close(self) -> None:
        """Let go of files and connections."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            self.dialect.leave()
            self._engine.dispose()

    def step(self, work: Callable[[sa.Connection], T]) -> T:
        """Do some work on the connection; try again where the database asks for it.

        What `decide` functions raise goes through; errors of the database become a StorageError.
        """
        with self._lock:
            for attempt in range(_ATTEMPTS):
                try:
                    return work(self._connected())
                except (sa.exc.DBAPIError, self.dialect.errors) as error:
                    self.abandon()
                    cause = cause_of(error)
                    if attempt == _ATTEMPTS - 1 or not self.dialect.passing(cause, self._was_connected):
                        raise StorageError(self.dialect.sentence(cause)) from error
                    time.sleep(0.01 * 2**attempt)
                except BaseException:
                    self._roll_back()
                    raise
        raise AssertionError("a step either returns or raises")

    def _make_engine(self) -> sa.Engine:
        try:
            return sa.create_engine(
                self.dialect.driver_url,
                isolation_level="AUTOCOMMIT",
                poolclass=sa.pool.NullPool,
                connect_args=self.dialect.connect_args,
            )
        except ModuleNotFoundError as error:
            raise MissingExtra("PostgreSQL needs psycopg: pip install 'mfbandit[postgres]'") from error

    def _connected(self) -> sa.Connection:
        if self._process != os.getpid():
            # A forked process must neither use nor close what its parent has open.
            _of_parents.append(self._connection)
            self._process = os.getpid()
            self._connection = None
            self._engine = self._make_engine()
        if self._connection is None:
            self._connection = self._engine.connect()
            self.driver = self._connection.connection.driver_connection
            self.dialect.greet(self.driver)
            self._was_connected = True
        return self._connection

    def _prepare(self, connection: sa.Connection) -> None:
        def make(connection: sa.Connection) -> None:
            if not check_schema(connection, self.dialect.place):
                make_tables(connection)

        if not check_schema(connection, self.dialect.place):
            self._alone(connection, make)

    def _alone(self, connection: sa.Connection, work: Callable[[sa.Connection], T]) -> T:
        """Do some work that no other process may come between."""
        self.dialect.begin(self.driver, 0, True)
        done = work(connection)
        self.dialect.commit(self.driver)
        return done

    def _roll_back(self) -> None:
        """End the open transaction, if there is one."""
        if self._connection is not None:
            try:
                self.dialect.roll_back(self.driver)
            except self.dialect.errors:
                self.abandon()

    def abandon(self) -> None:
        """Drop a connection whose state is not known; the database rolls back what was open on it."""
        if self._connection is not None:
            try:
                self._connection.invalidate()
                self._connection.close()
            except (sa.exc.DBAPIError, self.dialect.errors):
                pass
            self._connection = None


class SQLLog:
    """The log of one study in a database."""

    def __init__(self, storage: SQLStorage, number: int) -> None:
        self._storage = storage
        self._number = number
        mark = storage.dialect.mark
        table = f"FROM mfbandit_log WHERE study = {int(number)} AND"
        columns = "SELECT kind, pull, value, text"
        self._select = f"{columns} {table} position >= {mark} ORDER BY position"
        self._select_settled = f"{columns} {table} kind <> {LEASE} AND position < {mark} ORDER BY position"
        self._select_last = f"SELECT position {table} kind = {ROUND} ORDER BY position DESC LIMIT 1"
        self._insert = (
            "INSERT INTO mfbandit_log (study, position, kind, pull, value, text) "
            f"VALUES ({int(number)}, {', '.join([mark] * 5)})"
        )

    def read(self, after: int) -> Sequence[Record]:
        """The records from position `after` on."""
        return self._storage.step(lambda connection: self._news(self._storage.driver, after))

    def past(self) -> tuple[int, Sequence[Record], Sequence[Record]]:
        """Everything: the length, the records before the last round, the records from it on."""

        def look(connection: sa.Connection) -> tuple[int, Sequence[Record], Sequence[Record]]:
            driver = self._storage.driver
            last = driver.execute(self._select_last).fetchone()
            start = 0 if last is None else int(last[0])
            # What follows the last round may grow in the meantime; what comes before it cannot.
            current = self._news(driver, start)
            settled = driver.execute(self._select_settled, (start,)).fetchall()
            return start + len(current), settled, current

        return self._storage.step(look)

    def exchange(self, after: int, decide: Decide, *, safe: bool) -> int:
        """Show `decide` what is new, and append what it returns, as one step."""
        dialect = self._storage.dialect

        def write(connection: sa.Connection) -> int:
            driver = self._storage.driver
            dialect.begin(driver, self._number, safe)
            news = self._news(driver, after)
            length = after + len(news)
            try:
                records = decide(news, lambda: dialect.now(driver))
                self._append(driver, length, records)
                if records:
                    dialect.commit(driver)
                else:
                    driver.execute("ROLLBACK")
            except dialect.errors as error:
                # The caller may have decided already: only the caller can try again.
                self._storage.abandon()
                kind = Interrupted if dialect.passing(error, True) else StorageError
                raise kind(dialect.sentence(error)) from error
            return length + len(records)

        return self._storage.step(write)

    def _append(self, driver: Any, length: int, records: Sequence[Record]) -> None:
        if len(records) == 1:
            driver.execute(self._insert, (length, *records[0]))
        elif records:
            rows = [(length + place, *record) for place, record in enumerate(records)]
            driver.cursor().executemany(self._insert, rows)

    def _news(self, driver: Any, after: int) -> list[Record]:
        return [Record(*row) for row in driver.execute(self._select, (after,)).fetchall()]


def cause_of(error: BaseException) -> BaseException:
    """The driver's error, which SQLAlchemy may have wrapped."""
    return getattr(error, "orig", None) or error
