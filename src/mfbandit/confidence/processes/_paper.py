"""The paper's confidence radius, sqrt(log(L t^4 / delta) / n) (Section 3.2).

It holds for rewards in [0, 1] (variance proxy at most 1/2). For Gaussian rewards the logarithm is
multiplied by 2 sigma^2; rewards of another range are scaled to [0, 1] before they get here. A stream that
was never pulled has the radius +inf.

The radius is wider than Hoeffding's by sqrt(2) and pays 4 log t for its union over time. It is kept as
printed, because the paper's figures come from it; better ones are its neighbours in this package.
"""

from __future__ import annotations

import math

from mfbandit.core import Arrays, State, kernel, mean_of, root_of

__all__ = ["high", "level", "line", "low"]


@kernel
def level(problem: Arrays, log_factor: float, time: float) -> float:
    """The numerator of the radius at a time: sqrt(2 sigma^2 (log(L / delta) + 4 log t))."""
    return math.sqrt(problem.radius_scale * (log_factor + 4.0 * math.log(time)))


@kernel
def high(problem: Arrays, state: State, arm: int, fidelity: int, width: float) -> float:
    """Upper confidence bound on the mean of one stream."""
    return mean_of(state, arm, fidelity) + width * root_of(state, arm, fidelity)


@kernel
def low(problem: Arrays, state: State, arm: int, fidelity: int, width: float) -> float:
    """Lower confidence bound on the mean of one stream."""
    return mean_of(state, arm, fidelity) - width * root_of(state, arm, fidelity)


@kernel
def line(problem: Arrays, state: State, arm: int, fidelity: int, width: float) -> tuple[float, float]:
    """Upper confidence bound on the mean of one stream, as offset and slope of a line in the width."""
    return mean_of(state, arm, fidelity), root_of(state, arm, fidelity)
