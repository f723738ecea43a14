"""A real PostgreSQL server for the time of a test, in a folder of its own, without a port."""

from __future__ import annotations

import getpass
import glob
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mfbandit.errors import MfbanditError

__all__ = ["PostgresMissing", "PostgresServer", "postgres_server", "temporary_postgres"]

#: Where installers put the server's programs when they are not on the path.
_FOLDERS = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/usr/local/pgsql/bin",
    "/opt/homebrew/opt/postgresql*/bin",
)
_OPTIONS = "-c max_connections=60 -c listen_addresses="
#: What most tests do not need: waiting for the disk.
_FAST = "-c fsync=off -c full_page_writes=off"


class PostgresMissing(MfbanditError):
    """The programs of a PostgreSQL server are not installed."""


def _programs() -> Path:
    """The folder that holds initdb and pg_ctl."""
    found = shutil.which("initdb")
    folders = [str(Path(found).resolve().parent)] if found else []
    for pattern in _FOLDERS:
        folders += sorted(glob.glob(pattern), reverse=True)
    for folder in folders:
        if Path(folder, "initdb").exists() and Path(folder, "pg_ctl").exists():
            return Path(folder)
    raise PostgresMissing("no PostgreSQL server is installed here (initdb was not found)")


def _user() -> str:
    """Whom to run the server as: it refuses to run as root."""
    if os.geteuid() != 0:
        return getpass.getuser()
    for name in ("postgres", "nobody"):
        try:
            pwd.getpwnam(name)
        except KeyError:
            continue
        return name
    raise PostgresMissing("a PostgreSQL server does not run as root, and there is no other user here")


class PostgresServer:
    """A server that tests may crash and start again."""

    def __init__(self, home: Path, fsync: bool) -> None:
        self._home = home
        self._programs, user = _programs(), _user()
        self._options = f"{_OPTIONS} {'' if fsync else _FAST} -c unix_socket_directories={home}"
        self._as_user: dict[str, Any] = {}
        if os.geteuid() == 0:
            account = pwd.getpwnam(user)
            os.chown(home, account.pw_uid, account.pw_gid)
            self._as_user = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        self.url = f"postgresql://tester@/postgres?host={home}"
        self._run(
            "initdb",
            *("-U", "tester", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"),
        )

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._run("pg_ctl", "-w", "-l", str(self._home / "log"), "-o", self._options, "start")

    def crash(self) -> None:
        """End it as if it had been killed: what was not waited for is lost."""
        self._run("pg_ctl", "-w", "-m", "immediate", "stop")

    def _run(self, program: str, *options: str) -> None:
        command = [str(self._programs / program), "-D", str(self._home / "data"), *options]
        done = subprocess.run(
            command, cwd=self._home, stdin=subprocess.DEVNULL, capture_output=True, text=True, **self._as_user
        )
        if done.returncode != 0:
            raise PostgresMissing(f"{command[0]} failed: {done.stdout}{done.stderr}")


@contextmanager
def postgres_server(*, fsync: bool = False) -> Iterator[PostgresServer]:
    """Run a server that can be crashed. Raises PostgresMissing where none is installed."""
    _programs()
    # The path of a socket must be short, which folders of test runners are not.
    home = Path(tempfile.mkdtemp(prefix="mf-pg-"))
    try:
        server = PostgresServer(home, fsync)
        server.start()
        try:
            yield server
        finally:
            if (home / "data" / "postmaster.pid").exists():
                server.crash()
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def temporary_postgres() -> Iterator[str]:
    """Run a server; gives its URL. Raises PostgresMissing where none is installed."""
    with postgres_server() as server:
        yield server.url
