"""Beta mixture for rewards in [0, 1] (bound name ``kl``).

M_n(q) = B(1/2+S, 1/2+n-S) / (B(1/2,1/2) q^S (1-q)^(n-S)) is a supermartingale when the mean is q, for any
reward in [0, 1], and log M_n(q) = n kl(p, q) - g_n with p = S/n and g_n about log(n) / 2. Counting
the divergence only where p > q keeps it below the process of every smaller mean, so
exp(n kl(p, q) 1{p > q} - g_n) is evidence against "mean <= q"; likewise for ">=".

Bounds solve n kl(p, q) = log(1/alpha) + g_n. As a function of the log-odds of q the left side is convex,
so a Newton step from anywhere on the right side of p lands at the root or beyond it: every iterate is
a valid bound, and the number of steps only decides how sharp it is. Far out the function is linear,
near p it is quadratic with a known third derivative: a few steps reach full precision.
"""

from __future__ import annotations

import math

from mfbandit.confidence._special import beta_price, divergence
from mfbandit.confidence.processes._rounding import CLOSE, OUTWARD, SLACK, level
from mfbandit.confidence.processes._stream_sums import StreamSums
from mfbandit.core import Arrays, kernel

__all__ = ["above", "below", "beta_log_e", "level", "log_e_above", "log_e_below", "odds_beyond"]

#: More Newton steps than any input needs (a test counts them), so that the loop always ends.
_STEPS = 40
#: A sum of rewards below this is none: what it adds is far below the slack of a bound.
_NOTHING = 1e-250
#: Odds below exp of minus this are 0.
_FAR = 690.0


@kernel
def beta_log_e(n: int, successes: float, failures: float, q: float) -> float:
    """N kl(p, q) - g_n for q in [0, 1], whatever the side of q."""
    shift = divergence(successes, n * q) + divergence(failures, n * (1.0 - q))
    return shift - beta_price(successes, failures)


@kernel
def log_e_above(problem: Arrays, stream: StreamSums, q: float) -> float:
    """Log e-value against "mean <= q"; infinite for q <= 0 once any reward was above 0."""
    n = stream.n
    if n <= 0:
        return 0.0
    successes = min(max(stream.total, 0.0), float(n))
    if successes > n * q:
        return beta_log_e(n, successes, n - successes, max(q, 0.0))
    return -beta_price(successes, n - successes)


@kernel
def log_e_below(problem: Arrays, stream: StreamSums, q: float) -> float:
    """Log e-value against "mean >= q"; infinite for q >= 1 once any reward was below 1."""
    n = stream.n
    if n <= 0:
        return 0.0
    successes = min(max(stream.total, 0.0), float(n))
    if successes < n * q:
        return beta_log_e(n, successes, n - successes, min(q, 1.0))
    return -beta_price(successes, n - successes)


@kernel
def first_reach(goal: float, count: float, others: float) -> float:
    """First guess of the way in log-odds: the quadratic at p, corrected by its third derivative.

    Where that goes far, it is cut at two values outside the root: goal / count + 1 + log(n / others),
    because n kl(p, q) >= count (log(p / q) - 1); and n(1-q) = (sqrt(others) + sqrt(goal))^2, because
    x log(x / y) - x + y >= (sqrt(x) - sqrt(y))^2.
    """
    n = count + others
    reach = math.sqrt(2.0 * goal / (count * (others / n)))
    skew = (others - count) / n
    reach *= 1.0 - min(0.5, max(-0.5, skew * reach / 6.0))
    if reach > 0.5:
        reach = min(reach, goal / count + 1.0 + math.log(n / others))
        most = math.sqrt(others) + math.sqrt(goal)
        most *= most
        if most < n:
            reach = min(reach, math.log(most / (n - most)) + math.log(count / others))
    return reach


@kernel
def odds_beyond(n: int, count: float, others: float, width: float) -> float:
    """Odds q / (1 - q) of the lower bound q when the mean is count / n, 0 < count, others = n - count.

    With count and others exchanged they are the odds (1 - q) / q of the upper bound.
    """
    goal = width + SLACK + beta_price(count, others)
    base = count / others
    if not goal > 0.0:
        return base
    reach = first_reach(goal, count, others)
    farthest = math.log(base) + _FAR
    clipped = False
    for _ in range(_STEPS):
        if reach > farthest:
            if clipped:
                return 0.0
            reach, clipped = farthest, True
        # In two factors, so that a tiny one does not vanish before it meets a huge base.
        half = math.exp(-0.5 * reach)
        odds = base * half * half
        # Both q and 1 - q with all their digits, whichever of them is small.
        y, z = n * (odds / (1.0 + odds)), n / (1.0 + odds)
        excess = divergence(count, y) + divergence(others, z) - goal
        reach -= excess / max(count - y, 1e-300)
        if abs(excess) <= CLOSE:
            break
    half = math.exp(-0.5 * reach)
    return base * half * half if reach < farthest else 0.0


@kernel
def above(problem: Arrays, width: float, stream: StreamSums) -> float:
    """Upper confidence bound on the mean of one stream; width = log(1/alpha)."""
    n = stream.n
    successes = min(max(stream.total, 0.0), float(n))
    failures = n - successes
    if failures <= 0.0:
        return 1.0
    if successes <= _NOTHING:
        bound = -math.expm1(-max(0.0, width + SLACK + beta_price(0.0, failures)) / n)
    else:
        bound = 1.0 / (1.0 + odds_beyond(n, failures, successes, width))
    return min(1.0, bound * (1.0 + OUTWARD))


@kernel
def below(problem: Arrays, width: float, stream: StreamSums) -> float:
    """Lower confidence bound on the mean of one stream; width = log(1/alpha)."""
    n = stream.n
    successes = min(max(stream.total, 0.0), float(n))
    failures = n - successes
    if successes <= _NOTHING:
        return 0.0
    if failures <= 0.0:
        bound = math.exp(-max(0.0, width + SLACK + beta_price(successes, 0.0)) / n)
    else:
        odds = odds_beyond(n, successes, failures, width)
        bound = odds / (1.0 + odds)
    return bound * (1.0 - OUTWARD)
