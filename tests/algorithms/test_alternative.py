"""The nearest alternative of mf-grad against general-purpose optimisation."""

import math

import numpy as np
import pytest
from scipy import optimize

import mfbandit as mf
from mfbandit.algorithms.mf_grad._nearest_model import Model, contest, lowest, nearest, project
from mfbandit.core import arrays

EPSILONS = (0.0, 0.1)


def random_case(rng, gaussian):
    arms, fidelities = int(rng.integers(2, 6)), int(rng.integers(1, 5))
    biases = rng.uniform(0, 0.3, (arms, fidelities))
    biases[:, -1] = 0
    problem = arrays(
        mf.Problem.from_arrays(
            rng.uniform(1, 5, (arms, fidelities)),
            biases,
            reward=mf.Gaussian(0.7) if gaussian else "bernoulli",
        )
    )
    means = rng.uniform(0, 1, (arms, fidelities))
    if not gaussian:
        # Means of 0 and 1 are where divergences are infinite.
        means = np.where(rng.random(means.shape) < 0.2, np.round(means), means)
    weights = 10.0 ** rng.uniform(-6, 3, (arms, fidelities))
    return problem, means, weights, model_of(means, weights)


def model_of(means, weights):
    means, weights = np.array(means), np.array(weights)
    return Model(means, weights, np.zeros(len(means)), np.zeros(len(means)))


def divergence(problem, p, q):
    if problem.reward_code == 2:
        return (p - q) ** 2 / (2 * problem.sigma**2)
    if (q <= 0 and p > 0) or (q >= 1 and p < 1):
        return math.inf
    first = p * math.log(p / q) if p > 0 else 0.0
    return first + ((1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0)


def cost(problem, means, weights, arm, eta):
    value = 0.0
    for m, (p, w) in enumerate(zip(means[arm], weights[arm], strict=True)):
        q = min(max(p, eta - problem.bias[arm, m]), eta + problem.bias[arm, m])
        value += w * divergence(problem, p, q) if q != p else 0.0
    return value


def minimum(function, low, high):
    """The minimum of a convex function of one number, by nested grids."""
    # Each has a twentieth of the one before: the last one is narrower than numbers are apart.
    for _ in range(13):
        grid = np.linspace(low, high, 41)
        values = [function(x) for x in grid]
        best = int(np.argmin(values))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, 40)]
    return min(values)


def expected_f(problem, means, weights, i, j, epsilon):
    gaussian = problem.reward_code == 2
    low, high = (-1.0, 2.0) if gaussian else (0.0, 1.0)
    grid_i = optimize.minimize_scalar(
        lambda x: cost(problem, means, weights, i, x),
        bounds=(low, high),
        method="bounded",
        options={"xatol": 1e-12},
    )
    grid_j = optimize.minimize_scalar(
        lambda x: cost(problem, means, weights, j, x),
        bounds=(low, high),
        method="bounded",
        options={"xatol": 1e-12},
    )
    if grid_j.x >= grid_i.x + epsilon + 1e-9:
        return minimum(lambda x: cost(problem, means, weights, i, x), low, high) + minimum(
            lambda x: cost(problem, means, weights, j, x), low, high
        )
    return minimum(
        lambda x: cost(problem, means, weights, i, x) + cost(problem, means, weights, j, x + epsilon),
        low,
        high if gaussian else high - epsilon,
    )


@pytest.mark.parametrize("gaussian", [True, False])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_pairs_and_contest_match_brute_force(gaussian, epsilon):
    rng = np.random.default_rng(5)
    for _ in range(12):
        problem, means, weights, model = random_case(rng, gaussian)
        arms = len(means)
        project(problem, model)
        table = np.full((arms, arms), math.inf)
        for i in range(arms):
            for j in range(arms):
                if i != j:
                    table[i, j] = expected_f(problem, means, weights, i, j, epsilon)
                    value, below, above = nearest(problem, epsilon, model, i, j)
                    assert value == pytest.approx(table[i, j], rel=1e-6, abs=1e-9)
                    assert above >= below + epsilon - 1e-12
        pair = contest(problem, epsilon, model)
        assert pair.value == pytest.approx(table.min(axis=1).max(), rel=1e-6, abs=1e-9)
        assert pair.value == pytest.approx(table[pair.leader, pair.rival], rel=1e-6, abs=1e-9)


def test_gaussian_minimum_is_a_weighted_mean():
    # Leader at .9 with bias 0, rival at .5 and .6 with biases 0 and .2: only the first stream resists.
    problem = arrays(mf.Problem.from_arrays([1.0, 1.0], [0.2, 0.0], arms=2, reward=mf.Gaussian(1.0)))
    model = model_of([[0.9, 0.9], [0.6, 0.5]], [[1.0, 3.0], [1.0, 1.0]])
    eta = lowest(problem, model, 0, 1, 0.0)
    assert eta == pytest.approx((3 * 0.9 + 0.5) / 4)


def test_a_rival_that_is_ahead_costs_nothing():
    problem = arrays(mf.Problem.from_arrays([1.0], [0.0], arms=2, reward=mf.Gaussian(1.0)))
    model = model_of([[0.2], [0.7]], [[5.0], [5.0]])
    project(problem, model)
    assert nearest(problem, 0.0, model, 0, 1) == (0.0, 0.2, 0.7)
    assert contest(problem, 0.0, model).leader == 1
