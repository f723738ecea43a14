"""Evidence and intervals of an arm from all its fidelities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import binomtest

import mfbandit as mf
from mfbandit.confidence import BOUNDS, process_kernels
from mfbandit.confidence._arm import arm_interval, arm_log_e_above, arm_log_e_below, hedge
from mfbandit.confidence.processes._stream_sums import StreamSums
from mfbandit.core import Arrays, State, arrays, new_state, observe
from mfbandit.kernel import bind, compiled, kernel

FIDELITIES = [
    mf.Fidelity("quick", cost=1.0, bias=[0.2, 0.1]),
    mf.Fidelity("fair", cost=3.0, bias=[0.05, 0.1]),
    mf.Fidelity("true", cost=20.0),
]
PROBLEM = arrays(mf.Problem(2, FIDELITIES, reward="bounded"))
GAUSSIAN = arrays(mf.Problem(2, FIDELITIES, reward=mf.Gaussian(sigma=0.3)))
LOG_20 = math.log(20.0)


def state_of(problem: Arrays, streams: dict[tuple[int, int], tuple[int, float, float]]) -> State:
    """A state with given (n, mean, variance) per (arm, fidelity)."""
    state = new_state(problem)
    for cell, (n, mean, variance) in streams.items():
        state.pulls[cell], state.sums[cell] = n, n * mean
        state.squares[cell] = n * (variance + mean * mean)
        state.deviations[cell] = n * variance + 0.2
    return state


def kernels(name: str) -> tuple[Any, Any, Any]:
    parts = process_kernels(name)
    return bind(arm_log_e_above, **parts), bind(arm_log_e_below, **parts), bind(arm_interval, **parts)


def test_hedge() -> None:
    assert hedge(0.0, 0.3) == 0.0
    assert hedge(2.0, 1.0) == 2.0
    assert hedge(math.inf, 0.3) == math.inf
    assert hedge(-1e4, 0.25) == pytest.approx(math.log(0.75))
    for log_e in (-3.0, 0.4, 30.0):
        assert hedge(log_e, 0.3) == pytest.approx(math.log(0.7 + 0.3 * math.exp(log_e)), rel=1e-14)


@pytest.mark.parametrize("name", ["kl", "bernstein", "mixed", "hoeffding"])
def test_evidence_is_the_hedged_product_over_fidelities(name: str) -> None:
    above, below, _ = kernels(name)
    state = state_of(PROBLEM, {(0, 0): (40, 0.5, 0.01), (0, 2): (9, 0.6, 0.02)})
    v, module = 0.2, BOUNDS[name]
    streams = [
        (StreamSums(40, 20.0, state.deviations[0, 0]), PROBLEM.bias[0, 0]),
        (StreamSums(9, 5.4, state.deviations[0, 2]), 0.0),
    ]
    for whole, one, sign in ((above, module.log_e_above, 1.0), (below, module.log_e_below, -1.0)):
        expected = math.fsum(
            math.log(2.0 / 3.0 + math.exp(one(PROBLEM, sums, v + sign * bias)) / 3.0) for sums, bias in streams
        )
        assert whole(PROBLEM, state, 0, v) == pytest.approx(expected, rel=1e-12)
    assert above(PROBLEM, state, 1, v) == 0.0


@pytest.mark.parametrize("name", ["kl", "mixed", "hoeffding"])
def test_interval_ends_where_the_evidence_is_enough(name: str) -> None:
    above, below, interval = kernels(name)
    state = state_of(PROBLEM, {(0, 0): (4000, 0.5, 0.01), (0, 1): (300, 0.62, 0.04), (0, 2): (20, 0.6, 0.02)})
    low, high = interval(PROBLEM, state, 0, LOG_20)
    goal = LOG_20 + math.log(2.0)
    assert low == pytest.approx(brentq(lambda v: above(PROBLEM, state, 0, v) - goal, 0.0, 0.6), abs=1e-8)
    assert high == pytest.approx(brentq(lambda v: below(PROBLEM, state, 0, v) - goal, 0.6, 1.0), abs=1e-8)
    # On the safe side: both ends are themselves refuted.
    assert above(PROBLEM, state, 0, low) >= goal
    assert below(PROBLEM, state, 0, high) >= goal


def test_gaussian_interval() -> None:
    above, below, interval = kernels("gaussian")
    state = state_of(GAUSSIAN, {(1, 0): (50, -3.0, 0.09), (1, 2): (10, -3.05, 0.09)})
    low, high = interval(GAUSSIAN, state, 1, LOG_20)
    assert -4.0 < low < -3.05 < high < -2.0
    assert above(GAUSSIAN, state, 1, low) == pytest.approx(LOG_20 + math.log(2.0), abs=1e-6)
    assert below(GAUSSIAN, state, 1, high) == pytest.approx(LOG_20 + math.log(2.0), abs=1e-6)
    assert interval(GAUSSIAN, state, 0, LOG_20) == (-math.inf, math.inf)


def test_fidelities_add_up() -> None:
    """Together they give a tighter interval than the truest alone, and an idle one costs little."""
    _, _, interval = kernels("kl")
    alone = interval(PROBLEM, state_of(PROBLEM, {(0, 2): (100, 0.6, 0.24)}), 0, LOG_20)
    helped = interval(PROBLEM, state_of(PROBLEM, {(0, 2): (100, 0.6, 0.24), (0, 1): (9000, 0.6, 0.24)}), 0, LOG_20)
    idle = interval(PROBLEM, state_of(PROBLEM, {(0, 2): (100, 0.6, 0.24), (0, 0): (3, 0.6, 0.24)}), 0, LOG_20)
    assert helped[1] - helped[0] < 0.7 * (alone[1] - alone[0])
    assert idle[1] - idle[0] < 1.1 * (alone[1] - alone[0])


def test_no_pulls_no_knowledge() -> None:
    for name in ("kl", "bernstein", "mixed", "hoeffding"):
        assert kernels(name)[2](PROBLEM, new_state(PROBLEM), 0, LOG_20) == (0.0, 1.0)


cells = st.tuples(
    st.one_of(st.just(0), st.integers(1, 50), st.integers(1, 10**9)),
    st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.0, 1.0)),
    st.floats(0.0, 0.25),
)


@pytest.mark.parametrize("name", ["kl", "bernstein", "mixed", "hoeffding"])
@given(drawn=st.tuples(cells, cells, cells), alpha=st.sampled_from([0.5, 1e-3, 1e-300]))
@settings(max_examples=60, deadline=None)
def test_interval_is_sane_for_any_statistics(name: str, drawn: Any, alpha: float) -> None:
    above, below, interval = kernels(name)
    pulled = {(0, m): cell for m, cell in enumerate(drawn) if cell[0] > 0}
    state = state_of(PROBLEM, pulled)
    low, high = interval(PROBLEM, state, 0, -math.log(alpha))
    goal = math.log(2.0) - math.log(alpha)
    assert 0.0 <= low <= 1.0
    assert 0.0 <= high <= 1.0
    if 0.0 < low < 1.0:
        assert above(PROBLEM, state, 0, low) >= goal - 1e-9
    if 0.0 < high < 1.0:
        assert below(PROBLEM, state, 0, high) >= goal - 1e-9


def test_plain_and_compiled_intervals_agree_bit_for_bit() -> None:
    rng, interval = np.random.default_rng(3), kernels("kl")[2]
    fast = compiled(interval)
    for _ in range(100):
        pulled = {
            (0, m): (int(10 ** rng.uniform(0, 6)), float(rng.random()), float(0.2 * rng.random()))
            for m in range(3)
            if rng.random() < 0.8
        }
        state = state_of(PROBLEM, pulled)
        assert interval(PROBLEM, state, 0, LOG_20) == fast(PROBLEM, state, 0, LOG_20)


@kernel
def play_arm(problem: Any, state: Any, rewards: Any, truth: float, out: Any) -> None:
    """Pull by a rule that looks at the rewards; keep the highest evidence against the truth."""
    for i in range(rewards.shape[0]):
        state.pulls[:] = 0
        state.sums[:] = 0.0
        state.deviations[:] = 0.0
        out[i, 0], out[i, 1] = 0.0, 0.0
        fidelity = 0
        for t in range(rewards.shape[1]):
            reward = rewards[i, t, fidelity]
            observe(state, 0, fidelity, reward)
            if reward < 1.0:
                fidelity = (fidelity + 1) % 3
            out[i, 0] = max(out[i, 0], arm_log_e_above(problem, state, 0, truth))
            out[i, 1] = max(out[i, 1], arm_log_e_below(problem, state, 0, truth))


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_truth_is_rarely_refuted_with_biases_at_their_bounds(sign: float, times: int) -> None:
    truth, paths = 0.5, 300 * times
    means = truth + sign * PROBLEM.bias[0]
    rewards = (np.random.default_rng(9).random((paths, 1000, 3)) < means).astype(float)
    highest = np.empty((paths, 2))
    play = compiled(bind(play_arm, **process_kernels("mixed")))
    play(PROBLEM, new_state(PROBLEM), rewards, truth, highest)
    for alpha in (0.05, 0.2):
        for column in range(2):
            crossed = int((highest[:, column] >= -math.log(alpha)).sum())
            assert binomtest(crossed, paths, alpha, alternative="greater").pvalue > 0.01
