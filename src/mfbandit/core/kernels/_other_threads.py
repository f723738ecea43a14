"""What numba would do to other threads of the program while it compiles."""

from __future__ import annotations

import contextlib
import functools
import threading
from typing import Any

__all__ = ["leave_others_alone"]


@functools.cache
def leave_others_alone() -> None:
    """Keep numba from replacing what all threads share while it compiles beside them.

    Where colorama is installed, it wraps sys.stdout and sys.stderr for a moment whenever it words an error, also those
    it only tries out, and puts back what it found: what another thread had put in place meanwhile would be lost. And it
    records all warnings, whoever gives them, to give them again later: those of a program that ends meanwhile would
    never be heard.
    """
    from numba.core import errors

    if hasattr(errors, "ColorShell"):
        errors.ColorShell = contextlib.nullcontext
    if hasattr(errors, "WarningsFixer"):
        recorded = errors.WarningsFixer.catch_warnings

        def catch_warnings(fixer: Any, *where: Any, **named: Any) -> Any:
            if threading.current_thread() is threading.main_thread():
                return recorded(fixer, *where, **named)
            return contextlib.nullcontext()

        errors.WarningsFixer.catch_warnings = catch_warnings
