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

**Lines instead of cells.** Cells near the lowest v must be tiny when little is left to prove. But log W is convex in v
there. The log of a tilt, -n log(1 + q (e^l - 1)) up to a constant, is convex in q, a Gaussian ratio is linear, and
both fallbacks are convex, since they fall until q is the mean and are constant then. Sums and products of functions
whose logs are convex have convex logs, and W and E are made of nothing else, within one stretch, where octaves are the
same. So on a cell of one stretch that does not pass, a few values are enough (`mfbandit.confidence.pair._convex_line`).
They may lie beyond the cell, with the octaves of its stretch. Two things would make it wrong and are counted while
evidence is computed: a ratio that was cut, and a stream that can say nothing at one point (q >= 1) and something at
another. Then the cell is cut as before. The logs of variance-adaptive ratios are convex for most levels only; others
are set to their least on all points that may be asked for (`variance_levels`). So a point of such a line that is too
low refutes nothing, and its cell is cut.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from mfbandit.confidence.pair._convex_line import ABOVE, BELOW, UNKNOWN, next_line, point_of, start_line
from mfbandit.confidence.pair._hypothesis import STACK, Active, Chosen, Hypothesis, PairScratch, Rewards
from mfbandit.confidence.pair._leaders import Leaders
from mfbandit.confidence.pair._likelihood_levels import BOTH, CUT, EDGES, PARTLY, SURE, Cell, inside, stretch
from mfbandit.confidence.pair._mixture import cell_at, log_evidence
from mfbandit.core import GAUSSIAN, ROUNDS, Arrays, Floats, State, kernel

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
_HEADROOM = 60.0
#: How far rounding may have raised a computed log W, at least: see `rounding`.
_ROUNDING = 1e-6
#: Units of the last place of a sum that its computation and that of a likelihood ratio may cost.
_PLACES = 64.0
#: Steps of the search, evaluations in all, halvings between two probes.
_SEARCH, _EVALUATIONS, _PROBE = 14, 2000, 4
#: Steps of the search where a line refutes too, and values that are tried on one cell.
_FEW, _POINTS = 3, 24
#: Stages of the computed infimum. More than 750 is reported as 750: beyond any use and any float.
_STAGES = (20.0, 300.0, 750.0)
_MOST = 750.0

PROVEN, REFUTED, OPEN = 1, 0, -1
#: What `prove` is at: searching for a v that refutes, covering the line with cells, trying a point of a cell, or
#: points of a cell on which evidence is convex.
SEARCH, COVER, PROBE, LINE = 0, 1, 2, 3


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


class Search(NamedTuple):
    """The search for a v that refutes."""

    v: float
    """Where to look next."""
    lowest_at: float
    lowest: float
    step: float
    """How far to go from the lowest; the sign is the direction."""
    failed: int
    """How many steps from the lowest have led up."""
    left: int
    """How many looks are left."""


@kernel
def next_search(search: Search, value: float, first: float, last: float) -> Search:
    """Take in the evidence at the v that was looked at; v stays between two ends."""
    lowest_at, lowest, step, failed = search.lowest_at, search.lowest, search.step, 0
    if value < lowest:
        lowest_at, lowest = search.v, value
    else:
        failed = search.failed + 1
        step = -step
        if failed == 2:
            step, failed = 0.4 * step, 0
    return Search(min(max(lowest_at + step, first), last), lowest_at, lowest, step, failed, search.left - 1)


