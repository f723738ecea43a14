"""Records that were changed, swapped or left out, and files that are no longer there."""

import hashlib
import os
import random
import shutil
import sqlite3
from pathlib import Path

import pytest

import mfbandit as mf
from mfbandit.errors import StorageError
from mfbandit.storage import LEASE, RESULT, ROUND, Record, open_storage
from mfbandit.study import Study, create_study, import_study, load_study

PROBLEM = mf.Problem(["a", "b"], [("quick", 1.0, 0.1), ("exact", 2.0)])
PAGE = 4096


def reward(seed: int) -> float:
    return random.Random(seed).random()


def play(study: Study, pulls: int) -> Study:
    while study.view().pulls < pulls:
        for pull in study.ask(2):
            if pull.seed % 5 == 0 and pull.id not in study.current().failures:
                study.fail(pull, 'it\'s "broken"\n\U0001f3b0')
            else:
                study.tell(pull, reward(pull.seed))
    return study


def stored(path: Path, pulls: int) -> str:
    """Make a study in a file; returns its digest."""
    with play(create_study(PROBLEM, storage=path, policy="lucb-c", durable=False), pulls) as study:
        return study.log_digest()


def harmless(path: Path, digest: str) -> bool:
    """Whether a file was refused, in a sentence, or is still the same study."""
    for ending in ("-wal", "-shm"):
        Path(f"{path}{ending}").unlink(missing_ok=True)
    try:
        with load_study(str(path)) as study:
            return study.log_digest() == digest and (study.problem, study.settings.delta) == (PROBLEM, 0.05)
    except StorageError as error:
        return "\n" not in str(error)


def test_swapped_pages_are_noticed(tmp_path: Path) -> None:
    path, damaged = tmp_path / "s.db", tmp_path / "damaged.db"
    digest = stored(path, 400)
    content = path.read_bytes()
    pages = [content[start : start + PAGE] for start in range(0, len(content), PAGE)]
    swaps = [(i, k) for i in range(1, len(pages)) for k in range(1, i) if pages[i][0] == pages[k][0]]
    assert len(swaps) > 10
    for i, k in random.Random(1).sample(swaps, min(60, len(swaps))):
        swapped = list(pages)
        swapped[i], swapped[k] = pages[k], pages[i]
        damaged.write_bytes(b"".join(swapped))
        assert harmless(damaged, digest), (i, k)


def test_changed_numbers_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    stored(path, 60)
    changes = [
        f"UPDATE mfbandit_log SET value = 0.75 WHERE kind = {RESULT} AND pull = 7",
        f"UPDATE mfbandit_log SET text = replace(text, '[0,0,1]', '[1,0,1]') WHERE kind = {ROUND} AND pull = 0",
        "UPDATE mfbandit_log SET text = 'another reason' WHERE kind = 3",
        f"DELETE FROM mfbandit_log WHERE kind = {RESULT} AND pull = 9",
        "DELETE FROM mfbandit_log WHERE kind = 3",
        f"UPDATE mfbandit_log SET seal = seal + 1 WHERE position = (SELECT max(position) FROM mfbandit_log "
        f"WHERE kind <> {LEASE} AND seal IS NOT NULL)",
    ]
    for change in changes:
        damaged = tmp_path / "damaged.db"
        shutil.copy(path, damaged)
        with sqlite3.connect(damaged) as connection:
            assert connection.execute(change).rowcount > 0, change
        connection.close()
        with pytest.raises(StorageError, match=r"damaged\.db is damaged: the records of study 'study' do not agree"):
            load_study(str(damaged))


def test_a_changed_header_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    stored(path, 4)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE mfbandit_studies SET header = replace(header, '0.05', '0.01')")
    connection.close()
    with pytest.raises(StorageError, match="the header of study 'study' is damaged"):
        load_study(str(path))
    assert create_study(PROBLEM, storage=path, name="another").ask() != []


def test_bytes_that_were_changed_are_noticed(tmp_path: Path) -> None:
    path, damaged = tmp_path / "s.db", tmp_path / "damaged.db"
    digest = stored(path, 200)
    content, chance = path.read_bytes(), random.Random(2)
    for _ in range(60):
        place = chance.randrange(len(content))
        changed = bytearray(content)
        changed[place] ^= 1 << chance.randrange(8)
        damaged.write_bytes(bytes(changed))
        assert harmless(damaged, digest), place


def test_the_digest_is_that_of_an_export(tmp_path: Path) -> None:
    memory = play(create_study(PROBLEM, policy="lucb-c"), 40)
    digest = memory.log_digest()
    memory.export(tmp_path / "s.jsonl")
    header, lines = (tmp_path / "s.jsonl").read_bytes().split(b"\n", 1)
    assert hashlib.sha256(lines).hexdigest() == digest
    assert b"settings" in header
    again = import_study(tmp_path / "s.jsonl", tmp_path / "s.db")
    assert again.log_digest() == digest
    play(again, 60)
    play(memory, 60)
    assert again.log_digest() == memory.log_digest() != digest
    assert load_study(str(tmp_path / "s.db")).log_digest() == memory.log_digest()


