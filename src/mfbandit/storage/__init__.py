"""Where studies are kept: in memory, in a SQLite file, or on a PostgreSQL server.

What stands here is for other rooms; modules with an underscore are private to this one, which imports only from
the rooms above it in CONTRIBUTING.md.
"""

from mfbandit.storage._log_digest import LogDigest, digest_of, record_line
from mfbandit.storage._memory_storage import MemoryStorage
from mfbandit.storage._open_storage import open_storage
from mfbandit.storage._patience import PATIENCE_SECONDS
from mfbandit.storage._records import (
    ALL_NOTES,
    CHANGES,
    CHECKPOINT,
    FAILURE,
    KINDS,
    LEASE,
    RESULT,
    RETRY,
    ROUND,
    SETTING,
    Decide,
    Interrupted,
    Log,
    LogChanged,
    Record,
    Storage,
    json_text,
    kept_records,
)

__all__ = [
    "ALL_NOTES",
    "CHANGES",
    "CHECKPOINT",
    "FAILURE",
    "KINDS",
    "LEASE",
    "PATIENCE_SECONDS",
    "RESULT",
    "RETRY",
    "ROUND",
    "SETTING",
    "Decide",
    "Interrupted",
    "Log",
    "LogChanged",
    "LogDigest",
    "MemoryStorage",
    "Record",
    "Storage",
    "digest_of",
    "json_text",
    "kept_records",
    "open_storage",
    "record_line",
]
