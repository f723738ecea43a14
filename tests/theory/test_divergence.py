"""Divergences of the reward laws, against closed forms and against each other."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from theory_instances import bernoulli, gaussian

from mfbandit.instances import BernoulliLaw, BetaLaw, Instance, TableLaw
from mfbandit.model import Bounded, Problem
from mfbandit.theory import bernoulli_divergence, divergence_down, divergence_up, gaussian_divergence
from mfbandit.theory.divergence._divergence import divergences
from mfbandit.theory.divergence._kl_inf import atoms_of_values, beta_atoms, kl_inf


def up(atoms, level):
    mean = (atoms.above * atoms.weights).sum()
    value, slope = kl_inf(atoms.below, atoms.weights, np.array(level - mean), np.array(1 - level))
    return float(value), float(slope)


def test_bernoulli_by_hand():
    # kl(1/2, 4/5) = 1/2 log(5/8) + 1/2 log(5/2) = 1/2 log(25/16) = log(5/4)
    assert bernoulli_divergence(0.5, 0.8) == pytest.approx(np.log(1.25), rel=1e-14)
    assert bernoulli_divergence(0.0, 0.3) == pytest.approx(-np.log(0.7), rel=1e-14)
    assert bernoulli_divergence(1.0, 0.3) == pytest.approx(-np.log(0.3), rel=1e-14)
    assert bernoulli_divergence(0.0, 0.0) == 0.0
    assert bernoulli_divergence(0.3, 0.0) == np.inf


@pytest.mark.parametrize("distance", [1e-3, 1e-5, 1e-7])
def test_bernoulli_keeps_its_digits_when_means_are_close(distance):
    p, q = 0.4, 0.4 + distance
    d = q - p
    # Taylor around q: d^2/2 (1/q + 1/(1-q)) + d^3/6 (1/q^2 - 1/(1-q)^2) + ...
    expected = d**2 / 2 * (1 / q + 1 / (1 - q)) + d**3 / 6 * (1 / q**2 - 1 / (1 - q) ** 2)
    assert bernoulli_divergence(p, q) == pytest.approx(expected, rel=20 * distance**2 + 1e-9)


def test_gaussian_by_hand():
    assert gaussian_divergence(0.2, 0.5, 0.3) == pytest.approx(0.5)


def test_one_sided_divergences_of_an_instance():
    instance = bernoulli([[0.5, 0.9], [0.8, 0.8]], [0.4, 0], [1, 2])
    kl = bernoulli_divergence
    assert divergence_up(instance, 0.8) == pytest.approx(np.array([[kl(0.5, 0.8), 0], [0, 0]]))
    expected = np.array([[0, kl(0.9, 0.8)], [0, 0]])
    assert divergence_down(instance, 0.8) == pytest.approx(expected)


@given(p=st.floats(0.001, 0.999), q=st.floats(0.001, 0.999))
@settings(derandomize=True, database=None, deadline=None)
def test_kl_inf_of_a_coin_is_the_bernoulli_divergence(p, q):
    coin = np.array([1.0, 0.0]), np.array([1 - p, p])
    value, slope = kl_inf(*coin, np.array(q - p), np.array(1 - q))
    expected = bernoulli_divergence(p, q) if q > p else 0.0
    assert value == pytest.approx(float(expected), rel=1e-9, abs=1e-15)
    assert slope == pytest.approx(max(q - p, 0) / (q * (1 - q)), rel=1e-5, abs=1e-12)


def test_kl_inf_of_a_constant():
    # Cheapest: keep x with probability (1-q)/(1-x), and put the rest on 1.
    value, _ = up(atoms_of_values([0.4, 0.4]), 0.7)
    assert value == pytest.approx(np.log(0.6 / 0.3), rel=1e-14)


@pytest.mark.parametrize(("mean", "concentration"), [(0.7, 50), (0.3, 4), (0.05, 1000), (0.5, 2.2)])
def test_beta_kl_inf_at_its_boundary_is_exact(mean, concentration):
    # For q >= a/(a+b-1) the maximiser is 1/(1-q): E log(1-X) - log(1-q).
    from scipy.special import digamma

    a, b = mean * concentration, (1 - mean) * concentration
    level = 0.5 * (a / (a + b - 1) + 1)
    expected = digamma(b) - digamma(a + b) - np.log1p(-level)
    assert up(beta_atoms(mean, concentration), level)[0] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(("mean", "concentration"), [(0.7, 3), (0.9, 2), (0.2, 0.5), (0.5, 300)])
def test_beta_kl_inf_inside_agrees_with_adaptive_integration(mean, concentration):
    from scipy.integrate import quad
    from scipy.special import betaln

    a, b = mean * concentration, (1 - mean) * concentration
    level = mean + 0.1 * (1 - mean)
    value, slope = up(beta_atoms(mean, concentration), level)

    def integrand(logit):
        x = 1 / (1 + np.exp(-logit))
        density = -a * np.logaddexp(0, -logit) - b * np.logaddexp(0, logit) - betaln(a, b)
        return np.exp(density) * np.log1p(-slope * (x - level))

    middle = np.log(a / b)
    spread = np.sqrt(1 / a + 1 / b)
    cuts = [-400 / a, middle - 5 * spread, middle, middle + 5 * spread, 400 / b]
    cuts = np.clip(cuts, -600, 600)
    parts = [quad(integrand, lo, hi, epsabs=1e-13, limit=400)[0] for lo, hi in pairwise(cuts)]
    # At the maximiser the value is stationary, so an error in it cannot hide here.
    assert value == pytest.approx(sum(parts), abs=1e-8)


@given(seed=st.integers(0, 10_000), share=st.floats(0.01, 0.99))
@settings(derandomize=True, database=None, deadline=None)
def test_kl_inf_is_at_least_the_bernoulli_divergence_and_its_slope_is_its_derivative(seed, share):
    values = np.random.default_rng(seed).random(5)
    atoms = atoms_of_values(values)
    mean = float(values.mean())
    level = mean + share * (1 - mean)
    value, slope = up(atoms, level)
    assert value >= bernoulli_divergence(mean, level) * (1 - 1e-9)
    step = 1e-5 * (1 - level)
    ahead, behind = up(atoms, level + step)[0], up(atoms, level - step)[0]
    assert slope == pytest.approx((ahead - behind) / (2 * step), rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("law", [BernoulliLaw(), BetaLaw(7.0)])
def test_mirrored_rewards_have_mirrored_divergences(law):
    means = np.array([[0.6, 0.7], [0.4, 0.3]])
    problem = Problem.from_arrays([1, 2], [0.1, 0], arms=2)
    plain, mirrored = Instance(problem, means, law), Instance(problem, 1 - means, law)
    assert divergence_up(plain, 0.65) == pytest.approx(divergence_down(mirrored, 0.35), rel=1e-9)


def test_another_range_is_worked_on_in_unit_scale():
    means = np.array([[0.6, 0.7], [0.4, 0.3]])
    unit = Instance(Problem.from_arrays([1, 2], [0.1, 0], arms=2), means, BetaLaw(9))
    scores = Problem.from_arrays([1, 2], [0.4, 0], arms=2, reward=Bounded(1, 5))
    stretched = Instance(scores, 1 + 4 * means, BetaLaw(9))
    expected = divergence_up(unit, 0.65)
    assert divergence_up(stretched, 3.6) == pytest.approx(expected, rel=1e-9)


def test_a_table_of_zeros_and_ones_is_a_coin():
    cells = [[[0, 1, 1, 1], [0, 1]], [[0, 0, 0, 1], [0, 1]]]
    table = Instance(Problem.from_arrays([1, 2], [0.3, 0], arms=2), law=TableLaw(cells))
    coin = bernoulli(table.means, [0.3, 0], [1, 2])
    assert divergence_up(table, 0.8) == pytest.approx(divergence_up(coin, 0.8), rel=1e-12)
    assert divergence_down(table, 0.2) == pytest.approx(divergence_down(coin, 0.2), rel=1e-12)


def test_many_rows_are_computed_in_parts(monkeypatch):
    problem = Problem.from_arrays([1, 2], [0.1, 0], arms=2)
    cells = divergences(Instance(problem, [[0.6, 0.7], [0.4, 0.3]], BetaLaw(3)))
    arms, levels = np.array([0, 1, 0]), np.full((3, 2), 0.8)
    whole = cells.up(arms, levels)
    monkeypatch.setattr("mfbandit.theory.divergence._divergence._CHUNK", 1)
    assert np.array_equal(np.array(whole), np.array(cells.up(arms, levels)))


def test_levels_beyond_the_means_do_not_count():
    instance = gaussian([[0.5, 0.6], [0.2, 0.3]], [0.1, 0], [1, 2], 0.1)
    assert not divergence_up(instance, 0.1).any()
    assert not divergence_down(instance, 0.9).any()
