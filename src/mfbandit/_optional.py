"""Optional dependencies: imported where they are needed, with a sentence that says what to install."""

from __future__ import annotations

import importlib
from typing import Any

from mfbandit.errors import MissingExtra

__all__ = ["missing", "optional"]


def optional(module: str, what: str, extra: str | None = None) -> Any:
    """Import a module that not everybody has.

    Parameters
    ----------
    module : str
        Its name.
    what : str
        What needs it, with the name that people know it by, such as "data frames need pandas".
    extra : str, optional
        The extra that brings it; None if a plain installation does.

    Examples
    --------
    >>> optional("math", "numbers need math").sqrt(4.0)
    2.0
    >>> optional("no_such_module", "dreams need it", extra="dreams")
    Traceback (most recent call last):
    mfbandit.errors.MissingExtra: dreams need it: pip install 'mfbandit[dreams]'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise missing(what, extra) from error


def missing(what: str, extra: str | None = None) -> MissingExtra:
    """The error for a module that is not there."""
    how = f": pip install 'mfbandit[{extra}]'" if extra else ", which a plain 'pip install mfbandit' brings"
    return MissingExtra(what + how)
