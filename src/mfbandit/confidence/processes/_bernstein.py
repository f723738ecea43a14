"""Empirical Bernstein mixture, for rewards in [0, 1] of low variance (bound name ``bernstein``).

For every 0 < l < 1, exp(l (S - nq) - psi(l) V), psi(l) = -log(1-l) - l, is a supermartingale when the mean
is at most q (Fan's inequality), where V sums the squared distances of each reward from a forecast made
before it (see `mfbandit.core.observe`). The average over a fixed grid of l is again one. Mirrored
rewards 1 - x have mirrored forecasts and the same V, so the evidence against "mean >= q" is the same
function of nq - S, and the bounds lie at the same distance on both sides of the mean.

The logarithm of the average is convex in S - nq, so a Newton step from anywhere lands at the distance
that is sought or beyond it: every iterate is a valid bound. The first one takes the best single l.
"""

from __future__ import annotations

import math

from mfbandit.confidence.processes._rounding import CLOSE, OUTWARD, SLACK, level
from mfbandit.confidence.processes._stream_sums import StreamSums
from mfbandit.core import Arrays, kernel

__all__ = [
    "above",
    "below",
    "bernstein_log_e",
    "bernstein_reach",
    "first_reach",
    "level",
    "log_e_above",
    "log_e_below",
]


def _grid() -> tuple[tuple[float, ...], ...]:
    """Rates l, their psi(l), and the logarithms of their weights, which sum to 1."""
    # Steps of sqrt(2) waste at most 3% of the exponent between two rates; the smallest is the best one
    # for a billion rewards of variance 1/4. Large rates decide early, so they weigh a little more.
    rates = (0.97, 0.93, 0.87, *(0.8 * 2.0 ** (-i / 2) for i in range(25)))
    weights = [1.0 / (i + 6) for i in range(len(rates))]
    return (
        rates,
        tuple(-math.log1p(-rate) - rate for rate in rates),
        tuple(math.log(weight / sum(weights)) for weight in weights),
    )


_RATES, _PSI, _LOG_WEIGHTS = _grid()
_COUNT = len(_RATES)
#: Terms of the average smaller than the largest by exp of minus this cannot move it.
_NEGLIGIBLE = 40.0
_STEPS = 40


@kernel
def bernstein_log_e(deviation: float, lead: float) -> tuple[float, float]:
    """Log of the mixture when the sum leads by S - nq = `lead`, and its slope in the lead."""
    top = -math.inf
    for i in range(_COUNT):
        top = max(top, _LOG_WEIGHTS[i] + (_RATES[i] * lead - _PSI[i] * deviation))
    if not abs(top) < math.inf:
        return top, _RATES[0]
    mass, slope = 0.0, 0.0
    for i in range(_COUNT):
        term = _LOG_WEIGHTS[i] + (_RATES[i] * lead - _PSI[i] * deviation) - top
        if term > -_NEGLIGIBLE:
            share = math.exp(term)
            mass += share
            slope += share * _RATES[i]
    return top + math.log(mass), slope / mass


@kernel
def first_reach(deviation: float, width: float) -> float:
    """The lead at which the best single rate takes the mixture to `width`: the mixture is there before."""
    least = math.inf
    for i in range(_COUNT):
        least = min(least, (width - _LOG_WEIGHTS[i] + _PSI[i] * deviation) / _RATES[i])
    return max(0.0, least)


@kernel
def bernstein_reach(deviation: float, width: float) -> float:
    """The lead at which the log of the mixture reaches `width`, or a hair more."""
    goal = width + SLACK
    lead = first_reach(deviation, goal)
    if not lead < math.inf:
        return lead
    for _ in range(_STEPS):
        value, slope = bernstein_log_e(deviation, lead)
        lead -= (value - goal) / slope
        if value - goal <= CLOSE:
            break
    return max(0.0, lead)


@kernel
def log_e_above(problem: Arrays, stream: StreamSums, q: float) -> float:
    """Log e-value against "mean <= q"."""
    if stream.n <= 0:
        return 0.0
    value, _ = bernstein_log_e(stream.deviation, stream.total - stream.n * q)
    return value


@kernel
def log_e_below(problem: Arrays, stream: StreamSums, q: float) -> float:
    """Log e-value against "mean >= q"."""
    if stream.n <= 0:
        return 0.0
    value, _ = bernstein_log_e(stream.deviation, stream.n * q - stream.total)
    return value


@kernel
def above(problem: Arrays, width: float, stream: StreamSums) -> float:
    """Upper confidence bound on the mean of one stream; width = log(1/alpha)."""
    return min(1.0, (stream.total + bernstein_reach(stream.deviation, width)) / stream.n * (1.0 + OUTWARD))


@kernel
def below(problem: Arrays, width: float, stream: StreamSums) -> float:
    """Lower confidence bound on the mean of one stream; width = log(1/alpha)."""
    n, total = stream.n, stream.total
    return max(0.0, (total - bernstein_reach(stream.deviation, width)) / n - OUTWARD * (total / n))
