"""Average of the Beta mixture and the empirical Bernstein mixture (bound name ``mixed``).

The average of two e-processes is one again. It is at most log 2 worse than the better of the two,
whatever the rewards: close to the Beta mixture for 0/1 rewards, to Bernstein's for rewards of low
variance, and together sharper than that where both see something.

Its logarithm is convex in q, as both its parts are, so Newton steps from a bound that is too wide move
it inwards and never past the exact one. The start is the tighter of the two parts' bounds at a level
raised by log 2.
"""

from __future__ import annotations

import math

from mfbandit.confidence._special import beta_price, divergence, log_add
from mfbandit.confidence.processes import _bernstein as bernstein
from mfbandit.confidence.processes import _beta as beta
from mfbandit.confidence.processes._rounding import CLOSE, OUTWARD, SLACK, level
from mfbandit.confidence.processes._stream_sums import StreamSums
from mfbandit.core import Arrays, kernel

__all__ = ["above", "below", "level", "log_e_above", "log_e_below"]

_LOG_2 = math.log(2.0)
_STEPS = 40
#: Differences of logarithms beyond this are as good as infinite (and exp does not overflow).
_FAR = 700.0

# Kernels call one another by plain names.
_beta_above, _beta_below = beta.above, beta.below
_beta_e_above, _beta_e_below = beta.log_e_above, beta.log_e_below
_bernstein_log_e, _bernstein_first = bernstein.bernstein_log_e, bernstein.first_reach


@kernel
def log_e_above(problem: Arrays, stream: StreamSums, q: float) -> float:
    """Log e-value against "mean <= q"."""
    if stream.n <= 0:
        return 0.0
    low_variance, _ = _bernstein_log_e(stream.deviation, stream.total - stream.n * q)
    return log_add(_beta_e_above(problem, stream, q), low_variance) - _LOG_2


@kernel
def log_e_below(problem: Arrays, stream: StreamSums, q: float) -> float:
    """Log e-value against "mean >= q"."""
    if stream.n <= 0:
        return 0.0
    low_variance, _ = _bernstein_log_e(stream.deviation, stream.n * q - stream.total)
    return log_add(_beta_e_below(problem, stream, q), low_variance) - _LOG_2


@kernel
def within_range(stream: StreamSums) -> StreamSums:
    """The sums with a total that n rewards in [0, 1] can have: rounding may have moved it beyond."""
    return StreamSums(stream.n, min(max(stream.total, 0.0), float(stream.n)), stream.deviation)


@kernel
def tighten(stream: StreamSums, goal: float, start: float) -> float:
    """Newton steps on the log of the average from `start`, outside the root, towards the mean.

    `goal` is log(1/alpha); a start above the mean is an upper bound, one below it a lower bound.
    """
    n, total, deviation = stream.n, stream.total, stream.deviation
    side = 1.0 if n * start > total else -1.0
    price = beta_price(total, n - total)
    q = start
    for _ in range(_STEPS):
        lead = side * (n * q - total)
        if not (0.0 < q < 1.0 and lead > 0.0):
            break
        first = divergence(total, n * q) + divergence(n - total, n * (1.0 - q)) - price
        second, rate = _bernstein_log_e(deviation, lead)
        share = 1.0 / (1.0 + math.exp(max(-_FAR, min(_FAR, second - first))))
        slope = share * lead / (q * (1.0 - q)) + (1.0 - share) * n * rate
        excess = log_add(first, second) - _LOG_2 - goal
        q -= side * (excess / slope)
        if excess <= CLOSE:
            break
    return q


@kernel
def above(problem: Arrays, width: float, stream: StreamSums) -> float:
    """Upper confidence bound on the mean of one stream; width = log(1/alpha)."""
    goal, inner = width + SLACK, within_range(stream)
    start = min(
        _beta_above(problem, goal + _LOG_2, inner),
        (inner.total + _bernstein_first(inner.deviation, goal + _LOG_2)) / inner.n,
    )
    bound = tighten(inner, goal, start)
    return min(1.0, bound * (1.0 + OUTWARD))


@kernel
def below(problem: Arrays, width: float, stream: StreamSums) -> float:
    """Lower confidence bound on the mean of one stream; width = log(1/alpha)."""
    goal, inner = width + SLACK, within_range(stream)
    start = max(
        _beta_below(problem, goal + _LOG_2, inner),
        (inner.total - _bernstein_first(inner.deviation, goal + _LOG_2)) / inner.n,
    )
    bound = tighten(inner, goal, start)
    return max(0.0, bound * (1.0 - OUTWARD))
