"""The problem as kernels see it, and how rewards and money enter a state."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mfbandit as mf
from mfbandit.core import Goal, afford, arrays, new_state, observe, pulled
from mfbandit.errors import PolicyError
from mfbandit.kernel import compiled


def problem(**kwargs):
    return mf.Problem(["x", "y", "z"], [("expensive", 9.0, 0.0), ("cheap", 1.0, 0.2), ("middle", 3.0, 0.1)], **kwargs)


def test_fidelities_are_ordered_by_cost_whatever_order_the_user_gives():
    seen = arrays(problem())
    assert seen.order.tolist() == [1, 2, 0]
    assert seen.truest == 0
    np.testing.assert_allclose(seen.inv_sqrt_cost, 1 / np.sqrt(seen.cost))


def test_columns_keep_their_place_in_the_users_problem():
    seen = arrays(problem(), [0, 2])
    assert seen.columns.tolist() == [0, 2]
    assert seen.cost.tolist() == [[9.0, 3.0]] * 3
    assert seen.order.tolist() == [1, 0]


def test_the_truest_fidelity_must_stay():
    with pytest.raises(PolicyError, match="must include the truest one, 'expensive'"):
        arrays(problem(), [1, 2])


def test_biases_are_in_unit_scale():
    seen = arrays(problem(reward=mf.Bounded(-2.0, 2.0)))
    assert seen.bias[0].tolist() == pytest.approx([0.0, 0.05, 0.025])
    assert (seen.sigma, seen.radius_scale) == (0.5, 1.0)


def test_gaussian_spread_is_twice_the_variance():
    seen = arrays(problem(reward=mf.Gaussian(0.3)))
    assert seen.radius_scale == pytest.approx(0.18)
    assert seen.bias[0, 1] == pytest.approx(0.2, abs=1e-12)


@pytest.mark.parametrize("reward", [mf.Bernoulli(), mf.Gaussian(0.3), mf.Gaussian(1e-7), mf.Gaussian(5e6)])
def test_means_and_biases_lie_on_one_grid_so_that_their_sums_are_exact(reward):
    scale = reward.sigma if isinstance(reward, mf.Gaussian) else 1.0
    biases = [0.3 * scale, 0.1 * scale, 0.0]
    seen = arrays(mf.Problem(1, [(str(m), 1.0 + m, bias) for m, bias in enumerate(biases)], reward=reward))
    assert (seen.bias >= biases).all()
    np.testing.assert_allclose(seen.bias[0], biases, atol=2e-12 * scale)
    state, grid = new_state(seen), Fraction(math.ulp(seen.grid_rounder))
    for n in (1, 3, 10, 999):
        for _ in range(n):
            observe(state, 0, 0, 0.7 * scale)
        mean = state.means[0, 0]
        assert mean == pytest.approx(0.7 * scale, rel=1e-11)
        for bias in seen.bias[0]:
            assert (Fraction(mean) % grid, Fraction(bias) % grid) == (0, 0)
            assert Fraction(mean + bias) == Fraction(mean) + Fraction(bias)
            assert Fraction(mean - bias) == Fraction(mean) - Fraction(bias)


def test_a_stream_has_an_infinite_root_before_its_first_pull():
    state = new_state(arrays(problem()))
    assert np.isinf(state.inv_sqrt_pulls).all()
    assert not pulled(state, 1, 2)
    observe(state, 1, 2, 0.5)
    assert pulled(state, 1, 2)
    assert state.inv_sqrt_pulls[1, 2] == 1.0


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, float("nan")])
def test_goal_refuses_delta(delta):
    with pytest.raises(PolicyError, match="delta must lie strictly between 0 and 1"):
        Goal(delta=delta)


def test_goal_refuses_epsilon_and_budget():
    with pytest.raises(PolicyError, match=r"epsilon must be a number >= 0, got '0.1'"):
        Goal(epsilon="0.1")
    with pytest.raises(PolicyError, match="epsilon must be a number >= 0, got -1"):
        Goal(epsilon=-1)
    with pytest.raises(PolicyError, match="budget must be a number > 0, got 0"):
        Goal(budget=0)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_observe_keeps_the_statistics(rewards):
    state = new_state(arrays(problem()))
    forecast, deviation = 0.5, 0.0
    for n, reward in enumerate(rewards):
        observe(state, 1, 2, reward)
        deviation += (reward - forecast) ** 2
        forecast = (0.5 + sum(rewards[: n + 1])) / (n + 2)
    assert state.pulls[1, 2] == len(rewards)
    assert state.sums[1, 2] == pytest.approx(sum(rewards))
    assert state.squares[1, 2] == pytest.approx(sum(r * r for r in rewards))
    assert state.deviations[1, 2] == pytest.approx(deviation)
    assert state.pulls.sum() == len(rewards)


@given(
    st.floats(0, 1e6),
    st.floats(1e-3, 1e3),
    st.integers(0, 10**9),
)
def test_afford_never_overspends_and_wastes_nothing(left, cost, count):
    paid = afford(left, cost, count)
    assert 0 <= paid <= count
    assert paid * cost <= left
    assert paid == count or (paid + 1) * cost > left


def test_afford_is_the_same_compiled():
    fast = compiled(afford, store=False)
    for left, cost, count in [(1.0, 0.1, 100), (0.3, 0.1, 3), (float("inf"), 2.0, 7), (-1e-9, 1.0, 2)]:
        assert fast(left, cost, count) == afford(left, cost, count)


def test_what_opening_a_block_costs_counts_for_which_fidelity_is_cheap():
    labels = mf.Fidelity("label", 0.001, block_cost=50.0)
    problem = mf.Problem(4, [labels, mf.Fidelity("judge", 1.0, 0.1)], blocks=20)
    assert arrays(problem).order.tolist() == [1, 0]
    assert arrays(mf.Problem(100, problem.fidelities, blocks=20)).order.tolist() == [0, 1]
