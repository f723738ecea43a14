"""What rounding may add to evidence is less than the slack that certificates leave for it."""

import math
import os
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

import mfbandit as mf
from mfbandit.confidence.pair import NORMAL, TILT, Hypothesis
from mfbandit.confidence.pair._likelihood_levels import (
    _EFFECT,
    _OFFSET,
    LEVELS,
    LOGS,
    WIDTH,
    Cell,
    Stream,
    stream_levels,
)
from mfbandit.confidence.pair._proof import rounding
from mfbandit.confidence.pair._victory_records import PairMemory
from mfbandit.core import arrays, new_state, tally, tally_all
from mfbandit.kernel import compiled
from mfbandit.study.state.rounds._round_record import dump_state

#: A billion takes half a minute; the errors of plain sums show much earlier.
PULLS = int(float(os.environ.get("MFBANDIT_LONG_SUM", "3e6")))
ONE = arrays(mf.Problem(2, [("exact", 1.0, 0.0)]))


def entered(rewards, before=()):
    state = new_state(ONE)
    for many in (before, rewards):
        if len(many):
            compiled(tally_all)(state, 0, 0, np.asarray(many, dtype=np.float64))
    return state


@pytest.mark.parametrize("reward", [0.1, 1 / 3, 0.9999, 1e-9, 0.7])
def test_sums_of_equal_rewards_are_off_by_two_last_places(reward):
    chunk, state = np.full(10**6, reward), new_state(ONE)
    for _ in range(PULLS // 10**6):
        compiled(tally_all)(state, 0, 0, chunk)
    n = int(state.pulls[0, 0])
    for found, exact in ((state.sums, n * Fraction(reward)), (state.squares, n * Fraction(reward * reward))):
        total = float(found[0, 0])
        assert abs(Fraction(total) - exact) <= 2 * Fraction(math.ulp(total))


@pytest.mark.parametrize("rewards", [[0.0, 1.0] * 300, np.random.default_rng(1).random(600).tolist()])
def test_many_rewards_enter_as_one_by_one(rewards):
    first, second, third = new_state(ONE), new_state(ONE), new_state(ONE)
    for reward in rewards:
        tally(first, 1, 0, reward)
    tally_all(second, 1, 0, np.array(rewards[:250]))
    tally_all(second, 1, 0, np.array(rewards[250:]))
    compiled(tally_all)(third, 1, 0, np.array(rewards))
    assert dump_state(first) == dump_state(second) == dump_state(third)


def test_small_rewards_after_many_large_ones_count():
    state = entered(np.full(10**6, 1e-11), np.ones(10**6))
    exact = 10**6 + 10**6 * Fraction(1e-11)
    assert abs(Fraction(float(state.sums[0, 0])) - exact) <= 2 * Fraction(math.ulp(1e6))


@pytest.mark.parametrize("seed", range(3))
def test_sums_of_a_random_stream_agree_with_exact_ones(seed):
    rewards = np.random.default_rng(seed).beta(2.0, 5.0, 300_000)
    state = entered(rewards)
    assert state.sums[0, 0] == pytest.approx(math.fsum(rewards), abs=2 * math.ulp(1e5))
    assert state.squares[0, 0] == pytest.approx(math.fsum(rewards * rewards), abs=2 * math.ulp(1e5))


def test_compiled_and_plain_sums_are_the_same_bits():
    rewards = np.random.default_rng(1).random(500)
    plain = new_state(ONE)
    for reward in rewards.tolist():
        tally(plain, 0, 0, reward)
    assert dump_state(plain) == dump_state(entered(rewards))


def slack(problem, n, total, cap=30.0):
    state = new_state(problem, PairMemory)
    state.pulls[0, 0], state.sums[0, 0] = n, total
    return rounding(problem, state, Hypothesis(0, 1, 0.0, 0, 1.0, 0.0, 1), cap, state.own.leaders)


def logs(kind, n, total, q, sigma):
    out = np.zeros((1, WIDTH))
    stream_levels(
        kind,
        Stream(float(n), total, total),
        Cell(q, q, q, q, 700.0, q, q),
        0,
        sigma,
        out,
        0,
        np.zeros((1, LOGS)),
        np.zeros(2),
    )
    return [math.log(value) + 175.0 if value > 0.0 else -math.inf for value in out[0, :LEVELS]]


@pytest.mark.parametrize("n", [10**3, 10**6, 10**9])
@pytest.mark.parametrize("share", [1.0, 0.5, 1e-3, 1 - 1e-8])
def test_the_tilt_is_computed_to_less_than_the_slack(n, share):
    total = float(round(n * share))
    for nats in (0.1, 5.0, 20.0):
        mean = total / n
        q = max(1e-12, mean - math.sqrt(2.0 * nats * max(mean * (1.0 - mean), nats / n) / n))
        octave = next(i for i in range(-8, 8) if 2.0 ** -(i + 0.5) <= max(q * (1.0 - q), 2.0**-6) < 2.0 ** -(i - 0.5))
        for i, found in enumerate(logs(TILT, n, total, q, 0.5)):
            effect = _EFFECT[max(i - octave + _OFFSET, 0)]
            with localcontext() as context:
                context.prec = 60
                # The constant e^l - 1 of the grid is what it is: any positive number gives a fair ratio.
                base = Decimal(math.expm1(effect))
                exact = Decimal(total) * (1 + base).ln() - n * (1 + Decimal(q) * base).ln()
            if abs(exact) < 100:
                assert found - float(exact) <= slack(ONE, n, total), (i, found, exact)
                # So near to 1 the ratio is set to 1, which is safe.
                assert q >= 1 - 1e-9 or float(exact) - found <= slack(ONE, n, total), (i, found, exact)


@pytest.mark.parametrize("n", [10**3, 10**6, 10**9])
@pytest.mark.parametrize("size", [0.0, 3.0, 1e3, 1e6])
def test_the_normal_ratio_is_computed_to_less_than_the_slack(n, size):
    sigma = 0.1
    problem = arrays(mf.Problem(2, [("exact", 1.0, 0.0)], reward=mf.Gaussian(sigma)))
    for nats in (0.1, 5.0, 20.0):
        mean = size * sigma
        total = n * mean
        q = mean - sigma * math.sqrt(2.0 * nats / n)
        for i, found in enumerate(logs(NORMAL, n, total, q, sigma)):
            effect = Decimal(_EFFECT[max(i + _OFFSET, 0)])
            with localcontext() as context:
                context.prec = 60
                exact = effect * ((Decimal(total) - n * Decimal(q)) / Decimal(sigma) - n * effect / 2)
            if -100 < exact < 30:
                assert abs(found - float(exact)) <= slack(problem, n, total), (i, found, exact)


def test_the_slack_is_what_it_was_where_numbers_are_small():
    assert slack(ONE, 10**8, 5e7) == 1e-6
    assert 1e-6 < slack(ONE, 10**9, 5e8) < 1e-5
    gaussian = arrays(mf.Problem(2, [("exact", 1.0, 0.0)], reward=mf.Gaussian(1e-3)))
    assert slack(gaussian, 10**9, 1e9 * 1e-3) == 1e-6
    assert slack(gaussian, 10**5, 1e5 * 1.7e9) > 1.0
