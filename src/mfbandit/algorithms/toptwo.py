"""The sampling rule of `mf-toptwo`: what the arms look like, and where the next pull tells most.

None of this bears on correctness, which rests on `mfbandit.confidence.evidence` alone; it decides what an
answer costs. Every estimate is a plain function of the statistics so far.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from mfbandit.core import BERNOULLI, BOUNDED, GAUSSIAN, Arrays, State
from mfbandit.kernel import kernel

__all__ = ["TopTwoParams", "promise", "refresh", "split", "truth"]

#: What is remembered per arm, in `State.memory`: its estimated truth and that estimate's precision, the
#: cost spent on it; as a rival of the leader: v, the evidence there, the leader's share in the best way
#: to raise it, and what was spent when the certificate is worth computing again; proven evidence; the
#: standard error of the estimated truth that is due to rewards alone, not to biases; the cost that is
#: spent on the arm before it can be beaten (again); how close it is as a challenger.
CENTRE, PRECISION, SPENT, SPLIT, VALUE, SHARE, DUE, EVIDENCE, NOISE, RESPITE, INDEX = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
PER_ARM = 11

#: Beyond its variance, the part of a bounded reward's information that grows with the gap only linearly.
_LINEAR = 0.35
#: A spring that keeps v defined where no stream says anything.
_SPRING = 1e-3


class TopTwoParams(NamedTuple):
    """What `mf-toptwo` knows beside the problem."""

    threshold: float
    """log((K - 1) / delta)."""
    epsilon: float
    evidence: int
    """Which likelihood ratios: see `mfbandit.confidence.levels`."""
    batch: int
    """Pulls per round; 0 if rounds grow."""
    hope: float
    """How many standard errors of a stream's mean count as possible."""
    trust: float
    """How much this grows, for the truest fidelity, with the logarithm of its pulls."""
    doubt: float
    """Variance that is ascribed to a bias, as a part of its squared bound."""
    forced: float
    """Every stream of the pair gets this times sqrt(spent / cost) pulls."""
    spread: float
    """Weight of log(spent) in the choice of the challenger."""
    check: float
    """Part of the threshold that the estimated evidence reaches before the certificate is computed."""
    delay: float
    """How long a certificate that failed is left alone, as a multiple of what it lacked."""


@kernel
def variance(problem: Arrays, n: float, total: float, squared: float) -> float:
    """The variance of a stream, estimated and kept away from zero."""
    if problem.kind == GAUSSIAN:
        return problem.sigma * problem.sigma
    if problem.kind == BERNOULLI:
        p = (total + 0.5) / (n + 1.0)
        return p * (1.0 - p)
    return (max(0.0, squared - total * total / n) + 0.1) / (n + 1.0)


@kernel
def truth(problem: Arrays, doubt: float, state: State, arm: int) -> tuple[float, float, float, float]:
    """An arm's estimated truth, the precision of that estimate, its noise, and the cost spent on the arm.

    The streams are weighted by one over their variance, a bias counting as noise of variance
    `doubt` times its squared bound. What is returned as noise is the standard error due to rewards alone.
    """
    weights, centre, spent, noises = 0.0, 0.0, 0.0, 0.0
    for m in range(problem.cost.shape[1]):
        n = float(state.pulls[arm, m])
        if n > 0.0:
            total, bias = state.sums[arm, m], problem.bias[arm, m]
            noise = variance(problem, n, total, state.squares[arm, m]) / n
            weight = 1.0 / (noise + doubt * bias * bias)
            weights += weight
            noises += weight * weight * noise
            centre += weight * total / n
            spent += n * problem.cost[arm, m]
    if weights > 0.0:
        centre /= weights
        noises = math.sqrt(noises) / weights
    return centre, weights, noises, spent


@kernel
def refresh(problem: Arrays, doubt: float, state: State, arm: int) -> None:
    """Remember an arm's estimated truth, its precision and its cost."""
    centre, weights, noise, spent = truth(problem, doubt, state, arm)
    state.memory[arm * PER_ARM + CENTRE] = centre
    state.memory[arm * PER_ARM + PRECISION] = weights
    state.memory[arm * PER_ARM + NOISE] = noise
    state.memory[arm * PER_ARM + SPENT] = spent


