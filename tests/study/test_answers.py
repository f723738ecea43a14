"""What a study says: best, confidence, intervals, results, frames, exports."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

import mfbandit as mf
from mfbandit.errors import StorageError, StudyError
from mfbandit.storage import RESULT
from mfbandit.study import Study, create_study, import_study, load_study


def play(study: Study, pulls: int = 10**9) -> Study:
    while not study.done and study.view().pulls < pulls:
        for pull in study.ask(3):
            study.tell(pull, float(pull.seed % 10 < (8 if pull.arm_index else 3)))
    return study


def test_before_the_first_result(pair: mf.Problem) -> None:
    study = create_study(pair)
    assert study.best is None
    assert study.confidence == 0.0
    assert study.intervals() == {"a": (0.0, 1.0), "b": (0.0, 1.0)}
    assert study.cost == 0.0
    assert study.status == "running"
    assert not study.done
    assert study.result().best is None


def test_confidence_climbs_and_intervals_shrink(pair: mf.Problem) -> None:
    study = create_study(pair, policy="lucb-c:bound=kl")
    confidences, widths = [], []
    for pulls in (10, 100, 400):
        play(study, pulls)
        confidences.append(study.confidence)
        low, high = study.intervals()["b"]
        widths.append(high - low)
        assert low <= 0.8 <= high
    assert confidences == sorted(confidences)
    assert widths == sorted(widths, reverse=True)
    assert study.best == "b"


@pytest.mark.parametrize("order", [1, -1], ids=["in order", "in reverse"])
def test_every_result_is_counted_wherever_the_round_stands(pair: mf.Problem, order: int) -> None:
    study = create_study(pair, policy="lucb-c:batch=4")
    for number in range(3):
        for place, pull in enumerate(study.ask(8)[::order]):
            assert (study.view().pulls, study.cost) == (8 * number + place, 8.0 * number + place)
            study.tell(pull, 1.0)
    study.fail(study.ask(3)[1], "no answer")
    assert study.result().pulls == study.result().cost == 24


def test_results_of_an_arm_that_was_retired_stay_counted(pair: mf.Problem) -> None:
    study = create_study(pair, policy="lucb-c:batch=4", retries=0, on_failure="retire")
    pulls = study.ask(8)
    mine = [pull for pull in pulls if pull.arm == "a"]
    study.tell(mine[0], 1.0)
    study.fail(mine[1], "no answer")
    assert study.view().pulls == 1
    for pull in pulls:
        if pull.arm == "b":
            study.tell(pull, 1.0)
    assert study.view().pulls == 5
    assert load_study(study.storage).view().pulls == 5


def test_a_certified_answer_is_as_sure_as_asked_for(pair: mf.Problem) -> None:
    study = play(create_study(pair, policy="lucb-c:bound=kl", delta=0.1))
    assert study.status == "certified"
    assert study.best == "b"
    assert study.confidence >= 0.9


def test_looking_changes_nothing(pair: mf.Problem) -> None:
    calm, watched = create_study(pair, max_cost=300.0), create_study(pair, max_cost=300.0)
    play(calm)
    while not watched.done:
        for pull in watched.ask(3):
            watched.tell(pull, float(pull.seed % 10 < (8 if pull.arm_index else 3)))
            assert watched.best in ("a", "b", None)
            assert 0.0 <= watched.confidence <= 1.0
            watched.result()
    assert watched.to_frame().loc[:, :"reward"].equals(calm.to_frame().loc[:, :"reward"])


def test_confidence_is_valid_whenever_one_looks() -> None:
    """Two equal arms: a look at 95% confidence or more may happen in 5% of studies at most."""
    problem = mf.Problem(2, [("exact", 1.0)], reward="bernoulli")
    ever = 0
    for seed in range(60):
        study = create_study(problem, seed=seed, max_cost=60.0)
        while not study.done:
            for pull in study.ask(10):
                study.tell(pull, pull.seed % 2)
            if study.confidence >= 0.95:
                ever += 1
                break
    assert ever <= 3


def test_cost_counts_every_result_at_once(pair: mf.Problem) -> None:
    study = create_study(pair, policy="lucb-c:batch=4")
    pulls = study.ask(8)
    for count, pull in enumerate(reversed(pulls), start=1):
        study.tell(pull, 0.5)
        assert study.cost == pytest.approx(float(count))


def test_results_are_json_and_frames(pair: mf.Problem) -> None:
    study = play(create_study(pair, max_cost=100.0, policy="lucb-c"))
    result = study.result()
    plain = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert plain["best"] == "b"
    assert plain["status"] == "max_cost"
    assert plain["cost"] == study.cost
    assert {arm["arm"] for arm in plain["arms"]} == {"a", "b"}
    frame = result.to_frame()
    assert frame["arm"].tolist() == ["a", "b"]
    assert frame["cost"].sum() == pytest.approx(study.cost)
    pulls = study.to_frame()
    assert pulls["cost"].sum() == pytest.approx(study.cost)
    assert pulls["pull"].tolist() == list(range(len(pulls)))
    assert study.result("cancelled").status == "cancelled"


def test_infinite_bounds_are_json_too() -> None:
    study = create_study(mf.Problem(2, [("exact", 1.0)], reward=mf.Gaussian(sigma=1.0)))
    assert study.intervals()["arm 0"] == (-math.inf, math.inf)
    json.dumps(study.result().to_json(), allow_nan=False)


@pytest.mark.parametrize("failures", [False, True])
def test_export_and_import(pair: mf.Problem, tmp_path: Path, failures: bool) -> None:
    study = create_study(pair, max_cost=200.0, name="it's <mine>", retries=3, policy="lucb-c")
    play(study, 20)
    if failures:
        study.fail(study.ask()[0], 'two\nlines "quoted"')
    study.export(tmp_path / "s.jsonl")
    for line in (tmp_path / "s.jsonl").read_text().splitlines():
        json.loads(line, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    copy = import_study(tmp_path / "s.jsonl", tmp_path / "s.db")
    assert copy.result() == study.result()
    assert copy.to_frame().equals(study.to_frame())
    with pytest.raises(StudyError, match="exists already: import it under another name"):
        import_study(tmp_path / "s.jsonl", tmp_path / "s.db")
    assert import_study(tmp_path / "s.jsonl", tmp_path / "s.db", name="b").name == "b"
    study.release(study.ask(9))
    assert play(copy).to_frame().equals(play(study).to_frame())


def _edit(path: Path, edit: Any) -> None:
    path.write_text("".join(line + "\n" for line in edit(path.read_text().splitlines())))


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda lines: [], "is not an exported study"),
        (lambda lines: ["[1]", *lines], "is not an exported study"),
        (lambda lines: lines[1:], "is not an exported study"),
        (lambda lines: [*lines[:-1], lines[-1][:8]], "is not JSON: the file is damaged or cut off"),
        (lambda lines: [*lines, '{"kind": "magic", "pull": 1}'], "is not a record"),
        (lambda lines: [*lines, '{"kind": "result", "pull": -1, "reward": 0.5}'], "is not a record"),
        (lambda lines: [*lines, '{"kind": "round", "pull": 7, "rows": []}'], "damaged"),
        (lambda lines: [lines[0].replace('"format": 2', '"format": 99'), *lines[1:]], "newer"),
        (lambda lines: [lines[0].replace("lucb-c", "lucb-z"), *lines[1:]], "lucb-z"),
    ],
)
def test_damaged_files_are_refused(pair: mf.Problem, tmp_path: Path, edit: Any, says: str) -> None:
    path = tmp_path / "s.jsonl"
    play(create_study(pair, policy="lucb-c"), 10).export(path)
    _edit(path, edit)
    with pytest.raises(StorageError, match=says):
        import_study(path, tmp_path / "s.db")
    if (tmp_path / "s.db").exists():
        with pytest.raises(StudyError, match="holds no study"):
            load_study(str(tmp_path / "s.db"))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot be read"):
        import_study(tmp_path / "nothing.jsonl")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(StorageError, match="not a text file"):
        import_study(tmp_path / "binary")


def test_a_log_with_a_missing_result_is_refused(pair: mf.Problem, tmp_path: Path) -> None:
    import sqlite3

    study = play(create_study(pair, storage=tmp_path / "s.db", durable=False), 20)
    study.storage.close()
    with sqlite3.connect(tmp_path / "s.db") as connection:
        connection.execute(f"DELETE FROM mfbandit_log WHERE kind = {RESULT} AND pull = 4")
    with pytest.raises(StorageError, match="do not agree with their checksums"):
        load_study(str(tmp_path / "s.db"))
    with sqlite3.connect(tmp_path / "s.db") as connection:
        connection.execute("UPDATE mfbandit_log SET seal = NULL")
    with pytest.raises(StorageError, match="exactly one result for every pull"):
        load_study(str(tmp_path / "s.db"))
