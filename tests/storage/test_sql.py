"""Databases that are damaged, foreign or of another version."""

import sqlite3
import time
from pathlib import Path

import pytest

import mfbandit as mf
from mfbandit.errors import StorageError
from mfbandit.storage import LEASE, RESULT, Record, open_storage
from mfbandit.study import create_study, load_study

PROBLEM = mf.Problem(2, [("exact", 1.0)], reward="bernoulli")


def stored(path: Path, pulls: int) -> None:
    study = create_study(PROBLEM, storage=path, durable=False, lease_seconds=1.0)
    for _ in range(pulls):
        study.tell(study.ask()[0], 1.0)
    study.storage.close()


def refused(path: Path) -> str:
    """What opening and creating say, which must be one sentence."""
    with pytest.raises(StorageError) as caught:
        load_study(str(path))
    with pytest.raises(StorageError):
        create_study(PROBLEM, storage=path, name="new")
    assert "\n" not in str(caught.value)
    assert path.name in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.9])
def test_a_truncated_file_is_refused(tmp_path: Path, share: float) -> None:
    path = tmp_path / "s.db"
    stored(path, 1500)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(StorageError) as caught:
        load_study(str(path))
    assert str(caught.value) == f"{path} is damaged: part of the SQLite file is missing or was overwritten"
    assert path.read_bytes() == content[: int(share * len(content))], "the file is left as it is"


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Dear diary, " * 1000)
    assert refused(path) == f"{path} is not a SQLite file"
    assert path.read_text().startswith("Dear diary")


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()
    assert "is a database of another program (it has a table 'recipes')" in refused(path)
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("recipes",)]
    connection.close()


def test_newer_tables_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    stored(path, 3)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE mfbandit_schema SET version = 3")
    connection.close()
    assert "has tables of version 3, and this mfbandit knows version 2" in refused(path)


def test_a_newer_study_is_refused_and_the_others_are_not(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    stored(path, 3)
    with sqlite3.connect(path) as connection:
        connection.execute("""UPDATE mfbandit_studies SET seal = NULL, header = '{"format": 99}'""")
    connection.close()
    with pytest.raises(StorageError, match="study 'study' has format 99, which is newer"):
        load_study(str(path))
    assert create_study(PROBLEM, storage=path, name="new").ask() != []


def test_an_empty_file_is_a_new_storage(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    path.touch()
    assert create_study(PROBLEM, storage=path).ask() != []


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"there is no file .*nothing\.db"):
        load_study(str(tmp_path / "nothing.db"))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_storage(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        create_study(PROBLEM, storage=tmp_path)


def test_the_database_refuses_a_second_result(tmp_path: Path) -> None:
    storage = open_storage(tmp_path / "s.db")
    storage.create("a", "{}")
    log = storage.log("a")
    twice = [Record(LEASE, 1, 1.0), Record(RESULT, 1, 0.5), Record(RESULT, 1, 0.7)]
    with pytest.raises(StorageError):
        log.exchange(0, lambda news, clock: twice, safe=True)
    assert len(log.read(0)) == 0, "all or nothing"
    assert log.exchange(0, lambda news, clock: twice[:2], safe=True) == 2


@pytest.mark.parametrize("shared", [True, False], ids=["one connection", "two connections"])
def test_what_another_log_writes_is_read_before_the_next_step(tmp_path: Path, shared: bool) -> None:
    """A step that follows one of its own reads nothing back, unless somebody else may have written."""
    storage = open_storage(tmp_path / "s.db")
    storage.create("a", "{}")
    logs = [storage.log("a"), (storage if shared else open_storage(tmp_path / "s.db")).log("a")]
    known, seen = [0, 0], [[], []]
    for number, writer in enumerate([0, 0, 1, 1, 0, 1, 0, 0, 0, 1]):

        def decide(news: list[Record], clock: object, writer: int = writer, number: int = number) -> list[Record]:
            seen[writer] += [*news, Record(RESULT, number, 0.5)]
            return [Record(RESULT, number, 0.5)]

        known[writer] = logs[writer].exchange(known[writer], decide, safe=False)
        assert [record.pull for record in seen[writer]] == list(range(number + 1))
    storage.with_retry(lambda connection: connection.exec_driver_sql("DELETE FROM mfbandit_log WHERE position = 9"))
    with pytest.raises(StorageError, match="the file was replaced, restored or edited"):
        logs[1].exchange(10, lambda news, clock: [], safe=False)


def test_a_million_pulls_are_read_quickly(tmp_path: Path) -> None:
    """Ten seconds for a million, here for a tenth of it and with room for slow machines."""
    from mfbandit.storage import ROUND

    count = 50_000
    storage = open_storage(tmp_path / "s.db")
    study = create_study(PROBLEM, storage=storage, policy="lucb-c")
    records = []
    for number in range(count):
        records.append(Record(ROUND, 2 * number, 0.0, '{"rows":[[0,0,1],[1,0,1]]}'))
        for pull in (2 * number, 2 * number + 1):
            records += [Record(LEASE, pull, 1.0), Record(RESULT, pull, float(number % 3 == 0))]
    storage.log(study.name).exchange(0, lambda news, clock: records, safe=False)
    started = time.perf_counter()
    again = load_study(str(tmp_path / "s.db"))
    seconds = time.perf_counter() - started
    assert again.current().state.pulls.tolist() == [[count], [count]]
    assert seconds < 5.0


def test_a_server_that_does_not_answer() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(StorageError, match="could not be used") as caught:
        open_storage("postgresql://nobody:secret@127.0.0.1:1/nothing")
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_lost_connections_are_made_again(postgres_database: str) -> None:
    import psycopg

    study = create_study(PROBLEM, storage=postgres_database)
    (pull,) = study.ask()
    with psycopg.connect(postgres_database, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'mfbandit'")
    assert study.tell(pull, 1.0)
    assert load_study(postgres_database).cost == 1.0


def test_postgres_refuses_newer_tables_and_shares_its_database(postgres_database: str) -> None:
    import psycopg

    with psycopg.connect(postgres_database, autocommit=True) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
        assert create_study(PROBLEM, storage=postgres_database).ask() != []
        connection.execute("UPDATE mfbandit_schema SET version = 7")
    with pytest.raises(StorageError, match="has tables of version 7"):
        load_study(postgres_database)
