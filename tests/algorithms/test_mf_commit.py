"""mf-commit: little regret, within its budget, on every kind of instance."""

import math

import numpy as np
import pytest

import mfbandit as mf
from mfbandit import theory
from mfbandit.algorithms._mf_commit import expected_excess
from mfbandit.errors import PolicyError

RIVALS = ("elimination", "mf-ucb", "ucb-top")


def against_the_best(name):
    """An instance whose biases are at their bounds, against the best arm and for the others."""
    instance = mf.load_instance(name)
    signs = np.where(np.arange(len(instance.truth)) == instance.best, -1.0, 1.0)
    means = instance.truth[:, None] + signs[:, None] * instance.problem.biases
    return mf.Instance(instance.problem, np.clip(means, 0, 1), instance.law, name=f"{name}, biased")


@pytest.mark.parametrize("name", ["figure-1a", "loose-prior", "judges"])
@pytest.mark.parametrize("pulls", [1e3, 1e4, 1e5, 1e6])
def test_less_regret_than_its_rivals(name, pulls):
    instance = mf.load_instance(name)
    budget = pulls * instance.problem.costs.min()
    ours = mf.simulate(instance, "mf-commit", budget=budget, trials=100, seed=1).regret
    for rival in RIVALS:
        # In the end all theirs are dozens of times as large, and nearly the same in every run.
        theirs = mf.simulate(instance, rival, budget=budget, trials=3 if pulls == 1e6 else 10, seed=1).regret
        assert ours.mean() + 3 * ours.std() / math.sqrt(100) < theirs.mean()


@pytest.mark.parametrize("name", ["figure-1a", "loose-prior"])
def test_biases_against_the_best_arm(name):
    instance = against_the_best(name)
    for budget in (1e4, 1e6):
        ours = mf.simulate(instance, "mf-commit", budget=budget, trials=50, seed=1).regret.mean()
        for rival in RIVALS:
            trials = 3 if budget == 1e6 else 10
            assert ours < mf.simulate(instance, rival, budget=budget, trials=trials, seed=1).regret.mean()


def test_regret_grows_like_a_logarithm():
    instance = mf.load_instance("figure-1a")
    small, large = (
        mf.simulate(instance, "mf-commit", budget=budget, trials=150, seed=2).regret.mean() for budget in (1e4, 1e6)
    )
    assert large < 4 * small
    assert large < 2 * theory.regret_lower_bound(instance) * math.log(1e6)


@pytest.mark.parametrize("budget", [0.5, 1.0, 2.5, 4.0, 7.3, 50.0, 1234.5, 20000.0])
@pytest.mark.parametrize("name", ["figure-1a", "loose-prior"])
def test_budget_is_spent_and_never_exceeded(budget, name):
    runs = mf.simulate(name, "mf-commit", budget=budget, trials=5, seed=1)
    assert (runs.cost <= budget * (1 + 1e-12)).all()
    assert (runs.cost > budget - 1.0 - 1e-9).all()
    assert runs.stopped.all()


def test_plain_and_compiled_agree_on_bounded_rewards():
    # On rewards of 0 and 1 and on normal ones they are compared for every policy, in test_three_ways.py.
    problem = mf.Problem.from_arrays([1.0, 2.0, 9.0], [0.2, 0.1, 0.0], arms=3, reward="bounded")
    instance = mf.Instance(problem, [[0.7, 0.75, 0.8], [0.6, 0.6, 0.6], [0.5, 0.4, 0.4]], mf.BetaLaw(3.0))
    a = mf.simulate(instance, "mf-commit", budget=5000, trials=3, seed=4, trace=400)
    b = mf.simulate(instance, "mf-commit", budget=5000, trials=3, seed=4, trace=400, device="python")
    assert (a.trace == b.trace).all()
    assert (a.best == b.best).all()


def test_one_arm_is_exploited_at_once():
    lone = mf.Instance(mf.Problem(1, [("cheap", 1.0, 0.1), ("expensive", 9.0, 0.0)], reward="bernoulli"), [[0.4, 0.4]])
    runs = mf.simulate(lone, "mf-commit", budget=100, trials=2)
    assert runs.pulls[:, 0].tolist() == [[100, 0], [100, 0]]


def test_the_cheapest_fidelity_may_be_the_truest():
    problem = mf.Problem.from_arrays([1.0, 4.0], [0.0, 0.2], arms=3, reward="bernoulli")
    instance = mf.Instance(problem, [[0.8, 0.9], [0.6, 0.5], [0.3, 0.4]])
    runs = mf.simulate(instance, "mf-commit", budget=1e4, trials=50, seed=0)
    assert runs.pulls[:, :, 1].sum() == 0
    assert runs.regret.mean() < 100


def test_ties_and_constant_rewards():
    problem = mf.Problem.from_arrays([1.0, 5.0], [0.1, 0.0], arms=2, reward="bounded")
    for means in ([[0.5, 0.5]] * 2, [[0.0, 0.0]] * 2, [[1.0, 1.0]] * 2):
        instance = mf.Instance(problem, means, mf.BernoulliLaw())
        runs = mf.simulate(instance, "mf-commit", budget=3000, trials=5)
        assert (runs.cost > 2999).all()


def test_scaled_rewards_take_the_same_decisions():
    def instance(scale, shift):
        means = np.array([[0.7, 0.8], [0.6, 0.5]])
        reward = mf.Bounded(shift, shift + scale)
        problem = mf.Problem.from_arrays([1.0, 3.0], [0.1 * scale, 0.0], arms=2, reward=reward)
        return mf.Instance(problem, shift + scale * means, mf.BernoulliLaw())

    unit, wide, high = (
        mf.simulate(instance(*form), "mf-commit", budget=2000, trials=3, trace=200)
        for form in ((1.0, 0.0), (8.0, 0.0), (1.0, 100.0))
    )
    assert (unit.trace == wide.trace).all()
    # Where all rewards are high, a expensive pull forgoes more of them.
    assert high.pulls[:, :, 1].sum() < unit.pulls[:, :, 1].sum()


def test_many_arms():
    rng = np.random.default_rng(3)
    truth = rng.uniform(0, 1, 60)
    means = np.stack([truth + rng.uniform(-0.05, 0.05, 60), truth], axis=1)
    problem = mf.Problem.from_arrays([1.0, 10.0], [0.05, 0.0], arms=60, reward=mf.Gaussian(0.5))
    instance = mf.Instance(problem, means)
    runs = mf.simulate(instance, "mf-commit", budget=1e5, trials=10)
    lost = truth.max() - truth[runs.best]
    assert lost.mean() < 0.05


@pytest.mark.parametrize(("gap", "deviation"), [(0.0, 1.0), (1.0, 1.0), (2.0, 0.5), (3.0, 1.0), (0.1, 2.0)])
def test_expected_excess(gap, deviation):
    from scipy import stats

    z = gap / deviation
    exact = deviation * (stats.norm.pdf(z) - z * stats.norm.sf(z))
    assert expected_excess(gap, deviation) == pytest.approx(exact, rel=0.12)
    assert expected_excess(gap, 0.0) == 0.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mf-commit:caution=0", "caution must be a finite number > 0, got 0"),
        ("mf-commit:batch=2", "mf-commit chooses its own counts: batch must be 1, got 2"),
    ],
)
def test_bad_options(text, message):
    with pytest.raises(PolicyError, match=message):
        mf.policy(text)
