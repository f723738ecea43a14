"""Work beside a study that nobody waits for: compiling a policy.

A program may end meanwhile. Python then stops threads wherever they are, and inside LLVM that takes the whole
process down with a core dump, after all that it was to do was done. So what still compiles is told to leave, and
waited for: until the step of LLVM that it is in is over.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import threading
from collections.abc import Callable
from typing import Any

__all__ = ["start_compiling"]

_running: set[threading.Thread] = set()


def start_compiling(function: Callable[..., None], *arguments: Any) -> threading.Thread:
    """Call a function on a thread of its own that leaves when the program ends."""

    def work() -> None:
        # Other errors are printed, as those of any thread are.
        with contextlib.suppress(SystemExit):
            try:
                function(*arguments)
            finally:
                _running.discard(thread)

    thread = threading.Thread(target=work, name="mfbandit compiles", daemon=True)
    _running.add(thread)
    thread.start()
    return thread


@atexit.register
def _leave() -> None:
    for thread in list(_running):
        # Raised there as soon as it is back from LLVM.
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit))
    for thread in list(_running):
        thread.join()
