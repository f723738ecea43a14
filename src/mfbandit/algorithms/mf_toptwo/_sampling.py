"""The sampling rule of `mf-toptwo`: what the arms look like, and where the next pull tells most.

None of this bears on correctness, which rests on `mfbandit.confidence.pair._mixture` alone; it decides what an
answer costs. Every estimate is a plain function of the statistics so far.
"""

from __future__ import annotations

import math

from mfbandit.algorithms._parts import put
from mfbandit.algorithms.mf_toptwo._tuning import TopTwoParams
from mfbandit.confidence import truth, variance
from mfbandit.core import BOUNDED, GAUSSIAN, Arrays, Ints, State, kernel

__all__ = [
    "best_information_rate",
    "cheap_hope",
    "leader_information_rate",
    "refresh",
    "split",
    "start",
    "truest_widening",
]

#: A spring that keeps v defined where no stream says anything.
_SPRING = 1e-3


@kernel
def first_fidelity(problem: Arrays, arm: int) -> int:
    """The fidelity at which the first pull of an arm tells most about its truth for its cost."""
    chosen, least = 0, math.inf
    for m in range(problem.cost.shape[1]):
        bias = problem.bias[arm, m]
        price = problem.cost[arm, m] * (problem.sigma * problem.sigma + bias * bias)
        if price < least:
            chosen, least = m, price
    return chosen


@kernel
def start(problem: Arrays, state: State, out: Ints) -> int:
    """Pull every arm once that was never pulled; nothing else is forced at the beginning."""
    rows = 0
    for k in range(problem.cost.shape[0]):
        pulls = 0
        for m in range(problem.cost.shape[1]):
            pulls += state.pulls[k, m]
        if pulls == 0:
            rows = put(out, rows, k, first_fidelity(problem, k), 1)
    return rows


@kernel
def variance_slope(problem: Arrays, params: TopTwoParams, sign: float, mean: float) -> float:
    """By how much the variance that decides a stream's information grows with its excess.

    The divergence of 0/1 rewards from mean p to mean q is nearly (p - q)^2 / 2 V, with the variance V of a mean
    two thirds of the way to q. Near 0 and 1 that is far from the one at p, on either side. Other rewards in [0, 1]
    may have next to no variance, and give no more evidence than the variance-adaptive ratio can show.
    """
    if problem.reward_code == GAUSSIAN:
        return 0.0
    if problem.reward_code == BOUNDED:
        return params.linear * (mean if sign > 0.0 else 1.0 - mean)
    return sign * (2.0 * mean - 1.0) * 2.0 / 3.0


@kernel
def refresh(problem: Arrays, bias_variance: float, state: State, arm: int) -> None:
    """Remember an arm's estimated truth, its precision and its cost."""
    centre, weights, noise, spent = truth(problem, bias_variance, state, arm)
    state.own.centre[arm] = centre
    state.own.precision[arm] = weights
    state.own.noise[arm] = noise
    state.own.spent[arm] = spent


@kernel
def split(problem: Arrays, params: TopTwoParams, state: State, leader: int, rival: int) -> None:
    """Find the v where the evidence for "leader > v > rival" is least; remember v and the evidence.

    The evidence of a stream whose mean is e beyond its bias from v is about n e^2 / 2 V, where V grows with e
    (see `variance_slope`) but is never under a third of the variance. The sum is convex in v: Newton's steps, kept
    between the ends of a bracket, find its minimum.
    """
    epsilon = params.epsilon
    top = state.own.centre[leader] + epsilon
    bottom = state.own.centre[rival]
    middle = 0.5 * (top + bottom)
    low, high = min(top, bottom) - problem.sigma, max(top, bottom) + problem.sigma
    v = state.own.split[rival]
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
                    linear = max(variance_slope(problem, params, sign, total / n), -2.0 * spread / (3.0 * excess))
                    scale = spread + linear * excess
                    force -= sign * n * excess * (spread + 0.5 * linear * excess) / (scale * scale)
                    slope += n * spread * spread / (scale * scale * scale)
                    value += 0.5 * n * excess * excess / scale
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
    state.own.split[rival] = v
    state.own.value[rival] = value


@kernel
def optimistic_square(z: float) -> float:
    """The mean of (z + N)^2 over z + N > 0 for a standard normal N, nearly."""
    if z > 5.0:
        return z * z + 1.0
    if z < -5.0:
        return 0.0
    # A logistic curve that is within 0.0002 of the normal distribution function.
    above = 1.0 / (1.0 + math.exp(-z * (1.5976 + 0.07056 * z * z)))
    return max(0.0, (z * z + 1.0) * above + 0.3989422804 * z * math.exp(-0.5 * z * z))


@kernel
def stream_estimate(
    problem: Arrays, params: TopTwoParams, state: State, arm: int, m: int
) -> tuple[float, float, float]:
    """What is known of a stream: its mean, that estimate's standard error, and the variance of its rewards.

    The mean is estimated from the stream's own rewards and from the arm's other streams together.
    """
    centre = state.own.centre[arm]
    weights = state.own.precision[arm]
    n, bias = float(state.pulls[arm, m]), problem.bias[arm, m]
    bias_variance = params.bias_variance * bias * bias
    if n == 0.0:
        return centre, math.sqrt(1.0 / weights + bias_variance), problem.sigma * problem.sigma
    total = state.sums[arm, m]
    spread = variance(problem, n, total, state.squares[arm, m])
    own = n / spread
    weight = 1.0 / (1.0 / own + bias_variance)
    others = weights - weight
    mean, precision = total / n, own
    if others > 1e-9 * weights:
        outside = (centre * weights - weight * mean) / others
        outer = 1.0 / (1.0 / others + bias_variance)
        precision = own + outer
        mean = (mean * own + outside * outer) / precision
    return mean, math.sqrt(1.0 / precision), spread


