"""The nearest model in which another arm wins: the inner problem of `mf-grad`.

An alternative with truth eta for an arm gives its fidelity m the mean of the data, moved no further than
needed into [eta - zeta_m, eta + zeta_m]. That costs weight times divergence for every stream that has to
move: `misfit`, convex in eta. The data may break the bias bounds themselves (usual early on), so the
least misfit of an arm need not be 0; where it lies is the arm's projected truth. For a pair (i, j)

    f_(i,j) = min of misfit_i(x) + misfit_j(y) over y >= x + epsilon:

the two least misfits if the projected truths are in that order already, else the minimum along
y = x + epsilon. Minima are found where the slope changes its sign: first the break points mean -+ zeta
are used to close in on a piece without any, then Newton's method, kept inside that piece, finishes
(Gaussian: one exact step, since the slope is linear there).

Weights must not be 0 at the truest fidelity.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from mfbandit.confidence import bernoulli_kl
from mfbandit.core import GAUSSIAN, Arrays, Floats, floats, kernel

__all__ = ["Model", "Pair", "contest", "moved_to", "nearest", "project", "stream_divergence"]

#: Keeps divisions finite where a Bernoulli mean is excluded by an alternative of 0 or 1.
_TINY = 1e-300
#: Newton steps; the safeguard halves the piece, so that these are enough for all digits.
_STEPS = 100


class Model(NamedTuple):
    """What the data say, and what the nearest model makes of each arm alone."""

    means: Floats = floats("arms", "fidelities")
    weights: Floats = floats("arms", "fidelities")
    truths: Floats = floats("arms")
    """Projected truths."""
    misfits: Floats = floats("arms")
    """Their misfits, the least."""


class Pair(NamedTuple):
    """Two arms, f of the pair, and their truths in the model that attains it."""

    leader: int
    rival: int
    value: float
    below: float
    above: float


@kernel
def moved_to(mean: float, eta: float, bias: float) -> float:
    """The mean of a stream in the nearest model whose truth is eta."""
    return min(max(mean, eta - bias), eta + bias)


@kernel
def stream_divergence(problem: Arrays, mean: float, other: float) -> float:
    """Divergence of the reward family between two means; bounded rewards use Bernoulli's."""
    if problem.reward_code == GAUSSIAN:
        distance = (mean - other) / problem.sigma
        return 0.5 * distance * distance
    return bernoulli_kl(mean, other)


@kernel
def misfit(problem: Arrays, model: Model, arm: int, eta: float) -> float:
    """What the nearest model in which the arm's truth is eta costs."""
    value = 0.0
    for m in range(problem.cost.shape[1]):
        mean = model.means[arm, m]
        other = moved_to(mean, eta, problem.bias[arm, m])
        if other != mean:
            value += model.weights[arm, m] * stream_divergence(problem, mean, other)
    return value


@kernel
def joint_slope(
    problem: Arrays, model: Model, first: int, second: int, shift: float, eta: float
) -> tuple[float, float]:
    """Derivatives of misfit_first(eta) + misfit_second(eta + shift); one arm alone if both are the same."""
    slope, curvature = 0.0, 0.0
    arm, truth = first, eta
    for _ in range(1 if first == second else 2):
        for m in range(problem.cost.shape[1]):
            mean, weight = model.means[arm, m], model.weights[arm, m]
            other = moved_to(mean, truth, problem.bias[arm, m])
            if other == mean:
                continue
            if problem.reward_code == GAUSSIAN:
                slope += weight * (other - mean)
                curvature += weight
            else:
                low, high = max(other, _TINY), max(1.0 - other, _TINY)
                slope += weight * ((1.0 - mean) / high - mean / low)
                curvature += weight * ((1.0 - mean) / high / high + mean / low / low)
        arm, truth = second, eta + shift
    return slope, curvature


@kernel
def lowest(problem: Arrays, model: Model, first: int, second: int, shift: float) -> float:
    """The eta that minimises misfit_first(eta) + misfit_second(eta + shift)."""
    low, high = -math.inf, math.inf
    if problem.reward_code != GAUSSIAN:
        low, high = 0.0, 1.0 - shift
    for side in range(4):
        arm, back = (first, 0.0) if side < 2 else (second, shift)
        sign = 1.0 if side % 2 == 0 else -1.0
        for m in range(problem.cost.shape[1]):
            corner = model.means[arm, m] + sign * problem.bias[arm, m] - back
            if low < corner < high:
                slope, _ = joint_slope(problem, model, first, second, shift, corner)
                if slope == 0.0:
                    return float(corner)
                low, high = (corner, high) if slope < 0.0 else (low, corner)
    eta = 0.5 * (low + high)
    for _ in range(_STEPS):
        slope, curvature = joint_slope(problem, model, first, second, shift, eta)
        if slope == 0.0:
            break
        low, high = (eta, high) if slope < 0.0 else (low, eta)
        step = eta - slope / curvature if curvature > 0.0 else low
        if not low < step < high:
            step = 0.5 * (low + high)
        done = abs(step - eta) <= 1e-14 * abs(eta)
        eta = step
        if done:
            break
    return eta


@kernel
def project(problem: Arrays, model: Model) -> None:
    """Write every arm's projected truth, and its least misfit."""
    for k in range(problem.cost.shape[0]):
        eta = lowest(problem, model, k, k, 0.0)
        model.truths[k] = eta
        model.misfits[k] = misfit(problem, model, k, eta)


@kernel
def nearest(problem: Arrays, epsilon: float, model: Model, leader: int, rival: int) -> tuple[float, float, float]:
    """f_(leader,rival), and the truths of the two arms in the model that attains it."""
    below, above = model.truths[leader], model.truths[rival]
    if above >= below + epsilon:
        return model.misfits[leader] + model.misfits[rival], below, above
    if problem.reward_code != GAUSSIAN and epsilon >= 1.0:
        return math.inf, below, above
    eta = lowest(problem, model, leader, rival, epsilon)
    value = misfit(problem, model, leader, eta)
    value += misfit(problem, model, rival, eta + epsilon)
    return value, eta, eta + epsilon


@kernel
def contest(problem: Arrays, epsilon: float, model: Model) -> Pair:
    """The pair that attains max over i of min over j of f_(i,j)."""
    arms = problem.cost.shape[0]
    project(problem, model)
    favourite = 0
    for k in range(1, arms):
        if model.truths[k] > model.truths[favourite]:
            favourite = k
    best = Pair(favourite, favourite, -math.inf, 0.0, 0.0)
    for turn in range(arms):
        leader = (favourite + turn) % arms
        hardest = Pair(leader, leader, math.inf, 0.0, 0.0)
        for next_turn in range(arms):
            # The favourite is the first leader and everybody's first rival: the others rarely get far.
            rival = (favourite + next_turn) % arms
            if rival == leader:
                continue
            value, below, above = nearest(problem, epsilon, model, leader, rival)
            if value < hardest.value or hardest.rival == leader:
                hardest = Pair(leader, rival, value, below, above)
            if hardest.value <= best.value:
                break
        if hardest.value > best.value:
            best = hardest
    return best
