"""Evaluators that take many pulls at once, and rewards that are told together."""

import random
from functools import partial

import pytest

import mfbandit as mf
from mfbandit.engines import Batches
from mfbandit.errors import InvalidInput, RewardError, StudyError
from mfbandit.study import create_study

PROBLEM = mf.Problem(["good", "fair", "poor"], [("quick", 1.0, 0.1), ("exact", 9.0, 0.0)], "bernoulli")


def noisy(pull):
    """A reward of 0 or 1 that depends on the pull alone."""
    chance = {"good": 0.8, "fair": 0.6, "poor": 0.3}[pull.arm]
    return float(random.Random(f"{pull.arm}|{pull.fidelity}|{pull.seed}").random() < chance)


class Counted:
    """Evaluates batches, and keeps their sizes and fidelities."""

    def __init__(self):
        self.sizes, self.fidelities = [], []

    def __call__(self, pulls):
        self.sizes.append(len(pulls))
        self.fidelities.append({pull.fidelity for pull in pulls})
        return [noisy(pull) for pull in pulls]


@pytest.mark.parametrize("size", [1, 7])
def test_batches_decide_as_single_pulls_do(size):
    counted = Counted()
    given = {"max_cost": 300, "seed": 3, "progress": False, "policy": "lucb-c:batch=12"}
    alone = mf.identify(PROBLEM, noisy, width=1, **given)
    together = mf.identify(PROBLEM, Batches(counted, size), workers=2, **given)
    assert (alone.best, alone.pulls, alone.cost) == (together.best, together.pulls, together.cost)
    assert sum(counted.sizes) == together.pulls
    assert max(counted.sizes) <= size
    assert all(len(fidelities) == 1 for fidelities in counted.fidelities)


def test_a_batch_fails_as_a_whole_and_is_tried_again(caplog):
    failed = []

    def once(pulls):
        if not failed:
            failed.extend(pulls)
            raise ConnectionError("away")
        return [noisy(pull) for pull in pulls]

    result = mf.identify(
        PROBLEM, Batches(once, 5), delta=0.2, progress=False, failure_patience=0.0, policy="lucb-c:batch=5"
    )
    assert len(failed) == 5
    assert len(caplog.messages) == 1
    assert "and the 4 other pulls of its batch failed: ConnectionError: away" in caplog.messages[0]
    assert result.status == "certified"


def always(returned, pulls):
    return returned


def test_batches_that_cannot_be_are_refused():
    for wrong in ("no function", None):
        with pytest.raises(InvalidInput, match="function of a list of pulls"):
            Batches(wrong, 4)
    with pytest.raises(InvalidInput, match="size"):
        Batches(Counted(), 0)


@pytest.mark.parametrize("engine", ["threads", "processes"])
@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ([0.5], "got 1 rewards for 4 pulls"),
        ([0.5] * 5, "got 5 rewards for 4 pulls"),
        (None, "got None for 4 pulls: Batches takes a list of rewards"),
        (0.5, "got 0.5 for 4 pulls"),
        # Its keys would count as rewards.
        ({0: 0.5, 1: 0.5, 2: 0.5, 3: 0.5}, "for 4 pulls"),
    ],
)
def test_what_is_no_list_of_rewards_ends_the_run_at_once(engine, returned, said):
    if engine == "processes" and returned is not None:
        pytest.skip("one of them says it for processes")
    with pytest.raises(RewardError, match=said):
        mf.identify(
            PROBLEM, Batches(partial(always, returned), 4), engine=engine, progress=False, policy="lucb-c:batch=12"
        )


def test_rewards_are_told_together_or_not_at_all():
    study = create_study(PROBLEM, policy="lucb-c:batch=12", delta=0.2)
    pulls = study.ask(3)
    with pytest.raises(RewardError, match=r"1\.5"):
        study.tell_all([(pulls[0], 1.0), (pulls[1], 1.5)])
    assert study.tell_all([(pulls[0], 1.0), (pulls[0].id, 0.0), (pulls[1], 0.0)]) == [True, False, True]
    assert study.view().pulls == 2
    with pytest.raises(StudyError, match="never handed out"):
        study.tell_all([(pulls[2], 1.0), (10**6, 1.0)])