@pytest.mark.parametrize("policy", ["mf-toptwo", "iise", "lucb-b:top=0.9,second=0.5"])
def test_what_policies_note_survives_an_export(tmp_path: Path, policy: str) -> None:
    problem = mf.Problem(40, [("quick", 1.0, 0.1), ("exact", 2.0)])
    study = create_study(problem, policy=policy, on_failure="retire", retries=0)
    study.fail(study.ask()[0])
    while study.view().pulls < 150:
        for pull in study.ask(9):
            study.tell(pull, reward(pull.seed))
    study.export(tmp_path / "s.jsonl")
    assert import_study(tmp_path / "s.jsonl").log_digest() == study.log_digest()


def test_leases_are_no_part_of_the_digest(tmp_path: Path) -> None:
    study = create_study(PROBLEM, storage=tmp_path / "s.db")
    (pull,) = study.ask()
    digest = study.log_digest()
    study.heartbeat([pull])
    study.release([pull])
    assert study.log_digest() == digest == load_study(str(tmp_path / "s.db")).log_digest()


def test_a_zero_below_zero_is_a_zero(tmp_path: Path) -> None:
    storage = open_storage(tmp_path / "s.db")
    storage.create("a", "{}")
    log = storage.log("a")
    log.exchange(0, lambda news, clock: [Record(RESULT, 0, -0.0)], safe=True)
    assert storage.log("a").past()[0] == 1
    assert log.exchange(1, lambda news, clock: [Record(RESULT, 1, -0.0)], safe=True) == 2
    assert log.digest(2) == storage.log("a").digest(2)


def test_a_file_of_the_first_version_is_opened_and_protected(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    stored(path, 40)
    with sqlite3.connect(path) as connection:
        for table in ("mfbandit_log", "mfbandit_studies"):
            connection.execute(f"ALTER TABLE {table} DROP COLUMN seal")
        connection.execute("UPDATE mfbandit_schema SET version = 1")
        # A hole, as the first version left when a server had crashed.
        connection.execute(f"DELETE FROM mfbandit_log WHERE kind = {LEASE} AND pull = 3")
    connection.close()
    with load_study(str(path)) as study:
        digest = play(study, 50).log_digest()
    with load_study(str(path)) as study:
        assert study.log_digest() == digest
        assert study.view().pulls >= 50
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT version FROM mfbandit_schema").fetchall() == [(2,)]
        connection.execute(f"UPDATE mfbandit_log SET value = 0.5 WHERE kind = {RESULT} AND pull = 1")
    connection.close()
    with pytest.raises(StorageError, match="do not agree with their checksums"):
        load_study(str(path))


@pytest.mark.parametrize("durable", [True, False])
def test_a_file_that_was_deleted_ends_the_study(tmp_path: Path, durable: bool) -> None:
    path = tmp_path / "s.db"
    study = create_study(PROBLEM, storage=path, durable=durable)
    (pull,) = study.ask()
    for file in tmp_path.iterdir():
        file.unlink()
    for act in (lambda: study.tell(pull, 0.5), study.ask, lambda: study.status):
        with pytest.raises(StorageError, match=r"s\.db was deleted or moved while it was open: nothing more"):
            act()
    assert list(tmp_path.iterdir()) == [], "no new file takes its place"


@pytest.mark.parametrize("rest", [True, False], ids=["all files", "the file alone"])
def test_a_file_that_was_replaced_ends_the_study(tmp_path: Path, rest: bool) -> None:
    path, other = tmp_path / "s.db", tmp_path / "other.db"
    digest = stored(other, 20)
    study = create_study(PROBLEM, storage=path)
    (pull,) = study.ask()
    if rest:
        for ending in ("-wal", "-shm"):
            Path(f"{path}{ending}").unlink()
    os.replace(other, path)
    with pytest.raises(StorageError, match=r"s\.db was replaced by another file while it was open"):
        study.tell(pull, 0.5)
    study.close()
    if rest:
        with load_study(str(path)) as found:
            assert found.log_digest() == digest, "the other file is as it was"


def test_a_file_that_goes_while_a_result_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A result is not confirmed that nobody will find."""
    study = create_study(PROBLEM, storage=tmp_path / "s.db")
    (pull,) = study.ask()
    dialect = study.storage.dialect  # type: ignore[attr-defined]
    begin = dialect.begin

    def begin_then_lose(*arguments: object) -> None:
        begin(*arguments)
        (tmp_path / "s.db").unlink()

    monkeypatch.setattr(dialect, "begin", begin_then_lose)
    with pytest.raises(StorageError, match="was deleted or moved"):
        study.tell(pull, 0.5)


def test_a_content_that_was_put_back_ends_the_study(tmp_path: Path) -> None:
    """An older copy in the same file: it holds less than this process has read."""
    path = tmp_path / "s.db"
    study = play(create_study(PROBLEM, storage=path, policy="lucb-c"), 10)
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM mfbandit_log WHERE position > 5")
    connection.close()
    with pytest.raises(StorageError, match="the file was replaced, restored or edited while the study was open"):
        study.ask()
    assert load_study(str(path)).ask() != []


@pytest.mark.skipif(not hasattr(os, "fdatasync"), reason="SQLite waits for the disk on this system")
def test_a_log_ahead_that_was_deleted_ends_the_study(tmp_path: Path) -> None:
    study = create_study(PROBLEM, storage=tmp_path / "s.db")
    pulls = study.ask(2)
    study.tell(pulls[0], 0.5)
    Path(f"{tmp_path / 's.db'}-wal").unlink()
    with pytest.raises(StorageError, match=r"s\.db-wal was deleted while it was open"):
        study.tell(pulls[1], 0.5)
