"""Where studies are kept: in memory, in a SQLite file, or on a PostgreSQL server."""

from __future__ import annotations

from typing import Any

from mfbandit.errors import InvalidInput
from mfbandit.storage._memory_storage import MemoryStorage
from mfbandit.storage._patience import PATIENCE_SECONDS, check_patience
from mfbandit.storage._records import Log, Record, Storage

__all__ = ["Log", "MemoryStorage", "Record", "Storage", "open_storage"]


def open_storage(where: Any = None, *, existing: bool = False, patience: float = PATIENCE_SECONDS) -> Storage:
    """Open a storage.

    Parameters
    ----------
    where : str, Storage or None
        ``sqlite:///file.db``, a path of a SQLite file, ``postgresql://...``, or a storage, which is
        returned as it is. None is a new storage in memory.
    existing : bool
        Refuse a file that does not exist instead of making it.
    patience : float
        For how many seconds a server that does not answer is tried again. A storage object has its own.

    Returns
    -------
    Storage

    Examples
    --------
    >>> open_storage().headers()
    {}
    """
    check_patience(patience)
    if where is None:
        return MemoryStorage()
    if hasattr(where, "headers") and hasattr(where, "log"):
        return where  # type: ignore[no-any-return]
    if not isinstance(where, str) and not hasattr(where, "__fspath__"):
        raise InvalidInput(f"a storage is a URL, a path or a storage object, got {where!r}")
    from mfbandit.storage._sql import SQLStorage

    return SQLStorage(where, existing=existing, patience=patience)
