"""Evaluations whose duration depends on their reward change nothing: results count in the order of asking."""

import heapq
import random
import time

import pytest
from scipy.stats import binomtest

import mfbandit as mf
from mfbandit.study import create_study

pytestmark = pytest.mark.usefixtures("compiled_plans")

PROBLEM = mf.Problem(["a", "b"], [("quick", 1.0, 0.02), ("exact", 2.0, 0.0)], reward="bernoulli")
CLEAR = {"a": 0.35, "b": 0.7}
CLOSE = {"a": 0.48, "b": 0.52}
DELTA = 0.3
WORKERS = 8


def make(seed, policy, max_cost=5000.0, width=1):
    return create_study(PROBLEM, policy=policy, delta=DELTA, seed=seed, max_cost=max_cost, width=width)


def rewards(seed, means):
    """A reward for every pull, whoever asks, and whenever."""

    def reward(pull):
        chance = random.Random(f"{seed} {pull.arm} {pull.fidelity} {pull.seed}")
        return float(chance.random() < means[pull.arm])

    return reward


def alone(study, reward):
    while not study.done:
        for pull in study.ask():
            study.tell(pull, reward(pull))
    return study.result()


def seconds(pull, reward):
    """How long an evaluation takes: what speaks for the worse arm comes first, as if to mislead."""
    return 1.0 + 9.0 * (reward if pull.arm == "b" else 1.0 - reward)


def in_no_time(study, reward, workers=WORKERS):
    """Play a study with workers whose evaluations last so many seconds of a clock that only turns here.

    Returns the share of results that overtook one asked for before them.
    """
    now, out, overtook, told = 0.0, [], 0, 0
    while True:
        free = workers - len(out)
        for pull in study.ask(free) if free else ():
            heapq.heappush(out, (now + seconds(pull, reward(pull)), pull.id, pull))
        if not out:
            return overtook / told
        now, number, pull = heapq.heappop(out)
        overtook += any(number > other for _, other, _ in out)
        told += 1
        assert study.tell(pull, reward(pull))
        if study.known_end:
            return overtook / told


@pytest.mark.parametrize("policy", ["mf-toptwo", "lucb-c:batch=16"])
def test_eight_threads_decide_as_one(policy):
    for seed in range(2):
        reward = rewards(seed, CLEAR)

        def evaluate(pull, reward=reward):
            found = reward(pull)
            time.sleep(0.0002 * seconds(pull, found))
            return found

        together = make(seed, policy).optimize(evaluate, workers=WORKERS, progress=False)
        assert together == alone(make(seed, policy), reward)


@pytest.mark.parametrize(
    ("means", "max_cost", "studies", "certified"),
    [(CLEAR, 5000.0, 250, 250), (CLOSE, 150.0, 250, 1)],
    ids=["clear", "close"],
)
def test_the_error_rate_stays_under_delta(means, max_cost, studies, certified, times):
    # So many studies find a rate of 1.5 times delta with a probability above 0.99.
    studies, certified = studies * times, certified * times
    found, overtook = [], []
    for seed in range(studies):
        study, reward = make(seed, "mf-toptwo:batch=8", max_cost), rewards(seed, means)
        overtook.append(in_no_time(study, reward))
        found.append((study.status, study.best))
        if seed < 25:
            assert study.result() == alone(make(seed, "mf-toptwo:batch=8", max_cost), reward)
    assert sum(overtook) / studies > 0.2, "the order of results was not that of asking"
    assert sum(status == "certified" for status, _ in found) >= certified
    wrong = found.count(("certified", "a"))
    assert binomtest(wrong, studies, DELTA, alternative="greater").pvalue > 0.01


@pytest.mark.parametrize(
    ("means", "max_cost", "studies", "certified"),
    [(CLEAR, 5000.0, 40, 40), (CLOSE, 300.0, 25, 0)],
    ids=["clear", "close"],
)
def test_the_error_rate_stays_under_delta_at_width_64(means, max_cost, studies, certified, times):
    """Results of 64 pulls at once, of which those that mislead come first."""
    studies, certified = studies * times, certified * times
    found, overtook = [], []
    for seed in range(studies):
        study, reward = make(seed, "mf-toptwo", max_cost, 64), rewards(seed, means)
        overtook.append(in_no_time(study, reward, 64))
        found.append((study.status, study.best))
        if seed < 5:
            one = make(seed, "mf-toptwo", max_cost, 64)
            alone(one, reward)
            assert (one.status, one.best, one.result().certificate["statistics"]) == (
                *found[-1],
                study.result().certificate["statistics"],
            )
    assert sum(overtook) / studies > 0.2, "the order of results was not that of asking"
    assert sum(status == "certified" for status, _ in found) >= certified
    wrong = found.count(("certified", "a"))
    assert binomtest(wrong, studies, DELTA, alternative="greater").pvalue > 0.01
