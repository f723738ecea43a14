"""What a cut of the power leaves of a SQLite file."""

import contextlib
import errno
import gc
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mfbandit as mf
from mfbandit.errors import StorageError
from mfbandit.storage import RESULT, open_storage
from mfbandit.storage._dialects import SQLite
from mfbandit.study import Study, create_study, load_study

PROBLEM = mf.Problem(2, [("exact", 1.0)], reward="bernoulli")
waits_itself = pytest.mark.skipif(not hasattr(os, "fdatasync"), reason="SQLite waits for the disk on this system")


class Disk:
    """Keeps a copy of the files as they were when the disk was last waited for: all that is sure to be on it."""

    def __init__(self, file: Path, sure: Path) -> None:
        self.file, self.sure, self.waits = file, sure, 0
        sure.mkdir()

    def wait(self, opened: int) -> None:
        assert os.path.samefile(f"/proc/self/fd/{opened}", f"{self.file}-wal")
        self.waits += 1
        for ending in ("", "-wal"):
            shutil.copy(f"{self.file}{ending}", self.sure / f"{self.file.name}{ending}")

    def cut_power(self) -> Study:
        return load_study(self.sure / self.file.name)


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("files cannot be told apart on this system")
    disk = Disk(tmp_path / "s.db", tmp_path / "sure")
    monkeypatch.setattr(os, "fdatasync", disk.wait)
    return disk


def rewards(study: Study) -> dict[int, float]:
    return {r.pull: r.value for r in study.storage.log(study.name).read(0) if r.kind == RESULT}


@waits_itself
def test_a_result_that_was_told_survives_a_cut_of_the_power(disk: Disk) -> None:
    study = create_study(PROBLEM, storage=disk.file, policy="lucb-c", max_cost=1000.0)
    told = {}
    for number in range(400):
        (pull,) = study.ask()
        told[pull.id] = float(number % 3 == 0)
        waits = disk.waits
        assert study.tell(pull, told[pull.id])
        assert disk.waits == waits + 1
        if number % 50 == 0 or number > 395:
            again = disk.cut_power()
            assert rewards(again) == told
            assert again.current().state.sums.tolist() == study.current().state.sums.tolist()
            again.storage.close()
    assert Path(f"{disk.file}-wal").stat().st_size < 2**21, "it is written over again and again"


@waits_itself
def test_leases_and_fast_studies_do_not_wait_for_the_disk(disk: Disk) -> None:
    study = create_study(PROBLEM, storage=disk.file, durable=False)
    made = disk.waits
    for pull in study.ask(2):
        study.heartbeat([pull])
        study.tell(pull, 1.0)
    assert disk.waits == made, "only the study itself was waited for"
    assert disk.cut_power().name == study.name


@waits_itself
def test_a_link_to_the_file_is_followed(tmp_path: Path, disk: Disk) -> None:
    (tmp_path / "folder").mkdir()
    link = tmp_path / "folder" / "link.db"
    link.symlink_to(disk.file)
    study = create_study(PROBLEM, storage=link)
    study.tell(study.ask()[0], 1.0)
    assert rewards(disk.cut_power()) == {0: 1.0}


@waits_itself
def test_a_disk_that_fails_is_an_error_and_nothing_counts_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = create_study(PROBLEM, storage=tmp_path / "s.db")
    (pull,) = study.ask()

    def fail(opened: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", fail)
        with pytest.raises(StorageError, match=r"s\.db could not be used: the disk reports: Input/output error"):
            study.tell(pull, 1.0)
    assert not study.tell(pull, 1.0), "it had been written, only not for sure"
    assert rewards(study) == {pull.id: 1.0}


def levels(storage: Any) -> Callable[[], int]:
    def level() -> int:
        return int(storage.with_retry(lambda connection: connection.exec_driver_sql("PRAGMA synchronous").scalar()))

    return level


def test_sqlite_waits_for_the_disk_where_it_must(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fdatasync", raising=False)
    study = create_study(PROBLEM, storage=tmp_path / "s.db")
    level = levels(study.storage)
    (pull,) = study.ask()
    assert level() == 1
    study.tell(pull, 1.0)
    assert level() == 2


def test_sqlite_waits_where_its_log_cannot_be_written_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on some network folders, where SQLite answers that the journal stays what it was."""

    class Reluctant(sqlite3.Connection):
        def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
            return super().execute("PRAGMA journal_mode" if "journal_mode" in statement else statement, *values)

    original = SQLite.__init__

    def reluctant(self: SQLite, *settings: Any) -> None:
        original(self, *settings)
        self.connect_args["factory"] = Reluctant

    monkeypatch.setattr(SQLite, "__init__", reluctant)
    study = create_study(PROBLEM, storage=tmp_path / "s.db")
    level = levels(study.storage)
    for pull in study.ask(2):
        study.tell(pull, 1.0)
        assert level() == 2
    assert not Path(f"{tmp_path / 's.db'}-wal").exists()
    assert rewards(load_study(tmp_path / "s.db")) == {0: 1.0, 1: 1.0}


def opened(path: Path) -> int:
    """How many files of a study this process has open."""
    links = []
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            links.append(os.readlink(f"/proc/self/fd/{number}"))
    return sum(link.startswith(str(path)) for link in links)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files cannot be counted on this system")
@pytest.mark.parametrize("closed", [True, False], ids=["closed", "forgotten"])
def test_nothing_stays_open(tmp_path: Path, closed: bool) -> None:
    for _ in range(3):
        storage = open_storage(tmp_path / "s.db")
        storage.create("a", "{}")
        assert opened(tmp_path / "s.db") > 0
        if closed:
            storage.close()
        del storage
        gc.collect()
        assert opened(tmp_path / "s.db") == 0
