"""The mixture of normal likelihood ratios with `rho` prior pulls, which `gaussian` and `hoeffding` share."""

from __future__ import annotations

import math

from mfbandit.confidence.processes._rounding import OUTWARD, SLACK
from mfbandit.confidence.processes._stream_sums import StreamSums
from mfbandit.core import Arrays, kernel

__all__ = ["normal_above", "normal_below", "normal_log_e_above", "normal_log_e_below"]


@kernel
def normal_log_e(sigma: float, rho: float, n: int, lead: float) -> float:
    """Log of the mixture when the sum is ahead of its null value by `lead`; only a lead counts."""
    price = 0.5 * math.log1p(n / rho)
    if not lead > 0.0:
        return -price
    scaled = float(lead) / sigma
    return 0.5 * scaled * scaled / (n + rho) - price


@kernel
def normal_reach(sigma: float, rho: float, n: int, width: float) -> float:
    """The lead at which the log of the mixture reaches `width`."""
    budget = max(0.0, 2.0 * (width + SLACK) + math.log1p(n / rho))
    return sigma * math.sqrt((n + rho) * budget)


@kernel
def normal_log_e_above(problem: Arrays, rho: float, stream: StreamSums, q: float) -> float:
    """Log e-value against "mean <= q"."""
    n = stream.n
    return normal_log_e(problem.sigma, rho, n, stream.total - n * q) if n > 0 else 0.0


@kernel
def normal_log_e_below(problem: Arrays, rho: float, stream: StreamSums, q: float) -> float:
    """Log e-value against "mean >= q"."""
    n = stream.n
    return normal_log_e(problem.sigma, rho, n, n * q - stream.total) if n > 0 else 0.0


@kernel
def normal_above(problem: Arrays, rho: float, width: float, stream: StreamSums) -> float:
    """Upper confidence bound on the mean; width = log(1/alpha)."""
    n, total = stream.n, stream.total
    bound = (total + normal_reach(problem.sigma, rho, n, width)) / n
    return bound + OUTWARD * (abs(bound) + abs(total) / n)


@kernel
def normal_below(problem: Arrays, rho: float, width: float, stream: StreamSums) -> float:
    """Lower confidence bound on the mean; width = log(1/alpha)."""
    n, total = stream.n, stream.total
    bound = (total - normal_reach(problem.sigma, rho, n, width)) / n
    return bound - OUTWARD * (abs(bound) + abs(total) / n)
