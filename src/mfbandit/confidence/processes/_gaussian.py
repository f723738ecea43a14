"""Normal mixture for Gaussian rewards of known sigma (bound name ``gaussian``).

For a reward with noise no heavier than sigma, sqrt(rho/(n+rho)) exp((S-nq)^2 / (2 sigma^2 (n+rho))) is a
supermartingale when the mean is q: the average of exp(l (S-nq) - l^2 sigma^2 n / 2) over a normal prior
on l. Counting only S > nq keeps it below the process of every smaller mean, so the same number is
evidence against "mean <= q". No t and no union over time; the bounds are in closed form.
"""

from __future__ import annotations

from mfbandit.confidence.processes._normal_mixture import (
    normal_above,
    normal_below,
    normal_log_e_above,
    normal_log_e_below,
)
from mfbandit.confidence.processes._rounding import level
from mfbandit.confidence.processes._stream_sums import StreamSums
from mfbandit.core import Arrays, kernel

__all__ = ["above", "below", "level", "log_e_above", "log_e_below"]

#: Prior pulls rho: the mixture is sharpest for differences of about sigma.
_RHO = 1.0


@kernel
def log_e_above(problem: Arrays, stream: StreamSums, q: float) -> float:
    """Log e-value against "mean <= q"."""
    return normal_log_e_above(problem, _RHO, stream, q)


@kernel
def log_e_below(problem: Arrays, stream: StreamSums, q: float) -> float:
    """Log e-value against "mean >= q"."""
    return normal_log_e_below(problem, _RHO, stream, q)


@kernel
def above(problem: Arrays, width: float, stream: StreamSums) -> float:
    """Upper confidence bound on the mean of one stream; width = log(1/alpha)."""
    return normal_above(problem, _RHO, width, stream)


@kernel
def below(problem: Arrays, width: float, stream: StreamSums) -> float:
    """Lower confidence bound on the mean of one stream; width = log(1/alpha)."""
    return normal_below(problem, _RHO, width, stream)
