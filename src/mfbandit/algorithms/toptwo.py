"""The sampling rule of `mf-toptwo`: which arm to pull next, at which fidelity."""

from __future__ import annotations

import math
from typing import NamedTuple

from mfbandit.core import BERNOULLI, BOUNDED, GAUSSIAN, Arrays, State
from mfbandit.kernel import kernel

#: What is remembered per arm, in `State.memory`.
CENTRE, BELOW, ABOVE, SPENT, SPLIT, CHECK, EVIDENCE, MEAN, PRECISION, PER_ARM = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9


class TopTwoParams(NamedTuple):
    threshold: float
    epsilon: float
    evidence: int
    batch: int
    optimism: float
    forced: float
    grow: float
    part: float
    check: float
    explore: float
    logw: float
    mode: float
    tau: float
    bvar: float
    fade: float


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
def radius(problem: Arrays, spread: float, n: float, width: float) -> float:
    """How far a stream's mean is taken to be from its estimate when it is looked at with optimism."""
    wide = math.sqrt(spread * width / n)
    return wide if problem.kind == GAUSSIAN else wide + 0.2 * width / n


@kernel
def refresh(problem: Arrays, state: State, arm: int, width: float, bvar: float) -> None:
    """Compute an arm's estimated truth, the range it may lie in, and what was spent on it."""
    low, high = -math.inf, math.inf
    weights, centre, spent = 0.0, 0.0, 0.0
    for m in range(problem.cost.shape[1]):
        n = float(state.pulls[arm, m])
        if n == 0.0:
            continue
        total, bias = state.sums[arm, m], problem.bias[arm, m]
        p = total / n
        spread = variance(problem, n, total, state.squares[arm, m])
        reach = bias + radius(problem, spread, n, width)
        low, high = max(low, p - reach), min(high, p + reach)
        weight = 1.0 / (spread / n + bias * bias * bvar)
        weights += weight
        centre += weight * p
        spent += n * problem.cost[arm, m]
    centre = centre / weights if weights > 0.0 else 0.5
    state.memory[arm * PER_ARM + MEAN] = centre
    state.memory[arm * PER_ARM + PRECISION] = weights
    if low <= high:
        centre = min(max(centre, low), high)
    low, high = min(low, centre), max(high, centre)
    at = arm * PER_ARM
    state.memory[at + CENTRE] = centre
    state.memory[at + BELOW] = low
    state.memory[at + ABOVE] = high
    state.memory[at + SPENT] = spent


@kernel
def pressure(problem: Arrays, state: State, arm: int, sign: float, v: float) -> tuple[float, float, float]:
    """Pull of an arm's streams on v, its slope, and the evidence of the streams against v.

    `sign` is +1 for the arm that should lie above v, -1 for the one below.
    """
    kappa = 0.35 if problem.kind == BOUNDED else 0.0
    force, slope, value = 0.0, 0.0, 0.0
    for m in range(problem.cost.shape[1]):
        n = float(state.pulls[arm, m])
        if n == 0.0:
            continue
        total = state.sums[arm, m]
        excess = sign * (total / n - v) - problem.bias[arm, m]
        if excess > 0.0:
            spread = variance(problem, n, total, state.squares[arm, m])
            scale = spread + kappa * excess
            force += n * excess / scale
            slope += n * spread / (scale * scale)
            value += 0.5 * n * excess * excess / scale
    return force, slope, value


@kernel
def split(problem: Arrays, epsilon: float, state: State, leader: int, rival: int) -> tuple[float, float]:
    """The v where the evidence for leader > v > rival is smallest, and that evidence."""
    top = state.memory[leader * PER_ARM + CENTRE] + epsilon
    bottom = state.memory[rival * PER_ARM + CENTRE]
    middle = 0.5 * (top + bottom)
    low, high = min(top, bottom) - 1.0, max(top, bottom) + 1.0
    v = state.memory[rival * PER_ARM + SPLIT]
    if not low < v < high:
        v = middle
    value = 0.0
    for _ in range(40):
        down, down_slope, above = pressure(problem, state, leader, 1.0, v - epsilon)
        up, up_slope, below = pressure(problem, state, rival, -1.0, v)
        value = above + below
        slack = 0.001 * (v - middle) - down + up
        if slack > 0.0:
            high = v
        else:
            low = v
        move = v - slack / (0.001 + down_slope + up_slope)
        if not low < move < high:
            move = 0.5 * (low + high)
        done = abs(move - v) <= 1e-6 * (1.0 + abs(v)) * 1e-1
        v = move
        if done:
            break
    state.memory[rival * PER_ARM + SPLIT] = v
    return v, value


