"""Evaluations whose duration depends on their reward change nothing: results count in the order of asking."""

import random
import time

import pytest
from scipy.stats import binomtest

import mfbandit as mf
from mfbandit.study import create_study

PROBLEM = mf.Problem(["a", "b"], [("quick", 1.0, 0.02), ("exact", 2.0, 0.0)], reward="bernoulli")
MEANS = {"a": 0.4, "b": 0.7}
DELTA = 0.3


def reward(seed, pull):
    return float(random.Random(f"{seed} {pull.arm} {pull.fidelity} {pull.seed}").random() < MEANS[pull.arm])


def alone(seed, policy):
    study = create_study(PROBLEM, policy=policy, delta=DELTA, seed=seed, max_cost=5000.0)
    while not study.done:
        for pull in study.ask():
            study.tell(pull, reward(seed, pull))
    return study.result()


def together(seed, policy):
    def evaluate(pull):
        found = reward(seed, pull)
        if found:
            time.sleep(0.001)  # good answers take longer
        return found

    study = create_study(PROBLEM, policy=policy, delta=DELTA, seed=seed, max_cost=5000.0)
    return study.optimize(evaluate, workers=8, progress=False)


@pytest.mark.parametrize("policy", ["mf-toptwo", "lucb-c:batch=16"])
def test_eight_workers_decide_as_one(policy):
    for seed in range(2):
        assert together(seed, policy) == alone(seed, policy)


def test_the_error_rate_stays_under_delta():
    results = [together(seed, "mf-toptwo") for seed in range(40)]
    assert all(result.status == "certified" for result in results)
    wrong = sum(result.best != "b" for result in results)
    assert binomtest(wrong, len(results), DELTA, alternative="greater").pvalue > 0.01
