"""The pair certificate: a proven infimum over v of the evidence that one arm beats another.

An arm b is beaten by a once log W_(a,b)(v) of `mfbandit.confidence.pair._mixture` is at least
log((K - 1) / delta) for *every* v, or log E_b(v) is at least log(1 / delta). A numerical search that misses
the minimum would break that proof, so the infimum is proven. W and E are increasing in every likelihood ratio,
and `mfbandit.confidence.pair._likelihood_levels` bounds each of them from below on a whole cell of v; hence
`log_evidence` on [low, high] is a lower bound on that cell, and exact where low = high. `prove` first
searches for a v that refutes the claim; if it finds none it covers the line with cells, cutting those whose
bound is too low, until all pass. Rewards in [0, 1] need v in [0, 1] only; for Gaussian rewards the two
outermost cells are unbounded, and their bound rests on the fallback level, which is constant on one side and
grows on the other.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from mfbandit.confidence.pair._leaders import Leaders
from mfbandit.confidence.pair._likelihood_levels import EDGES, stretch
from mfbandit.confidence.pair._mixture import STACK, Active, Chosen, Hypothesis, PairScratch, Rewards, log_evidence
from mfbandit.core import GAUSSIAN, ROUNDS, Arrays, State, kernel

__all__ = [
    "OPEN",
    "PROVEN",
    "REFUTED",
    "Active",
    "Chosen",
    "Guess",
    "Hypothesis",
    "PairScratch",
    "Rewards",
    "Verdict",
    "infimum",
    "log_evidence",
    "prove",
]

#: Ratios are told apart up to this far above the target; beyond they are cut, which is safe.
_HEADROOM = 25.0
#: How far rounding may have raised a computed log W, at least: see `rounding`.
_ROUNDING = 1e-6
#: Units of the last place of a sum that its computation and that of a likelihood ratio may cost.
_PLACES = 64.0
#: Steps of the search, evaluations in all, halvings between two probes.
_SEARCH, _EVALUATIONS, _PROBE = 14, 2000, 4
#: Stages of the computed infimum. More than 750 is reported as 750: beyond any use and any float.
_STAGES = (20.0, 300.0, 750.0)
_MOST = 750.0

PROVEN, REFUTED, OPEN = 1, 0, -1
#: What `prove` is at: searching for a v that refutes, covering the line with cells, trying a point of a cell.
SEARCH, COVER, PROBE = 0, 1, 2


class Verdict(NamedTuple):
    """What became of a claim."""

    status: int
    """PROVEN, REFUTED by a v, or OPEN (too close to tell)."""
    lowest_at: float
    """The v at which the search has ended."""
    shortfall: float
    """How far below the target the evidence is there, if the claim was refuted."""


class Guess(NamedTuple):
    """Where the search for a v that refutes begins; a bad guess makes it longer, never the proof wrong."""

    v: float
    step: float
    """How far its first step goes."""


@kernel
def rounding(problem: Arrays, state: State, hypothesis: Hypothesis, cap: float, leaders: Leaders) -> float:
    """How far rounding may have raised a log W that is to reach at most `cap`, in nats.

    Sums are compensated, so they and l S - n log(.) are off by a few last places of n. The sums of active rewards
    and of leaders add up differences of sums, and may lose one more place in each round. For Gaussian rewards an
    effect t that matters has n t^2 / 2 <= cap, which is why only the square root of n counts, times the means in
    sigmas.
    """
    pulls, size, led = 0.0, 1.0, hypothesis.leader_share > 0.0
    for place in range(2 + leaders.known[0] if led else 2):
        arm = hypothesis.better if place == 0 else hypothesis.worse
        if place >= 2:
            arm = leaders.arm[place - 2]
        for m in range(problem.cost.shape[1]):
            n, total = float(state.pulls[arm, m]), float(state.sums[arm, m])
            if place >= 2:
                n, total = float(leaders.pulls[place - 2, m]), float(leaders.sums[place - 2, m])
            if n > 0.0:
                pulls += n
                size = max(size, (abs(total) / n + problem.bias[arm, m]) / problem.sigma)
    places = _PLACES + float(state.clock[ROUNDS]) if led or problem.cost.shape[1] > 1 else _PLACES
    scale = math.sqrt(2.0 * pulls * cap) * size if problem.reward_code == GAUSSIAN else pulls
    return max(_ROUNDING, places * scale * 2.0**-53)


@kernel
def prove(
    problem: Arrays,
    hypothesis: Hypothesis,
    state: State,
    target: float,
    guess: Guess,
    chosen: Chosen,
    scratch: PairScratch,
) -> Verdict:
    """Whether log W(v) >= target for all v; statistics of `chosen` rewards, and room to work in."""
    stack, gaussian, step = scratch.stack, problem.reward_code == GAUSSIAN, guess.step
    if not gaussian and hypothesis.epsilon > 1.0:
        return Verdict(PROVEN, guess.v, 0.0)
    cap = max(target, 0.0) + _HEADROOM
    least = target + rounding(problem, state, hypothesis, cap, chosen.leaders)
    left, right = (-math.inf, math.inf) if gaussian else (hypothesis.epsilon, 1.0)
    centre = min(max(guess.v, left), right)
    lowest, direction, failed = math.inf, 1.0, 0
    low, high = centre, centre
    mode, left_to_search, depth = SEARCH, _SEARCH, 0
    start, end = left, right
    # Not the whole state: what every level of calls hands on makes compiling slow.
    rewards = Rewards(Active(state.pulls, state.sums, state.squares), chosen.active, chosen.leaders)
    for _ in range(_EVALUATIONS):
        # One call for search, probes and cells alike: compiling it several times would take long.
        value = log_evidence(problem, hypothesis, low, high, cap, rewards, scratch)
        if mode != COVER and value < least:
            return Verdict(REFUTED, low, least - value)
        if mode == SEARCH:
            left_to_search -= 1
            if value < lowest:
                lowest, centre, failed = value, low, 0
            else:
                failed += 1
                direction = -direction
                if failed == 2:
                    step, failed = 0.4 * step, 0
            low = min(max(centre + direction * step, left), right)
            high = low
            if left_to_search == 0:
                low, high, mode = left, right, COVER
                stack[0] = right
                depth = 1
        elif mode == PROBE:
            low, high, mode = start, end, COVER
        elif value >= least:
            depth -= 1
            if depth == 0:
                return Verdict(PROVEN, centre, 0.0)
            low, high = high, stack[depth - 1]
        else:
            middle = unbounded_cut(low, high, centre, step) if gaussian else cut(low, high)
            if depth >= STACK or not low < middle < high:
                return Verdict(OPEN, centre, 0.0)
            stack[depth] = middle
            depth += 1
            start, end = low, middle
            low, high = start, end
            # Now and then look at a point of a cell that does not pass: it may refute, and save the rest.
            if depth % _PROBE == 0:
                low, high, mode = middle, middle, PROBE
    return Verdict(OPEN, centre, 0.0)


@kernel
def unbounded_cut(low: float, high: float, centre: float, step: float) -> float:
    """Where to cut a cell: in the middle, and if it is unbounded at twice its reach from the centre."""
    if low == -math.inf and high == math.inf:
        return centre
    if low == -math.inf:
        return centre - max(step, 2.0 * (centre - high))
    if high == math.inf:
        return centre + max(step, 2.0 * (low - centre))
    return 0.5 * (low + high)


@kernel
def cut(low: float, high: float) -> float:
    """Where to cut a cell in [0, 1]: between two stretches, and within one in the middle."""
    first, last = stretch(low, False), stretch(high, True)
    if first >= last:
        return 0.5 * (low + high)
    # The edge nearest to the middle by value, not by number: most stretches are tiny.
    return EDGES[min(max(stretch(0.5 * (low + high), False), first + 1), last)]


@kernel
def infimum(
    problem: Arrays,
    hypothesis: Hypothesis,
    state: State,
    guess: Guess,
    tolerance: float,
    chosen: Chosen,
    scratch: PairScratch,
) -> float:
    """A proven lower bound of inf_v log W(v), tight to about `tolerance`, at most 750.

    Where that is below 0, so that nothing speaks for the claim, the answer is -inf.
    Targets rise in stages, since a value far below its target is too small for a floating-point number.
    """
    proven = -math.inf
    for stage in _STAGES:
        target, slack = stage, tolerance
        for _ in range(100):
            verdict = prove(problem, hypothesis, state, target, guess, chosen, scratch)
            if verdict.status == PROVEN:
                break
            guess = Guess(verdict.lowest_at, guess.step)
            if verdict.status == REFUTED:
                target -= min(verdict.shortfall, _MOST) + tolerance
            else:
                target -= slack
                slack *= 2.0
            if target < 0.0:
                return proven
        if verdict.status != PROVEN:
            return proven
        proven = max(proven, target)
        if target < stage:
            return proven
    return proven
