"""Contract tests that new parts must pass, and what they need.

A new storage is tested by a class that inherits `StorageContract` and tells how to open one, a new policy by one that
inherits `PolicyContract` and makes it.

What stands here is for other rooms; modules with an underscore are private to this one, which imports only from
the rooms above it in CONTRIBUTING.md.
"""

from mfbandit.testing._policy_contract import PolicyContract
from mfbandit.testing._postgres import PostgresMissing, PostgresServer, postgres_server, temporary_postgres
from mfbandit.testing._storage_contract import StorageContract

__all__ = [
    "PolicyContract",
    "PostgresMissing",
    "PostgresServer",
    "StorageContract",
    "postgres_server",
    "temporary_postgres",
]
