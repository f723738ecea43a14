"""The tables that studies are kept in, and the checks when a database is opened."""

from __future__ import annotations

import sqlalchemy as sa

from mfbandit.errors import StorageError
from mfbandit.storage._records import RESULT, ROUND

__all__ = ["SCHEMA", "log_table", "make_tables", "schema_version", "studies_table"]

#: Version of the tables; a newer one is refused. Version 1 had no seals.
SCHEMA = 2

metadata = sa.MetaData()
schema_table = sa.Table("mfbandit_schema", metadata, sa.Column("version", sa.Integer, nullable=False))
studies_table = sa.Table(
    "mfbandit_studies",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("header", sa.Text, nullable=False),
    sa.Column("seal", sa.BigInteger),
)
log_table = sa.Table(
    "mfbandit_log",
    metadata,
    sa.Column("study", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.SmallInteger, nullable=False),
    sa.Column("pull", sa.BigInteger, nullable=False),
    sa.Column("value", sa.Double, nullable=False),
    sa.Column("text", sa.Text),
    sa.Column("seal", sa.BigInteger),
    sqlite_with_rowid=False,
)
# Writers hold a lock and know all records before their own; this index is the second line of defence: the
# database itself refuses a second result of a pull and a second round from one pull on.
_once = log_table.c.kind.in_([ROUND, RESULT])
sa.Index(
    "mfbandit_once",
    log_table.c.study,
    log_table.c.pull,
    log_table.c.kind,
    unique=True,
    sqlite_where=_once,
    postgresql_where=_once,
)


def make_tables(connection: sa.Connection, version: int) -> None:
    """Make the tables of a new database (version 0), or bring older ones up to date."""
    if version == 0:
        metadata.create_all(connection)
        connection.execute(sa.insert(schema_table).values(version=SCHEMA))
    elif version == 1:
        # Records that are there have no seal: the next one that is written covers them too.
        for table in (studies_table, log_table):
            connection.execute(sa.text(f"ALTER TABLE {table.name} ADD COLUMN seal BIGINT"))
        connection.execute(sa.update(schema_table).values(version=SCHEMA))


def schema_version(connection: sa.Connection, label: str) -> int:
    """The version of a database's tables, 0 if it has none; refuses a newer one."""
    names = set(sa.inspect(connection).get_table_names())
    if "mfbandit_schema" not in names:
        if names and connection.dialect.name == "sqlite":
            raise StorageError(
                f"{label} is a database of another program (it has a table {min(names)!r}): "
                "give the studies a file of their own"
            )
        return 0
    versions = list(connection.execute(sa.select(schema_table.c.version)).scalars())
    if len(versions) != 1 or versions[0] not in range(1, SCHEMA + 1):
        found = versions[0] if len(versions) == 1 else versions
        raise StorageError(
            f"{label} has tables of version {found}, and this mfbandit knows version {SCHEMA}: "
            "install the mfbandit that wrote it, or a newer one"
        )
    return int(versions[0])
