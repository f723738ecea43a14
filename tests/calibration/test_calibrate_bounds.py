"""Bounds from 0/1 and bounded rewards and from pairs keep what they promise, for small samples at the ends, too."""

import numpy as np
import pytest
from scipy.stats import binomtest

import mfbandit as mf
from mfbandit.calibration import Calibration, calibrate
from mfbandit.calibration._bias_bounds import difference_bounds
from mfbandit.calibration._pilot_data import read_pilot
from mfbandit.core import arrays, new_state, observe
from mfbandit.errors import InvalidInput
from mfbandit.model import as_reward_kind


@pytest.fixture
def trials(times):
    """How many times a promise is put to the test."""
    return 200 * times


def pilot_of(data, reward="bounded"):
    options = dict.fromkeys(("sds", "counts", "tasks", "fidelities", "truest"))
    return read_pilot(data, reward=as_reward_kind(reward), **options)


def keeps(failures, trials, risk):
    return bool(binomtest(int(failures), int(trials), risk, alternative="greater").pvalue > 1e-3)


def coins(rng, shape, cheap, truth, agree=0.0):
    """Pairs of 0/1 rewards, of which a share is copied where the two probabilities allow it."""
    luck = rng.random(shape)
    other = np.where(rng.random(shape) < agree, luck, rng.random(shape))
    return np.stack([luck < cheap, other < truth], axis=1).astype(float)


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("noise", ["binary", "bounded"])
@pytest.mark.parametrize("n", [2, 3, 10, 40])
def test_each_bound_of_coins_keeps_its_risk(noise, n, paired, times):
    rng, arms = np.random.default_rng(n), times * (1500 if noise == "binary" else 200)
    for cheap, truth in [(0.02, 0.0), (0.0, 0.02), (0.01, 0.01), (0.3, 0.02), (0.98, 1.0), (0.99, 0.9), (0.5, 0.6)]:
        for beta in (0.1, 0.4):
            rewards = coins(rng, (arms, n), cheap, truth, agree=0.9 if paired else 0.0)
            low, high = difference_bounds(pilot_of(rewards), 0, noise, beta, paired=paired)
            bias = cheap - truth
            assert keeps((low > bias + 1e-12).sum(), arms, beta), (cheap, truth, beta)
            assert keeps((high < bias - 1e-12).sum(), arms, beta), (cheap, truth, beta)


@pytest.mark.parametrize("paired", [False, True])
def test_each_bound_of_grades_keeps_its_risk(paired, times):
    # Grades 0, 1/2 and 1, nearly all of them alike, and grades that vary little.
    rng, arms, n, beta = np.random.default_rng(1), 800 * times, 30, 0.3
    rare = rng.choice([0.0, 0.5, 1.0], p=[0.97, 0.01, 0.02], size=(arms, n))
    smooth = rng.beta(50, 50, size=(arms, n))
    for first, second, bias in [
        (rare, np.zeros_like(rare), 0.025),
        (1 - rare, 1 - 0 * rare, -0.025),
        (smooth, rare, 0.475),
    ]:
        low, high = difference_bounds(pilot_of(np.stack([first, second], axis=1)), 0, "bounded", beta, paired=paired)
        assert keeps((low > bias).sum(), arms, beta)
        assert keeps((high < bias).sum(), arms, beta)
        assert (high <= 1.0 + 1e-9).all()
    # Many grades that vary little are known better than coins could be.
    many = np.stack([rng.beta(500, 500, size=(3, 2000)), np.full((3, 2000), 0.5)], axis=1)
    low, high = difference_bounds(pilot_of(many), 0, "bounded", 0.1, paired=paired)
    assert (high - low < 0.06).all()


def rare_likes(rng, arms, agree=0.0):
    """Arms that the cheap grader likes twice in a hundred, and people never; a new arm is like them."""
    return coins(rng, (arms, 3), 0.02, 0.0, agree), 0.02


