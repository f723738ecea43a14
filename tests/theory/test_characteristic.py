"""C*, the tight limit: anchors, closed forms, properties, the proven gap, edges, time."""

import math
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from theory_instances import bernoulli, gaussian

from mfbandit.errors import InvalidInput
from mfbandit.instances import BernoulliLaw, BetaLaw, Instance, TableLaw, load_instance
from mfbandit.model import Bounded, Gaussian, Problem
from mfbandit.theory import (
    bernoulli_divergence,
    characteristic_cost,
    limit,
    lower_bound,
    lower_bound_coefficient,
)
from mfbandit.theory.characteristic import _characteristic

pytestmark = pytest.mark.filterwarnings("ignore::mfbandit.errors.ModelWarning")


def random_instance(seed, arms=4, fidelities=3, law="bernoulli", cost_factor=1.0):
    """Means anywhere within their bias bounds, often exactly at them."""
    rng = np.random.default_rng(seed)
    truth = rng.uniform(0.25, 0.75, arms)
    biases = rng.uniform(0.0, 0.2, fidelities)
    biases[-1] = 0.0
    offsets = rng.choice([-1.0, 1.0, 0.3, -0.6, 0.0], (arms, fidelities))
    means = truth[:, None] + offsets * biases
    costs = cost_factor * rng.uniform(0.05, 5.0, fidelities)
    if law == "bernoulli":
        return bernoulli(means, biases, costs)
    return gaussian(means, biases, costs, sigma=0.3)


def least_evidence(instance, weights):
    """Evidence per unit of cost on levels from each rival to the best, dense at the ends: the definition, by force."""
    problem, best, means = instance.problem, instance.best, instance.means
    share = weights / problem.costs
    rivals = np.delete(instance.truth, best)
    shares = np.sin(np.linspace(0.0, math.pi / 2, 170)[1:-1]) ** 2
    # A rival that is nearly as good would have no level on a grid that all share.
    levels = (rivals[:, None] + (instance.truth[best] - rivals[:, None]) * shares).reshape(-1, 1, 1)
    down = divergence(instance, means[best], np.minimum(levels[:, 0] + problem.biases[best], means[best])) @ share[best]
    up = (divergence(instance, means, np.maximum(levels - problem.biases, means)) * share).sum(axis=2)
    return float((down[:, None] + np.delete(up, best, axis=1)).min())


def divergence(instance, p, q):
    """Of laws with means p from those with means q, all at once."""
    if isinstance(instance.law, BernoulliLaw):
        return bernoulli_divergence(p, q)
    return (p - q) ** 2 / (2.0 * instance.problem.reward.sigma**2)


@pytest.mark.parametrize(
    ("name", "cost", "top_only"),
    [
        ("figure-1a", 136.39, 136.39),
        ("figure-1b", 2959.73, 3059.95),
        ("poiani-5x2", 26.65, 90.0),
        ("poiani-4x5", 2.000, 38.67),
        ("poiani-mu2", 3.621, 19.68),
        ("poiani-mu3", 1.967, 7.694),
        ("forever", 4000, 4000),
        ("loose-prior", 1569.7, 2103.1),
        ("judges", 0.126, 26.07),
    ],
)
def test_anchors(name, cost, top_only):
    instance = load_instance(name)
    found = characteristic_cost(instance)
    # The anchors are printed to four or five digits, the last one rounded or cut.
    assert found.cost == pytest.approx(cost, rel=5e-5, abs=5e-4)
    assert characteristic_cost(instance, fidelities="top").cost == pytest.approx(top_only, rel=2e-4)
    assert found.gap <= 1e-6
    assert found.weights.sum() == pytest.approx(1)
    assert (found.weights >= 0).all()


def test_two_gaussian_arms_in_closed_form():
    # min x + y with x (a-v)^2 + y (v-b)^2 >= 2 sigma^2: 2 sigma^2 (sqrt(l1) + sqrt(l2))^2 / gap^2
    problem = Problem.from_arrays([[2.0], [3.0]], [0.0], arms=2, reward=Gaussian(0.7))
    instance = Instance(problem, [[0.9], [0.4]])
    root = math.sqrt(2) + math.sqrt(3)
    found = characteristic_cost(instance)
    assert found.cost == pytest.approx(2 * 0.49 * root**2 / 0.25, rel=1e-6)
    assert found.weights.ravel() == pytest.approx([math.sqrt(2) / root, math.sqrt(3) / root], rel=1e-3)