@kernel
def line_step(low: float, high: float, step: float) -> float:
    """How far apart the first points on a cell are: close, since beyond it others may have nothing to say."""
    return min(step, 0.25 * (high - low))


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
    stack, counts, gaussian = scratch.stack, scratch.counts, problem.reward_code == GAUSSIAN
    if not gaussian and hypothesis.epsilon > 1.0:
        return Verdict(PROVEN, guess.v, 0.0)
    cap = max(target, 0.0) + _HEADROOM
    error = rounding(problem, state, hypothesis, cap, chosen.leaders)
    least, pinned = target + error, hypothesis.evidence == BOTH
    left, right = (-math.inf, math.inf) if gaussian else (hypothesis.epsilon, 1.0)
    centre = min(max(guess.v, left), right)
    search = Search(centre, centre, math.inf, guess.step, 0, _SEARCH if pinned else _FEW)
    low, high, first, last, mode, depth = centre, centre, left, right, SEARCH, 0
    line, number, silent, points = start_line(left, right, centre, guess.step), 0, 0.0, 0
    # Not the whole state: what every level of calls hands on makes compiling slow.
    rewards = Rewards(Active(state.pulls, state.sums, state.squares), chosen.active, chosen.leaders)
    for _ in range(_EVALUATIONS):
        # One call for search, probes, cells and lines alike: compiling it several times would take long.
        cell = cell_at(problem, low, high, cap)
        if mode == LINE:
            cell = Cell(low, high, inside(number), inside(number), cap, first, last)
        value = log_evidence(problem, hypothesis, cell, rewards, scratch)
        passed = mode == COVER and value >= least
        if mode == SEARCH:
            if value < least:
                return Verdict(REFUTED, low, least - value)
            search = next_search(search, value, left, right)
            low, high, centre = search.v, search.v, search.lowest_at
            if search.left > 0:
                continue
            mode, depth = COVER, first_cells(centre, left, right, gaussian, stack)
            low, high = left, stack[depth - 1]
            if not gaussian:
                continue
        elif mode == PROBE:
            if value < least:
                return Verdict(REFUTED, low, least - value)
            low, high, mode = line.low, line.high, COVER
            continue
        elif mode == LINE:
            points += 1
            line = next_line(line, value, target, error)
            at = point_of(line)
            # What cannot say anything must be the same at all points, and nothing cut.
            if counts[CUT] == 0.0 and counts[SURE] == silent:
                if line.status == BELOW and not pinned:
                    return Verdict(REFUTED, line.at, least - value)
                if line.status == UNKNOWN and points < _POINTS and first <= at <= last:
                    low, high = at, at
                    continue
                passed = line.status == ABOVE
            low, high = line.low, line.high
        if mode == COVER and not passed and counts[SURE] < PARTLY:
            number = 0 if gaussian else stretch(low, False)
            if gaussian or number == stretch(high, True):
                line, mode, points = start_line(low, high, centre, line_step(low, high, guess.step)), LINE, 0
                first, last = max(low - line.step, left), min(high + line.step, right)
                low, high, silent = line.at, line.at, counts[SURE]
                continue
        mode = COVER
        if passed:
            depth -= 1
            if depth == 0:
                return Verdict(PROVEN, centre, 0.0)
            low, high = high, stack[depth - 1]
        else:
            middle = unbounded_cut(low, high, centre, abs(search.step)) if gaussian else cut(low, high)
            if depth >= STACK or not low < middle < high:
                return Verdict(OPEN, centre, 0.0)
            stack[depth] = middle
            depth += 1
            high = middle
            # Now and then look at a point of a cell that does not pass: it may refute, and save the rest.
            if depth % _PROBE == 0:
                line, mode = start_line(low, high, centre, guess.step), PROBE
                low = middle
    return Verdict(OPEN, centre, 0.0)


@kernel
def first_cells(centre: float, left: float, right: float, gaussian: bool, stack: Floats) -> int:
    """Write the ends of the cells to begin with, the last one first; how many there are.

    One is the stretch where evidence is least, with two beside it on either side; further out there is more.
    """
    stack[0] = right
    depth = 1
    if not gaussian:
        number = stretch(centre, False)
        for place in range(4):
            at = number + (3 if place == 0 else 1 if place == 1 else 0 if place == 2 else -2)
            if 0 < at < len(EDGES) - 1 and left < EDGES[at] < stack[depth - 1]:
                stack[depth] = EDGES[at]
                depth += 1
    return depth


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
