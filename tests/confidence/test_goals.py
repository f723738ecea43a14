"""What races show for other goals: the proofs as properties of random statements, and how often whole paths err."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest

import mfbandit as mf
from mfbandit.confidence.goals import settled_by
from mfbandit.confidence.goals._pair_levels import least_levels
from mfbandit.confidence.goals._top_levels import best_guess, settled_arms
from mfbandit.confidence.goals._verdicts import _Cheapest
from mfbandit.confidence.race import Race
from mfbandit.model import BetterThan, CheapestWithin, TopM, wrong_answers

#: So unlikely must an excess be before it is called one.
LEVEL = 1e-4
DELTA = 0.2


def statements(rng, forbidden):
    """Any statements at all about two arms, but for those that the proof pays for."""
    found = rng.random(forbidden.shape) < rng.random()
    np.fill_diagonal(found, False)
    return found & ~forbidden


def test_the_m_best_are_right_whatever_else_is_shown():
    settled = careless = 0
    for seed in range(1200):
        rng = np.random.default_rng(seed)
        arms = int(rng.integers(2, 7))
        m, epsilon = int(rng.integers(1, arms)), float(rng.choice([0.0, 0.2, 0.4]))
        truth = rng.integers(0, 6, arms) / 5.0
        # Of equal arms the first are among the m best: one choice, made before anything is seen.
        best = np.isin(np.arange(arms), np.lexsort((np.arange(arms), -truth))[:m])
        crossing = ~best[:, None] & best[None, :]
        better = statements(rng, crossing)
        no_worse = better | statements(rng, crossing & (truth[None, :] > truth[:, None] + epsilon + 1e-12))
        for chosen in (best_guess(better, m, rng.random(arms)), rng.permutation(best)):
            if settled_arms(better, no_worse, chosen).all():
                settled += 1
                assert truth[~chosen].max() <= truth[chosen].min() + epsilon + 1e-12
            # To be no worse by more than epsilon must not count as better: small steps would add up.
            wrong = truth[~chosen].max() > truth[chosen].min() + epsilon + 1e-12
            careless += bool(wrong and settled_arms(no_worse, no_worse, chosen).all())
    assert careless > 0
    assert settled > 150


def test_the_cheapest_good_one_is_right_whatever_else_is_shown():
    settled = 0
    for seed in range(1200):
        rng = np.random.default_rng([1, seed])
        arms, within = int(rng.integers(2, 6)), 0.4
        slack = float(rng.choice([0.0, 0.2, 0.4]))
        truth, price = rng.integers(0, 6, arms) / 5.0, rng.integers(1, 4, arms).astype(float)
        top = int(truth.argmax())
        good = np.flatnonzero(truth >= truth[top] - within + slack - 1e-12)
        first = int(good[np.argmin(price[good])])
        to = [np.zeros((arms, arms), dtype=bool) for _ in range(3)]
        to[0][:, top] = True
        to[1][:, first] = True
        to[2][:, top] = truth < truth[top] - within - 1e-12
        better, far, near = (np.where(statements(rng, one), -1.0, 1.0) for one in to)
        # What is shown by a larger margin is shown by a smaller one.
        better, near = np.minimum(better, np.where(to[0], 1.0, far)), np.minimum(near, np.where(to[2], 1.0, better))
        shown = _Cheapest(better, far, near, price)
        for chosen in range(arms):
            if shown.settled(0.0, chosen).all():
                settled += 1
                sides = np.where(np.arange(arms) == chosen, 1, 0)[None]
                names = tuple(map(str, range(arms)))
                assert not wrong_answers(
                    CheapestWithin(price.tolist(), slack), names, truth, sides, within + 1e-9
                ).any()
    assert settled > 150


def test_levels_are_found_by_halves():
    rng = np.random.default_rng(3)
    needs = rng.choice([-math.inf, -5.0, -3.5, -2.0, 3.0], 40)
    found = least_levels(lambda level: needs <= level, rng.choice(needs, 60))
    steps = [level for level in np.unique(needs) if level < 0.0]
    assert found.tolist() == [need if need in steps else 0.0 for need in needs]


HARD = {
    "better-than": (BetterThan("arm 0"), [0.4, 0.4, 0.4, 0.6 + 1e-6, 0.6 + 1e-6], 0.2),
    "top-m": (TopM(2), [0.6 + 1e-6, 0.6 + 1e-6, 0.4, 0.4], 0.2),
    "cheapest-within": (CheapestWithin([9.0, 1.0, 2.0, 3.0]), [0.7, 0.5 - 1e-6, 0.5 - 1e-6, 0.5 + 1e-6], 0.2),
}


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("kind", ["0/1", "normal"])
def test_answers_are_rarely_ever_wrong(name, kind, times):
    """Evidence is looked at on the whole path, so that a wrong answer at any time is counted."""
    question, means, epsilon = HARD[name]
    truth, arms, runs = np.array(means), len(means), 60 * times
    reward, blocks = ("bernoulli", 120) if kind == "0/1" else (mf.Gaussian(), 40)
    problem = mf.Problem(arms, [("true", 1.0)], reward=reward, blocks="unlimited")
    asked = question.for_problem(problem, epsilon)
    known, nobody = np.full((arms, 1), blocks), np.full((1, blocks, 2), -1)
    wrong = 0
    for seed in range(runs):
        rng = np.random.default_rng([seed, 5])
        if kind == "0/1":
            cells = (rng.random((arms, blocks)) < truth[:, None]).astype(float)
        else:
            cells = truth[:, None] + 0.2 * rng.normal(size=blocks) + 0.2 * rng.normal(size=(arms, blocks))
        race = Race(problem, [0], DELTA, epsilon, cells[None], known, nobody)
        found = settled_by(asked, race)
        if found.certified or isinstance(asked, BetterThan):
            sides = np.array([[{"better": 1, "not better": 2}.get(found.words.get(k, ""), 0) for k in range(arms)]])
            if not isinstance(asked, BetterThan):
                sides = np.where(np.isin(np.arange(arms), found.answer), 1, 2)[None]
            wrong += bool(wrong_answers(asked, problem.arms, truth, sides, epsilon).any())
    assert binomtest(wrong, runs, DELTA, alternative="greater").pvalue > LEVEL