@kernel
def promise(
    problem: Arrays, state: State, arm: int, sign: float, v: float, width: float
) -> tuple[float, int]:
    """The most information per cost that an arm may give against v, and the fidelity that gives it."""
    kappa = 0.35 if problem.kind == BOUNDED else 0.0
    start = problem.sigma * problem.sigma
    edge = state.memory[arm * PER_ARM + (ABOVE if sign > 0.0 else BELOW)]
    best, chosen = 0.0, problem.truest
    for m in range(problem.cost.shape[1]):
        n = float(state.pulls[arm, m])
        bias = problem.bias[arm, m]
        # The mean of the stream lies at most its bias beyond the edge of the arm's range.
        excess = sign * (edge - v)
        spread = start
        if n > 0.0:
            total = state.sums[arm, m]
            spread = variance(problem, n, total, state.squares[arm, m])
            hopeful = total / n + sign * radius(problem, spread, n, width)
            excess = min(excess, sign * (hopeful - v) - bias)
        if excess > 0.0:
            rate = excess * excess / (2.0 * (spread + kappa * excess) * problem.cost[arm, m])
            if rate > best:
                best, chosen = rate, m
    return best, chosen


@kernel
def hope(z: float) -> float:
    """The mean of (z + N)^2 over z + N > 0, for a standard normal N (nearly)."""
    if z > 6.0:
        return z * z + 1.0
    if z < -6.0:
        return 0.0
    above = 1.0 / (1.0 + math.exp(-z * (1.5976 + 0.07056 * z * z)))
    return max(0.0, (z * z + 1.0) * above + z * 0.3989422804 * math.exp(-0.5 * z * z))


@kernel
def promise2(
    problem: Arrays, state: State, arm: int, sign: float, v: float, mode: float, optimism: float, bvar: float
) -> tuple[float, int]:
    """The most information per cost that an arm may give against v, and the fidelity that gives it."""
    kappa = 0.35 if problem.kind == BOUNDED else 0.0
    start = problem.sigma * problem.sigma
    centre = state.memory[arm * PER_ARM + MEAN]
    weights = state.memory[arm * PER_ARM + PRECISION]
    best, chosen = 0.0, problem.truest
    for m in range(problem.cost.shape[1]):
        n = float(state.pulls[arm, m])
        bias = problem.bias[arm, m]
        spread = start
        if n > 0.0:
            total = state.sums[arm, m]
            p = total / n
            spread = variance(problem, n, total, state.squares[arm, m])
            own = n / spread
            weight = 1.0 / (spread / n + bias * bias * bvar)
            others = weights - weight
            if others > 1e-9 * weights:
                outside = (centre * weights - weight * p) / others
                outer = 1.0 / (1.0 / others + bias * bias * bvar)
                middle = (p * own + outside * outer) / (own + outer)
                error = 1.0 / (own + outer)
            else:
                middle, error = p, 1.0 / own
        else:
            middle, error = centre, 1.0 / weights + bias * bias * bvar
        error = optimism * math.sqrt(error) + 1e-12
        excess = sign * (middle - v) - bias
        if mode == 1.0:
            square = max(0.0, excess + error) ** 2
        else:
            square = error * error * hope(excess / error)
        if square > 0.0:
            rate = square / (2.0 * (spread + kappa * math.sqrt(square)) * problem.cost[arm, m])
            if rate > best:
                best, chosen = rate, m
    return best, chosen


@kernel
def promising(
    problem: Arrays, params: TopTwoParams, state: State, arm: int, sign: float, v: float, value: float
) -> tuple[float, int]:
    return promise2(problem, state, arm, sign, v, params.mode, params.tau * math.sqrt(max(0.05, 1.0 - params.fade * value / (params.threshold + 4.0))), params.bvar)
