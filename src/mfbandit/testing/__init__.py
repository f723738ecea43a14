"""Contract tests that new parts must pass, and what they need.

A new storage is tested by a class that inherits `StorageContract` and tells how to open one, a new policy by one that
inherits `PolicyContract` and makes it.
"""

from mfbandit.testing.policies import PolicyContract
from mfbandit.testing.postgres import PostgresMissing, PostgresServer, postgres_server, temporary_postgres
from mfbandit.testing.storages import StorageContract

__all__ = [
    "PolicyContract",
    "PostgresMissing",
    "PostgresServer",
    "StorageContract",
    "postgres_server",
    "temporary_postgres",
]
