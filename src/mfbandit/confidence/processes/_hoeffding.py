"""Hoeffding's bound without t (bound name ``hoeffding``): a normal mixture with sigma = 1/2.

A reward in [0, 1] has noise no heavier than a normal one of sigma 1/2 (Hoeffding's lemma). Gaussian
rewards use their own sigma. The bounds are as wide at a mean of 1/2 as near 0 or 1; `kl` is sharper
there.
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
from mfbandit.core import GAUSSIAN, Arrays, kernel

__all__ = ["above", "below", "level", "log_e_above", "log_e_below"]

#: Prior pulls rho. Rewards in [0, 1] need some 30 pulls before any bound of this shape can separate
#: two means, so the mixture need not be sharp earlier and pays less later.
_RHO = 32.0


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
    bound = normal_above(problem, _RHO, width, stream)
    return bound if problem.reward_code == GAUSSIAN else min(1.0, bound)


@kernel
def below(problem: Arrays, width: float, stream: StreamSums) -> float:
    """Lower confidence bound on the mean of one stream; width = log(1/alpha)."""
    bound = normal_below(problem, _RHO, width, stream)
    return bound if problem.reward_code == GAUSSIAN else max(0.0, bound)
