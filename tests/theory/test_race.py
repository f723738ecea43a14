"""The cost of a race that knows the best arm: by hand, by simulation, and what it refuses."""

import math

import numpy as np
import pytest

import mfbandit as mf
from mfbandit.errors import InvalidInput
from mfbandit.theory import oracle_race

LEVEL = math.log(20.0)


def instance(values, reward="bernoulli", blocks="unlimited", **options):
    values = np.asarray(values, dtype=float)[:, None]
    problem = mf.Problem(len(values), [mf.Fidelity("only", **{"cost": 1.0, **options})], reward, blocks=blocks)
    return mf.Instance(problem, law=mf.BlockTableLaw(values))


def test_only_discordant_pairs_count():
    # The best arm alone is right on 3 blocks of 10, the rival alone on 1.
    best, rival = [1, 1, 1, 0, 1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1, 1, 0, 0, 0]
    race = oracle_race(instance([rival, best]), 0.05)
    rate = 0.3 * math.log(1.5) + 0.1 * math.log(0.5)
    assert race.blocks == pytest.approx(np.full(2, LEVEL / rate))
    assert race.cost == pytest.approx(2 * LEVEL / rate)


def test_normal_differences():
    values = np.random.default_rng(1).normal(size=(3, 50)) + np.array([[0.0], [0.3], [1.5]])
    race = oracle_race(instance(values, mf.Gaussian()), 0.05)
    differences = values[2] - values[:2]
    rate = 0.5 * np.log1p(differences.mean(axis=1) ** 2 / differences.var(axis=1))
    assert race.blocks == pytest.approx([*(LEVEL / rate), max(LEVEL / rate)])


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.95, -0.5, 1.0, -1.0])
def test_shared_effects_as_drawn(rho):
    """The parametric law and a table of many draws of the same give the same blocks."""
    random, law = np.random.default_rng(2), mf.BlockEffectLaw(rho)
    own = math.sqrt(1.0 - abs(rho)) * random.normal(size=(2, 400_000))
    noise = law.loads(2)[:, None] * random.normal(size=400_000) + own
    rewards = (noise > np.array([[0.0], [-0.5]])).astype(float)
    problem = mf.Problem(2, [("only", 1.0)], "bernoulli", blocks="unlimited")
    exact = mf.Instance(problem, [[0.5], [0.6914624612740131]], law)
    assert oracle_race(exact, 0.05).blocks == pytest.approx(oracle_race(instance(rewards), 0.05).blocks, rel=0.03)
    normal = mf.Problem(2, [("only", 1.0)], mf.Gaussian(), blocks="unlimited")
    exact = mf.Instance(normal, [[0.0], [0.5]], mf.BlockEffectLaw(rho, 2.0))
    if rho < 1.0:
        drawn = instance(2.0 * noise + np.array([[0.0], [0.5]]), mf.Gaussian())
        assert oracle_race(exact, 0.05).blocks == pytest.approx(oracle_race(drawn, 0.05).blocks, rel=0.05)
    else:
        assert oracle_race(exact, 0.05).blocks.tolist() == [1.0, 1.0]


def test_a_finite_set_is_never_measured_more_than_once():
    values = np.random.default_rng(3).random((4, 30))
    values[1] = values[0][::-1]
    unlimited, finite = (oracle_race(instance(values, mf.Bounded(0, 1), n), 0.05) for n in ("unlimited", 30))
    assert finite.blocks == pytest.approx(1 / (1 / unlimited.blocks + 1 / 30))
    tied = oracle_race(instance([[1, 0], [0, 1]], blocks=2), 0.05)
    assert tied.blocks.tolist() == [2.0, 2.0]
    assert math.isinf(oracle_race(instance([[1, 0], [0, 1]]), 0.05).cost)


def test_scale_epsilon_swing_and_price():
    values = np.random.default_rng(4).random((3, 40))
    plain = oracle_race(instance(values, mf.Bounded(0, 1)), 0.05, epsilon=0.1)
    wide = oracle_race(instance(50 * values - 7, mf.Bounded(-7, 43)), 0.05, epsilon=5.0)
    assert wide.blocks == pytest.approx(plain.blocks)
    assert (plain.blocks < oracle_race(instance(values, mf.Bounded(0, 1)), 0.05).blocks).all()
    narrow = instance(0.45 + 0.1 * values, mf.Bounded(0, 1, swing=0.1))
    assert (
        oracle_race(narrow, 0.05).blocks < oracle_race(instance(0.45 + 0.1 * values, mf.Bounded(0, 1)), 0.05).blocks
    ).all()
    priced = oracle_race(instance(values, mf.Bounded(0, 1), cost=2.0, block_cost=7.0), 0.05, epsilon=0.1)
    assert priced.cost == pytest.approx(2.0 * plain.cost + 7.0 * plain.blocks.max())
    assert oracle_race(instance(values, mf.Bounded(0, 1)), 0.05, epsilon=2.0).blocks.tolist() == [1.0, 1.0, 1.0]


def test_a_race_that_must_find_the_best_costs_more():
    problem = mf.Problem(5, [("only", 1.0)], "bernoulli", blocks="unlimited")
    race = mf.Instance(problem, [[0.7], [0.5], [0.45], [0.4], [0.35]], mf.BlockEffectLaw(0.5))
    runs = mf.simulate(race, trials=200, seed=5)
    assert 1.0 < runs.cost.mean() / oracle_race(race, 0.05).cost < 3.0


def test_what_is_refused():
    values = [[1, 0, 1], [0, 1, 0]]
    with pytest.raises(InvalidInput, match="share none"):
        oracle_race(mf.load_instance("figure-1a"), 0.05)
    with pytest.raises(InvalidInput, match="delta must lie strictly between 0 and 1, got 1"):
        oracle_race(instance(values), 1.0)
    with pytest.raises(InvalidInput, match="epsilon is -1"):
        oracle_race(instance(values), 0.05, epsilon=-1.0)