@kernel
def split(problem: Arrays, epsilon: float, state: State, leader: int, rival: int) -> None:
    """Find the v where the evidence for "leader > v > rival" is least; remember v and the evidence.

    The evidence of a stream whose mean is e beyond its bias from v is about n e^2 / 2 V. Its sum is
    convex in v: Newton's steps, kept between the ends of a bracket, find its minimum.
    """
    linear = _LINEAR if problem.kind == BOUNDED else 0.0
    top = state.memory[leader * PER_ARM + CENTRE] + epsilon
    bottom = state.memory[rival * PER_ARM + CENTRE]
    middle = 0.5 * (top + bottom)
    low, high = min(top, bottom) - problem.sigma, max(top, bottom) + problem.sigma
    v = state.memory[rival * PER_ARM + SPLIT]
    if not low < v < high:
        v = middle
    value = 0.0
    for _ in range(30):
        force, slope, value = _SPRING * (v - middle), _SPRING, 0.0
        for side in range(2):
            arm, sign, shift = (leader, 1.0, epsilon) if side == 0 else (rival, -1.0, 0.0)
            for m in range(problem.cost.shape[1]):
                n = float(state.pulls[arm, m])
                if n == 0.0:
                    continue
                total = state.sums[arm, m]
                excess = sign * (total / n + shift - v) - problem.bias[arm, m]
                if excess > 0.0:
                    spread = variance(problem, n, total, state.squares[arm, m])
                    scale = spread + linear * excess
                    rate = n * excess / scale
                    force -= sign * rate
                    slope += n * spread / (scale * scale)
                    value += 0.5 * rate * excess
        if force > 0.0:
            high = v
        else:
            low = v
        move = v - force / slope
        if not low < move < high:
            move = 0.5 * (low + high)
        settled = abs(move - v) <= 1e-7 * problem.sigma
        v = move
        if settled:
            break
    state.memory[rival * PER_ARM + SPLIT] = v
    state.memory[rival * PER_ARM + VALUE] = value


@kernel
def hope_square(z: float) -> float:
    """The mean of (z + N)^2 over z + N > 0 for a standard normal N, nearly."""
    if z > 5.0:
        return z * z + 1.0
    if z < -5.0:
        return 0.0
    # A logistic curve that is within 0.0002 of the normal distribution function.
    above = 1.0 / (1.0 + math.exp(-z * (1.5976 + 0.07056 * z * z)))
    return max(0.0, (z * z + 1.0) * above + 0.3989422804 * z * math.exp(-0.5 * z * z))


@kernel
def promise(
    problem: Arrays, params: TopTwoParams, state: State, arm: int, sign: float, v: float, hope: float
) -> tuple[float, int, int]:
    """The most information per cost that an arm is expected to give against v.

    A stream's mean is estimated from its own rewards and from the arm's other streams together; the
    information of a pull is the mean of e^2 / 2 V over what that mean may be, so that little-known
    streams get their chance: `hope` standard errors count as possible. Returned with it: the fidelity
    that gives it, and the fidelity that would if the estimates were exact. Where nothing can tell, both
    are the truest one.
    """
    linear = _LINEAR if problem.kind == BOUNDED else 0.0
    centre = state.memory[arm * PER_ARM + CENTRE]
    weights = state.memory[arm * PER_ARM + PRECISION]
    best, chosen, best_plain, plain = 0.0, problem.truest, 0.0, problem.truest
    for m in range(problem.cost.shape[1]):
        n, bias = float(state.pulls[arm, m]), problem.bias[arm, m]
        spread = problem.sigma * problem.sigma
        doubt = params.doubt * bias * bias
        mean, error = centre, 1.0 / weights + doubt
        if n > 0.0:
            total = state.sums[arm, m]
            spread = variance(problem, n, total, state.squares[arm, m])
            own = n / spread
            weight = 1.0 / (1.0 / own + doubt)
            others = weights - weight
            mean, error = total / n, 1.0 / own
            if others > 1e-9 * weights:
                outside = (centre * weights - weight * mean) / others
                outer = 1.0 / (1.0 / others + doubt)
                mean = (mean * own + outside * outer) / (own + outer)
                error = 1.0 / (own + outer)
        excess = sign * (mean - v) - bias
        error = hope * math.sqrt(error)
        if m == problem.truest:
            # A run must not be caught with one arm at the truest fidelity and the other at a cheap
            # one because the truest once looked bad: its mean stays open longer than the others'.
            error *= 1.0 + params.trust * math.log1p(0.05 * n)
        square = error * error * hope_square(excess / error)
        price = 2.0 * problem.cost[arm, m]
        rate = square / ((spread + linear * math.sqrt(square)) * price)
        if rate > best:
            best, chosen = rate, m
        if excess > 0.0:
            rate = excess * excess / ((spread + linear * excess) * price)
            if rate > best_plain:
                best_plain, plain = rate, m
    return best, chosen, plain
