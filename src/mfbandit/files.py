"""Writing files: one appears when it is complete, or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from mfbandit.errors import OutputError

__all__ = ["complete_file"]


@contextlib.contextmanager
def complete_file(path: str | os.PathLike[str], *, binary: bool = False) -> Iterator[IO[Any]]:
    """Open a file to write; it gets its name when all of it is on the disk.

    Whatever goes wrong before, nothing is left behind, and a file that had the name stays as it was.

    Parameters
    ----------
    path : str or path
        Where the file is to be. Pipes and devices are written to directly.
    binary : bool
        Whether it takes bytes; otherwise it takes text, written as UTF-8.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with complete_file(f"{folder}/a.txt") as file:
    ...         print(file.write("all of it"), os.listdir(folder) == ["a.txt"])
    ...     print(os.listdir(folder))
    9 False
    ['a.txt']
    """
    try:
        if _is_stream(path):
            with _open(path, "w", binary) as file:
                yield file
            return
        # A link stays, and what it points to is replaced.
        target = Path(os.path.realpath(path))
        # The name is short: that of the file itself may be as long as names can be.
        partial = target.with_name(f".{secrets.token_hex(8)}.partial")
        try:
            with _open(partial, "x", binary) as file:
                if target.exists():
                    # Who may read the file stays as it was.
                    os.chmod(partial, stat.S_IMODE(target.stat().st_mode))
                yield file
                file.flush()
                # Some systems find out only now that the disk is full.
                os.fsync(file.fileno())
            os.replace(partial, target)
        except BaseException:
            with contextlib.suppress(OSError):
                partial.unlink(missing_ok=True)
            raise
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(f"{os.fspath(path)!r} cannot be written: {error.strerror or error}") from error


def _open(path: str | os.PathLike[str], mode: str, binary: bool) -> IO[Any]:
    if binary:
        return open(path, mode + "b")
    return open(path, mode, encoding="utf-8", newline="")


def _is_stream(path: str | os.PathLike[str]) -> bool:
    """Whether there is a pipe, a terminal or a device of this name, which nothing must replace."""
    try:
        kind = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(kind) or stat.S_ISDIR(kind))
