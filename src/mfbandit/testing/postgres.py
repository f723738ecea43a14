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

__all__ = ["PostgresMissing", "temporary_postgres"]

#: Where installers put the server's programs when they are not on the path.
_FOLDERS = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/usr/local/pgsql/bin",
    "/opt/homebrew/opt/postgresql*/bin",
)
#: What a test does not need: waiting for the disk.
_OPTIONS = "-c fsync=off -c full_page_writes=off -c max_connections=60 -c listen_addresses="


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


@contextmanager
def temporary_postgres() -> Iterator[str]:
    """Run a server; gives its URL. Raises PostgresMissing where none is installed."""
    programs, user = _programs(), _user()
    # The path of a socket must be short, which folders of test runners are not.
    home = Path(tempfile.mkdtemp(prefix="mf-pg-"))
    data = home / "data"
    as_user: dict[str, Any] = {}
    if os.geteuid() == 0:
        account = pwd.getpwnam(user)
        os.chown(home, account.pw_uid, account.pw_gid)
        as_user = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}

    def run(*command: str) -> None:
        done = subprocess.run(command, cwd=home, stdin=subprocess.DEVNULL, capture_output=True, text=True, **as_user)
        if done.returncode != 0:
            raise PostgresMissing(f"{command[0]} failed: {done.stdout}{done.stderr}")

    control = [str(programs / "pg_ctl"), "-D", str(data), "-w"]
    try:
        run(
            str(programs / "initdb"),
            *("-D", str(data), "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"),
        )
        run(*control, "-l", str(home / "log"), "-o", f"{_OPTIONS} -c unix_socket_directories={home}", "start")
        try:
            yield f"postgresql://tester@/postgres?host={home}"
        finally:
            run(*control, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(home, ignore_errors=True)
