"""Reports that are late, repeated, foreign or unasked for, and leases."""

import math
import threading
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mfbandit as mf
from mfbandit.errors import InvalidInput, RewardError, StudyError
from mfbandit.model import Pull
from mfbandit.study import create_study, load_study


class Scalar:
    """A number as libraries for tensors hold it."""

    def __init__(self, value: Any, ndim: int = 0) -> None:
        self.value, self.ndim = value, ndim

    def item(self) -> Any:
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


def snapshot(study: Any) -> tuple[Any, ...]:
    study_state = study.current()
    return len(study.storage.log(study.name).read(0)), study_state.cost, study_state.state.pulls.tolist()


@pytest.mark.parametrize(
    "reward",
    [
        math.nan,
        math.inf,
        -math.inf,
        -0.01,
        1.01,
        10**400,
        "0.5",
        None,
        [0.5],
        1j,
        np.array([0.5]),
        np.array("0.5"),
        np.ma.masked,
        np.complex128(0.5),
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("1e999"),
        Fraction(3, 2),
        Scalar("0.5"),
        Scalar(0.5, ndim=1),
        Scalar(RuntimeError("no data")),
    ],
)
def test_a_bad_reward_is_refused_and_nothing_recorded(pair: mf.Problem, reward: Any) -> None:
    study = create_study(pair)
    (pull,) = study.ask()
    before = snapshot(study)
    with pytest.raises(RewardError, match="a reward must"):
        study.tell(pull, reward)
    assert snapshot(study) == before
    assert study.tell(pull, 1)


@pytest.mark.parametrize(
    ("reward", "number"),
    [
        (0, 0.0),
        (1, 1.0),
        (True, 1.0),
        (0.5, 0.5),
        (-0.0, 0.0),
        (np.float32(0.5), 0.5),
        (np.longdouble(0.5), 0.5),
        (np.int64(1), 1.0),
        (np.bool_(True), 1.0),
        (np.array(0.5), 0.5),
        (np.array(1, dtype=object), 1.0),
        (Scalar(0.5), 0.5),
        (Scalar(True), 1.0),
        (Decimal("0.5"), 0.5),
        (Fraction(1, 2), 0.5),
    ],
)
def test_numbers_of_all_kinds_are_taken(pair: mf.Problem, reward: Any, number: float) -> None:
    study = create_study(pair)
    assert study.tell(study.ask()[0], reward)
    assert study.to_frame()["reward"].tolist() == [number]


@pytest.mark.parametrize("reward", [math.nan, math.inf, 1e200, "x"])
def test_gaussian_rewards_are_finite(reward: Any) -> None:
    study = create_study(mf.Problem(2, [("exact", 1.0)], reward=mf.Gaussian(sigma=1.0)))
    with pytest.raises(RewardError):
        study.tell(study.ask()[0], reward)
    assert study.tell(study.ask()[0], -3.5)


def test_a_second_report_is_ignored(pair: mf.Problem) -> None:
    study = create_study(pair)
    first, second = study.ask(2)
    assert study.tell(first, 1.0)
    before = snapshot(study)
    assert not study.tell(first, 0.0)
    assert not study.tell(first.id, 1.0)
    assert not study.fail(first, "too late")
    assert snapshot(study) == before
    assert study.tell(second, 1.0)
    assert not study.tell(first, 0.0), "also when its round is over"


def test_a_report_of_a_pull_that_was_never_handed_out(pair: mf.Problem) -> None:
    study = create_study(pair)
    (pull,) = study.ask()
    before = snapshot(study)
    for number in (pull.id + 1, 10**9):
        with pytest.raises(StudyError, match=f"pull {number} was never handed out"):
            study.tell(number, 1.0)
        with pytest.raises(StudyError, match="never handed out"):
            study.fail(number, "what?")
    assert snapshot(study) == before


