"""Pulls by arm and fidelity: step 3, Lemmas C.2 and C.3, by hand and against simulations."""

import math

import numpy as np
import pytest
from scipy import stats

import mfbandit as mf
from mfbandit.errors import InvalidInput
from mfbandit.instances import Instance, load_instance
from mfbandit.model import Gaussian, Problem
from mfbandit.theory import commitment_ratio, optimal_fidelity, pulls_at_optimum, pulls_elsewhere, pulls_of_sweeps

# gaps: arm 0: 0.25, 0.3; arm 1: 0.3, 0.3; per root cost: 0.25, 0.15; 0.3, 0.15; L = 16
MEANS = [[0.85, 0.8], [0.4, 0.5]]
EXAMPLE = Instance(Problem.from_arrays([1, 4], [0.1, 0], arms=2, reward="bernoulli"), MEANS)


def test_by_hand():
    assert pulls_at_optimum(EXAMPLE, 0.05, 1000) == pytest.approx(
        64 * math.log(16 * 1000 / 0.05) / np.array([0.25, 0.3]) ** 2
    )
    elsewhere = pulls_elsewhere(EXAMPLE, [100, 200])
    assert elsewhere[:, 1] == pytest.approx([8 / 4 / 0.01 * math.log(100), 8 / 4 / 0.0225 * math.log(200)])
    assert np.isinf(elsewhere[:, 0]).all()
    assert commitment_ratio(EXAMPLE, [[0, 0], [1, 1]]) == pytest.approx(np.array([[1, 1], [0.25 / 0.15, 2]]))
    assert pulls_of_sweeps(EXAMPLE, 0.05) == pytest.approx(16 * math.log(16 / 0.05) / np.array([0.25, 0.3]) ** 2)


def test_gaussian_gaps_are_in_units_of_sqrt2_sigma():
    sigma = 0.3
    noisy = Instance(Problem.from_arrays([1, 4], [0.1, 0], arms=2, reward=Gaussian(sigma)), MEANS)
    factor = 2 * sigma**2
    assert pulls_at_optimum(noisy, 0.05, 10) == pytest.approx(factor * pulls_at_optimum(EXAMPLE, 0.05, 10))
    assert pulls_elsewhere(noisy, [9, 9])[:, 1] == pytest.approx(factor * pulls_elsewhere(EXAMPLE, [9, 9])[:, 1])
    assert pulls_of_sweeps(noisy, 0.05) == pytest.approx(factor * pulls_of_sweeps(EXAMPLE, 0.05))
    assert commitment_ratio(noisy, [1, 1]) == pytest.approx(commitment_ratio(EXAMPLE, [1, 1]))


def test_equally_efficient_fidelities_and_useless_ones():
    twins = Instance(
        Problem.from_arrays([1, 1, 2], [0, 0, 0], arms=2, reward="bernoulli"), [[0.9, 0.9, 0.9], [0.5, 0.5, 0.5]]
    )
    assert np.isinf(pulls_elsewhere(twins, [10, 10])[:, :2]).all()
    assert pulls_elsewhere(twins, [0, 1])[:, 2] == pytest.approx([0, 0])
    assert np.isinf(pulls_at_optimum(load_instance("loose-prior"), 0.05, 100, top=1, second=0.5)[0])
    assert commitment_ratio(load_instance("loose-prior"), [0, 0, 0])[0] == math.inf
    with pytest.raises(InvalidInput, match="at least one pull"):
        pulls_at_optimum(EXAMPLE, 0.05, 0)


def test_lemma_c2_and_step_3_on_figure_1a(times):
    instance = load_instance("figure-1a")
    runs = mf.simulate(instance, "lucb-a:top=0.95,second=0.75", delta=0.05, trials=70 * times, seed=0)
    ratio = runs.pulls / pulls_elsewhere(instance, runs.pulls.sum(axis=2), 0.95, 0.75)
    cells = ratio[..., :2]
    assert cells.size == 700 * times
    # The lemma is for large N_k and fails with small probability: 1% of cells, by little.
    assert stats.binomtest(int((cells > 1).sum()), cells.size, 0.01, "greater").pvalue > 1e-3
    assert cells.max() < 1.5
    settled = runs.pulls[..., 2] / pulls_at_optimum(instance, 0.05, runs.pulls.sum(axis=(1, 2)).max(), 0.95, 0.75)
    assert settled.max() < 1.0


def test_lemma_c3_on_figure_1a(times):
    instance = load_instance("figure-1a")
    runs = mf.simulate(instance, "lucb-b:top=0.95,second=0.75", delta=0.05, trials=70 * times, seed=0)
    committed = runs.pulls.argmax(axis=2)
    assert (runs.pulls.max(axis=2) > runs.pulls.min(axis=2)).all()
    worse = (commitment_ratio(instance, committed, 0.95, 0.75) > 2).any(axis=1)
    assert stats.binomtest(int(worse.sum()), len(worse), 0.025, "greater").pvalue > 1e-3
    assert (runs.pulls.min(axis=2) <= pulls_of_sweeps(instance, 0.05, 0.95, 0.75)).all()
    assert (optimal_fidelity(instance, 0.95, 0.75) == 2).all()
