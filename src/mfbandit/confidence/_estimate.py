"""What an arm's truth is estimated to be: where pulls and searches start, never a part of a proof."""

from __future__ import annotations

import math

from mfbandit.core import BERNOULLI, GAUSSIAN, Arrays, State, kernel

__all__ = ["truth", "variance"]


@kernel
def variance(problem: Arrays, n: float, total: float, squared: float) -> float:
    """The variance of a stream, estimated and kept away from zero."""
    if problem.reward_code == GAUSSIAN:
        return problem.sigma * problem.sigma
    if problem.reward_code == BERNOULLI:
        p = (total + 0.5) / (n + 1.0)
        return p * (1.0 - p)
    return (max(0.0, squared - total * total / n) + 0.1) / (n + 1.0)


@kernel
def truth(problem: Arrays, bias_variance: float, state: State, arm: int) -> tuple[float, float, float, float]:
    """An arm's estimated truth, the precision of that estimate, its noise, and the cost spent on the arm.

    The streams are weighted by one over their variance, a bias counting as noise of variance
    `bias_variance` times its squared bound. What is returned as noise is the standard error due to rewards alone.
    """
    weights, centre, spent, noises = 0.0, 0.0, 0.0, 0.0
    for m in range(problem.cost.shape[1]):
        n = float(state.pulls[arm, m])
        if n > 0.0:
            total, bias = state.sums[arm, m], problem.bias[arm, m]
            noise = variance(problem, n, total, state.squares[arm, m]) / n
            weight = 1.0 / (noise + bias_variance * bias * bias)
            weights += weight
            noises += weight * weight * noise
            centre += weight * total / n
            spent += n * problem.cost[arm, m]
    if weights > 0.0:
        centre /= weights
        noises = math.sqrt(noises) / weights
    return centre, weights, noises, spent
