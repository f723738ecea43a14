"""Evidence from two arms' own processes: the least over v, never missed."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest

import mfbandit as mf
from mfbandit.confidence import arm_evidence, confidence, process_kernels, threshold
from mfbandit.confidence._two_arms import MOST, evidence_at, least_evidence
from mfbandit.core import arrays, new_state, observe
from mfbandit.kernel import bind

PROCESSES = {"bernoulli": "kl", "bounded": "mixed", "gaussian": "gaussian"}


def random_state(rng, kind):
    """Two arms with biases from none to far beyond the range, pulled at random."""
    fidelities = int(rng.integers(1, 4))
    biases = np.append(rng.choice([0.0, 0.05, 0.5, 1.0, 2.2, 3.0], fidelities - 1), 0.0)
    reward = mf.Gaussian(0.5) if kind == "gaussian" else kind
    problem = arrays(mf.Problem.from_arrays(np.ones(fidelities), biases, arms=2, reward=reward))
    state = new_state(problem)
    for arm in range(2):
        for m in range(fidelities):
            mean = rng.choice([0.0, 0.02, 0.3, 0.5, 0.9, 1.0])
            for _ in range(int(rng.choice([0, 1, 5, 60]))):
                x = rng.random()
                draws = {"bernoulli": x < mean, "bounded": 0.5 * mean + 0.5 * x, "gaussian": rng.normal(mean, 0.5)}
                observe(state, arm, m, float(draws[kind]))
    return problem, state


@pytest.mark.parametrize("kind", PROCESSES)
def test_no_grid_finds_less(kind):
    rng = np.random.default_rng(17)
    at = bind(evidence_at, **process_kernels(PROCESSES[kind]))
    close = 0
    for _ in range(150):
        problem, state = random_state(rng, kind)
        epsilon = float(rng.choice([0.0, 0.1, 0.7]))
        found = arm_evidence(problem, state, 0, 1, epsilon)
        low, high = (-6.0, 6.0) if kind == "gaussian" else (0.0, 1.0 - epsilon)
        grid = np.unique(np.concatenate([np.linspace(low, high, 60), rng.uniform(low, high, 20)]))
        least = min(float(at(problem, state, 0, 1, v, v + epsilon)) for v in grid)
        if not (state.pulls[0].any() and state.pulls[1].any()):
            least = 0.0
        assert found <= max(0.0, min(least, MOST)) + 1e-9
        close += found >= min(least, MOST) - 0.5 and least > 0.5
    assert close > 5


def test_ties_with_a_bias_beyond_the_range_stay_ties():
    """Between probes that are all infinite a search would not know where to go."""
    problem = arrays(mf.Problem.from_arrays([1.0, 9.0], [2.2, 0.0], arms=2, reward="bernoulli"))
    state = new_state(problem)
    for arm in range(2):
        for reward in (1.0, 0.0, 1.0, 1.0, 0.0, 1.0):
            observe(state, arm, 0, reward)
    assert arm_evidence(problem, state, 0, 1, 0.0) == 0.0
    assert confidence(1, 0.05, 0.0) == 0.0


def test_nothing_is_known_without_pulls_and_all_beyond_the_range():
    problem = arrays(mf.Problem(2, [("only", 1.0)]))
    state = new_state(problem)
    assert arm_evidence(problem, state, 0, 1, 0.0) == 0.0
    observe(state, 0, 0, 1.0)
    assert arm_evidence(problem, state, 0, 1, 0.0) == 0.0
    observe(state, 1, 0, 1.0)
    assert arm_evidence(problem, state, 0, 1, 1.5) == MOST


def test_tied_studies_are_rarely_sure(times):
    """Both arms have the same means and a bias bound beyond the range; each is sure of one with delta at most."""
    problem, delta, sure = mf.Problem.from_arrays([1.0, 2.0], [3.0, 0.0], arms=2, reward="bernoulli"), 0.05, 0
    for seed in range(40 * times):
        rng = np.random.default_rng(seed)
        study = mf.create_study(problem, policy="lucb-c:bound=kl", delta=delta, max_cost=60)
        while not study.done:
            for pull in study.ask(20):
                study.tell(pull, float(rng.random() < 0.5))
        sure += study.confidence >= 1 - delta
    assert binomtest(sure, 40 * times, delta, alternative="greater").pvalue > 1e-3


def test_confidence_and_threshold_agree():
    for ways in (1, 2, 49):
        for delta in (0.5, 0.05, 1e-9):
            at = threshold(ways, delta)
            assert confidence(ways, delta, at) >= 1 - delta
            assert confidence(ways, delta, at - 1e-6) < 1 - delta
    assert confidence(0, 0.05, 0.0) == 1.0
    assert confidence(1, 0.05, math.inf) == 1.0 - math.exp(-MOST)
    assert bind(least_evidence, **process_kernels("kl")) is not None


def test_infinite_values_on_both_sides_prove_nothing():
    problem = arrays(mf.Problem.from_arrays([1.0, 9.0], [1.0, 0.0], arms=2, reward=mf.Gaussian(1e-160)))
    state = new_state(problem)
    for arm in range(2):
        observe(state, arm, 0, -1.0)
        observe(state, arm, 1, 0.0)
    assert arm_evidence(problem, state, 0, 1, 0.0) == 0.0
