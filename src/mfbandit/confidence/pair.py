"""Evidence that one arm is better than another, from all their fidelities, with a proven infimum."""

from __future__ import annotations

import math

from mfbandit.confidence.levels import FALLBACK, LEVELS, WIDTH, cost_octave, stream_levels
from mfbandit.core import GAUSSIAN, Arrays, Floats, State
from mfbandit.kernel import kernel

__all__ = ["log_evidence", "pair_scratch", "prove"]

#: Prior of the levels, proportional to 1 / (i + 6), and of the fallback.
_FALLBACK_PRIOR = 0.05
_HARMONIC = sum(1.0 / (i + 6.0) for i in range(LEVELS))
_PRIOR = tuple((1.0 - _FALLBACK_PRIOR) / (i + 6.0) / _HARMONIC for i in range(LEVELS))
#: The two arms' levels differ by d with prior proportional to _NEAR^|d|, of total 1 over all integers.
_NEAR = 0.55
_OFFSET_PRIOR = (1.0 - _NEAR) / (1.0 + _NEAR)
#: How much a fidelity that does not carry the gap may help.
_HELP = 0.3
#: How much above the threshold a ratio is still told apart from a larger one.
_HEADROOM = 25.0
#: How far rounding may have raised a computed log W, up to a billion pulls.
_ROUNDING = 1e-6
_TRUEST, _CARRIED, _ACTIVE = 0.35, 0.25, 0.4
_INTERVALS = 400
_STACK = 64

PROVEN, REFUTED, OPEN = 1, 0, -1


def pair_scratch(fidelities: int) -> int:
    """How many numbers of scratch space the kernels of this file need."""
    return 6 * WIDTH + fidelities * WIDTH + fidelities + 2 * _STACK


@kernel
def arm_levels(
    problem: Arrays,
    evidence: int,
    state: State,
    arm: int,
    worse: bool,
    epsilon: float,
    low: float,
    high: float,
    cap: float,
    work: Floats,
    own: int,
    at: int,
    to: int,
) -> None:
    """Write T_k and X_k, level by level, at their smallest over low <= v <= high, times e^(-3 cap / 4)."""
    fidelities = problem.cost.shape[1]
    scale = 0.375 * cap
    streams = at + 6 * WIDTH
    helps = streams + fidelities * WIDTH
    unit = math.exp(-scale)
    helped = 0.0
    for m in range(fidelities):
        row = streams + m * WIDTH
        n = float(state.pulls[arm, m])
        work[helps + m] = 0.0
        if n == 0.0:
            for i in range(WIDTH):
                work[row + i] = unit
            continue
        total, squared, bias = state.sums[arm, m], state.squares[arm, m], problem.bias[arm, m]
        octave = cost_octave(problem.cost[arm, m], problem.cost[arm, problem.truest])
        if not worse:
            q_low, q_high = low - epsilon + bias, high - epsilon + bias
        elif problem.kind == GAUSSIAN:
            total = -total
            q_low, q_high = bias - high, bias - low
        else:
            squared = n - 2.0 * total + squared
            total = n - total
            q_low, q_high = 1.0 - high + bias, 1.0 - low + bias
        stream_levels(
            evidence, n, total, squared, q_low, q_high, octave, problem.sigma, cap, scale, work, row
        )
        if fidelities > 1:
            mixed = _FALLBACK_PRIOR * work[row + FALLBACK]
            for i in range(LEVELS):
                mixed += _PRIOR[i] * work[row + i]
            work[helps + m] = math.log((1.0 - _HELP) * unit + _HELP * mixed) + scale
            helped += work[helps + m]
    top = streams + problem.truest * WIDTH
    most = math.exp(cap - 2.0 * scale)
    for i in range(WIDTH):
        work[to + i] = work[top + i] * unit
        work[to + WIDTH + i] = 0.0
    if fidelities > 1:
        for m in range(fidelities):
            row = streams + m * WIDTH
            weight = math.exp(min(helped - work[helps + m], cap) - scale) / fidelities
            for i in range(WIDTH):
                work[to + WIDTH + i] += weight * work[row + i]
        for i in range(WIDTH):
            work[to + WIDTH + i] = min(most, work[to + WIDTH + i])
            work[to + 2 * WIDTH + i] = unit * unit
        for m in range(fidelities):
            row = streams + m * WIDTH
            place = own + 3 * (arm * fidelities + m)
            n = work[place]
            if n == 0.0:
                continue
            if n < state.pulls[arm, m]:
                total, squared, bias = work[place + 1], work[place + 2], problem.bias[arm, m]
                octave = cost_octave(problem.cost[arm, m], problem.cost[arm, problem.truest])
                if not worse:
                    q_low, q_high = low - epsilon + bias, high - epsilon + bias
                elif problem.kind == GAUSSIAN:
                    total = -total
                    q_low, q_high = bias - high, bias - low
                else:
                    squared = n - 2.0 * total + squared
                    total = n - total
                    q_low, q_high = 1.0 - high + bias, 1.0 - low + bias
                stream_levels(
                    evidence, n, total, squared, q_low, q_high, octave, problem.sigma, cap, scale, work, row
                )
            for i in range(WIDTH):
                work[to + 2 * WIDTH + i] = min(most, work[to + 2 * WIDTH + i] * work[row + i] * math.exp(scale))


