"""Studies of problems with blocks where cells cannot be had, and what blocks do not allow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lockstep import Lockstep, assert_same, evaluate, play, problem

import mfbandit as mf
from mfbandit.errors import InvalidInput, StudyError
from mfbandit.model import Pull
from mfbandit.study import Study, create_study, import_study, load_study

pytestmark = pytest.mark.usefixtures("lockstep_by_name")


def failing(study: Study, fails: Callable[[Pull], bool]) -> None:
    while pulls := study.ask(4):
        for pull in pulls:
            if fails(pull):
                study.fail(pull, "no answer")
            else:
                study.tell(pull, evaluate(pull))


def hopeless(pull: Pull) -> bool:
    return pull.arm == "b" and pull.index % 4 == 1


def test_a_cell_that_cannot_be_had_is_missing(tmp_path: Path) -> None:
    options: dict[str, Any] = {"policy": Lockstep(batch=3, last=10), "on_failure": "worst", "retries": 1}
    study = create_study(problem(10), storage=tmp_path / "s.db", durable=False, **options)
    failing(study, hopeless)
    state = study.current().state
    assert state.blocks.missing.tolist() == [[0, 0], [3, 3], [0, 0]]
    assert np.flatnonzero(np.isnan(state.blocks.rewards[1, 1, :10])).tolist() == [1, 5, 9]
    assert state.pulls.tolist() == [[10, 10]] * 3
    again = load_study(str(tmp_path / "s.db"))
    assert_same(again, study)
    study.export(tmp_path / "study.jsonl")
    assert_same(import_study(tmp_path / "study.jsonl"), study)
    assert import_study(tmp_path / "study.jsonl").log_digest() == study.log_digest()
    view = again.view()
    assert view.rewards.count(None) == 6
    assert len(view.rewards) == 60


def test_a_cell_that_fails_once_is_measured_again() -> None:
    study = create_study(problem(10), policy=Lockstep(last=10), on_failure="worst", retries=1)
    failed: set[int] = set()

    def once(pull: Pull) -> bool:
        return pull.id % 3 == 0 and not (pull.id in failed or failed.add(pull.id))  # type: ignore[func-returns-value]

    failing(study, once)
    assert len(failed) == 20
    assert study.current().state.blocks.missing.sum() == 0


def test_by_default_a_study_stops_when_a_cell_cannot_be_had() -> None:
    study = create_study(problem(10), policy=Lockstep(last=10), retries=0)
    failing(study, hopeless)
    assert study.status == "failed"
    assert study.retry()
    play(study)
    assert study.current().state.blocks.missing.sum() == 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"on_failure": "retire"}, "'retire' is not for problems with blocks"),
        ({"on_violation": "widen"}, "on_violation must be 'ignore' for a problem with blocks, got 'widen'"),
    ],
)
def test_what_blocks_do_not_allow_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        create_study(problem(), policy=Lockstep(), **options)


def test_cells_at_their_worst_need_blocks(pair: mf.Problem) -> None:
    with pytest.raises(InvalidInput, match="needs a problem with blocks"):
        create_study(pair, on_failure="worst")


def test_normal_rewards_that_are_all_0_or_1_are_refused_and_nothing_is_lost(tmp_path: Path) -> None:
    scores = mf.Problem(["a", "b"], [("exact", 1.0)], mf.Gaussian(), blocks="unlimited")
    study = create_study(scores, policy=Lockstep(last=100), storage=tmp_path / "s.db")
    with pytest.raises(StudyError, match=r"20 rewards so far are all 0 or 1.*declare reward='bernoulli'"):
        play(study, lambda pull: float(pull.index % 2))
    assert study.view().pulls == load_study(str(tmp_path / "s.db")).view().pulls == 20
    with pytest.raises(StudyError, match="20 rewards so far"):
        load_study(str(tmp_path / "s.db")).ask()
    other = create_study(scores, policy=Lockstep(last=100))
    play(other, lambda pull: 0.5 if pull.id == 3 else 1.0)
    assert other.view().pulls == 200


def test_a_round_beyond_the_opened_blocks_is_refused() -> None:
    study = create_study(problem(5), policy=Lockstep(batch=2, last=4))
    study_state = study.current()
    with pytest.raises(StudyError, match="opened 0 so far"):
        study_state.rows_with_starts([[0, 0, 1]])