def test_two_coins_that_always_and_never_win():
    # -x log v - y log(1-v) with x = y: least log 2 per unit at v = 1/2, so C* = 2/(2 log 2)
    instance = bernoulli([[1.0], [0.0]], [0.0], [1.0])
    assert characteristic_cost(instance).cost == pytest.approx(1 / math.log(2), rel=1e-6)


def test_two_constants():
    # The mirror image of each other: log of distances to the far ends.
    problem = Problem.from_arrays([1.0], [0.0], arms=2)
    instance = Instance(problem, law=TableLaw([[[0.8]], [[0.2]]]))
    # v = 1/2 by symmetry: evidence log(0.8/0.5) per unit
    assert characteristic_cost(instance).cost == pytest.approx(1 / math.log(1.6), rel=1e-6)


@pytest.mark.parametrize("law", ["bernoulli", "gaussian"])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=15, deadline=None, derandomize=True, database=None)
def test_weights_reach_the_cost_and_the_gap_is_closed(law, seed):
    instance = random_instance(seed, law=law)
    found = characteristic_cost(instance)
    assert found.gap <= 1e-6
    evidence = least_evidence(instance, found.weights)
    assert evidence >= (1 - 1e-6) / found.cost
    assert evidence == pytest.approx(1 / found.cost, rel=2e-2)


@given(seed=st.integers(0, 10_000), factor=st.floats(1e-3, 1e3))
@settings(max_examples=15, deadline=None, derandomize=True, database=None)
def test_cost_is_linear_in_the_costs(seed, factor):
    plain = characteristic_cost(random_instance(seed)).cost
    scaled = characteristic_cost(random_instance(seed, cost_factor=factor)).cost
    assert scaled == pytest.approx(factor * plain, rel=1e-6)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=15, deadline=None, derandomize=True, database=None)
def test_another_fidelity_never_raises_the_cost(seed):
    instance = random_instance(seed)
    few, all_ = (characteristic_cost(instance, fidelities=f).cost for f in ([1, 2], None))
    top = characteristic_cost(instance, fidelities="top").cost
    assert all_ <= few * (1 + 1e-6)
    assert few <= top * (1 + 1e-6)


@pytest.mark.parametrize("law", ["bernoulli", "gaussian"])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=15, deadline=None, derandomize=True, database=None)
def test_the_papers_lower_bound_is_never_above_the_limit(law, seed):
    # True whenever the bias bounds hold: every term of Theorem 3.1 is one row of the program alone.
    instance = random_instance(seed, arms=5, law=law)
    assert lower_bound_coefficient(instance) <= characteristic_cost(instance).cost * (1 + 1e-6)
    assert lower_bound(instance, 0.1) <= limit(instance, 0.1) * (1 + 1e-6)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=10, deadline=None, derandomize=True, database=None)
def test_one_more_arm_never_lowers_the_cost(seed):
    rng = np.random.default_rng(seed)
    truth = rng.uniform(0.2, 0.8, 4)
    more = bernoulli(truth[:, None], [0.0], [1.0])
    fewer = bernoulli(np.delete(truth, truth.argmin())[:, None], [0.0], [1.0])
    assert characteristic_cost(fewer).cost <= characteristic_cost(more).cost * (1 + 1e-6)


def test_less_noise_never_costs_more():
    means = np.array([[0.8, 0.9], [0.6, 0.7], [0.5, 0.55]])
    problem = Problem.from_arrays([1, 5], [0.1, 0], arms=3)
    costs = [
        characteristic_cost(Instance(problem, means, law)).cost
        for law in (BernoulliLaw(), BetaLaw(0.5), BetaLaw(5), BetaLaw(50), BetaLaw(500))
    ]
    assert costs == sorted(costs, reverse=True)


def test_table_of_a_coin_and_another_range():
    means = np.array([[0.75, 0.9], [0.5, 0.6], [0.4, 0.4]])
    coin = bernoulli(means, [0.2, 0], [1, 5])
    expected = characteristic_cost(coin).cost
    cells = [[np.arange(20) < round(20 * mean) for mean in row] for row in means]
    problem = Problem.from_arrays([1, 5], [0.2, 0], arms=3)
    table = Instance(problem, law=TableLaw(np.array(cells, dtype=float)))
    assert characteristic_cost(table).cost == pytest.approx(expected, rel=1e-6)
    scores = Problem.from_arrays([1, 5], [2.0, 0], arms=3, reward=Bounded(-5, 5))
    stretched = Instance(scores, 10 * means - 5, BernoulliLaw())
    assert characteristic_cost(stretched).cost == pytest.approx(expected, rel=1e-6)