def nearly_perfect(rng, arms, agree=0.0):
    return coins(rng, (arms, 5), 0.985, 1.0, agree), 0.015


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("draw", [rare_likes, nearly_perfect])
@pytest.mark.parametrize("reward", ["bounded", "bernoulli"])
def test_equal_coins_are_no_proof(draw, reward, paired, trials):
    # A sample deviation of 0 was taken for exact, and coverage fell to a few in a hundred.
    rng, hits = np.random.default_rng(2), 0
    for _ in range(trials // 2):
        rewards, bias = draw(rng, 60, agree=0.5 * paired)
        found = calibrate(rewards, confidence=0.9, reward=reward, paired=paired)
        assert found.noise == "binary"
        hits += bias <= found.biases[0]
    assert binomtest(hits, trials // 2, 0.9, alternative="less").pvalue > 0.01


@pytest.mark.parametrize("paired", [False, True])
def test_new_arms_with_coins_are_covered(paired, trials):
    rng, hits, confidence = np.random.default_rng(3), 0, 0.8
    widths = []
    for _ in range(trials):
        truth = rng.choice([0.01, 0.05, 0.5, 0.95], 31)[:, None]
        cheap = np.clip(truth + rng.uniform(-0.2, 0.2, (31, 1)), 0.0, 1.0)
        rewards = coins(rng, (31, 25), cheap, truth, agree=0.8 if paired else 0.0)
        found = calibrate(rewards[:-1], confidence=confidence, paired=paired, noise_risk=0.5)
        hits += abs(float(cheap[-1, 0] - truth[-1, 0])) <= found.biases[0]
        widths.append(found.biases[0])
    assert binomtest(hits, trials, confidence, alternative="less").pvalue > 0.01
    assert np.mean(widths) < 0.5, "the bound is not empty"


def test_pairs_halve_the_bounds():
    rng = np.random.default_rng(4)
    luck = rng.normal(0.5, 0.1, (40, 1, 30))
    scores = luck + rng.normal(0.0, 0.02, (40, 2, 30))
    alone, pairs = (calibrate(scores, paired=paired).biases[0] for paired in (False, True))
    assert pairs < 0.5 * alone
    likes = coins(rng, (40, 60), 0.6, 0.6, agree=0.95)
    alone, pairs = (calibrate(likes, paired=paired).biases[0] for paired in (False, True))
    assert pairs < 0.6 * alone
    grades = np.clip(luck + rng.normal(0.0, 0.01, (40, 2, 30)), 0.0, 1.0)
    alone, pairs = (calibrate(grades, paired=paired, noise="bounded").biases[0] for paired in (False, True))
    assert pairs < 0.8 * alone


def test_pairs_without_agreement_cost_nothing_but_what_they_say(trials):
    rng, hits = np.random.default_rng(5), 0
    for _ in range(trials):
        biases = rng.normal(0.0, 0.03, 31)
        scores = 0.5 + np.stack([biases, np.zeros(31)], axis=1)[:, :, None] + rng.normal(0, 0.05, (31, 2, 6))
        found = calibrate(scores[:-1], paired=True, confidence=0.8, reward=mf.Gaussian(0.05))
        assert found.noise == "normal"
        hits += abs(biases[-1]) <= found.biases[0]
    assert binomtest(hits, trials, 0.8, alternative="less").pvalue > 0.01


def test_items_that_all_arms_share(times):
    # Two judges that differ on hard items: what is unlucky for one arm is unlucky for all.
    rng, hits, careless, trials = np.random.default_rng(6), 0, 0, 400 * times
    for _ in range(trials):
        hard = rng.normal(0.0, 0.1, 5)
        cheap = 0.5 + 0.1 + hard + rng.normal(0.0, 0.001, (41, 5))
        scores = np.stack([cheap, np.full((41, 5), 0.5)], axis=1)
        options = {"paired": True, "confidence": 0.9, "reward": mf.Gaussian(0.1)}
        hits += calibrate(scores, shared_items=True, **options).biases[0] >= 0.1
        careless += calibrate(scores, noise_risk=0.4, **options).biases[0] >= 0.1
    assert binomtest(hits, trials, 0.9, alternative="less").pvalue > 0.01
    assert binomtest(careless, trials, 0.9, alternative="less").pvalue < 1e-4


def test_missing_repeats_leave_their_pairs_out():
    rng = np.random.default_rng(7)
    scores = rng.uniform(0.2, 0.8, (30, 2, 9))
    holes = np.concatenate([scores, scores[:, :, :2]], axis=2)
    holes[:, 0, 9], holes[:, 1, 10] = np.nan, np.nan
    whole = calibrate(scores, paired=True, truest=0)
    assert calibrate(holes, paired=True, truest=0).biases == whole.biases
    holes[4, 0, 1:] = np.nan
    with pytest.raises(InvalidInput, match="arm 4 has 1 items that both 'fidelity 0' and 'fidelity 1' saw; pairs need"):
        calibrate(holes, paired=True)


def test_what_noise_is_taken_for_granted():
    rng = np.random.default_rng(8)
    smooth = rng.uniform(0.1, 0.9, (30, 2, 4))
    assert calibrate(smooth).noise == "normal"
    stuck = smooth.copy()
    stuck[3, 1] = 0.25
    assert calibrate(stuck).noise == "bounded"
    assert calibrate(stuck, reward=mf.Gaussian(0.1)).noise == "normal"
    same = smooth.copy()
    same[3, 0] = same[3, 1]
    assert calibrate(same).noise == "normal"
    assert calibrate(same, paired=True).noise == "bounded"
    likes = (smooth > 0.5).astype(float)
    assert calibrate(likes).noise == calibrate(4 * likes, reward=mf.Bounded(0, 4)).noise == "binary"
    means, counts = likes.mean(axis=2), 4
    sds = likes.std(axis=2, ddof=1)
    exact = calibrate(likes).biases
    assert calibrate(means, sds=sds, counts=counts).biases == pytest.approx(exact)
    assert calibrate(means, counts=counts, reward="bernoulli").biases == pytest.approx(exact)


def test_what_a_calibration_says_of_pairs():
    scores = np.random.default_rng(9).uniform(0.2, 0.8, (60, 2, 4))
    found = calibrate(scores, paired=True, shared_items=True, confidence=0.8)
    assert found.statement.endswith("normal noise of unknown size, in pairs, on items that arms may share.")
    assert Calibration.from_json(found.to_json()) == found
    older = {key: value for key, value in found.to_json().items() if key not in ("paired", "shared_items")}
    assert not Calibration.from_json(older).paired
    assert calibrate(scores, paired=True).statement.endswith("in pairs, on items of each arm.")


def test_forecasts_are_those_of_the_certificates():
    from mfbandit.calibration._bias_bounds import _bernstein
    from mfbandit.confidence.processes import bernstein_reach

    cell = np.random.default_rng(10).random(50)
    state = new_state(arrays(mf.Problem.from_arrays([1.0], [0.0], arms=1)))
    for reward in cell.tolist():
        observe(state, 0, 0, reward)
    assert _bernstein(cell, 0.1) == pytest.approx(bernstein_reach(state.deviations[0, 0], np.log(10.0)) / 50)


LIKES = (np.random.default_rng(11).random((30, 2, 4)) < 0.5).astype(float)


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (LIKES, {"noise": "normal"}, "rewards that are 0 or 1 have no normal noise"),
        (LIKES, {"noise": "symmetric"}, "rewards that are 0 or 1 have no symmetric noise"),
        (LIKES / 2, {"noise": "binary"}, "binary noise needs rewards that are 0 or 1; these are not"),
        (LIKES * 3, {"noise": "bounded"}, r"the pilot holds 3, outside \[0, 1\]"),
        (LIKES, {"noise": "bounded", "reward": mf.Gaussian(1.0)}, "needs rewards with a range"),
        (LIKES.mean(axis=2), {"reward": "bernoulli"}, "give counts, too"),
        (LIKES.mean(axis=2), {"paired": True}, "pairs are read from repeats"),
        (LIKES, {"paired": True, "shared_items": True, "noise_risk": 0.3}, "noise_risk=0.3 is too much"),
        (LIKES / 3, {"noise": "symmetric", "shared_items": True}, "symmetric noise needs arms with items of their own"),
    ],
)
def test_bad_input(data, options, message):
    with pytest.raises(InvalidInput, match=message):
        calibrate(data, **options)