@kernel
def mixed_levels(work: Floats, better: int, worse: int) -> float:
    """The sum over levels i and offsets d of pi_i rho_d better[i] worse[i + d], fallback included."""
    value = 0.0
    carried = 0.0
    # The offset prior is geometric on both sides, so one pass up and one pass down give all sums.
    for i in range(LEVELS):
        carried = _NEAR * carried + work[worse + i]
        value += _PRIOR[i] * work[better + i] * carried
    carried = 0.0
    for i in range(LEVELS - 1, -1, -1):
        value += _PRIOR[i] * work[better + i] * _NEAR * carried
        carried = _NEAR * carried + work[worse + i]
    return _OFFSET_PRIOR * value + _FALLBACK_PRIOR * work[better + FALLBACK] * work[worse + FALLBACK]


@kernel
def log_evidence(
    problem: Arrays,
    evidence: int,
    epsilon: float,
    state: State,
    better: int,
    worse: int,
    low: float,
    high: float,
    cap: float,
    work: Floats,
    own: int,
    at: int,
) -> float:
    """A lower bound of log W(v) for low <= v <= high, exact where low = high (ratios cut at e^cap)."""
    arm_levels(problem, evidence, state, better, False, epsilon, low, high, cap, work, own, at, at)
    arm_levels(
        problem, evidence, state, worse, True, epsilon, low, high, cap, work, own, at, at + 3 * WIDTH
    )
    value = mixed_levels(work, at, at + 3 * WIDTH)
    if problem.cost.shape[1] > 1:
        value = (
            _TRUEST * value
            + _CARRIED * mixed_levels(work, at + WIDTH, at + 4 * WIDTH)
            + _ACTIVE * mixed_levels(work, at + 2 * WIDTH, at + 5 * WIDTH)
        )
    return math.log(value) + 1.5 * cap if value > 0.0 else -math.inf


@kernel
def prove(
    problem: Arrays,
    evidence: int,
    epsilon: float,
    state: State,
    better: int,
    worse: int,
    target: float,
    guess: float,
    step: float,
    work: Floats,
    own: int,
    at: int,
    found: Floats,
    place: int,
) -> int:
    """Whether log W(v) >= target for all v: PROVEN, REFUTED, or OPEN."""
    cap = target + _HEADROOM
    least = target + _ROUNDING
    # Search downhill from the guess: most calls end here, with a v that refutes.
    centre = guess
    lowest = log_evidence(
        problem, evidence, epsilon, state, better, worse, centre, centre, cap, work, own, at
    )
    if lowest < least:
        found[place] = centre
        return REFUTED
    for _ in range(12):
        moved = False
        for side in (-1.0, 1.0):
            v = centre + side * step
            if problem.kind != GAUSSIAN and (v < epsilon or v > 1.0):
                continue
            value = log_evidence(problem, evidence, epsilon, state, better, worse, v, v, cap, work, own, at)
            if value < lowest:
                centre, lowest, moved = v, value, True
                if value < least:
                    found[place] = v
                    return REFUTED
                break
        if not moved:
            step *= 0.4
    found[place] = centre
    low, high = epsilon, 1.0
    if problem.kind == GAUSSIAN:
        low, high = centre - step, centre + step
        reach = step
        while not (
            log_evidence(
                problem, evidence, epsilon, state, better, worse, high, math.inf, cap, work, own, at
            )
            >= least
        ):
            reach *= 2.0
            high = centre + reach
            if reach > 1e200:
                return OPEN
        reach = step
        while not (
            log_evidence(
                problem, evidence, epsilon, state, better, worse, -math.inf, low, cap, work, own, at
            )
            >= least
        ):
            reach *= 2.0
            low = centre - reach
            if reach > 1e200:
                return OPEN
    return OPEN if not covers(
        problem, evidence, epsilon, state, better, worse, low, high, cap, least, work, own, at
    ) else PROVEN


@kernel
def covers(
    problem: Arrays,
    evidence: int,
    epsilon: float,
    state: State,
    better: int,
    worse: int,
    low: float,
    high: float,
    cap: float,
    least: float,
    work: Floats,
    own: int,
    at: int,
) -> bool:
    """Whether lower bounds on ever smaller cells prove log W(v) >= least for low <= v <= high."""
    stack = at + pair_cells(problem.cost.shape[1])
    depth = 0
    end = high
    # Cells that wait are to the right of this one, so only their right ends need to be remembered.
    work[stack] = high
    depth = 1
    for _ in range(_INTERVALS):
        end = work[stack + depth - 1]
        value = log_evidence(
            problem, evidence, epsilon, state, better, worse, low, end, cap, work, own, at
        )
        if value >= least:
            low = end
            depth -= 1
            if depth == 0:
                return True
            continue
        middle = 0.5 * (low + end)
        if depth >= _STACK or not low < middle < end:
            return False
        work[stack + depth] = middle
        depth += 1
    return False


@kernel
def pair_cells(fidelities: int) -> int:
    """Where the stack of cells starts in the scratch space."""
    return 6 * WIDTH + fidelities * WIDTH + fidelities
