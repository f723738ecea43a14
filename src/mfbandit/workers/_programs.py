"""Programs that are started, listened to and ended, with all that they started themselves."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

__all__ = ["Ended", "Programs", "end_all_programs"]

#: Bytes that are kept of what a program prints, the last ones.
_KEPT = 64 * 1024
#: How long what was killed may take to be gone.
_CLOSING_SECONDS = 5.0


class Ended(NamedTuple):
    """What became of a program."""

    code: int
    output: str
    complaint: str


class Programs:
    """The programs that run for one evaluator."""

    def __init__(self) -> None:
        # A signal may come, and end all programs, while this thread holds it.
        self._lock = threading.RLock()
        self._running: dict[subprocess.Popen[bytes], Any] = {}
        _everywhere.add(self)

    def run(self, key: object, words: Sequence[str], timeout: float | None, **options: Any) -> Ended:
        """Run a program to its end; raises TimeoutExpired, and ends it, if that takes too long.

        It has ended when it exited and everything that shares its output has closed it.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        # Whoever ends it must not come between its start and its entry here.
        with self._lock:
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # A session of its own: Ctrl-C does not reach it, and all it started can be ended.
                start_new_session=True,
                **options,
            )
            self._running[process] = key
        if _last_moments.is_set():  # nobody would end it
            _kill(process)
        complete = False
        try:
            output, complaint = _Tail(process.stdout), _Tail(process.stderr)
            for tail in (output, complaint):
                tail.join(_left(deadline))
                if tail.is_alive():
                    raise subprocess.TimeoutExpired(words, timeout or 0.0)
            code = process.wait(_left(deadline))
            complete = True
        finally:
            if not complete:
                _kill(process)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_CLOSING_SECONDS)
            with self._lock:
                self._running.pop(process, None)
        return Ended(code, output.text(), complaint.text())

    def end(self, key: object | None = None) -> None:
        """End the programs of a key, or all of them."""
        with self._lock:
            for process in [one for one, its in self._running.items() if key is None or its == key]:
                _kill(process)


#: All that run programs in this process, and whether it is about to end.
_everywhere: weakref.WeakSet[Programs] = weakref.WeakSet()
_last_moments = threading.Event()


@atexit.register
def end_all_programs() -> None:
    """End all programs of this process, which is about to end: they must not outlive it."""
    _last_moments.set()
    for programs in list(_everywhere):
        programs.end()


class _Tail(threading.Thread):
    """Reads a pipe to its end, and keeps the last of it."""

    def __init__(self, pipe: IO[bytes] | None) -> None:
        super().__init__(name="mfbandit-pipe", daemon=True)
        assert pipe is not None
        self._pipe, self._kept, self._cut = pipe, b"", False
        self.start()

    def run(self) -> None:
        """Read until everybody has closed the pipe."""
        with self._pipe:
            while data := os.read(self._pipe.fileno(), _KEPT):
                kept = self._kept + data
                self._cut = self._cut or len(kept) > _KEPT
                self._kept = kept[-_KEPT:]

    def text(self) -> str:
        """What was kept; a line without its beginning is marked, lest half a number pass for one."""
        return ("…" if self._cut else "") + self._kept.decode(errors="replace")


def _left(deadline: float | None) -> float | None:
    return None if deadline is None else min(max(0.0, deadline - time.monotonic()), threading.TIMEOUT_MAX)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a program and all it started, also if it has exited and left something behind."""
    family = _family(process.pid)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    for member in family:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(member, signal.SIGKILL)


def _family(leader: int) -> list[int]:
    """The processes of a session, and their descendants in others, where the system shows them."""
    parents: dict[int, int] = {}
    family = {leader}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            # The name, in parentheses, may hold anything.
            fields = entry.read_text(errors="replace").rpartition(")")[2].split()
            member = int(entry.parent.name)
            parents[member] = int(fields[1])
            if int(fields[3]) == leader:
                family.add(member)
    while grown := {member for member, parent in parents.items() if parent in family} - family:
        family |= grown
    return sorted(family - {leader, os.getpid()})
