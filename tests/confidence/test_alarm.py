"""The alarm for broken bias bounds: rarely false at its level, ever, and quick on planted violations."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import binomtest

import mfbandit as mf
from mfbandit.confidence import BOUNDS, alarm, process_kernels
from mfbandit.confidence._bias_alarm import alarm_threshold, arm_alarm, pair_alarm
from mfbandit.confidence.processes._stream_sums import sums_of
from mfbandit.core import Arrays, State, arrays, new_state, observe, reset, trial_key
from mfbandit.errors import InvalidInput, PolicyError
from mfbandit.instances import Law, draw_of, law_arrays
from mfbandit.kernel import bind, compiled, kernel, slot
from mfbandit.layout import NoMemory, layout

#: Pulls at each fidelity between two looks at the alarm, at most.
LOOKS = 16


@slot
def draw(law: Law, key: int, stream: int, arm: int, fidelity: int, n: int) -> float: ...


@kernel
def first_alarms(
    problem: Any,
    law: Any,
    state: Any,
    numbers: Any,
    wholes: Any,
    seed: int,
    rounds: int,
    threshold: float,
    out: Any,
) -> None:
    """For each trial, the rounds (one pull of every cell) before the alarm goes off; 0 if it never does."""
    arms, fidelities = problem.cost.shape
    for i in range(out.shape[0]):
        reset(state, numbers, wholes)
        key = trial_key(seed, i)
        out[i] = 0
        for n in range(rounds):
            for k in range(arms):
                for m in range(fidelities):
                    observe(state, k, m, draw(law, key, k * fidelities + m, k, m, n))
            if n < 50 or n % LOOKS == 0:
                for k in range(arms):
                    if arm_alarm(problem, state, k) >= threshold:
                        out[i] = n + 1
            if out[i] > 0:
                break


def run(instance: mf.Instance, bound: str, trials: int, rounds: int, level: float) -> Any:
    problem = arrays(instance.problem)
    kernels = {name: process_kernels(bound)[name] for name in ("log_e_above", "log_e_below")}
    play = compiled(bind(first_alarms, draw=draw_of(instance), **kernels))
    out = np.zeros(trials, dtype=np.int64)
    blocks = layout(NoMemory, problem).blocks()
    threshold = alarm_threshold(problem, level)
    play(problem, law_arrays(instance), new_state(problem), *blocks, 7, rounds, threshold, out)
    return out


def hurt(reward: Any, law: Any, beyond: float = 0.0) -> mf.Instance:
    """Two arms with biases at the very ends of what is allowed, or beyond."""
    problem = mf.Problem.from_arrays([1, 2, 3], [0.1, 0.05, 0.0], arms=2, reward=reward)
    means = [[0.6 + beyond, 0.45, 0.5], [0.6, 0.75 + beyond, 0.7]]
    return mf.Instance(problem, means, law, strict=False)


CASES = [
    ("bernoulli", mf.BernoulliLaw(), "kl"),
    ("bounded", mf.BetaLaw(30), "mixed"),
    (mf.Gaussian(0.2), mf.GaussianLaw(0.2), "gaussian"),
]


@pytest.mark.parametrize(("reward", "law", "bound"), CASES)
def test_false_alarms_are_rare(reward, law, bound, times):
    level, trials = 0.5, 400 * times
    fired = int((run(hurt(reward, law), bound, trials, 1500, level) > 0).sum())
    assert binomtest(fired, trials, level, alternative="greater").pvalue > 0.01


@pytest.mark.filterwarnings("ignore::mfbandit.errors.ModelWarning")
@pytest.mark.parametrize(
    ("reward", "law", "bound", "most"),
    [
        (mf.Gaussian(0.05), mf.GaussianLaw(0.05), "gaussian", 960.0),
        ("bounded", mf.BetaLaw(100), "mixed", 3_600.0),
        ("bernoulli", mf.BernoulliLaw(), "kl", 96_000.0),
    ],
)
def test_planted_violations_of_a_twentieth_are_found_within_a_stated_cost(reward, law, bound, most):
    """Beyond their bound by 0.05, at level 0.05: what pulls of all cells cost until every trial raised the alarm.

    The costs are those that the documentation states (80, 300 and 8,000 pulls of each cell).
    """
    instance = hurt(reward, law, beyond=0.05)
    round_cost = float(instance.problem.costs.sum())
    found = run(instance, bound, 40, int(most / round_cost), 0.05)
    assert (found > 0).all()
    assert (found * round_cost <= most).all()


def state_of(problem: Arrays, streams: dict[tuple[int, int], Any]) -> State:
    state = new_state(problem)
    for (arm, fidelity), rewards in streams.items():
        for reward in rewards:
            observe(state, arm, fidelity, float(reward))
    return state


def evidence(bound: str, problem: Arrays, state: State, high: int, low: int, v: float) -> float:
    """What `pair_alarm` minimises over v, for arm 0."""
    value = 0.0
    for part, m, q in (
        (BOUNDS[bound].log_e_above, high, v + problem.bias[0, high]),
        (BOUNDS[bound].log_e_below, low, v - problem.bias[0, low]),
    ):
        value += part(problem, sums_of(state, 0, m), q)
    return value


@pytest.mark.parametrize("bound", ["kl", "mixed", "bernstein", "hoeffding", "gaussian"])
def test_the_minimum_is_the_minimum(bound):
    rng = np.random.default_rng(3)
    reward = mf.Gaussian(0.5) if bound == "gaussian" else "bounded"
    problem = arrays(mf.Problem(2, [("x", 1, 0.03), ("y", 2, 0.02), ("z", 3, 0)], reward=reward))
    kernels = {name: process_kernels(bound)[name] for name in ("log_e_above", "log_e_below")}
    measure = bind(pair_alarm, **kernels)
    for high, low, n in [(0, 2, 300), (1, 0, 150), (2, 1, 400)]:
        state = state_of(
            problem,
            {(0, high): rng.beta(8, 4, n), (0, low): rng.beta(4, 8, 2 * n)},
        )
        total = partial(evidence, bound, problem, state, high, low)
        best = min(
            (minimize_scalar(total, bounds=ends, method="bounded").fun for ends in ((0, 1), (0.2, 0.7))),
        )
        value = measure(problem, state, 0, high, low)
        assert value == pytest.approx(best, abs=1e-5)
        assert value > 1.0
        assert measure(problem, state, 0, low, high) == 0.0
        fast = compiled(measure)(problem, state, 0, high, low)
        assert fast == value


def test_what_an_alarm_says():
    problem = mf.Problem(
        ["a", "b"],
        [mf.Fidelity("junk", 9, 4.0), mf.Fidelity("judge", 1, 0.4), mf.Fidelity("human", 5)],
        mf.Bounded(1, 5),
    )
    seen = arrays(problem, [1, 2])
    state = state_of(seen, {(0, 0): [0.5] * 99, (0, 1): [0.5] * 9, (1, 0): [0.3] * 99, (1, 1): [0.6] * 99})
    [broken] = alarm(seen, state, 0.01)
    assert broken.arm == 1
    assert broken.fidelities == (2, 1)
    assert broken.difference == pytest.approx(0.3)
    assert broken.allowed == pytest.approx(0.1)
    assert broken.false_alarm < 0.01
    assert broken.false_alarm == pytest.approx(4 * math.exp(-broken.evidence))
    text = broken.sentence(problem)
    assert "arm 'b'" in text
    assert "at fidelity 'human' is 1.2 above that at 'judge', the bounds allow 0.4" in text


def test_cheap_fidelities_can_contradict_each_other():
    seen = arrays(mf.Problem(1, [("x", 1, 0.1), ("y", 1, 0.1), ("truth", 9, 0)]))
    state = state_of(seen, {(0, 0): [0.9] * 80, (0, 1): [0.5] * 80})
    [broken] = alarm(seen, state)
    assert broken.fidelities == (0, 1)
    assert broken.allowed == pytest.approx(0.2)


def test_nothing_to_compare():
    seen = arrays(mf.Problem(3, [("truth", 1, 0)]))
    assert alarm(seen, state_of(seen, {(0, 0): [0, 1] * 50})) == []
    two = arrays(mf.Problem(1, [("x", 1, 0.1), ("truth", 9, 0)]))
    assert alarm(two, new_state(two)) == []
    assert alarm(two, state_of(two, {(0, 0): [1.0] * 500})) == []


def test_bad_levels():
    seen = arrays(mf.Problem(1, [("x", 1, 0.1), ("truth", 9, 0)]))
    for level in (0.0, 1.0, True, "0.1"):
        with pytest.raises(InvalidInput, match="level of an alarm must lie strictly between 0 and 1"):
            alarm(seen, new_state(seen), level)
    with pytest.raises(PolicyError, match="bound 'paper' is a radius without e-values"):
        alarm(seen, new_state(seen), bound="paper")
