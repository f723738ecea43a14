"""Machine code that is kept on disk, beside the file of its function, for the next start of the program."""

from __future__ import annotations

import contextlib
from typing import Any

__all__ = ["keep"]


def keep(dispatcher: Any) -> None:
    """Let a compiled function keep its machine code, and take what cannot be read for nothing.

    What was kept for a policy of a user's names the classes of its parameters. In another file, or renamed, these are
    not there any more, though the text is the same: it is compiled again then.
    """
    # A function typed into an interpreter has no file to keep machine code beside.
    with contextlib.suppress(RuntimeError):
        dispatcher.enable_caching()
    cache = dispatcher._cache
    load = cache.load_overload

    def load_if_readable(*given: Any) -> Any:
        try:
            return load(*given)
        except (ImportError, AttributeError):
            cache.flush()
            return None

    cache.load_overload = load_if_readable
