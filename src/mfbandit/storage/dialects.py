"""What differs between SQLite and PostgreSQL."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Protocol

import sqlalchemy as sa

from mfbandit.errors import StorageError

__all__ = ["Dialect", "dialect_of"]

#: How long a writer waits for its turn before it gives up.
_PATIENCE_SECONDS = 120.0
#: Marks the advisory locks of this package on a PostgreSQL server.
_LOCK_SPACE = 0x6D66_626E


class Dialect(Protocol):
    """One kind of database."""

    url: str
    """How another process opens it."""
    driver_url: sa.URL
    place: str
    """How messages call it."""
    mark: str
    """The placeholder of its driver."""
    connect_args: dict[str, Any]

    def greet(self, connection: sa.Connection) -> None:
        """Set up a new connection."""

    def begin(self, connection: sa.Connection, study: int, safe: bool) -> None:
        """Start a transaction that no other writer of the study can come between."""

    def roll_back(self, connection: sa.Connection) -> None:
        """End the open transaction, if there is one."""

    def now(self, connection: sa.Connection) -> float:
        """The time in seconds, on a clock that all writers share."""

    def passing(self, error: sa.exc.DBAPIError) -> bool:
        """Whether a new attempt may succeed."""

    def sentence(self, error: sa.exc.DBAPIError) -> str:
        """What went wrong, for people."""


def dialect_of(where: str | os.PathLike[str], existing: bool) -> Dialect:
    """The kind of database that a URL or a path means."""
    text = os.fspath(where)
    if "://" not in text:
        return SQLite(text, existing)
    try:
        url = sa.make_url(text)
    except (sa.exc.ArgumentError, ValueError) as error:
        raise StorageError(f"{text!r} is not the URL of a storage: {error}") from None
    kind = url.get_backend_name()
    if kind == "sqlite":
        if not url.database or url.database == ":memory:":
            raise StorageError(f"{text!r} names no file; a study in memory is made with storage=None")
        return SQLite(url.database, existing)
    if kind in ("postgresql", "postgres"):
        return PostgreSQL(url)
    raise StorageError(f"a storage is sqlite:///file.db or postgresql://..., got {text!r}")


class SQLite:
    """A SQLite file."""

    mark = "?"

    def __init__(self, path: str, existing: bool) -> None:
        file = Path(path).absolute()
        if existing and not file.is_file():
            raise StorageError(f"there is no file {path!r}")
        if not file.parent.is_dir():
            raise StorageError(f"there is no folder {str(file.parent)!r} to make {file.name!r} in")
        self.driver_url = sa.URL.create("sqlite", database=str(file))
        self.url = f"sqlite:///{file}"
        self.place = str(path)
        self.connect_args = {"timeout": _PATIENCE_SECONDS, "check_same_thread": False}
        self._safe: bool | None = None

    def greet(self, connection: sa.Connection) -> None:
        """Set up a new connection."""
        self._safe = None
        mode = connection.exec_driver_sql("PRAGMA journal_mode").scalar()
        if mode != "wal":
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")

    def begin(self, connection: sa.Connection, study: int, safe: bool) -> None:
        """Start a transaction that no other writer can come between."""
        if safe is not self._safe:
            connection.exec_driver_sql(f"PRAGMA synchronous = {'FULL' if safe else 'NORMAL'}")
            self._safe = safe
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    def roll_back(self, connection: sa.Connection) -> None:
        """End the open transaction, if there is one."""
        if connection.connection.driver_connection.in_transaction:  # type: ignore[union-attr]
            connection.exec_driver_sql("ROLLBACK")

    def now(self, connection: sa.Connection) -> float:
        """The time of this machine: a SQLite file is used by one machine."""
        return time.time()

    def passing(self, error: sa.exc.DBAPIError) -> bool:
        """Whether a new attempt may succeed."""
        text = str(error.orig)
        return "locked" in text or "busy" in text

    def sentence(self, error: sa.exc.DBAPIError) -> str:
        """What went wrong, for people."""
        text = str(error.orig)
        if "not a database" in text:
            return f"{self.place} is not a SQLite file"
        if "malformed" in text:
            return f"{self.place} is damaged: part of the SQLite file is missing or was overwritten"
        if "locked" in text or "busy" in text:
            return f"{self.place} has been locked by another program for {_PATIENCE_SECONDS:g} s"
        if "full" in text:
            return f"{self.place} could not be written: the disk is full"
        return f"{self.place} could not be used: {text}"


class PostgreSQL:
    """A database on a PostgreSQL server, through psycopg 3."""

    mark = "%s"

    def __init__(self, url: sa.URL) -> None:
        self.driver_url = url.set(drivername="postgresql+psycopg")
        self.url = url.render_as_string(hide_password=False)
        self.place = url.render_as_string(hide_password=True)
        self.connect_args: dict[str, Any] = {"application_name": "mfbandit"}

    def greet(self, connection: sa.Connection) -> None:
        """Set up a new connection."""

    def begin(self, connection: sa.Connection, study: int, safe: bool) -> None:
        """Start a transaction that no other writer of the study can come between."""
        # One message instead of three. A commit that need not be safe does not wait for the disk.
        swift = "" if safe else "SET LOCAL synchronous_commit = off; "
        connection.exec_driver_sql(f"BEGIN; {swift}SELECT pg_advisory_xact_lock({_LOCK_SPACE}, {int(study)})")

    def roll_back(self, connection: sa.Connection) -> None:
        """End the open transaction, if there is one."""
        driver: Any = connection.connection.driver_connection
        if driver.info.transaction_status:
            connection.exec_driver_sql("ROLLBACK")

    def now(self, connection: sa.Connection) -> float:
        """The time of the server, which all workers share."""
        return float(connection.exec_driver_sql("SELECT extract(epoch FROM clock_timestamp())").scalar_one())

    def passing(self, error: sa.exc.DBAPIError) -> bool:
        """Whether a new attempt may succeed."""
        if error.connection_invalidated:
            return True
        state = getattr(error.orig, "sqlstate", None) or ""
        # Lost connections, servers that start or stop, deadlocks, too many clients for the moment.
        return state[:2] in ("08", "40") or state in ("57P01", "57P02", "57P03", "53300")

    def sentence(self, error: sa.exc.DBAPIError) -> str:
        """What went wrong, for people."""
        text = " ".join(str(error.orig).split())
        return f"{self.place} could not be used: {text}"
