"""A PostgreSQL server that crashes under running workers: nothing that was safe is lost, nothing counts twice.

``MFBANDIT_RESTARTS=50`` crashes it fifty times instead of twice.
"""

import logging
import os
import random
import runpy
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import mfbandit as mf
from mfbandit.errors import InvalidInput, StorageError, StudyError
from mfbandit.storage import FAILURE, RESULT, Record, open_storage
from mfbandit.study import Study, create_study, load_study
from mfbandit.study.state.rounds._round_record import dump_state
from mfbandit.testing import PostgresMissing, PostgresServer, postgres_server

RESTARTS = int(os.environ.get("MFBANDIT_RESTARTS", "2"))
CASES = [("syncing_server", True), ("server", False)]
if RESTARTS > 2:
    CASES += [("syncing_server", False), ("server", True)]
CREW = Path(__file__).with_name("crew.py")
reward_of = runpy.run_path(str(CREW))["reward_of"]
PROBLEM = mf.Problem(["a", "b", "c", "d"], [("quick", 1.0, 0.2), ("exact", 3.0, 0.0)])


def crashing(fsync: bool) -> Iterator[PostgresServer]:
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    try:
        running = postgres_server(fsync=fsync)
        server = running.__enter__()
    except PostgresMissing as error:
        pytest.skip(str(error))
    try:
        yield server
    finally:
        running.__exit__(None, None, None)


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A server that tests may crash."""
    yield from crashing(False)


@pytest.fixture(scope="module")
def syncing_server() -> Iterator[PostgresServer]:
    """One that waits for the disk."""
    yield from crashing(True)


def play(study: Study) -> Study:
    while not study.done:
        for pull in study.ask():
            study.tell(pull, reward_of(pull.seed))
    return study


def results(study: Study) -> dict[int, float]:
    found = [record for record in study.storage.log(study.name).read(0) if record.kind == RESULT]
    rewards = {record.pull: record.value for record in found}
    assert len(rewards) == len(found), "a pull counts twice"
    return rewards


@pytest.mark.parametrize(("which", "durable"), CASES)
def test_crashes_change_nothing(which: str, durable: bool, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    server = request.getfixturevalue(which)
    settings = {"policy": "lucb-c:batch=3", "max_cost": 200.0 * RESTARTS, "on_failure": "retire", "retries": 5}
    name = f"{durable}"
    study = create_study(PROBLEM, storage=server.url, name=name, lease_seconds=0.3, **settings)  # type: ignore[arg-type]
    confirmed, chance = tmp_path / "confirmed", random.Random(3)
    command = [sys.executable, CREW, server.url, name, 4, 0, 1, confirmed, int(durable)]
    crew = subprocess.Popen(list(map(str, command)), stderr=subprocess.PIPE, text=True)
    restarts = 0
    size = 0
    while restarts < RESTARTS and crew.poll() is None:
        # All are at work again.
        while crew.poll() is None and (not confirmed.exists() or confirmed.stat().st_size == size):
            time.sleep(0.01)
        time.sleep(chance.uniform(0.0, 0.2))
        size = confirmed.stat().st_size
        server.crash()
        server.start()
        restarts += 1
    _, said = crew.communicate(timeout=60 + 5 * RESTARTS)
    assert crew.returncode == 0, said
    assert restarts == RESTARTS, "the study ended too soon"
    if not durable:  # the last crash may come after the end, and take the end with it: the next who comes goes on
        play(study)
    alone = play(create_study(PROBLEM, **settings))  # type: ignore[arg-type]
    assert (study.status, study.best, study.cost) == (alone.status, alone.best, alone.cost)
    assert results(study) == results(alone)
    assert study.to_frame().loc[:, :"reward"].equals(alone.to_frame().loc[:, :"reward"])
    again = load_study(server.url, name)
    assert dump_state(again.current().state) == dump_state(alone.current().state)
    assert not again.current().retired, "no failure counts twice"
    if durable:
        told = [line.split() for line in confirmed.read_text().splitlines()]
        assert {int(number): float(reward) for number, reward in told}.items() <= results(study).items()


def lose_the_end(url: str, kept: int) -> None:
    """Leave only the first records of all logs, as a crash would."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DELETE FROM mfbandit_log WHERE position >= %s", (kept,))


def test_a_survivor_notices_that_the_log_is_shorter(postgres_database: str) -> None:
    """The lease is lost: the result must not be written behind a hole."""
    survivor = create_study(PROBLEM, storage=postgres_database, policy="lucb-c")
    (pull,) = survivor.ask()
    lose_the_end(postgres_database, 0)
    assert survivor.tell(pull, 0.5)
    again = load_study(postgres_database)
    assert (again.cost, again.current().round.folded) == (1.0, 1)
    assert [tuple(r)[:2] for r in again.storage.log("study").read(0)][:2] == [(0, 0), (2, 0)]


