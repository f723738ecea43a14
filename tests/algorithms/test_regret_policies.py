"""Elimination, MF-UCB and UCB: the budget is used and never exceeded, phases are the paper's."""

import math

import numpy as np
import pytest

import mfbandit as mf
from mfbandit.algorithms import default_epsilon
from mfbandit.algorithms._elimination import EliminationParams, target
from mfbandit.core import arrays
from mfbandit.errors import PolicyError

POLICIES = ["elimination", "mf-ucb", "ucb-top"]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("budget", [0.5, 1.0, 7.3, 50.0, 1234.5, 20000.0])
@pytest.mark.parametrize("name", ["figure-1a", "loose-prior"])
def test_budget_is_spent_and_never_exceeded(policy, budget, name):
    runs = mf.simulate(name, policy, budget=budget, trials=5, seed=1)
    cheapest = runs.instance.problem.costs[0, 0 if policy != "ucb-top" else -1]
    assert (runs.cost <= budget * (1 + 1e-12)).all()
    assert (runs.cost > budget - cheapest - 1e-9).all()
    assert runs.stopped.all()


def test_targets_are_the_papers():
    problem = arrays(mf.Problem.from_arrays([1.0, 100.0], [0.5, 0.0], arms=5))
    params = EliminationParams(budget=1e4, phases=9.0)
    assert [target(problem, params, p) for p in range(4)] == [5, 13, 30, 29]


def test_elimination_follows_its_phases():
    runs = mf.simulate("figure-1a", "elimination:epsilon=0.05", budget=50_000, trials=1, seed=0, trace=100)
    expensive, rows = 2, runs.trace[0]
    explored = rows[rows[:, 1] == expensive]
    share = 50_000 / 1.2
    total = 0
    for phase in range(3):
        goal = math.ceil(4**phase * math.log(share / 4**phase))
        first = explored[phase * 5 : phase * 5 + 5]
        if len(set(first[:, 0])) == 5:
            assert set(first[:, 2]) == {goal - total}
        total = goal
    last = rows[rows[:, 2] > 0][-1]
    assert last[1] == 0, "the rest is spent at the cheapest fidelity"


def test_survivors_are_played_in_turn():
    instance = mf.Instance(
        mf.Problem(3, [("cheap", 1.0, 0.5), ("expensive", 2.0, 0.0)], reward="bernoulli"),
        [[0.5, 0.5]] * 3,
    )
    runs = mf.simulate(instance, "elimination:epsilon=1.0", budget=3000, trials=10)
    cheap = runs.pulls[:, :, 0]
    assert (cheap.max(axis=1) - cheap.min(axis=1) <= 1).all()


def test_mf_ucb_pulls_every_pair_once_first():
    runs = mf.simulate("figure-1a", "mf-ucb", budget=1000, trials=1, trace=16)
    pairs = [tuple(row) for row in runs.trace[0, :15, :2].tolist()]
    assert pairs == [(k, m) for k in range(5) for m in range(3)]


def test_default_epsilon():
    assert default_epsilon(5, 10.0, 1.0) == 1.0
    assert default_epsilon(5, 1e9, 1.0) == pytest.approx((80 * math.log(1e9 / 16) / 1e9) ** (1 / 3))


def test_theorems_epsilon_is_an_option():
    runs = mf.simulate("figure-1a", "elimination:epsilon=theorem", budget=5000, trials=3)
    assert (runs.cost <= 5000).all()


def test_regret_needs_a_budget_and_costs_per_fidelity():
    with pytest.raises(PolicyError, match="elimination spends a budget: give a finite budget"):
        mf.simulate("figure-1a", "elimination", trials=1)
    uneven = mf.Instance(
        mf.Problem.from_arrays([[1.0, 2.0], [1.0, 3.0]], [0.1, 0.0], reward="bernoulli"),
        [[0.5, 0.5], [0.4, 0.4]],
    )
    with pytest.raises(PolicyError, match="costs that differ between arms"):
        mf.simulate(uneven, "mf-ucb", budget=10, trials=1)


def test_both_regrets_from_the_definitions():
    runs = mf.simulate("figure-1a", "mf-ucb", budget=500, trials=3, seed=4)
    truth, costs = runs.instance.truth, runs.instance.problem.costs
    for i in range(3):
        gained = (runs.pulls[i].sum(axis=1) * truth).sum()
        assert runs.regret[i] == pytest.approx(500 / 1.0 * 0.9 - gained)
        weighted = ((runs.pulls[i] * costs).sum(axis=1) * truth).sum()
        assert runs.cost_regret[i] == pytest.approx(500 * 0.9 - weighted)


def test_elimination_beats_ucb_where_the_truth_is_dear():
    # Under the paper's regret, pulling at the truest fidelity for ever is what costs.
    losses = {
        policy: mf.simulate("loose-prior", policy, budget=1e6, trials=20, seed=0).regret.mean() for policy in POLICIES
    }
    assert losses["elimination"] < 0.5 * losses["ucb-top"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("elimination:epsilon=2", r"epsilon must lie in \(0, 1\], got 2"),
        ("elimination:epsilon=small", "epsilon must be proof, theorem or a number, got 'small'"),
        ("elimination:batch=3", "batch must be 1, got 3"),
        ("mf-ucb:rho=0", "rho must be a finite number > 0, got 0"),
    ],
)
def test_bad_options(text, message):
    with pytest.raises(PolicyError, match=message):
        mf.policy(text)


def test_gaussian_rewards_scale_the_margins():
    rng = np.random.default_rng(0)
    means = rng.uniform(0, 10, (4, 1))
    instance = mf.Instance(mf.Problem(4, [("only", 1.0, 0.0)], reward=mf.Gaussian(5.0)), means)
    runs = mf.simulate(instance, "elimination:epsilon=0.01", budget=1e5, trials=10)
    assert (runs.best == instance.best).all()
