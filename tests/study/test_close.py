"""Studies that are closed, and results that are kept."""

import contextlib
import gc
import os
from pathlib import Path

import pytest

import mfbandit as mf
from mfbandit.errors import StudyError
from mfbandit.storage import open_storage
from mfbandit.study import create_study, import_study, load_study

PROBLEM = mf.Problem(["a", "b"], [("exact", 1.0)], reward="bernoulli")
counted = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files cannot be counted on this system")


def evaluate(pull: mf.Pull) -> float:
    return float(pull.arm == "b")


def opened(folder: Path) -> int:
    """How many files of a folder this process has open."""
    links = []
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            links.append(os.readlink(f"/proc/self/fd/{number}"))
    return sum(link.startswith(str(folder)) for link in links)


@counted
def test_results_that_are_kept_hold_no_files(tmp_path: Path) -> None:
    kept = [
        mf.identify(PROBLEM, evaluate, storage=f"sqlite:///{tmp_path / f'{number}.db'}", progress=False)
        for number in range(4)
    ]
    assert opened(tmp_path) == 0
    kept[0].report(tmp_path / "report.html")
    assert "To reproduce it" in (tmp_path / "report.html").read_text()
    assert opened(tmp_path) == 0
    for number in range(3):
        kept.append(create_study(PROBLEM, storage=tmp_path / f"{number}.db", name="other").result())
    gc.collect()
    assert opened(tmp_path) == 0, "nobody has these studies any more"


@counted
def test_with_closes_what_was_opened(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with create_study(PROBLEM, storage=path) as study:
        study.tell(study.ask()[0], 1.0)
        assert opened(tmp_path) > 0
    assert opened(tmp_path) == 0
    with load_study(path) as study:
        assert study.cost == 1.0
        study.export(tmp_path / "s.jsonl")
    with import_study(tmp_path / "s.jsonl", tmp_path / "other.db") as study:
        assert study.cost == 1.0
    assert opened(tmp_path) == 0


@counted
def test_a_study_that_cannot_be_opened_leaves_nothing_open(tmp_path: Path) -> None:
    create_study(PROBLEM, storage=tmp_path / "s.db", delta=0.1).close()
    for delta in (0.1, 0.2):
        with pytest.raises(StudyError):
            create_study(PROBLEM, storage=tmp_path / "s.db", delta=delta, load_if_exists=delta == 0.2)
    with pytest.raises(StudyError):
        load_study(tmp_path / "s.db", "nobody")
    assert opened(tmp_path) == 0


def test_a_closed_study_says_so(tmp_path: Path) -> None:
    study = create_study(PROBLEM, storage=tmp_path / "s.db")
    (pull,) = study.ask()
    view = study.view()
    study.close()
    study.close()
    acts = (study.ask, lambda: study.tell(pull, 1.0), lambda: study.best, lambda: study.heartbeat([pull]), study.result)
    for act in acts:
        with pytest.raises(StudyError, match="study 'study' is closed: open it again with load_study"):
            act()
    assert view.cost == 0.0
    assert "study" in repr(study)
    assert load_study(tmp_path / "s.db").tell(pull, 1.0)


def test_a_storage_of_yours_stays_open(tmp_path: Path) -> None:
    storage = open_storage(tmp_path / "s.db")
    for name in ("a", "b"):
        with create_study(PROBLEM, storage=storage, name=name) as study:
            assert study.ask() != []
    assert list(storage.headers()) == ["a", "b"]
    assert storage._connection is not None  # type: ignore[attr-defined]


@pytest.mark.parametrize("stored", [True, False])
def test_a_report_after_closing_tells_the_whole_story(tmp_path: Path, stored: bool) -> None:
    with create_study(PROBLEM, storage=tmp_path / "s.db" if stored else None) as study:
        result = study.optimize(evaluate, progress=False)
        result.report(tmp_path / "before.html")
    result.report(tmp_path / "after.html")
    assert (tmp_path / "after.html").read_text().count("<img") == (tmp_path / "before.html").read_text().count("<img")
    assert "To reproduce it" in (tmp_path / "after.html").read_text()


def test_a_report_of_a_study_that_is_gone(tmp_path: Path) -> None:
    result = mf.identify(PROBLEM, evaluate, storage=tmp_path / "s.db", progress=False)
    for file in tmp_path.iterdir():
        file.unlink()
    result.report(tmp_path / "after.html")
    assert "This page is complete in itself" in (tmp_path / "after.html").read_text()
