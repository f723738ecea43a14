"""Races on blocks at the edges: one arm, nothing but failures, equal rewards, many blocks, odd scales."""

import random
import warnings

import numpy as np
import pytest

import mfbandit as mf
from mfbandit import core
from mfbandit.certificate import verify

CHEAP_AND_TRUE = [mf.Fidelity("cheap", cost=0.01, bias=0.1, pair_bias=0.02), mf.Fidelity("true", cost=1.0)]
NORMAL = mf.Problem(["a", "b", "c", "d"], [("exact", 1.0)], mf.Gaussian(), blocks="unlimited")


def normal(pull):
    """Normal rewards with a gap of one standard deviation between neighbours."""
    own = random.Random(pull.seed).gauss(0.0, 0.1)
    return 0.1 * int(pull.arm) + random.Random(pull.block_seed).gauss(0.0, 1.0) + own


@pytest.mark.parametrize("blocks", [1, 400, "unlimited"])
def test_one_arm_needs_no_pulls_and_its_certificate_verifies(blocks):
    problem = mf.Problem(["only"], CHEAP_AND_TRUE, reward="bernoulli", blocks=blocks)
    result = mf.identify(problem, lambda pull: 1.0, progress=False)
    assert (result.best, result.status, result.pulls, result.tied) == ("only", "certified", 0, ())
    verdict = verify(result.certificate)
    assert verdict.valid, verdict.reasons
    assert "'only' has the highest true mean" in verdict.claim


def test_no_numbers_are_made_of_infinities():
    """What is not known of normal differences is said without warnings of NumPy."""
    problem = mf.Problem(["0", "1", "2"], [("only", 1.0)], mf.Gaussian(), blocks="unlimited")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = mf.identify(problem, normal, progress=False, max_cost=9)
    assert result.status == "max_cost"
    assert not np.isfinite(list(result.differences.values())).all()


def test_no_bound_is_called_broken_by_an_alarm_for_independent_rewards():
    """The alarm has no sigma to go by, and blocks are no independent draws."""
    lanes = [mf.Fidelity("cheap", cost=0.01, bias=2e5), mf.Fidelity("true", cost=1.0)]
    problem = mf.Problem(["0", "1"], lanes, mf.Gaussian(), blocks="unlimited")
    result = mf.identify(problem, lambda pull: 1e6 * normal(pull), progress=False, seed=2)
    assert min(result.arms[0].pulls.values()) > 0
    assert result.violations == ()


@pytest.mark.parametrize("fidelities", [CHEAP_AND_TRUE, CHEAP_AND_TRUE[1:]])
def test_normal_races_end_when_no_two_arms_can_be_compared_any_more(fidelities):
    """Nothing can ever come of going on, so nothing is spent on it; in a cheap lane neither."""

    def fails_at_once(pull):
        if pull.block < 2:
            raise RuntimeError("no result")
        return normal(pull)

    problem = mf.Problem(["0", "1", "2"], fidelities, mf.Gaussian(), blocks="unlimited")
    result = mf.identify(problem, fails_at_once, progress=False, on_failure="worst", retries=0, max_cost=2_000)
    assert (result.status, result.confidence) == ("answered", 0.0)
    assert result.pulls <= 12


def test_what_many_normal_arms_stop_by_is_proven_again_where_a_cell_is_missing():
    """Of more than 50 arms there are processes that begin later: those go on after an earlier failure."""

    def fails_first(pull):
        if pull.block == 0 and int(pull.arm) % 2:
            raise RuntimeError("no result")
        return normal(pull)

    problem = mf.Problem([str(k) for k in range(60)], [("only", 1.0)], mf.Gaussian(), blocks="unlimited")
    result = mf.identify(problem, fails_first, progress=False, on_failure="worst", retries=0, max_cost=3_000)
    assert (result.best, result.status) == ("59", "certified")
    assert verify(result.certificate).valid


def test_equal_rewards_are_within_epsilon_and_so_is_the_regret():
    problem = mf.Problem(["a", "b"], [("only", 1.0)], mf.Gaussian(), blocks="unlimited")
    result = mf.identify(problem, lambda pull: 0.7, epsilon=0.01, progress=False, max_cost=200)
    assert (result.status, result.pulls) == ("certified", 120)
    assert result.regret_bound is not None
    assert result.regret_bound <= 0.01
    assert verify(result.certificate).valid


