"""Reward streams: pure functions of where they stand, the same in all ways of running, of the right law."""

import numpy as np
import pytest
from scipy import stats

import mfbandit as mf
from mfbandit.core import normal, trial_key, uniform
from mfbandit.instances import draw_any, draw_of, law_arrays
from mfbandit.kernel import compiled, kernel


def instance_of(law, reward="bounded", mean=0.3):
    problem = mf.Problem(2, [("only", 1.0, 0.0)], reward=reward)
    return mf.Instance(problem, [[mean], [0.6]], law)


TABLE = np.array([0.05, 0.1, 0.1, 0.4, 0.9])
LAWS = {
    "bernoulli": instance_of(mf.BernoulliLaw(), "bernoulli"),
    "gaussian": instance_of(mf.GaussianLaw(0.2), mf.Gaussian(0.2)),
    "beta": instance_of(mf.BetaLaw(8.0)),
    "spiky beta": instance_of(mf.BetaLaw(0.5)),
    "table": mf.Instance(mf.Problem(2, [("only", 1.0, 0.0)]), None, mf.TableLaw([[TABLE], [np.array([0.6])]])),
}


def stream(instance, count, seed=0, trial=0, arm=0):
    draw, law = draw_of(instance), law_arrays(instance)
    key = trial_key(seed, trial)
    return [draw(law, key, arm, arm, 0, n) for n in range(count)]


@pytest.mark.parametrize("name", LAWS)
def test_plain_and_compiled_streams_are_identical(name):
    instance = LAWS[name]
    draw, law = compiled(draw_of(instance)), law_arrays(instance)
    key = compiled(trial_key)(5, 3)
    assert key & (2**64 - 1) == trial_key(5, 3)
    fast = [draw(law, key, 1, 1, 0, n) for n in range(2000)]
    assert fast == stream(instance, 2000, seed=5, trial=3, arm=1)


@pytest.mark.parametrize("name", LAWS)
def test_one_text_draws_the_rewards_of_every_law(name):
    instance = LAWS[name]
    fast, law, key = compiled(draw_any), law_arrays(instance), trial_key(5, 3)
    for draw in (draw_any, fast):
        drawn = [draw(law, key, arm, arm, 0, n) for arm in range(2) for n in range(500)]
        assert drawn == [reward for arm in range(2) for reward in stream(instance, 500, seed=5, trial=3, arm=arm)]


@pytest.mark.parametrize("name", LAWS)
def test_streams_differ_by_seed_trial_and_arm(name):
    if name == "table":
        return  # its second arm is constant
    instance = LAWS[name]
    base = stream(instance, 50)
    assert base == stream(instance, 50)
    assert base != stream(instance, 50, seed=1)
    assert base != stream(instance, 50, trial=1)


@pytest.mark.parametrize(
    ("name", "law"),
    [
        ("gaussian", stats.norm(0.3, 0.2)),
        ("beta", stats.beta(8 * 0.3, 8 * 0.7)),
        ("spiky beta", stats.beta(0.5 * 0.3, 0.5 * 0.7)),
    ],
)
def test_continuous_laws(name, law):
    rewards = stream(LAWS[name], 4000)
    assert stats.kstest(rewards, law.cdf).pvalue > 1e-3


def test_bernoulli_and_table_laws():
    hits = int(sum(stream(LAWS["bernoulli"], 20000)))
    assert stats.binomtest(hits, 20000, 0.3).pvalue > 1e-3
    values, counts = np.unique(stream(LAWS["table"], 20000), return_counts=True)
    assert values.tolist() == [0.05, 0.1, 0.4, 0.9]
    assert stats.chisquare(counts, np.array([0.2, 0.4, 0.2, 0.2]) * 20000).pvalue > 1e-3


def test_means_at_the_ends_are_certain():
    sure = mf.Instance(mf.Problem(2, [("only", 1.0, 0.0)], reward="bernoulli"), [[0.0], [1.0]], mf.BernoulliLaw())
    assert set(stream(sure, 500)) == {0.0}
    assert set(stream(sure, 500, arm=1)) == {1.0}


def test_normal_quantile_is_good_to_fifteen_digits():
    u = np.concatenate([10.0 ** -np.arange(1, 17), np.linspace(0.001, 0.999, 999), 1 - 10.0 ** -np.arange(1, 16)])
    np.testing.assert_allclose([normal(x) for x in u], stats.norm.ppf(u), rtol=2e-15, atol=1e-15)


@kernel
def spectrum(key, count, out):
    """Tally of neighbouring uniforms of one stream in a 16 x 16 grid."""
    last = int(16 * uniform(key, 0, 0, 0))
    for n in range(1, count):
        cell = int(16 * uniform(key, 0, n, 0))
        out[last, cell] += 1
        last = cell


@kernel
def across(key, count, out):
    """Tally of uniforms of neighbouring streams at the same place."""
    for n in range(count):
        out[int(16 * uniform(key, n, 7, 0)), int(16 * uniform(key, n + 1, 7, 0))] += 1


@pytest.mark.parametrize("tally", [spectrum, across])
def test_neighbours_are_independent(tally):
    out = np.zeros((16, 16), dtype=np.int64)
    compiled(tally, store=False)(trial_key(1, 1) - 2**64 if trial_key(1, 1) >= 2**63 else trial_key(1, 1), 400_000, out)
    assert stats.chisquare(out.ravel()).pvalue > 1e-3


def test_rewards_of_another_range_come_in_unit_scale():
    instance = mf.Instance(
        mf.Problem(1, [("only", 1.0, 0.0)], reward=mf.Bounded(-10.0, 10.0)),
        None,
        mf.TableLaw([[np.array([-10.0, 0.0, 5.0])]]),
    )
    assert set(stream(instance, 300)) == {0.0, 0.5, 0.75}
