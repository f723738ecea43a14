"""Ctrl-C during compiled trials."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import TypeVar

from mfbandit.cli.output import complain

__all__ = ["interruptible"]

T = TypeVar("T")
_INTERRUPTED = 130
_SHOW_CURSOR = "\x1b[?25h"


def interruptible(work: Callable[[], T]) -> T:
    """Do the work so that Ctrl-C ends the process at once, with one line and exit code 130.

    Compiled trials cannot be interrupted, and Python waits for them before it exits. So the work is done
    on a thread of its own, and the process leaves without waiting. Only for work that loses nothing by
    that.

    Examples
    --------
    >>> interruptible(lambda: 6 * 7)
    42
    """
    done: list[T] = []
    failed: list[BaseException] = []

    def body() -> None:
        try:
            done.append(work())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=body, daemon=True)
    try:
        thread.start()
        while thread.is_alive():
            thread.join(timeout=0.5)
    except KeyboardInterrupt:
        _leave()
    if failed:
        raise failed[0]
    return done[0]


def _leave() -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"{_SHOW_CURSOR}\n")
    complain("interrupted")
    sys.stdout.flush()
    os._exit(_INTERRUPTED)