@kernel
def truest_widening(problem: Arrays, params: TopTwoParams, state: State, leader: int, rival: int) -> float:
    """How many times more standard errors count as possible at the truest fidelity than at others.

    A run must not be caught with one arm at the truest fidelity and the other at a cheap one because the
    truest once looked bad: the more was spent on a pair, the longer its truest means stay open, up to a point.
    """
    spent = state.own.spent[leader] + state.own.spent[rival]
    cost = problem.cost[leader, problem.truest] + problem.cost[rival, problem.truest]
    return min(params.openest, 1.0 + params.truest_optimism * math.log1p(spent / (cost * params.onset)))


@kernel
def cheap_hope(problem: Arrays, params: TopTwoParams, state: State, rival: int) -> float:
    """How much of the optimism is left at cheap fidelities.

    After a few pulls a first impression says little, and a fidelity that is cheap is worth another look. Later, those
    that still might tell the two arms apart, but do not seem to, would be looked at for as long as the run lasts: their
    means are hardly known better than the gap that is looked for. What counts is spent on the rival: among many arms
    the leader has had most of all, and says little of how well the rival's fidelities are known.
    """
    unit = problem.cost[rival, problem.truest] * params.fading_onset
    return max(params.least_hope, 1.0 - params.fading * math.log1p(state.own.spent[rival] / unit))


@kernel
def information_rates(
    linear: float, excess: float, error: float, wider: float, spread: float, cost: float
) -> tuple[float, float]:
    """Information per cost of a stream whose mean is `excess` beyond its bias from v, give or take `error`.

    Returned: the mean of e^2 / 2 V over what the excess e may be, `wider` times further than `error` says, so that
    little-known streams get their chance, and what it is if the estimate is exact. V is `spread`, plus `linear` (see
    `variance_slope`) times e.
    """
    reach = wider * error
    square = reach * reach * optimistic_square(excess / reach)
    some = max(0.0, excess)
    optimistic = square / (max(spread + linear * (some + error), spread / 3.0) * 2.0 * cost)
    plain = some * some / (max(spread + linear * some, spread / 3.0) * 2.0 * cost)
    return optimistic, plain


@kernel
def is_good(problem: Arrays, params: TopTwoParams, fidelity: int, gives: float, best: float) -> bool:
    """Whether a fidelity is good without optimism, by what it and the best one give; the truest one always is.

    In studies that began with the first weights it is only where it gives enough, or none gives any.
    """
    if fidelity == problem.truest and (params.weights > 1 or best <= 0.0):
        return True
    return bool(gives >= params.good * best and best > 0.0)


@kernel
def best_information_rate(
    problem: Arrays,
    params: TopTwoParams,
    state: State,
    arm: int,
    sign: float,
    v: float,
    optimism: float,
    cheap: float,
    truest: float,
) -> tuple[float, int, bool]:
    """Where an arm is expected to give most information per cost against v: how much, and the fidelity.

    `optimism` standard errors of a stream's mean count as possible, `truest` times as many at the truest fidelity and
    `cheap` times as many at others. Returned with it: whether that fidelity is a good one without any optimism (so that
    its rewards are to be *active*). Where nothing can tell, it is the truest one.
    """
    best, chosen, best_plain, plain = 0.0, problem.truest, 0.0, 0.0
    for m in range(problem.cost.shape[1]):
        mean, error, spread = stream_estimate(problem, params, state, arm, m)
        excess = sign * (mean - v) - problem.bias[arm, m]
        wider = truest if m == problem.truest else cheap
        linear = variance_slope(problem, params, sign, mean)
        optimistic, exact = information_rates(linear, excess, optimism * error, wider, spread, problem.cost[arm, m])
        best_plain = max(best_plain, exact)
        if optimistic > best:
            best, chosen, plain = optimistic, m, exact
    return best, chosen, is_good(problem, params, chosen, plain, best_plain)


@kernel
def leader_information_rate(
    problem: Arrays, params: TopTwoParams, state: State, leader: int, cheap: float, truest: float
) -> tuple[int, bool]:
    """The fidelity at which the leader gives most against all rivals together, and whether to be *active*.

    Information against a rival counts as a part of what the rival itself would give for the same cost, times
    the weight of that pair. `cheap` and `truest` are as for `best_information_rate`.
    """
    own = state.own
    best, chosen, best_plain, plain = 0.0, problem.truest, 0.0, 0.0
    for m in range(problem.cost.shape[1]):
        mean, error, spread = stream_estimate(problem, params, state, leader, m)
        wider = truest if m == problem.truest else cheap
        linear = variance_slope(problem, params, 1.0, mean)
        optimistic, exact = 0.0, 0.0
        for place in range(own.racers[0]):
            b = own.race[place]
            weight = own.weight[b]
            if weight > 0.0:
                excess = mean - own.split[b] + params.epsilon - problem.bias[leader, m]
                more, surely = information_rates(
                    linear, excess, params.optimism * error, wider, spread, problem.cost[leader, m]
                )
                optimistic += weight * more
                exact += weight * surely
        best_plain = max(best_plain, exact)
        if optimistic > best:
            best, chosen, plain = optimistic, m, exact
    return chosen, is_good(problem, params, chosen, plain, best_plain)
