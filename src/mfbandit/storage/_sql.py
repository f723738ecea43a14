"""Studies in a SQLite file or on a PostgreSQL server.

A step of a study is one transaction that takes a lock first: the lock on writing of a SQLite file, or an
advisory lock per study on PostgreSQL. Inside it, the writer reads what is new, decides and appends; the
primary key (study, position) makes sure that it knew everything before.

Results are safe when `tell` returns: SQLite writes its log ahead (WAL), and that is waited for. Leases are not
waited for, since losing one with the power only means that its pull is handed out again. What is lost is always
the end of the log: a record that is waited for makes all before it safe too.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import sqlalchemy as sa

from mfbandit._optional import missing
from mfbandit.errors import StorageError
from mfbandit.storage._dialects import Dialect, dialect_of
from mfbandit.storage._log_digest import text_seal
from mfbandit.storage._patience import PATIENCE_SECONDS, Outage, check_patience
from mfbandit.storage._records import Record
from mfbandit.storage._schema import SCHEMA, make_tables, schema_version, studies_table
from mfbandit.storage._sql_log import SQLLog

__all__ = ["SQLLog", "SQLStorage"]

T = TypeVar("T")

_inherited_connections: list[sa.Connection | None] = []


class SQLStorage:
    """Studies in a database.

    Parameters
    ----------
    where : str or path
        ``sqlite:///file.db``, a path of a SQLite file, or ``postgresql://user@host/database``.
    existing : bool
        Refuse a file that does not exist instead of making it.
    patience : float
        For how many seconds a server that does not answer, or a file that is locked, is tried again.
    """

    def __init__(
        self,
        where: str | os.PathLike[str],
        *,
        existing: bool = False,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        self.patience = check_patience(patience)
        self.dialect: Dialect = dialect_of(where, existing, self.patience)
        self.url = self.dialect.url
        #: Whether somebody wants to end, and is not to be kept waiting for a storage that does not answer.
        self.hurry = False
        self._lock = threading.RLock()
        self._connection: sa.Connection | None = None
        #: The driver's own connection: the few statements of every step go to it directly, which is faster.
        self.driver: Any = None
        self._process = os.getpid()
        self._was_connected = False
        #: How many connections were made so far: what was known of one does not hold for the next.
        self.connections = 0
        self._engine = self._make_engine()
        self.with_retry(self._prepare)

    def create(self, name: str, header: str, records: Sequence[Record] = ()) -> bool:
        """Add a study with these records, all of it or nothing; False if the name is taken."""
        known = sa.select(studies_table.c.id).where(studies_table.c.name == name)

        def add(connection: sa.Connection) -> bool:
            if connection.execute(known).first() is not None:
                return False
            values = {"name": name, "header": header, "seal": text_seal(name + header)}
            connection.execute(sa.insert(studies_table).values(values))
            if records:
                SQLLog(self, connection.execute(known).scalar_one(), name).begin_with(self.driver, records)
            return True

        return self.with_retry(lambda connection: self._exclusive(connection, add))

    def headers(self) -> dict[str, str]:
        """The header of every study, by name, oldest first."""
        columns = studies_table.c
        query = sa.select(columns.name, columns.header, columns.seal).order_by(columns.id)
        rows = self.with_retry(lambda connection: connection.execute(query).all())
        if not all(isinstance(row.name, str) and isinstance(row.header, str) for row in rows):
            raise StorageError(f"{self.dialect.label} is damaged: the header of a study was overwritten")
        # A header that was changed is none, which whoever reads it finds out; the other studies are none the worse.
        whole = [row.seal is None or row.seal == text_seal(row.name + row.header) for row in rows]
        return {row.name: row.header if right else "" for row, right in zip(rows, whole, strict=True)}

    def log(self, name: str) -> SQLLog:
        """The log of a study."""
        query = sa.select(studies_table.c.id).where(studies_table.c.name == name)
        number = self.with_retry(lambda connection: connection.execute(query).scalar())
        if number is None:
            raise StorageError(f"no study is named {name!r} in {self.dialect.label}")
        return SQLLog(self, number, name)

    def close(self) -> None:
        """Let go of files and connections."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            self.dialect.on_close()
            self._engine.dispose()

    def with_retry(self, work: Callable[[sa.Connection], T]) -> T:
        """Do some work on the connection; try again where the database asks for it.

        What `decide` functions raise goes through; errors of the database become a StorageError.
        """
        with self._lock:
            started, outage = time.monotonic(), None
            while True:
                try:
                    connection = self._connected()
                    if outage is not None:
                        outage.over()
                    return work(connection)
                except (sa.exc.DBAPIError, self.dialect.errors) as error:
                    self.drop_connection()
                    cause = cause_of(error)
                    outage = outage or Outage(self.dialect.label, self.patience, started)
                    passing = self.dialect.is_transient(cause, self._was_connected)
                    if not passing or not outage.wait(self.dialect.reason(cause), self.hurry):
                        raise StorageError(self.dialect.explain(cause) + outage.waited()) from error
                except UnicodeDecodeError as error:  # what is no text stands where a text should
                    self.drop_connection()
                    raise StorageError(self.dialect.explain(error)) from error
                except BaseException:
                    self._roll_back()
                    raise

    def _make_engine(self) -> sa.Engine:
        try:
            return sa.create_engine(
                self.dialect.driver_url,
                isolation_level="AUTOCOMMIT",
                poolclass=sa.pool.NullPool,
                connect_args=self.dialect.connect_args,
            )
        except ModuleNotFoundError as error:
            raise missing("PostgreSQL needs psycopg", "postgres") from error

    def _connected(self) -> sa.Connection:
        if self._process != os.getpid():
            # A forked process must neither use nor close what its parent has open.
            _inherited_connections.append(self._connection)
            self._process = os.getpid()
            self._connection = None
            self._engine = self._make_engine()
        if self._connection is None:
            self._connection = self._engine.connect()
            self.driver = self._connection.connection.driver_connection
            self.dialect.on_connect(self.driver)
            self._was_connected = True
            self.connections += 1
        self.dialect.check_there()
        return self._connection

    def _prepare(self, connection: sa.Connection) -> None:
        def make(connection: sa.Connection) -> None:
            make_tables(connection, schema_version(connection, self.dialect.label))

        if schema_version(connection, self.dialect.label) < SCHEMA:
            self._exclusive(connection, make)

    def _exclusive(self, connection: sa.Connection, work: Callable[[sa.Connection], T]) -> T:
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
                self.drop_connection()

    def drop_connection(self) -> None:
        """Drop a connection whose state is not known; the database rolls back what was open on it."""
        if self._connection is not None:
            try:
                self._connection.invalidate()
                self._connection.close()
            except (sa.exc.DBAPIError, self.dialect.errors):
                pass
            self._connection = None


def cause_of(error: BaseException) -> BaseException:
    """The driver's error, which SQLAlchemy may have wrapped."""
    return getattr(error, "orig", None) or error
