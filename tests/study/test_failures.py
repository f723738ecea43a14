"""Evaluations that fail: tried again, then the study stops or goes on without the arm."""

from pathlib import Path
from typing import Any

import pytest

import mfbandit as mf
from mfbandit.study import Study, create_study, load_study
from mfbandit.study.state.rounds._round_record import dump_state

THREE = mf.Problem(["a", "b", "c"], [("quick", 1.0, 0.1), ("exact", 4.0, 0.0)], reward="bernoulli")


def fail_arm(study: Study, arm: str, rounds: int = 10**9) -> None:
    """Play a study in which one arm always fails and the later arms are better."""
    while not study.done and rounds > 0:
        rounds -= 1
        for pull in study.ask(4):
            if pull.arm == arm:
                study.fail(pull, "no <answer> from 'judge'")
            else:
                study.tell(pull, float(pull.seed % 10 < 3 * pull.arm_index + 2))


def test_a_failed_pull_is_tried_again(pair: mf.Problem) -> None:
    study = create_study(pair, retries=1)
    pull, other = study.ask(2)
    assert study.fail(pull, "timeout")
    assert study.status == "running"
    assert study.ask() == [pull], "the very same evaluation"
    assert study.tell(pull, 1.0)
    assert study.tell(other, 1.0)
    assert study.status == "running"


def test_a_study_stops_and_says_why(pair: mf.Problem) -> None:
    study = create_study(pair, retries=1)
    pull, other = study.ask(2)
    study.fail(pull, "timeout")
    study.fail(study.ask()[0], "disk <full>")
    assert study.status == "failed"
    assert study.done
    assert study.ask() == []
    (reason,) = study.result().reasons
    assert reason == f"arm {pull.arm!r} failed at fidelity 'quick' 2 times, the last time with: disk <full>"
    assert study.tell(other, 1.0), "what was out is paid for and counts"
    assert study.retry()
    assert not study.retry()
    assert study.status == "running"
    assert study.ask() == [pull]
    assert study.tell(pull, 1.0)
    assert study.ask() != []


def test_a_late_result_saves_a_failed_study(pair: mf.Problem) -> None:
    study = create_study(pair, retries=0)
    pull, _ = study.ask(2)
    study.fail(pull, "worker lost")
    assert study.status == "failed"
    assert study.tell(pull, 1.0)
    assert study.status == "running"


def test_failures_survive_reopening(pair: mf.Problem, tmp_path: Path) -> None:
    place = str(tmp_path / "s.db")
    study = create_study(pair, retries=2, storage=place, durable=False)
    for _ in range(3):
        study = load_study(place)
        pull = study.ask()[0]
        assert pull.id == 0
        study.fail(pull, "zero\0byte and \ud800")
    assert load_study(place).status == "failed"
    assert "zerobyte and ?" in load_study(place).result().reasons[0]


@pytest.mark.parametrize("policy", ["lucb-c:batch=2,bound=kl", "lucb-top:bound=kl", "lucb-c:bound=kl"])
def test_an_arm_that_fails_is_retired(policy: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"policy": policy, "on_failure": "retire", "retries": 1, "delta": 0.2}
    place = str(tmp_path / "s.db")
    study = create_study(THREE, storage=place, durable=False, max_cost=30000.0, **options)
    fail_arm(study, "c", rounds=30)
    assert list(study.result().retired) == ["c"]
    again = load_study(place, durable=False)
    assert dump_state(again.current().state) == dump_state(study.current().state)
    fail_arm(again, "c")
    assert again.status == "certified"
    result = again.result()
    assert result.best == "b"
    assert "failed at fidelity" in result.retired["c"]
    assert "no <answer> from 'judge'" in result.retired["c"]
    assert set(again.intervals()) == {"a", "b"}
    assert load_study(place).result() == result


def test_an_arm_that_fails_late_is_retired(tmp_path: Path) -> None:
    place = str(tmp_path / "s.db")
    study = create_study(THREE, storage=place, durable=False, on_failure="retire", retries=0, seed=3)
    fail_arm(study, "nobody", rounds=20)
    pulled = {pull.arm for pull in study.ask(9, lease_seconds=1e-9)}
    gone = sorted(pulled)[0]
    fail_arm(study, gone, rounds=25)
    assert list(study.result().retired) == [gone]
    again = load_study(place, durable=False)
    assert again.result() == study.result()
    assert again.ask(4, lease_seconds=1e-9) == study.ask(4)


def test_reports_of_a_retired_arm_are_ignored_but_paid_for() -> None:
    study = create_study(THREE, policy="lucb-c:batch=4", on_failure="retire", retries=0, max_cost=10.0, delta=0.2)
    pulls = study.ask(8)
    gone = pulls[0].arm
    study.fail(pulls[0], "broken")
    out = [pull for pull in pulls if pull.arm == gone]
    assert not study.tell(out[1], 1.0)
    for pull in pulls:
        if pull.arm != gone:
            assert study.tell(pull, 1.0)
    # What was out when the arm was retired is counted as spent, so that the limit holds.
    assert study.cost == 8.0
    more = study.ask(8)
    assert len(more) == 2
    assert gone not in {pull.arm for pull in more}


def test_when_all_arms_fail(pair: mf.Problem) -> None:
    study = create_study(pair, on_failure="retire", retries=0)
    while not study.done:
        for pull in study.ask(4):
            study.fail(pull, "broken")
    assert study.status == "failed"
    assert study.best is None
    assert set(study.result().retired) == {"a", "b"}


def test_when_one_arm_is_left(pair: mf.Problem) -> None:
    study = create_study(pair, on_failure="retire", retries=0)
    while not study.done:
        for pull in study.ask(4):
            if pull.arm == "a":
                study.fail(pull, "broken")
            else:
                study.tell(pull, 0.5)
    assert study.status == "certified"
    assert study.best == "b"
    assert study.confidence == 1.0
