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

#: SQLite counts the time that it waits in milliseconds, and takes no more than a number of 32 bits.
_LONGEST_WAIT = 1e6
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
    label: str
    """How messages call it."""
    mark: str
    """The placeholder of its driver."""
    connect_args: dict[str, Any]
    may_lose_its_end: bool
    """Whether the end of a log can be lost while processes that know it live on."""

    @property
    def errors(self) -> type[Exception]:
        """What its driver raises."""

    def on_connect(self, driver: Any) -> None:
        """Set up a new connection."""

    def on_close(self) -> None:
        """Let go of what `on_connect` opened."""

    def check_there(self) -> None:
        """Refuse to go on if what is open is no longer what others find."""

    def begin(self, driver: Any, study: int, safe: bool) -> None:
        """Start a transaction that no other writer of the study can come between."""

    def version(self, driver: Any) -> tuple[int, int] | None:
        """Within a transaction: what stays the same on a connection as long as nothing changes; None: not known."""

    def commit(self, driver: Any) -> None:
        """End the transaction; one that is to be safe is on the disk afterwards."""

    def roll_back(self, driver: Any) -> None:
        """End the open transaction, if there is one."""

    def now(self, driver: Any) -> float:
        """The time in seconds, on a clock that all writers share."""

    def is_transient(self, error: BaseException, connected: bool) -> bool:
        """Whether a new attempt may succeed; `connected` says whether one ever did."""

    def explain(self, error: BaseException) -> str:
        """What went wrong, for people."""

    def reason(self, error: BaseException) -> str:
        """Why a step did not succeed, in a few words."""


def dialect_of(where: str | os.PathLike[str], existing: bool, patience: float) -> Dialect:
    """The kind of database that a URL or a path means."""
    text = os.fspath(where)
    if "://" not in text:
        return SQLite(text, existing, patience)
    try:
        url = sa.make_url(text)
    except (sa.exc.ArgumentError, ValueError) as error:
        raise StorageError(f"{text!r} is not the URL of a storage: {error}") from None
    kind = url.get_backend_name()
    if kind == "sqlite":
        if not url.database or url.database == ":memory:":
            raise StorageError(f"{text!r} names no file; a study in memory is made with storage=None")
        return SQLite(url.database, existing, patience)
    if kind in ("postgresql", "postgres"):
        return PostgreSQL(url, patience)
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
    #: Whoever knows it runs on the machine that would have to lose its power.
    may_lose_its_end = False

    def __init__(self, path: str, existing: bool, patience: float) -> None:
        file = Path(path).absolute()
        if existing and not file.is_file():
            raise StorageError(f"there is no file {path!r}")
        if not file.parent.is_dir():
            raise StorageError(f"there is no folder {str(file.parent)!r} to make {file.name!r} in")
        self.driver_url = sa.URL.create("sqlite", database=str(file))
        self.url = f"sqlite:///{file}"
        self.label = str(path)
        self._path = str(file)
        self._patience = patience
        self.connect_args = {"timeout": min(patience, _LONGEST_WAIT), "check_same_thread": False}
        #: Which file it was when it was first opened.
        self._file: tuple[int, int] | None = None
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

    def on_connect(self, driver: Any) -> None:
        """Set up a new connection."""
        self.on_close()
        (mode,) = driver.execute("PRAGMA journal_mode").fetchone()
        if mode != "wal":
            (mode,) = driver.execute("PRAGMA journal_mode = WAL").fetchone()
        driver.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
        self._level = None
        self._sqlite_waits = mode != "wal" or not hasattr(os, "fdatasync")
        if self._file is None:
            self._file = _identity(self._path)

    def on_close(self) -> None:
        """Let go of what was opened for a connection."""
        if self._close_ahead is not None:
            self._close_ahead()
        self._ahead = self._close_ahead = None

    def check_there(self) -> None:
        """Refuse to go on if the file was deleted or replaced: SQLite would write on to what nobody finds."""
        try:
            status = os.stat(self._path)
        except OSError:
            found = None
        else:
            found = status.st_dev, status.st_ino
            if found == self._file:
                return
        what = "deleted or moved" if found is None else "replaced by another file"
        raise StorageError(
            f"{self.label} was {what} while it was open: nothing more is written, and what was written since may "
            "be lost; put the file back or start a new study"
        )

    def begin(self, driver: Any, study: int, safe: bool) -> None:
        """Start a transaction that no other writer can come between."""
        self._safe = safe
        level = safe and self._sqlite_waits
        if level is not self._level:
            driver.execute(f"PRAGMA synchronous = {'FULL' if level else 'NORMAL'}")
            self._level = level
        driver.execute("BEGIN IMMEDIATE")

    def version(self, driver: Any) -> tuple[int, int] | None:
        """What changes with all that other connections commit, and with all that this one writes."""
        # As cheap as to find no row; to read the last row back and compare it takes three times as long.
        return driver.execute("PRAGMA data_version").fetchone()[0], driver.total_changes

    def commit(self, driver: Any) -> None:
        """End the transaction; one that is to be safe is on the disk afterwards."""
        driver.execute("COMMIT")
        if not self._safe:
            return  # the next step looks whether the file is still there
        # A result is confirmed only if others can find it.
        self.check_there()
        if not self._sqlite_waits:
            try:
                if self._ahead is None:
                    self._ahead = _open_ahead(driver)
                    # Also when nobody closes the storage.
                    self._close_ahead = weakref.finalize(self, os.close, self._ahead)
                os.fdatasync(self._ahead)
                if not os.fstat(self._ahead).st_nlink:
                    raise StorageError(
                        f"{self.label}-wal was deleted while it was open: the last results are in it, and are lost "
                        "to others; leave the files beside a study alone while it is open"
                    )
            except OSError as error:
                raise sqlite3.OperationalError(f"the disk reports: {error.strerror}") from error

    def roll_back(self, driver: Any) -> None:
        """End the open transaction, if there is one."""
        if driver.in_transaction:
            driver.execute("ROLLBACK")

    def now(self, driver: Any) -> float:
        """The time of this machine: a SQLite file is used by one machine."""
        return time.time()

    def is_transient(self, error: BaseException, connected: bool) -> bool:
        """Whether a new attempt may succeed."""
        text = str(error)
        return "locked" in text or "busy" in text

    def explain(self, error: BaseException) -> str:
        """What went wrong, for people."""
        text = " ".join(str(error).split())
        if "not a database" in text:
            return f"{self.label} is not a SQLite file"
        if "malformed" in text or "decode" in text:
            return f"{self.label} is damaged: part of the SQLite file is missing or was overwritten"
        if "locked" in text or "busy" in text:
            return f"{self.label} has been locked by another program for {self._patience:g} s"
        if "full" in text:
            return f"{self.label} could not be written: the disk is full"
        return f"{self.label} could not be used: {text}"

    def reason(self, error: BaseException) -> str:
        """Why a step did not succeed, in a few words."""
        return str(error)


