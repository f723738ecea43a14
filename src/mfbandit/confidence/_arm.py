"""Evidence on one arm from all its fidelities, and an interval for its true mean.

If the true mean of arm k is at most v, the mean at fidelity m is at most v + zeta_(k,m). Hence
E_k(<= v) = prod_m [(1-w) + w e_(k,m)(<= v + zeta_(k,m))], w = 1/M, is an e-process: a pull moves one
factor, and that is linear in an e-process. It adds up the evidence of all fidelities; a fidelity that
says nothing costs at most log(M / (M-1)). E_k(>= v) is the same with v - zeta_(k,m).

The interval is the set of v that neither of the two refutes at alpha/2. It holds at all times at once
with probability 1 - alpha. Both logarithms are convex in v (kl, normal and Bernstein evidence are, and
mixing with a constant keeps it), which makes chords and their extensions bracket the ends from both
sides; what is returned is the outer end of the bracket.

The kernels have slots for a process: ``bind(arm_interval, **process_kernels("mixed"))``.
"""

from __future__ import annotations

import math

from mfbandit.confidence.processes._stream_sums import above, below, log_e_above, log_e_below, sums_of
from mfbandit.core import GAUSSIAN, Arrays, State, kernel

__all__ = ["arm_interval", "arm_log_e_above", "arm_log_e_below"]

_LOG_2 = math.log(2.0)
#: The bracket at least halves in two evaluations, so this many end it for any floats.
_STEPS = 100
#: The bracket is done when it is this small against the distance from the mean.
_PRECISION = 1e-10


@kernel
def hedge(log_e: float, weight: float) -> float:
    """log((1-w) + w e): what is left of evidence when only a share w of the stake is on it."""
    if weight >= 1.0:
        return log_e
    if log_e > 0.0:
        return log_e + math.log(weight + (1.0 - weight) * math.exp(-log_e))
    return math.log1p(weight * math.expm1(log_e))


@kernel
def towards(problem: Arrays, state: State, arm: int, side: float, v: float) -> float:
    """Log e-value that the true mean is not beyond v: below it (side -1) or above it (side +1)."""
    fidelities = problem.cost.shape[1]
    value = 0.0
    for m in range(fidelities):
        if state.pulls[arm, m] > 0:
            stream = sums_of(state, arm, m)
            q = v - side * problem.bias[arm, m]
            if side > 0.0:
                log_e = log_e_below(problem, stream, q)
            else:
                log_e = log_e_above(problem, stream, q)
            value += hedge(log_e, 1.0 / fidelities)
    return value


@kernel
def arm_log_e_above(problem: Arrays, state: State, arm: int, v: float) -> float:
    """Log e-value against "the true mean of the arm is <= v"."""
    return towards(problem, state, arm, -1.0, v)


@kernel
def arm_log_e_below(problem: Arrays, state: State, arm: int, v: float) -> float:
    """Log e-value against "the true mean of the arm is >= v"."""
    return towards(problem, state, arm, 1.0, v)


@kernel
def tighter(side: float, x: float, y: float) -> float:
    """The bound that says more: the lower one of two upper bounds, the higher one of two lower bounds."""
    return min(x, y) if side > 0.0 else max(x, y)


@kernel
def outer_start(problem: Arrays, state: State, arm: int, side: float, goal: float) -> float:
    """A bound by one fidelity alone, at a level at which it carries the whole product."""
    fidelities = problem.cost.shape[1]
    pulled = 0
    for m in range(fidelities):
        if state.pulls[arm, m] > 0:
            pulled += 1
    level = goal + math.log(fidelities)
    if fidelities > 1:
        level -= (pulled - 1) * math.log1p(-1.0 / fidelities)
    best = side * math.inf
    for m in range(fidelities):
        if state.pulls[arm, m] > 0:
            stream = sums_of(state, arm, m)
            if side > 0.0:
                bound = above(problem, level, stream)
            else:
                bound = below(problem, level, stream)
            best = tighter(side, best, bound + side * problem.bias[arm, m])
    return best


@kernel
def inner_start(problem: Arrays, state: State, arm: int, side: float) -> float:
    """A value that no fidelity's mean speaks against on this side."""
    best = side * math.inf
    for m in range(problem.cost.shape[1]):
        n = state.pulls[arm, m]
        if n > 0:
            best = tighter(side, best, state.sums[arm, m] / n + side * problem.bias[arm, m])
    return best


@kernel
def crossing(x: float, at_x: float, y: float, at_y: float, goal: float) -> float:
    """Where the line through two points has the value `goal`; x where it never has."""
    rise = at_y - at_x
    if not abs(rise) > 0.0 or not abs(rise) < math.inf:
        return x
    return x + (goal - at_x) / rise * (y - x)


@kernel
def arm_end(problem: Arrays, state: State, arm: int, side: float, goal: float) -> float:
    """One end of the interval: the outer end of a bracket around the v where the evidence is `goal`."""
    outer = outer_start(problem, state, arm, side, goal)
    inner = inner_start(problem, state, arm, side)
    at_outer = towards(problem, state, arm, side, outer)
    at_inner = towards(problem, state, arm, side, inner)
    if not (at_outer >= goal and at_inner < goal):
        return outer
    centre = inner
    for _ in range(_STEPS):
        gap = abs(outer - inner)
        if not gap > _PRECISION * abs(outer - centre):
            break
        # The evidence is convex: a chord between the ends crosses the goal on the inner side ...
        chord = crossing(inner, at_inner, outer, at_outer, goal)
        if not abs(chord - inner) > 0.0 or not abs(outer - chord) < gap:
            chord = 0.5 * (inner + outer)
        at_chord = towards(problem, state, arm, side, chord)
        # ... and the line through two points of the inner side crosses it on the outer side.
        tangent = crossing(inner, at_inner, chord, at_chord, goal)
        if at_chord < goal:
            inner, at_inner = chord, at_chord
        else:
            outer, at_outer = chord, at_chord
        if not 0.0 < side * (tangent - inner) < side * (outer - inner):
            tangent = 0.5 * (inner + outer)
        at_tangent = towards(problem, state, arm, side, tangent)
        if at_tangent >= goal:
            outer, at_outer = tangent, at_tangent
        else:
            inner, at_inner = tangent, at_tangent
        if abs(outer - inner) > 0.5 * gap:
            middle = 0.5 * (inner + outer)
            at_middle = towards(problem, state, arm, side, middle)
            if at_middle >= goal:
                outer, at_outer = middle, at_middle
            else:
                inner, at_inner = middle, at_middle
    return outer


@kernel
def arm_interval(problem: Arrays, state: State, arm: int, log_inverse_alpha: float) -> tuple[float, float]:
    """Interval for the true mean of an arm that holds at all times with probability 1 - alpha.

    In unit scale. Before the first pull it is [0, 1], or the whole line for Gaussian rewards.
    """
    goal = log_inverse_alpha + _LOG_2
    low, high = -math.inf, math.inf
    pulled = False
    for m in range(problem.cost.shape[1]):
        pulled = pulled or state.pulls[arm, m] > 0
    if pulled:
        low = arm_end(problem, state, arm, -1.0, goal)
        high = arm_end(problem, state, arm, 1.0, goal)
    if problem.reward_code != GAUSSIAN:
        low, high = min(1.0, max(0.0, low)), max(0.0, min(1.0, high))
    return low, high
