"""Special functions of our own: log-gamma, log-beta, and divergences that never cancel.

`math.lgamma` differs in its last bits between CPython and compiled code, and differences of large
log-gammas lose all their digits at a billion pulls. Here the large parts are cancelled on paper and
only the small remainders of Stirling's formula are computed.
"""

from __future__ import annotations

import math

from mfbandit.core import kernel

__all__ = [
    "bernoulli_kl",
    "beta_price",
    "divergence",
    "half_remainder",
    "log_add",
    "log_beta",
    "log_gamma",
    "stirling_remainder",
]

_HALF_LOG_2PI = 0.91893853320467274178
_HALF_LOG_HALF_PI = 0.22579135264472743236
#: From here on the asymptotic series below reach full precision.
_LARGE = 10.0
#: B_2k / (2k (2k-1)), the series of log-gamma, highest power first.
_WHOLE = (1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)
#: B_2k(1/2) / (2k (2k-1)), the same series at half a step.
_HALF = (
    -8191 / 1277952,
    1414477 / 738017280,
    -511 / 608256,
    127 / 215040,
    -31 / 40320,
    7 / 2880,
    -1 / 24,
)
#: Series of atanh after its first term: 1/15, ..., 1/5, 1/3.
_ATANH = (1 / 15, 1 / 13, 1 / 11, 1 / 9, 1 / 7, 1 / 5, 1 / 3)


@kernel
def polynomial(x: float, coefficients: tuple[float, ...]) -> float:
    """A polynomial by Horner's rule, highest power first."""
    value = 0.0
    for c in coefficients:
        value = value * x + c
    return value


@kernel
def log_gamma(x: float) -> float:
    """Logarithm of the gamma function for x > 0.

    The relative error is a few 1e-15; near the zeros at 1 and 2 the absolute error is that small.

    Examples
    --------
    >>> round(log_gamma(0.5), 12)  # log(pi) / 2
    0.572364942925
    """
    product = 1.0
    while x < _LARGE:
        product *= x
        x += 1.0
    inverse = 1.0 / x
    large = (x - 0.5) * math.log(x) - x + _HALF_LOG_2PI
    return large + inverse * polynomial(inverse * inverse, _WHOLE) - math.log(product)


@kernel
def stirling_remainder(x: float) -> float:
    """Log-gamma of x > 0 less (x - 1/2) log x - x + log(2 pi) / 2."""
    if x >= _LARGE:
        inverse = 1.0 / x
        return inverse * polynomial(inverse * inverse, _WHOLE)
    return log_gamma(x) - (x - 0.5) * math.log(x) + x - _HALF_LOG_2PI


@kernel
def half_remainder(x: float) -> float:
    """Log-gamma of x + 1/2, x >= 0, less x log x - x + log(2 pi) / 2; from -log(2) / 2 up to 0."""
    if x >= _LARGE:
        inverse = 1.0 / x
        return inverse * polynomial(inverse * inverse, _HALF)
    entropy = x * math.log(x) if x > 0.0 else 0.0
    return log_gamma(x + 0.5) - entropy + x - _HALF_LOG_2PI


@kernel
def log_beta(a: float, b: float) -> float:
    """Logarithm of the beta function for a, b > 0, without cancellation at any size.

    Examples
    --------
    >>> round(log_beta(2.0, 3.0) + math.log(12.0), 12)
    0.0
    """
    large, small = max(a, b), min(a, b)
    return (
        _HALF_LOG_2PI
        - 0.5 * math.log(small)
        - (large - 0.5) * math.log1p(small / large)
        - small * math.log1p(large / small)
        + stirling_remainder(large)
        + stirling_remainder(small)
        - stirling_remainder(large + small)
    )


@kernel
def beta_price(successes: float, failures: float) -> float:
    """What the Beta mixture pays for not knowing the mean: the g_n of log M_n(q) = n kl(p, q) - g_n.

    It is log B(1/2, 1/2) - log B(1/2 + S, 1/2 + n - S) - n H(S/n), from 0 at n = 0 to about
    log(n) / 2. The parts that grow with n are gone, so it is exact to 1e-14 at any n.

    Examples
    --------
    >>> round(beta_price(50.0, 50.0), 2), round(beta_price(5e8, 5e8), 2)
    (2.53, 10.59)
    """
    n = successes + failures
    if n <= 0.0:
        return 0.0
    return (
        _HALF_LOG_HALF_PI
        + 0.5 * math.log(n)
        + stirling_remainder(n)
        - half_remainder(successes)
        - half_remainder(failures)
    )


@kernel
def divergence(x: float, y: float) -> float:
    """Divergence x log(x / y) - x + y of Poisson means x, y >= 0, accurate when they nearly agree.

    Both kl of Bernoulli rewards, n kl(p, q) = divergence(S, nq) + divergence(n-S, n(1-q)), and the
    exponent of the empirical Bernstein process are sums of it, with no term of another sign.
    """
    if x <= 0.0:
        return y
    if y <= 0.0:
        return math.inf
    step = y - x
    if step > x or step < -0.5 * x:
        return step + x * (math.log(x) - math.log(y))
    ratio = step / x
    if abs(ratio) > 0.1:
        return step - x * math.log1p(ratio)
    # ratio - log1p(ratio) with the leading terms cancelled on paper: log1p(r) = 2 atanh(r / (2 + r)).
    s = ratio / (2.0 + ratio)
    square = s * s
    return x * s * (ratio - 2.0 * square * polynomial(square, _ATANH))


@kernel
def bernoulli_kl(p: float, q: float) -> float:
    """Divergence kl(p, q) of Bernoulli means, p and q in [0, 1]; infinite where q excludes p.

    Examples
    --------
    >>> round(bernoulli_kl(0.05, 0.95), 4), bernoulli_kl(0.3, 0.3), bernoulli_kl(0.3, 1.0)
    (2.65, 0.0, inf)
    """
    return divergence(p, q) + divergence(1.0 - p, 1.0 - q)


@kernel
def log_add(a: float, b: float) -> float:
    """log(exp(a) + exp(b)), also where one of them is infinite."""
    high, low = max(a, b), min(a, b)
    if high == math.inf or low == -math.inf:
        return high
    return high + math.log1p(math.exp(low - high))
