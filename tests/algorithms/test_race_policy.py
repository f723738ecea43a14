"""What the policy stops by is proven again from the raw rewards, by code that it does not share."""

import math

import numpy as np
import pytest

import mfbandit as mf
from mfbandit.algorithms.mf_race._mf_race import MFRace
from mfbandit.algorithms.mf_race._race_sums import shows
from mfbandit.confidence.race import Race
from mfbandit.core import Goal, arrays, enlarged, new_state, observe_block


def raced(problem, rewards, goal):
    """Play mf-race on rewards (M, K, n) in unit scale until it stops; the race and the answer."""
    policy, seen = MFRace(), arrays(problem)
    algorithm = policy.ready(problem, seen, goal)
    state = new_state(seen, algorithm.memory)
    if problem.blocks == "unlimited":
        state = state._replace(blocks=enlarged(state.blocks, rewards.shape[2]))
    out = np.zeros((algorithm.rows, 3), dtype=np.int64)
    while rows := algorithm.plan(seen, algorithm.params, state, out):
        for arm, lane, pulls in out[:rows].tolist():
            for _ in range(pulls):
                observe_block(state, arm, lane, rewards[lane, arm, state.pulls[arm, lane]])
    columns = list(range(problem.n_fidelities))
    race = Race.of_state(problem, columns, goal.delta, goal.epsilon, state)
    return race, state, algorithm.recommend(seen, algorithm.params, state)


def cases():
    rng = np.random.default_rng(3)
    spread = np.linspace(0.2, 0.8, 5)[:, None]
    whole = (rng.random((1, 5, 120)) < spread).astype(float)
    yield "finite", mf.Problem(5, [("only", 1.0)], reward="bernoulli", blocks=120), whole, 0.0
    yield "finite within epsilon", mf.Problem(5, [("only", 1.0)], reward="bernoulli", blocks=120), whole, 0.1
    lost = whole.copy()
    lost[rng.random(lost.shape) < 0.03] = math.nan
    yield "missing", mf.Problem(5, [("only", 1.0)], reward="bernoulli", blocks=120), lost, 0.0
    drawn = (rng.random((1, 5, 2000)) < spread).astype(float)
    yield "drawn", mf.Problem(5, [("only", 1.0)], reward="bernoulli", blocks="unlimited"), drawn, 0.0
    yield "two", mf.Problem(2, [("only", 1.0)], reward="bernoulli", blocks="unlimited"), drawn[:, 2:4], 0.0
    near = np.clip(spread + 0.1 * rng.uniform(-1, 1, (1, 5, 600)), 0, 1)
    swing = mf.Bounded(0, 1, swing=0.2)
    yield "swing", mf.Problem(5, [("only", 1.0)], reward=swing, blocks="unlimited"), near, 0.0
    normal = rng.normal(spread, 0.2, (1, 5, 600))
    for caution in (0.0, 1.0):
        reward = mf.Gaussian(caution=caution)
        problem = mf.Problem(5, [("only", 1.0)], reward=reward, blocks="unlimited")
        yield f"normal, caution {caution}", problem, normal, 0.0
        yield f"normal within epsilon, caution {caution}", problem, normal, 0.05
    fidelities = [mf.Fidelity("cheap", 0.01, 0.5, pair_bias=0.05), mf.Fidelity("truth", 1.0)]
    lanes = (rng.random((2, 5, 2000)) < spread).astype(float)
    yield "lanes", mf.Problem(5, fidelities, reward="bernoulli", blocks="unlimited"), lanes, 0.0
    both = rng.normal(spread, 0.2, (2, 5, 600))
    yield "normal lanes", mf.Problem(5, fidelities, reward=mf.Gaussian(), blocks="unlimited"), both, 0.0


CASES = {case[0]: case[1:] for case in cases()}


@pytest.mark.parametrize("name", CASES)
def test_what_the_policy_stops_by_is_proven_again(name):
    problem, rewards, epsilon = CASES[name]
    race, state, answer = raced(problem, rewards, Goal(0.05, epsilon))
    assert race.certified(answer)
    assert race.confidence(answer) >= 0.95
    beaten = np.flatnonzero(state.own.beaten == 1)
    shown = race.log_p[beaten] <= math.log(0.05)
    assert shown.all() or race.exact
    # It stops as soon as it can, so what is known is not much more than enough.
    assert race.confidence(answer) < 1.0 or race.exact or epsilon


def test_differences_whose_squares_lose_their_digits_say_nothing():
    """At 1e-162 squares are rounded to multiples of the least number there is: noise looked like a large effect."""
    problem = mf.Problem(2, [("only", 1.0)], mf.Gaussian(), blocks="unlimited")
    nobody, known = np.full((1, 12, 2), -1), np.full((2, 1), 12)
    chance = np.random.default_rng(1)
    for _ in range(60):
        noise = chance.normal(size=(1, 2, 12))
        tiny, small, plain = (
            Race(problem, [0], 0.05, 0.0, noise * scale, known, nobody).log_p for scale in (1e-162, 1e-130, 1.0)
        )
        assert tiny.tolist() == [0.0, 0.0]
        assert small == pytest.approx(plain)
    assert not shows(12, 9e-162, 5e-323, 0.0, 0.0, 0.0, 3.0)
