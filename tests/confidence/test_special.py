"""Special functions against closed forms, scipy, and arithmetic with 60 digits."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betaln, gammaln

from mfbandit.confidence import bernoulli_kl
from mfbandit.confidence._special import beta_price, divergence, half_remainder, log_add, log_beta, log_gamma

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
BERNOULLI = [(1, 12), (-1, 360), (1, 1260), (-1, 1680), (1, 1188), (-691, 360360), (1, 156)]


def precise_log_gamma(x: Decimal) -> Decimal:
    """Stirling's series beyond 1000, where seven terms give 40 digits."""
    shifted = Decimal(1)
    while x < 1000:
        shifted *= x
        x += 1
    value = (x - Decimal("0.5")) * x.ln() - x + (2 * PI).ln() / 2
    for k, (top, bottom) in enumerate(BERNOULLI):
        value += Decimal(top) / Decimal(bottom) / x ** (2 * k + 1)
    return value - shifted.ln()


def precise_price(successes: float, failures: float) -> float:
    with localcontext() as context:
        context.prec = 60
        half, s, f = Decimal("0.5"), Decimal(successes), Decimal(failures)
        n = s + f
        log_b = precise_log_gamma(s + half) + precise_log_gamma(f + half) - precise_log_gamma(n + 1)
        entropy = sum((x * (x / n).ln() for x in (s, f) if x > 0), Decimal(0))
        return float(PI.ln() - log_b + entropy)


def precise_divergence(x: float, y: float) -> float:
    with localcontext() as context:
        context.prec = 60
        a, b = Decimal(x), Decimal(y)
        return float(a * (a / b).ln() - a + b)


@pytest.mark.parametrize("x", [1e-300, 1e-5, 0.1, 0.5, 0.9, 1.5, 2.5, 5.0, 9.99, 10.0, 57.3, 1e5, 1e12])
def test_log_gamma_agrees_with_scipy(x: float) -> None:
    assert log_gamma(x) == pytest.approx(gammaln(x), rel=1e-13)


def test_log_beta_agrees_with_scipy() -> None:
    for a in (1e-5, 0.5, 1.5, 9.0, 30.0, 900.0):
        for b in (1e-5, 0.5, 3.0, 12.0, 700.0):
            assert log_beta(a, b) == pytest.approx(betaln(a, b), rel=1e-12, abs=1e-13)


def test_log_beta_keeps_its_digits_where_log_gammas_cancel() -> None:
    # B(a, 3) = 2 / (a (a + 1) (a + 2)).
    for a in (1e6, 1e9):
        exact = math.log(2.0) - math.log(a) - math.log(a + 1) - math.log(a + 2)
        assert log_beta(a, 3.0) == pytest.approx(exact, rel=1e-14)


@pytest.mark.parametrize(
    ("successes", "failures"),
    [
        *[(0.0, 1.0), (1.0, 0.0), (0.3, 0.7), (9.99, 10.01), (37.25, 1e3), (0.0, 1e9), (1.0, 1e9 - 1)],
        *[(5e8, 5e8), (1e9 - 12345.5, 12345.5), (3e8 + 0.125, 7e8 - 0.125)],
    ],
)
def test_price_of_the_beta_mixture_is_exact_up_to_a_billion_pulls(successes: float, failures: float) -> None:
    assert beta_price(successes, failures) == pytest.approx(precise_price(successes, failures), rel=1e-13, abs=1e-13)


def test_price_matches_the_numbers_of_the_theory() -> None:
    assert beta_price(0.0, 0.0) == 0.0
    for n, price in ((100, 2.5), (1000, 3.7), (10_000, 4.8)):
        assert beta_price(0.5 * n, 0.5 * n) == pytest.approx(price, abs=0.06)


def test_half_remainder_joins_its_series_without_a_step() -> None:
    assert half_remainder(0.0) == pytest.approx(-0.5 * math.log(2.0), rel=1e-14)
    below, above = half_remainder(math.nextafter(10.0, 0.0)), half_remainder(10.0)
    assert below == pytest.approx(above, abs=2e-14)


@given(
    x=st.floats(1e-9, 1e9),
    change=st.one_of(st.floats(-0.999999, 1e6), st.floats(-1e-3, 1e-3)),
)
@settings(max_examples=300, deadline=None)
def test_divergence_is_accurate_however_near_its_arguments(x: float, change: float) -> None:
    y = x + x * change
    exact = precise_divergence(x, y)
    assert divergence(x, y) == pytest.approx(exact, rel=3e-13, abs=1e-45 * x)


def test_divergence_at_the_edges() -> None:
    assert divergence(0.0, 0.25) == 0.25
    assert divergence(0.25, 0.0) == math.inf
    assert divergence(3.0, 3.0) == 0.0
    assert math.isfinite(divergence(0.5, 1e-310))


def test_bernoulli_kl() -> None:
    assert bernoulli_kl(0.05, 0.95) == pytest.approx(0.9 * math.log(19.0), rel=1e-14)
    assert bernoulli_kl(0.0, 0.25) == pytest.approx(-math.log(0.75), rel=1e-15)
    assert bernoulli_kl(1.0, 1.0) == 0.0
    assert bernoulli_kl(0.5, 1.0) == math.inf
    # Near agreement it is (p - q)^2 / (2 p (1 - p)), far below the rounding of its own terms.
    assert bernoulli_kl(0.3, 0.3 + 1e-9) == pytest.approx(1e-18 / 0.42, rel=1e-6)


def test_log_add() -> None:
    assert log_add(math.inf, -3.0) == math.inf
    assert log_add(-math.inf, -3.0) == -3.0
    assert log_add(-1000.0, 5.0) == 5.0
    pairs = np.random.default_rng(1).normal(0.0, 20.0, (50, 2))
    for a, b in pairs.tolist():
        assert log_add(a, b) == pytest.approx(np.logaddexp(a, b), rel=1e-14, abs=1e-15)