def test_a_few_equal_rewards_do_not_mean_that_two_arms_are_equal():
    """One block in ten tells them apart, and nothing of that is seen at first: 138 of 200 were wrong."""
    problem = mf.Problem(["a", "b"], [("only", 1.0)], mf.Gaussian(), blocks="unlimited")

    def rare_loss(pull):
        return 0.5 - (pull.arm == "a" and random.Random(pull.block_seed).random() < 0.1)

    results = [
        mf.identify(problem, rare_loss, epsilon=0.01, seed=seed, progress=False, max_cost=300) for seed in range(15)
    ]
    assert sum(result.status == "certified" and result.best == "a" for result in results) <= 2


def test_differences_that_are_nearly_the_bias_bound_are_no_error():
    """The sum of squares about the bound is a difference of large numbers, and comes out below 0 at times."""
    lanes = [mf.Fidelity("cheap", cost=0.001, bias=0.1, pair_bias=0.1), mf.Fidelity("true", cost=1.0)]
    reward = mf.Gaussian(caution=0, resolution=1e-13)
    problem = mf.Problem(["a", "b"], lanes, reward, blocks="unlimited")

    def off_by(size):
        return lambda pull: (0.1 + size) * (pull.arm == "a") if pull.fidelity == "cheap" else normal_pair(pull)

    def normal_pair(pull):
        return (pull.arm == "a") + random.Random(pull.seed).gauss(0.0, 0.1)

    for size in (1e-9, 3e-10, 1e-10, 1e-11):
        result = mf.identify(problem, off_by(size), progress=False, max_cost=50)
        assert (result.best, result.status) == ("a", "certified")
        assert verify(result.certificate).valid


@pytest.mark.parametrize(("epsilon", "blocks"), [(1.0, "unlimited"), (2.0, "unlimited"), (1.0, 40)])
def test_an_epsilon_as_large_as_the_range_is_met_at_once(epsilon, blocks):
    problem = mf.Problem(["a", "b"], [("only", 1.0)], reward="bernoulli", blocks=blocks)
    result = mf.identify(problem, lambda pull: 0.5, epsilon=epsilon, progress=False, max_cost=100)
    assert result.status == "certified"
    assert result.pulls <= 4
    assert verify(result.certificate).valid


def test_a_block_that_fails_for_every_arm_is_given_up_and_not_waited_for():
    """It is no outage: run again it would fail again."""
    problem = mf.Problem(["a", "b", "c"], [("only", 1.0)], reward="bernoulli", blocks=40)

    def broken_item(pull):
        if pull.block == 7:
            raise ValueError("item 7 cannot be read")
        return float(pull.arm == "c" if pull.block % 3 else pull.block % 2)

    limits = {"on_failure": "worst", "retries": 1, "failure_patience": 5.0}
    result = mf.identify(problem, broken_item, progress=False, delta=1e-9, **limits)
    assert (result.best, result.status, result.certificate["missing"]) == ("c", "certified", 3)


@pytest.mark.parametrize("zeros", [True, False])
def test_a_result_says_where_differences_look_unlike_normal_ones(zeros: bool) -> None:
    problem = mf.Problem(["good", "poor"], [("exact", 1.0)], mf.Gaussian(), blocks="unlimited")

    def score(pull: mf.Pull) -> float:
        chance = random.Random(pull.block_seed)
        common, own = chance.gauss(0.0, 1.0), chance.gauss(0.02, 0.1)
        lost = chance.random() < 0.2 if zeros else True
        return common + (abs(own) if zeros else own) * lost * (pull.arm == "good")

    result = mf.identify(problem, score, progress=False, max_cost=120)
    assert bool(result.violations) == zeros
    if zeros:
        assert "'good' and 'poor' look unlike normal ones" in result.violations[0]


def test_rewards_of_many_blocks_may_lie_in_rows_of_their_own(monkeypatch, tmp_path):
    def tied(pull):
        return float(core.normal(core.uniform(12, pull.arm_index, pull.block, 0)) - (pull.arm_index == 2))

    def run(file):
        study = mf.create_study(NORMAL, max_cost=400.0, seed=2, storage=str(tmp_path / file))
        while pulls := study.ask(7):
            study.tell_all([(pull, tied(pull)) for pull in pulls])
        return study

    plain = run("plain.db")
    monkeypatch.setattr("mfbandit.core._blocks._CELLS", 1)
    deep = run("deep.db")
    reopened = mf.load_study(str(tmp_path / "deep.db"))
    assert plain.current().state.blocks.deep.size == 0
    for study in (deep, reopened):
        blocks = study.current().state.blocks
        assert (blocks.deep_row >= 0).sum() > 0
        assert blocks.rewards.shape[2] == 64 < study.current().state.pulls.max()
        assert study.log_digest() == plain.log_digest()
        assert (study.view().race.log_p == plain.view().race.log_p).all()