def test_biases_and_costs_per_arm():
    # Only arm 1 may be measured cheaply; its cheap fidelity is exact for it.
    problem = Problem.from_arrays([[1.0, 1.0], [0.01, 1.0]], [[0.9, 0.0], [0.0, 0.0]], arms=2, reward=Gaussian(1.0))
    instance = Instance(problem, [[0.5, 0.5], [0.3, 0.3]])
    found = characteristic_cost(instance)
    assert found.cost == pytest.approx(2 * (1 + 0.1) ** 2 / 0.04, rel=1e-6)
    assert found.weights[0, 0] == 0
    assert found.weights[1, 1] == pytest.approx(0, abs=1e-6)


def test_ties_single_arms_and_useless_fidelities():
    tied = bernoulli([[0.5, 0.5], [0.5, 0.5]], [0.1, 0], [1, 2])
    assert characteristic_cost(tied).cost == math.inf
    assert not characteristic_cost(tied).weights.any()
    alone = bernoulli([[0.5, 0.5]], [0.1, 0], [1, 2])
    assert characteristic_cost(alone).cost == 0.0
    assert limit(alone, 0.05) == 0.0
    rounding = bernoulli([[0.3], [0.1 + 0.2]], [0.0], [1.0])
    assert characteristic_cost(rounding).cost == math.inf
    near = bernoulli([[0.5, 0.5], [0.6, 0.6]], [0.1, 0], [1, 2])
    assert characteristic_cost(near, fidelities=[0]).cost == math.inf
    assert math.isfinite(characteristic_cost(near).cost)


@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-6, 1e-8])
def test_near_ties_beside_easy_arms(gap):
    # Two fair coins: 8 p (1-p) / gap^2 in the limit of small gaps; the easy arms cost nothing.
    instance = bernoulli([[0.5 - gap / 2], [0.5 + gap / 2], [0.2], [0.05]], [0.0], [1.0])
    found = characteristic_cost(instance)
    assert found.gap <= 1e-6
    assert found.cost == pytest.approx(2 / gap**2, rel=10 * gap + 1e-6)


def test_limit():
    instance = load_instance("poiani-5x2")
    information = float(bernoulli_divergence(0.01, 0.99))
    assert information == pytest.approx(4.503, abs=1e-3)
    assert limit(instance, 0.01) == pytest.approx(26.649 * information, rel=1e-4)
    assert limit(instance, 0.01, fidelities="top") == pytest.approx(90 * information, rel=1e-4)
    assert limit(instance, 0.6) == 0.0
    assert limit(instance, 1e-300) == pytest.approx(26.649 * 300 * math.log(10), rel=1e-4)
    with pytest.raises(InvalidInput, match="delta must lie strictly between 0 and 1, got 0"):
        limit(instance, 0)


@pytest.mark.parametrize("fidelities", ["best", [5], [-1], []])
def test_unknown_fidelities_are_refused(fidelities):
    with pytest.raises(InvalidInput, match="fidelities is"):
        characteristic_cost(load_instance("forever"), fidelities=fidelities)


@pytest.mark.parametrize(("arms", "fidelities", "seconds"), [(5, 5, 0.1), (100, 10, 5.0)])
def test_time(arms, fidelities, seconds):
    instance = random_instance(1, arms, fidelities)
    found = characteristic_cost(instance)
    assert found.gap <= 1e-6
    times = []
    for _ in range(5):
        # Processor time, the best of five: other processes of the machine do not count.
        start = time.process_time()
        characteristic_cost(instance)
        times.append(time.process_time() - start)
    assert min(times) < seconds


def test_importing_the_theory_does_not_load_scipy():
    code = "import sys, mfbandit.theory; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_curve_of_limits_solves_one_program(monkeypatch):
    solved, solve = [], _characteristic.characteristic_cost
    monkeypatch.setattr(_characteristic, "characteristic_cost", lambda *a, **b: solved.append(a) or solve(*a, **b))
    instance = random_instance(1234)
    curve = [limit(instance, delta) for delta in (0.01, 0.05, 0.1, 0.2)]
    assert curve == sorted(curve, reverse=True)
    assert limit(random_instance(1234), 0.05) == curve[1]
    assert len(solved) == 1
    assert limit(instance, 0.05, fidelities="top") >= curve[1]
    assert len(solved) == 2
