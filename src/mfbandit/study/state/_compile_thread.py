"""Work beside a study that nobody waits for: compiling a policy.

A program may end meanwhile. Python then stops threads wherever they are, and inside LLVM that takes the whole
process down with a core dump, after all that it was to do was done. So what still compiles is told to leave, and
waited for: until the step of LLVM that it is in is over.
"""

from __future__ import annotations

import atexit
import ctypes
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

__all__ = ["start_compiling"]

#: For so long threads that must leave are waited for: one may wait for a lock of numba that another has left locked.
_PATIENCE_SECONDS = 3.0

_running: set[threading.Thread] = set()
_leaving = threading.Event()


def start_compiling(function: Callable[..., None], *arguments: Any) -> threading.Thread:
    """Call a function on a thread of its own that leaves when the program ends."""

    def work() -> None:
        try:
            function(*arguments)
        except BaseException:
            # Errors are printed, as those of any thread are, unless they come of leaving.
            if not _leaving.is_set():
                raise
        finally:
            _running.discard(thread)

    thread = threading.Thread(target=work, name="mfbandit compiles", daemon=True)
    _running.add(thread)
    thread.start()
    return thread


@atexit.register
def _leave() -> None:
    if not _running:
        return
    _leaving.set()
    sys.unraisablehook = _say_nothing
    threads, until = list(_running), time.monotonic() + _PATIENCE_SECONDS
    for thread in threads:
        # Raised there as soon as it is back from LLVM.
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit))
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))


def _say_nothing(unraisable: object) -> None:
    """Print nothing of what is raised where nobody can catch it."""