@pytest.mark.parametrize("pull", ["0", -1, 0.0, None, True])
def test_a_report_of_what_is_no_pull(pair: mf.Problem, pull: Any) -> None:
    study = create_study(pair)
    study.ask()
    with pytest.raises(InvalidInput, match="a pull is what ask returned"):
        study.tell(pull, 1.0)


def test_a_pull_of_another_study(pair: mf.Problem) -> None:
    study, other = create_study(pair), create_study(pair)
    study.ask()
    (foreign,) = other.ask()
    with pytest.raises(StudyError, match="is of another study"):
        study.tell(foreign, 1.0)
    with pytest.raises(StudyError, match="is of another study"):
        study.heartbeat([foreign])


def test_ids_are_enough(pair: mf.Problem) -> None:
    study = create_study(pair)
    for pull in study.ask(2):
        assert study.tell(pull.id, 0.5)
    assert study.cost == 2.0


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "2", None])
def test_asking_for_nonsense(pair: mf.Problem, n: Any) -> None:
    with pytest.raises(InvalidInput, match="n must be a whole number"):
        create_study(pair).ask(n)


def test_a_pull_is_handed_out_once(pair: mf.Problem) -> None:
    study = create_study(pair, policy="lucb-c:batch=3")
    pulls = [pull for size in (1, 2, 4, 8) for pull in study.ask(size)]
    assert [pull.id for pull in pulls] == list(range(6))
    assert study.ask() == []
    assert not study.done


def test_a_lease_that_ends_is_handed_out_again(pair: mf.Problem) -> None:
    study = create_study(pair, policy="lucb-c:batch=2")
    lost = study.ask(2, lease_seconds=1e-9)
    kept = study.ask(1, lease_seconds=1e-9)
    assert kept == lost[:1], "the first that is free"
    assert study.heartbeat(kept) == kept
    others = study.ask(9)
    assert [pull.id for pull in others] == [1, 2, 3]
    assert others[0] == lost[1]
    assert study.tell(lost[1], 1.0), "the late worker may still be the first to tell"
    assert not study.tell(others[0], 0.0)


def test_a_heartbeat_says_what_is_still_wanted(pair: mf.Problem) -> None:
    study = create_study(pair)
    first, second = study.ask(2)
    study.tell(first, 1.0)
    assert study.heartbeat([first, second]) == [second]
    study.tell(second, 1.0)
    assert study.heartbeat([first, second]) == []


def test_released_pulls_are_free_at_once(pair: mf.Problem) -> None:
    study = create_study(pair)
    pulls = study.ask(2)
    assert study.ask() == []
    study.release(pulls)
    assert study.ask(2) == pulls


def test_a_pull_whose_lease_was_lost_with_the_power_still_counts(pair: mf.Problem) -> None:
    lender, other = create_study(pair), create_study(pair)
    (pull,) = lender.ask()
    # The same study as it would be had the note of the lease not reached the disk.
    other.identity = lender.identity
    assert other.tell(pull, 1.0)
    with pytest.raises(StudyError, match="never handed out"):
        other.tell(Pull(1, "a", "quick", 1.0, 0, 0, 0, 0, lender.identity), 1.0)


def test_processes_see_each_other(pair: mf.Problem, tmp_path: Path) -> None:
    mine = create_study(pair, storage=tmp_path / "s.db", name="shared", durable=False)
    theirs = load_study(str(tmp_path / "s.db"))
    (first,), (second,) = mine.ask(5)[:1], theirs.ask(5) or mine.ask(5) or [None]
    assert theirs.ask() == []
    assert second is None or second != first
    mine.tell(first, 1.0)
    assert theirs.cost == mine.cost == 1.0
    assert not theirs.tell(first, 0.0)


def test_threads_share_a_study(pair: mf.Problem) -> None:
    study = create_study(pair, policy="lucb-c:batch=20", max_cost=2000.0)
    told: list[int] = []

    def work() -> None:
        while not study.done:
            for pull in study.ask(3):
                if study.tell(pull, pull.seed % 2):
                    told.append(pull.id)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == list(range(study.current().asked))
    assert study.cost <= 2000.0