def _identity(path: str) -> tuple[int, int] | None:
    """Which file a path leads to; None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


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
    #: Of what was not waited for, a server that crashes loses the end.
    may_lose_its_end = True

    def __init__(self, url: sa.URL, patience: float) -> None:
        self.driver_url = url.set(drivername="postgresql+psycopg")
        self.url = url.render_as_string(hide_password=False)
        self.label = url.render_as_string(hide_password=True)
        #: A server that is gone without a word is noticed within a minute, not after hours.
        defaults: dict[str, Any] = {
            "application_name": "mfbandit",
            "connect_timeout": int(min(max(patience, 2.0), 10.0)),
            "keepalives_idle": 20,
            "keepalives_interval": 10,
            "keepalives_count": 3,
        }
        self.connect_args = {key: value for key, value in defaults.items() if key not in url.query}
        #: What makes a commit wait for the disk.
        self._waits = ""

    @property
    def errors(self) -> type[Exception]:
        """What its driver raises."""
        import psycopg

        return psycopg.Error

    def on_connect(self, driver: Any) -> None:
        """Set up a new connection."""
        (usual,) = driver.execute("SHOW synchronous_commit").fetchone()
        self._waits = "SET LOCAL synchronous_commit = on; " if usual == "off" else ""

    def on_close(self) -> None:
        """Nothing to let go of."""

    def check_there(self) -> None:
        """A server is where it was."""

    def begin(self, driver: Any, study: int, safe: bool) -> None:
        """Start a transaction that no other writer of the study can come between."""
        # One message instead of three. A commit that need not be safe does not wait for the disk.
        disk = self._waits if safe else "SET LOCAL synchronous_commit = off; "
        driver.execute(f"BEGIN; {disk}SELECT pg_advisory_xact_lock({_LOCK_SPACE}, {int(study)})")

    def version(self, driver: Any) -> tuple[int, int] | None:
        """A server does not tell."""
        return None

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

    def is_transient(self, error: BaseException, connected: bool) -> bool:
        """Whether a new attempt may succeed."""
        state = getattr(error, "sqlstate", None)
        if state is None:
            # The driver's own: the connection was lost, or could not be made. A server that never answered may
            # not be there at all, which is said at once; one that is just starting says so.
            lost = type(error).__name__ == "OperationalError"
            return lost and (connected or "the database system is" in str(error))
        # Lost connections, servers that start or stop, deadlocks, too many clients for the moment.
        return state[:2] in ("08", "40") or state in ("57P01", "57P02", "57P03", "53300")

    def explain(self, error: BaseException) -> str:
        """What went wrong, for people."""
        return f"{self.label} could not be used: {self.reason(error)}"

    def reason(self, error: BaseException) -> str:
        """Why a step did not succeed, in a few words."""
        return " ".join(str(error).split())
