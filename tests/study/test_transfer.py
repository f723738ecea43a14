"""Files that do not hold a study are refused by line and value, and leave nothing behind."""

import errno
import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mfbandit as mf
from mfbandit.cli import main
from mfbandit.errors import OutputError, StorageError, StudyError
from mfbandit.storage import MemoryStorage
from mfbandit.study import Study, create_study, import_study, load_study

Lines = list[dict[str, Any]]


@pytest.fixture
def study(pair: mf.Problem) -> Study:
    made = create_study(pair, policy="lucb-c", max_cost=60.0, retries=5)
    for place in range(8):
        for pull in made.ask(2):
            if place == 3:
                made.fail(pull, "by chance")
            else:
                made.tell(pull, 1.0)
    return made


def lines_of(study: Study, path: Path) -> Lines:
    study.export(path)
    return [json.loads(line) for line in path.read_text().splitlines()]


def write(path: Path, lines: Lines) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def first_result(lines: Lines) -> int:
    return next(place for place, line in enumerate(lines) if line.get("kind") == "result")


@pytest.mark.parametrize("reward", [5, -1, float("inf"), float("-inf"), float("nan"), "0.5", None, [1], 1e400])
def test_every_reward_is_checked(study: Study, tmp_path: Path, reward: Any) -> None:
    lines = lines_of(study, tmp_path / "good.jsonl")
    place = first_result(lines)
    lines[place]["reward"] = reward
    with pytest.raises(StorageError) as caught:
        import_study(write(tmp_path / "bad.jsonl", lines), tmp_path / "s.db")
    said = str(caught.value)
    assert f"line {place + 1} of" in said
    assert said.endswith(f"got {float(reward) if isinstance(reward, int) else reward!r}")
    assert not (tmp_path / "s.db").exists()
    assert import_study(tmp_path / "good.jsonl", tmp_path / "s.db").result() == study.result()


def twice(lines: Lines) -> int:
    place = first_result(lines)
    lines.insert(place + 1, lines[place])
    return place + 2


def never_asked(lines: Lines) -> int:
    lines[first_result(lines)]["pull"] = 2**40
    return first_result(lines) + 1


def too_large(lines: Lines) -> int:
    lines[first_result(lines)]["pull"] = 2**70
    return first_result(lines) + 1


def failed_after_all(lines: Lines) -> int:
    place = first_result(lines)
    lines.insert(place + 1, {"kind": "failure", "pull": lines[place]["pull"], "reason": "late"})
    return place + 2


def no_such_arm(lines: Lines) -> int:
    lines[1]["rows"] = [[7, 0, 1]]
    return 2


def no_pulls(lines: Lines) -> int:
    lines[1]["rows"] = [[0, 0, 0]]
    return 2


def half_a_pull(lines: Lines) -> int:
    lines[1]["rows"] = [[0, 0, 1.5]]
    return 2


def a_lease(lines: Lines) -> int:
    lines.insert(2, {"kind": "lease", "pull": 0})
    return 3


def a_number(lines: Lines) -> int:
    lines.insert(2, 7)  # type: ignore[arg-type]
    return 3


@pytest.mark.parametrize(
    "spoil",
    [twice, never_asked, too_large, failed_after_all, no_such_arm, no_pulls, half_a_pull, a_lease, a_number],
)
def test_every_record_must_follow_from_those_before(
    study: Study, tmp_path: Path, spoil: Callable[[Lines], int]
) -> None:
    lines = lines_of(study, tmp_path / "good.jsonl")
    number = spoil(lines)
    storage = MemoryStorage()
    with pytest.raises(StorageError, match=f"line {number} of '.*bad.jsonl' is not a record of a study: "):
        import_study(write(tmp_path / "bad.jsonl", lines), storage)
    assert storage.headers() == {}


def test_an_import_that_is_cut_off_leaves_nothing(study: Study, tmp_path: Path) -> None:
    study.export(tmp_path / "s.jsonl")
    where = str(tmp_path / "s.db")
    create_study(study.problem, storage=where, name="other").storage.close()
    with sqlite3.connect(where) as connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE INSERT ON mfbandit_log WHEN new.position = 5 "
            "BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
        )
    with pytest.raises(StorageError, match="the disk is full"):
        import_study(tmp_path / "s.jsonl", where)
    with pytest.raises(StudyError, match="holds no study named 'study'"):
        load_study(where, "study")
    with sqlite3.connect(where) as connection:
        connection.execute("DROP TRIGGER full")
    assert import_study(tmp_path / "s.jsonl", where).result() == study.result()


@pytest.mark.parametrize("what", ["export", "report"])
def test_a_full_disk_leaves_nothing(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    writer = study.export if what == "export" else study.result().report
    (tmp_path / "file").write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match=r"'.*file' cannot be written: No space left on device"):
        writer(tmp_path / "file")
    assert os.listdir(tmp_path) == ["file"]
    assert (tmp_path / "file").read_text() == "old"


def test_a_full_disk_is_one_line_of_the_command_line(
    pair: mf.Problem, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no device that is always full")
    create_study(pair, storage=tmp_path / "s.db").ask()
    for target in ("/dev/full", str(tmp_path / "nowhere" / "x"), str(tmp_path)):
        assert main(["export", str(tmp_path / "s.db"), target]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert said.startswith("mfbandit: ")
    assert not list(tmp_path.rglob("*.partial"))
