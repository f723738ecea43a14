from collections.abc import Iterator

import pytest

from mfbandit.testing import PostgresMissing, temporary_postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a real PostgreSQL server that lives as long as the tests."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    try:
        server = temporary_postgres()
        url = server.__enter__()
    except PostgresMissing as error:
        pytest.skip(str(error))
    try:
        yield url
    finally:
        server.__exit__(None, None, None)


@pytest.fixture
def postgres_database(postgres: str) -> str:
    """The URL of an empty database."""
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS fresh WITH (FORCE)")
        connection.execute("CREATE DATABASE fresh")
    return postgres.replace("/postgres?", "/fresh?")
