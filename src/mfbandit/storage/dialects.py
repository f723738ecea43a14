"""What differs between SQLite and PostgreSQL."""

from __future__ import annotations

import os
import sqlite3
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import sqlalchemy as sa

from mfbandit.errors import StorageError

__all__ = ["Dialect", "dialect_of"]

#: How long a writer waits for its turn before it gives up.
_PATIENCE_SECONDS = 120.0
#: Pages after which the write-ahead log of a SQLite file is moved into the file and written anew from its start.
#: Writing over what is there is faster than to let a file grow, which its file system has to note down as well.
_LOG_PAGES = 500
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

    @property
    def errors(self) -> type[Exception]:
        """What its driver raises."""

    def greet(self, driver: Any) -> None:
        """Set up a new connection."""

    def leave(self) -> None:
        """Let go of what `greet` opened."""

    def begin(self, driver: Any, study: int, safe: bool) -> None:
        """Start a transaction that no other writer of the study can come between."""

    def commit(self, driver: Any) -> None:
        """End the transaction; one that is to be safe is on the disk afterwards."""

    def roll_back(self, driver: Any) -> None:
        """End the open transaction, if there is one."""

    def now(self, driver: Any) -> float:
        """The time in seconds, on a clock that all writers share."""

    def passing(self, error: BaseException, connected: bool) -> bool:
        """Whether a new attempt may succeed; `connected` says whether one ever did."""

    def sentence(self, error: BaseException) -> str:
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
    """A SQLite file.

    SQLite can wait for the disk at each commit (synchronous = FULL), and keeps the file locked meanwhile. Where
    it is possible, the waiting is done here instead, when the lock is open again, so that the workers of a file
    wait at the same time and not one after the other. That is as safe: the log that SQLite writes ahead is read
    from its start up to the first record that is not whole, so when all of it that was there after the commit is
    on the disk, the commit is. If another process has moved it into the file by then, that one has waited for
    the disk (synchronous = NORMAL does so there).
    """

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
        #: Whether the transaction that is open is to be safe.
        self._safe = False
        #: Whether SQLite is to wait for the disk, and at which commits it does; None: not yet known.
        self._sqlite_waits = True
        self._level: bool | None = None
        #: The log that SQLite writes ahead, once something of it was waited for, and what closes it.
        self._ahead: int | None = None
        self._close_ahead: Callable[[], object] | None = None

    @property
    def errors(self) -> type[Exception]:
        """What its driver raises."""
        return sqlite3.Error

    def greet(self, driver: Any) -> None:
        """Set up a new connection."""
        self.leave()
        (mode,) = driver.execute("PRAGMA journal_mode").fetchone()
        if mode != "wal":
            (mode,) = driver.execute("PRAGMA journal_mode = WAL").fetchone()
        driver.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
        self._level = None
        self._sqlite_waits = mode != "wal" or not hasattr(os, "fdatasync")

    def leave(self) -> None:
        """Let go of what was opened for a connection."""
        if self._close_ahead is not None:
            self._close_ahead()
        self._ahead = self._close_ahead = None

    def begin(self, driver: Any, study: int, safe: bool) -> None:
        """Start a transaction that no other writer can come between."""
        self._safe = safe
        level = safe and self._sqlite_waits
        if level is not self._level:
            driver.execute(f"PRAGMA synchronous = {'FULL' if level else 'NORMAL'}")
            self._level = level
        driver.execute("BEGIN IMMEDIATE")

    def commit(self, driver: Any) -> None:
        """End the transaction; one that is to be safe is on the disk afterwards."""
        driver.execute("COMMIT")
        if self._safe and not self._sqlite_waits:
            try:
                if self._ahead is None:
                    self._ahead = _open_ahead(driver)
                    # Also when nobody closes the storage.
                    self._close_ahead = weakref.finalize(self, os.close, self._ahead)
                os.fdatasync(self._ahead)
            except OSError as error:
                raise sqlite3.OperationalError(f"the disk reports: {error.strerror}") from error

    def roll_back(self, driver: Any) -> None:
        """End the open transaction, if there is one."""
        if driver.in_transaction:
            driver.execute("ROLLBACK")

    def now(self, driver: Any) -> float:
        """The time of this machine: a SQLite file is used by one machine."""
        return time.time()

    def passing(self, error: BaseException, connected: bool) -> bool:
        """Whether a new attempt may succeed."""
        text = str(error)
        return "locked" in text or "busy" in text

    def sentence(self, error: BaseException) -> str:
        """What went wrong, for people."""
        text = str(error)
        if "not a database" in text:
            return f"{self.place} is not a SQLite file"
        if "malformed" in text:
            return f"{self.place} is damaged: part of the SQLite file is missing or was overwritten"
        if "locked" in text or "busy" in text:
            return f"{self.place} has been locked by another program for {_PATIENCE_SECONDS:g} s"
        if "full" in text:
            return f"{self.place} could not be written: the disk is full"
        return f"{self.place} could not be used: {text}"


def _open_ahead(driver: Any) -> int:
    """Open the log that SQLite writes ahead, so that it can be waited for."""
    # SQLite may have followed links to the file.
    (_, _, path) = driver.execute("PRAGMA database_list").fetchone()
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        # A new file is safe when its folder says that it is there.
        os.fsync(folder)
    finally:
        os.close(folder)
    return os.open(f"{path}-wal", os.O_RDONLY)


class PostgreSQL:
    """A database on a PostgreSQL server, through psycopg 3."""

    mark = "%s"

    def __init__(self, url: sa.URL) -> None:
        self.driver_url = url.set(drivername="postgresql+psycopg")
        self.url = url.render_as_string(hide_password=False)
        self.place = url.render_as_string(hide_password=True)
        self.connect_args: dict[str, Any] = {"application_name": "mfbandit"}

    @property
    def errors(self) -> type[Exception]:
        """What its driver raises."""
        import psycopg

        return psycopg.Error

    def greet(self, driver: Any) -> None:
        """Set up a new connection."""

    def leave(self) -> None:
        """Nothing to let go of."""

    def begin(self, driver: Any, study: int, safe: bool) -> None:
        """Start a transaction that no other writer of the study can come between."""
        # One message instead of three. A commit that need not be safe does not wait for the disk.
        swift = "" if safe else "SET LOCAL synchronous_commit = off; "
        driver.execute(f"BEGIN; {swift}SELECT pg_advisory_xact_lock({_LOCK_SPACE}, {int(study)})")

    def commit(self, driver: Any) -> None:
        """End the transaction; the server waits for the disk where it is to be safe."""
        driver.execute("COMMIT")

    def roll_back(self, driver: Any) -> None:
        """End the open transaction, if there is one."""
        if driver.info.transaction_status:
            driver.execute("ROLLBACK")

    def now(self, driver: Any) -> float:
        """The time of the server, which all workers share."""
        return float(driver.execute("SELECT extract(epoch FROM clock_timestamp())").fetchone()[0])

    def passing(self, error: BaseException, connected: bool) -> bool:
        """Whether a new attempt may succeed."""
        state = getattr(error, "sqlstate", None)
        if state is None:
            # The driver's own: the connection was lost, or could not be made.
            return connected and type(error).__name__ == "OperationalError"
        # Lost connections, servers that start or stop, deadlocks, too many clients for the moment.
        return state[:2] in ("08", "40") or state in ("57P01", "57P02", "57P03", "53300")

    def sentence(self, error: BaseException) -> str:
        """What went wrong, for people."""
        text = " ".join(str(error).split())
        return f"{self.place} could not be used: {text}"
