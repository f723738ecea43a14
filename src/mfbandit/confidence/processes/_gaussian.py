"""Normal mixture for Gaussian rewards of known sigma (bound name ``gaussian``).

For a reward with noise no heavier than sigma, sqrt(rho/(n+rho)) exp((S-nq)^2 / (2 sigma^2 (n+rho))) is a
supermartingale when the mean is q: the average of exp(l (S-nq) - l^2 sigma^2 n / 2) over a normal prior
on l. Counting only S > nq keeps it below the process of every smaller mean, so the same number is
evidence against "mean <= q". No t and no union over time; the bounds are in closed form.
"""

from __future__ import annotations

import math

from mfbandit.confidence.processes._rounding import OUTWARD, SLACK, level
from mfbandit.core import Arrays, kernel

__all__ = ["above", "below", "level", "log_e_above", "log_e_below", "normal_log_e", "normal_reach"]

#: Prior pulls rho: the mixture is sharpest for differences of about sigma.
_RHO = 1.0


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
def log_e_above(problem: Arrays, n: int, total: float, squared: float, deviation: float, q: float) -> float:
    """Log e-value against "mean <= q"."""
    return normal_log_e(problem.sigma, _RHO, n, total - n * q) if n > 0 else 0.0


@kernel
def log_e_below(problem: Arrays, n: int, total: float, squared: float, deviation: float, q: float) -> float:
    """Log e-value against "mean >= q"."""
    return normal_log_e(problem.sigma, _RHO, n, n * q - total) if n > 0 else 0.0


@kernel
def above(problem: Arrays, width: float, n: int, total: float, squared: float, deviation: float) -> float:
    """Upper confidence bound on the mean of one stream; width = log(1/alpha)."""
    bound = (total + normal_reach(problem.sigma, _RHO, n, width)) / n
    return bound + OUTWARD * (abs(bound) + abs(total) / n)


@kernel
def below(problem: Arrays, width: float, n: int, total: float, squared: float, deviation: float) -> float:
    """Lower confidence bound on the mean of one stream; width = log(1/alpha)."""
    bound = (total - normal_reach(problem.sigma, _RHO, n, width)) / n
    return bound - OUTWARD * (abs(bound) + abs(total) / n)
