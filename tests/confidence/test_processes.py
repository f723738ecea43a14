"""Every confidence process: values, bounds that are safe and sharp, edges, plain against compiled."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import betaln, logsumexp, rel_entr

import mfbandit as mf
from mfbandit.confidence import BOUNDS, bound_kernels, process_kernels
from mfbandit.confidence._special import beta_price
from mfbandit.confidence.processes import _bernstein as bernstein
from mfbandit.confidence.processes import _beta as beta
from mfbandit.confidence.processes._stream_sums import StreamSums
from mfbandit.core import Arrays, arrays
from mfbandit.errors import PolicyError
from mfbandit.kernel import bind, compiled, kernel, slot

PROCESSES = [name for name in BOUNDS if name != "paper"]
ON_UNIT = [name for name in PROCESSES if name != "gaussian"]
PROBLEM = arrays(mf.Problem(2, [("only", 1.0, 0.0)], reward="bounded"))
GAUSSIAN = arrays(mf.Problem(2, [("only", 1.0, 0.0)], reward=mf.Gaussian(sigma=0.3)))


def kl_sum(n: int, total: float, q: float) -> float:
    p = total / n
    return float(n * (rel_entr(p, q) + rel_entr(1 - p, 1 - q)))


def expected_log_e(name: str, n: int, total: float, deviation: float, lead_side: int, q: float) -> float:
    """The processes of the documentation, written with scipy; side +1 for evidence of a mean above q."""
    lead = lead_side * (total - n * q)
    if name == "gaussian" or name == "hoeffding":
        rho, sigma = (1.0, 0.5) if name == "gaussian" else (32.0, 0.5)
        shift = max(lead, 0.0) ** 2 / (2 * sigma**2 * (n + rho))
        return shift - 0.5 * math.log((n + rho) / rho)
    if name == "kl":
        n_entropy = -(rel_entr(total, n) + rel_entr(n - total, n))
        g = math.log(math.pi) - betaln(0.5 + total, 0.5 + n - total) - n_entropy
        return float((kl_sum(n, total, q) if lead > 0 else 0.0) - g)
    if name == "bernstein":
        rates, psi = np.array(bernstein._RATES), np.array(bernstein._PSI)
        return float(logsumexp(np.array(bernstein._LOG_WEIGHTS) + rates * lead - psi * deviation))
    parts = [expected_log_e(part, n, total, deviation, lead_side, q) for part in ("kl", "bernstein")]
    return float(logsumexp(parts) - math.log(2.0))


def random_streams(count: int, seed: int) -> list[tuple[int, float, float]]:
    """Random (n, S, V), with means at and near both ends among them."""
    rng = np.random.default_rng(seed)
    streams = []
    for _ in range(count):
        n = int(10.0 ** rng.uniform(0.0, 5.0))
        p = float(rng.choice([0.0, 1.0, rng.random(), rng.random() ** 6, 1.0 - rng.random() ** 6]))
        deviation = n * p * (1.0 - p) * float(rng.choice([1.0, 0.1, 0.001])) + 0.2
        streams.append((n, min(float(n), n * p), deviation))
    return streams


@pytest.mark.parametrize("name", PROCESSES)
def test_e_values_agree_with_scipy(name: str) -> None:
    module, rng = BOUNDS[name], np.random.default_rng(2)
    for n, total, deviation in random_streams(200, seed=2):
        q = float(np.clip(total / n + rng.normal(0.0, 1.0 / math.sqrt(n)), 1e-6, 1.0 - 1e-6))
        for side, log_e in ((1, module.log_e_above), (-1, module.log_e_below)):
            expected = expected_log_e(name, n, total, deviation, side, q)
            assert log_e(PROBLEM, StreamSums(n, total, deviation), q) == pytest.approx(expected, rel=1e-8, abs=1e-7)


@pytest.mark.parametrize("name", PROCESSES)
def test_bounds_agree_with_brute_force_inversion(name: str) -> None:
    module = BOUNDS[name]
    for index, (n, total, deviation) in enumerate(random_streams(60, seed=3)):
        width = (0.7, 4.6, 23.0, 690.0)[index % 4]
        p = total / n

        def excess(q: float, side: int, stream: tuple[Any, ...] = (n, total, deviation, width)) -> float:
            pulls, rewards, spread, goal = stream
            return expected_log_e(name, pulls, rewards, spread, side, q) - float(goal)

        low, high = (-1e4, 1e4) if name == "gaussian" else (1e-300, 1.0 - 1e-16)
        lower = brentq(excess, low, p, args=(1,), xtol=1e-15) if excess(low, 1) > 0 else max(0.0, low)
        upper = brentq(excess, p, high, args=(-1,), xtol=1e-15) if excess(high, -1) > 0 else 1.0
        assert module.below(PROBLEM, width, StreamSums(n, total, deviation)) == pytest.approx(lower, abs=1e-8)
        assert module.above(PROBLEM, width, StreamSums(n, total, deviation)) == pytest.approx(upper, abs=1e-8)


streams = st.tuples(
    st.one_of(st.integers(1, 30), st.integers(1, 10**9)),
    st.one_of(st.sampled_from([0.0, 1.0, 1e-300, 1e-12, 1.0 - 2.0**-53]), st.floats(0.0, 1.0)),
    st.floats(0.0, 1.0),
).map(lambda drawn: (drawn[0], min(float(drawn[0]), drawn[0] * drawn[1]), drawn[0] * drawn[2]))
widths = st.one_of(st.floats(0.0, 10.0), st.floats(10.0, 750.0))


@pytest.mark.parametrize("name", PROCESSES)
@given(stream=streams, width=widths, more=st.floats(0.01, 50.0))
@settings(max_examples=150, deadline=None)
def test_bounds_are_safe_hold_the_mean_and_widen_with_confidence(
    name: str, stream: tuple[int, float, float], width: float, more: float
) -> None:
    module, (n, total, deviation) = BOUNDS[name], stream
    low = module.below(PROBLEM, width, StreamSums(n, total, deviation))
    high = module.above(PROBLEM, width, StreamSums(n, total, deviation))
    assert low <= total / n <= high
    assert module.below(PROBLEM, width + more, StreamSums(n, total, deviation)) <= low
    assert module.above(PROBLEM, width + more, StreamSums(n, total, deviation)) >= high
    if name != "gaussian":
        assert low >= 0.0
        assert high <= 1.0
    # A bound is refuted at the level asked for: it is never tighter than the exact one.
    if low > 0.0 or name == "gaussian":
        assert module.log_e_above(PROBLEM, StreamSums(n, total, deviation), low) >= width
    if high < 1.0 or name == "gaussian":
        assert module.log_e_below(PROBLEM, StreamSums(n, total, deviation), high) >= width


@pytest.mark.parametrize("name", PROCESSES)
@given(stream=streams, q=st.one_of(st.sampled_from([0.0, 1.0, -0.3, 1.7, 5e-324]), st.floats(-1.0, 2.0)))
@settings(max_examples=150, deadline=None)
def test_e_values_are_numbers_and_monotone(name: str, stream: tuple[int, float, float], q: float) -> None:
    module, (n, total, deviation) = BOUNDS[name], stream
    above = [module.log_e_above(PROBLEM, StreamSums(n, total, deviation), x) for x in (q, q + 0.01)]
    below = [module.log_e_below(PROBLEM, StreamSums(n, total, deviation), x) for x in (q, q + 0.01)]
    assert not any(math.isnan(value) or value == -math.inf for value in above + below)
    assert above[0] >= above[1] - 1e-9
    assert below[0] <= below[1] + 1e-9
    assert max(above[0], 0.0) == 0.0 or max(below[0], 0.0) == 0.0


@pytest.mark.parametrize("name", ON_UNIT)
@pytest.mark.parametrize("n", [1, 1000, 10**9])
def test_means_at_both_ends(name: str, n: int) -> None:
    module = BOUNDS[name]
    width = math.log(1e300)
    assert module.above(PROBLEM, width, StreamSums(n, float(n), 0.5)) == 1.0
    assert module.below(PROBLEM, width, StreamSums(n, 0.0, 0.5)) == 0.0
    assert 0.0 <= module.below(PROBLEM, width, StreamSums(n, float(n), 0.5)) < 1.0
    assert 0.0 < module.above(PROBLEM, width, StreamSums(n, 0.0, 0.5)) <= 1.0


def test_impossible_means_are_refuted_for_good_and_possible_ones_never() -> None:
    for name in ("kl", "mixed"):
        module = BOUNDS[name]
        assert module.log_e_above(PROBLEM, StreamSums(5, 0.5, 1.0), 0.0) == math.inf
        assert module.log_e_below(PROBLEM, StreamSums(5, 4.5, 1.0), 1.0) == math.inf
        assert module.log_e_above(PROBLEM, StreamSums(5, 0.0, 1.0), 0.0) < 0.0
        assert module.log_e_below(PROBLEM, StreamSums(5, 5.0, 1.0), 1.0) < 0.0


def test_no_pull_is_no_evidence() -> None:
    for name in PROCESSES:
        assert BOUNDS[name].log_e_above(PROBLEM, StreamSums(0, 0.0, 0.0), -math.inf) == 0.0
        assert BOUNDS[name].log_e_below(PROBLEM, StreamSums(0, 0.0, 0.0), 0.5) == 0.0


def test_mixed_is_at_most_log_2_worse_than_either_part() -> None:
    for n, total, deviation in random_streams(100, seed=4):
        width = 5.0
        mixed = BOUNDS["mixed"].above(PROBLEM, width, StreamSums(n, total, deviation))
        for part in ("kl", "bernstein"):
            assert mixed <= BOUNDS[part].above(PROBLEM, width + math.log(2.0) + 1e-6, StreamSums(n, total, deviation))


def test_low_variance_pays() -> None:
    n, total = 400, 320.0
    wide, narrow = (
        BOUNDS[name].above(PROBLEM, 5.0, StreamSums(n, total, n * 0.02**2 + 0.2)) - 0.8 for name in ("kl", "mixed")
    )
    assert narrow < wide / 3.0


def test_gaussian_bounds_scale_with_sigma_and_are_not_clipped() -> None:
    module = BOUNDS["gaussian"]
    assert module.above(GAUSSIAN, 5.0, StreamSums(1, 7.0, 0.0)) > 7.0
    reach = module.above(PROBLEM, 5.0, StreamSums(9, 0.0, 0.0)) / module.above(GAUSSIAN, 5.0, StreamSums(9, 0.0, 0.0))
    assert reach == pytest.approx(0.5 / 0.3, rel=1e-12)
    assert BOUNDS["hoeffding"].below(GAUSSIAN, 5.0, StreamSums(4, -20.0, 0.0)) < -5.0


def test_bernstein_grid_is_a_probability() -> None:
    assert math.fsum(math.exp(weight) for weight in bernstein._LOG_WEIGHTS) <= 1.0 + 1e-12
    assert all(0.0 < rate < 1.0 for rate in bernstein._RATES)


def test_newton_steps_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    # With a third of the steps allowed the bounds are the same: the limit is never what ends a loop.
    for module in (beta, bernstein, BOUNDS["mixed"]):
        cases = [(stream, width) for stream in random_streams(150, 6) for width in (0.1, 5.0, 700.0)]
        full = [module.above(PROBLEM, w, StreamSums(n, s, v)) for (n, s, v), w in cases]
        monkeypatch.setattr(module, "_STEPS", 13)
        assert [module.above(PROBLEM, w, StreamSums(n, s, v)) for (n, s, v), w in cases] == full


def test_one_step_never_raises_the_expected_evidence() -> None:
    """The supermartingale property itself, on random states and rewards on random points."""
    rng = np.random.default_rng(7)
    for _ in range(300):
        n = int(rng.integers(0, 50))
        total, deviation = n * float(rng.random()), 0.3 * n * float(rng.random())
        points, chances = rng.random(4) ** float(rng.choice([0.1, 1.0, 5.0])), rng.dirichlet(np.ones(4) * 0.3)
        q = float(points @ chances)
        if not 1e-6 < q < 1.0 - 1e-6:
            continue
        forecast = (0.5 + total) / (n + 1)
        after = {"kl": 0.0, "bernstein": 0.0}
        for x, chance in zip(points.tolist(), chances.tolist(), strict=True):
            grown = total + x
            after["kl"] += chance * math.exp(beta.beta_log_e(n + 1, grown, n + 1 - grown, q))
            log_e, _ = bernstein.bernstein_log_e(deviation + (x - forecast) ** 2, grown - (n + 1) * q)
            after["bernstein"] += chance * math.exp(log_e)
        before = beta.beta_log_e(n, total, n - total, q) if n else 0.0
        assert after["kl"] <= math.exp(before) * (1.0 + 1e-9)
        before, _ = bernstein.bernstein_log_e(deviation, total - n * q)
        assert after["bernstein"] <= math.exp(before) * (1.0 + 1e-9)


def test_beta_mixture_is_exactly_fair_for_coins() -> None:
    n, q = 40, 0.3
    shares = [math.comb(n, k) * q**k * (1 - q) ** (n - k) for k in range(n + 1)]
    mean = math.fsum(share * math.exp(beta.beta_log_e(n, float(k), float(n - k), q)) for k, share in enumerate(shares))
    assert mean == pytest.approx(1.0, rel=1e-12)
    assert beta_price(1.0, 0.0) == pytest.approx(math.log(2.0))


@slot
def log_e_above(problem: Arrays, stream: StreamSums, q: float) -> float: ...


@slot
def log_e_below(problem: Arrays, stream: StreamSums, q: float) -> float: ...


@slot
def above(problem: Arrays, width: float, stream: StreamSums) -> float: ...


@slot
def below(problem: Arrays, width: float, stream: StreamSums) -> float: ...


@kernel
def evaluate_all(problem: Any, counts: Any, numbers: Any, out: Any) -> None:
    for i in range(counts.shape[0]):
        n, total, deviation = counts[i], numbers[i, 0], numbers[i, 1]
        q, width = numbers[i, 2], numbers[i, 3]
        out[i, 0] = log_e_above(problem, StreamSums(n, total, deviation), q)
        out[i, 1] = log_e_below(problem, StreamSums(n, total, deviation), q)
        out[i, 2] = above(problem, width, StreamSums(n, total, deviation))
        out[i, 3] = below(problem, width, StreamSums(n, total, deviation))


@pytest.mark.parametrize("name", PROCESSES)
def test_plain_and_compiled_agree_bit_for_bit(name: str) -> None:
    rng, drawn = np.random.default_rng(8), random_streams(1000, seed=8)
    counts = np.array([n for n, _, _ in drawn], dtype=np.int64)
    numbers = np.array([(s, v, rng.uniform(-0.1, 1.1), 10.0 ** rng.uniform(-1, 2.8)) for _, s, v in drawn])
    sweep = bind(evaluate_all, **process_kernels(name))
    plain, fast = np.empty((len(counts), 4)), np.empty((len(counts), 4))
    sweep(PROBLEM, counts, numbers, plain)
    compiled(sweep)(PROBLEM, counts, numbers, fast)
    assert plain.tobytes() == fast.tobytes()
    assert not np.isnan(plain).any()


def test_registry_of_bounds() -> None:
    assert set(BOUNDS) == {"paper", "hoeffding", "kl", "bernstein", "mixed", "gaussian"}
    for name in PROCESSES:
        level = bound_kernels(name)["level"]
        # The paper's log(4 K M / delta) becomes log(K M / delta), at any time.
        assert level(PROBLEM, math.log(4 * 15 / 0.05), 1e6) == pytest.approx(math.log(15 / 0.05))
    with pytest.raises(PolicyError, match="got 'magic'"):
        bound_kernels("magic")
    with pytest.raises(PolicyError, match="'paper' is a radius"):
        process_kernels("paper")
