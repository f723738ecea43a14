"""Successive halving and Hyperband: the ladder is climbed as written, ties know no order, runs end."""

import math

import numpy as np
import pytest

import mfbandit as mf
from mfbandit.algorithms import Hyperband, SuccessiveHalving
from mfbandit.algorithms._hyperband import bracket_arms
from mfbandit.errors import PolicyError

POLICIES = ["successive-halving", "successive-halving:start=0,eta=2,repeats=3", "hyperband:repeats=2"]


def instance(means, costs, biases, law=None):
    means = np.asarray(means, dtype=float)
    if law is None:
        law = mf.TableLaw(means[:, :, np.newaxis])
    return mf.Instance(mf.Problem.from_arrays(costs, biases, arms=len(means)), means, law)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", ["figure-1a", "judges", "poiani-5x2"])
def test_plain_and_compiled_agree_and_end(policy, name):
    fast = mf.simulate(name, policy, trials=40, seed=3)
    plain = mf.simulate(name, policy, trials=40, seed=3, device="python")
    assert (fast.pulls == plain.pulls).all()
    assert (fast.best == plain.best).all()
    assert fast.stopped.all()


def test_neither_claims_a_guarantee():
    for name in ("successive-halving", "hyperband"):
        assert not mf.policy(name).guarantee
        assert "no guarantee" in mf.algorithms.REGISTRY[name].summary
    assert mf.policy("lucb-c").guarantee


def test_the_last_comparison_is_at_the_truest_fidelity():
    means = np.linspace(0.1, 0.9, 13)[:, np.newaxis] * np.ones(6)
    runs = mf.simulate(instance(means, [1, 4, 16, 64, 256, 1024], [0.0] * 6), "successive-halving", trials=1)
    assert runs.pulls[0].sum(axis=0).tolist() == [0, 0, 0, 13, 5, 2]
    assert runs.cost[0] == 13 * 64 + 5 * 256 + 2 * 1024
    assert runs.best[0] == 12


def test_a_ladder_from_the_cheapest_rung_ends_with_one_arm():
    means = np.linspace(0.1, 0.9, 9)[:, np.newaxis] * np.ones(5)
    runs = mf.simulate(instance(means, [1, 2, 3, 4, 5], [0.0] * 5), "successive-halving:start=0", trials=1, trace=20)
    assert runs.pulls[0].sum(axis=0).tolist() == [9, 3, 0, 0, 0]
    assert runs.best[0] == 8


def test_each_rung_is_judged_by_its_own_rewards():
    # At the cheap fidelity the order is reversed but for the arm in the middle, which goes on and wins.
    means = [[0.9, 0.2], [0.8, 0.7], [0.1, 0.9]]
    runs = mf.simulate(instance(means, [1, 5], [0.8, 0]), "successive-halving:start=0,eta=1.5", trials=1)
    assert runs.pulls[0].tolist() == [[1, 1], [1, 1], [1, 0]]
    assert runs.best[0] == 1


def test_biased_fidelities_dearer_than_the_truth_are_left_out():
    means = np.linspace(0.1, 0.9, 30)[:, np.newaxis] * np.ones(3)
    runs = mf.simulate(instance(means, [1, 9, 5], [0.1, 0.1, 0.0]), "successive-halving:repeats=2", trials=1)
    assert runs.pulls[0].sum(axis=0).tolist() == [60, 0, 20]


@pytest.mark.parametrize("policy", ["successive-halving:eta=2", "hyperband"])
def test_ties_do_not_favour_an_arm(policy):
    coins = instance(np.full((8, 3), 0.5), [1, 2, 4], [0.0] * 3, mf.BernoulliLaw())
    best = mf.simulate(coins, policy, trials=4000, seed=2).best
    shares = np.bincount(best, minlength=8) / 4000
    assert shares.max() < 0.3
    assert shares.min() > 0.02


def test_hyperband_plays_every_start():
    means = np.linspace(0.1, 0.9, 27)[:, np.newaxis] * np.ones(3)
    runs = mf.simulate(instance(means, [1, 3, 9], [0.0] * 3), "hyperband", trials=1, seed=1)
    taken = [bracket_arms(27, 2, 3.0, start) for start in range(3)]
    assert taken == [27, 14, 9]
    assert runs.pulls[0].sum(axis=0).tolist() == [27, 9 + 14, 3 + 5 + 9]
    assert runs.best[0] == 26


def test_one_arm_needs_no_pull():
    one = instance([[0.5, 0.5]], [1, 2], [0, 0])
    for policy in POLICIES:
        runs = mf.simulate(one, policy, trials=1)
        assert runs.stopped[0]
        assert runs.cost[0] == 0
        assert runs.best[0] == 0


def test_a_cut_run_answers_from_the_last_complete_rung():
    means = np.array([[0.9, 0.1], [0.8, 0.1], [0.1, 0.1]])
    runs = mf.simulate(instance(means, [1, 5], [0.8, 0]), "successive-halving:start=0,eta=1.5", trials=1, max_cost=9.0)
    assert not runs.stopped[0]
    assert runs.pulls[0].sum() == 4
    assert runs.best[0] == 0


def test_more_repeats_are_right_more_often():
    right = [
        1.0 - mf.simulate("judges", f"successive-halving:repeats={n}", trials=2000, seed=1).wrong.mean()
        for n in (1, 20, 200)
    ]
    assert right[0] < right[1] < right[2]
    assert right[2] > 0.95


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SuccessiveHalving(eta=1.0), "eta must be a finite number > 1, got 1.0"),
        (lambda: SuccessiveHalving(eta=math.inf), "eta must be a finite number > 1"),
        (lambda: SuccessiveHalving(repeats=0), "repeats must be a whole number >= 1, got 0"),
        (lambda: SuccessiveHalving(start=-1), "start must be exhaust or a whole number >= 0, got -1"),
        (lambda: SuccessiveHalving(start="late"), "start must be exhaust or a whole number"),
        (lambda: SuccessiveHalving(batch=2), "give repeats instead of batch=2"),
        (lambda: Hyperband(eta=0.5), "eta must be a finite number > 1"),
        (lambda: Hyperband(batch=3), "give repeats instead of batch=3"),
        (
            lambda: mf.simulate("figure-1a", "successive-halving:start=3", trials=1),
            "start must be below the number of rungs up to the truest fidelity, 3, got 3",
        ),
    ],
)
def test_bad_options(make, message):
    with pytest.raises(PolicyError, match=message):
        make()