def test_a_survivor_notices_that_the_log_was_written_anew(postgres_database: str) -> None:
    """As long as before, or longer, but not the same."""
    survivor = create_study(PROBLEM, storage=postgres_database, policy="lucb-c", durable=False)
    pulls = survivor.ask(2)
    for pull in pulls:
        survivor.tell(pull, 0.25)
    lose_the_end(postgres_database, 3)
    other = load_study(postgres_database)
    for pull in pulls:
        other.tell(pull, 1.0)
    other.ask(1)
    assert survivor.current().state.sums.sum() == other.current().state.sums.sum() == 2.0
    assert survivor.log_digest() == other.log_digest()
    assert survivor.ask() != []


def test_a_heartbeat_keeps_what_the_server_forgot(postgres_database: str) -> None:
    study = create_study(PROBLEM, storage=postgres_database)
    pulls = study.ask(2)
    lose_the_end(postgres_database, 0)
    assert study.heartbeat(pulls) == pulls
    others = load_study(postgres_database).ask(9)
    assert not {pull.id for pull in pulls} & {pull.id for pull in others}


def test_a_result_that_the_server_forgot_is_asked_for_again(postgres_database: str) -> None:
    study = create_study(PROBLEM, storage=postgres_database, policy="lucb-c", durable=False)
    pulls = study.ask(9, in_process=True)
    for pull in pulls:
        study.tell(pull, 0.5)
    lose_the_end(postgres_database, 1 + len(pulls))
    assert [pull.id for pull in study.ask(9, in_process=True)] == [pull.id for pull in pulls]


class Cut:
    """Lets a commit through, and cuts the connection before the answer comes."""

    def __init__(self, study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
        import psycopg

        self.times = 0
        dialect = study.storage.dialect  # type: ignore[attr-defined]
        commit = dialect.commit

        def cut(driver: object) -> None:
            commit(driver)
            self.times += 1
            if self.times == 1:
                raise psycopg.OperationalError("server closed the connection unexpectedly")

        monkeypatch.setattr(dialect, "commit", cut)


def test_a_failure_whose_confirmation_was_lost_counts_once(
    postgres_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = create_study(PROBLEM, storage=postgres_database, retries=1, on_failure="retire")
    (pull,) = study.ask()
    cut = Cut(study, monkeypatch)
    assert study.fail(pull, "broken")
    assert cut.times == 1
    found = [record for record in study.storage.log("study").read(0) if record.kind == FAILURE]
    assert found == [Record(FAILURE, 0, 0.0, "broken")]
    assert not study.current().retired


def test_a_result_whose_confirmation_was_lost_counts(postgres_database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    study = create_study(PROBLEM, storage=postgres_database)
    (pull,) = study.ask()
    Cut(study, monkeypatch)
    assert study.tell(pull, 0.5), "it does count"
    assert not study.tell(pull, 0.5)


def test_a_lease_whose_confirmation_was_lost_is_handed_out(
    postgres_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = create_study(PROBLEM, storage=postgres_database)
    Cut(study, monkeypatch)
    assert [pull.id for pull in study.ask()] == [0]


def test_a_study_that_was_deleted_is_not_written_to(postgres_database: str) -> None:
    import psycopg

    study = create_study(PROBLEM, storage=postgres_database)
    (pull,) = study.ask()
    with psycopg.connect(postgres_database, autocommit=True) as connection:
        connection.execute("DELETE FROM mfbandit_log")
        connection.execute("DELETE FROM mfbandit_studies")
    with pytest.raises(StudyError, match="study 'study' was deleted or replaced while it was open"):
        study.tell(pull, 1.0)


def test_an_outage_is_waited_for(server: PostgresServer, caplog: pytest.LogCaptureFixture) -> None:
    study = create_study(PROBLEM, storage=server.url, name="patient")
    (pull,) = study.ask()
    server.crash()
    starting = threading.Timer(1.5, server.start)
    starting.start()
    with caplog.at_level(logging.WARNING, "mfbandit"):
        assert study.tell(pull, 0.5)
    starting.join()
    first, *others = [record.getMessage() for record in caplog.records]
    assert "does not answer" in first
    assert "trying again for up to 60 s" in first
    assert "\n" not in first
    assert any("answers again, after" in said for said in others)


def test_patience_has_an_end(server: PostgresServer) -> None:
    study = create_study(PROBLEM, storage=server.url, name="impatient", patience=0.2)
    server.crash()
    try:
        with pytest.raises(StorageError, match="could not be used"):
            study.ask()
    finally:
        server.start()
    assert study.ask() != [], "it goes on when the server is back"


@pytest.mark.parametrize("wrong", [-1.0, float("nan"), "60", None, True])
def test_patience_is_a_time(tmp_path: Path, wrong: object) -> None:
    with pytest.raises(InvalidInput, match="patience must be a number of seconds >= 0"):
        create_study(PROBLEM, storage=tmp_path / "s.db", patience=wrong)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_patience_is_no_setting(tmp_path: Path) -> None:
    create_study(PROBLEM, storage=tmp_path / "s.db", patience=1.0).close()
    assert create_study(PROBLEM, storage=tmp_path / "s.db", patience=2.0, load_if_exists=True).ask() != []
    assert load_study(str(tmp_path / "s.db"), patience=3.0).storage.patience == 3.0  # type: ignore[attr-defined]
    assert open_storage(tmp_path / "s.db", patience=4.0).patience == 4.0  # type: ignore[attr-defined]
