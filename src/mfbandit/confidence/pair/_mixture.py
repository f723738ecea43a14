"""Evidence W(v) that one arm is better than another, from all their fidelities.

For arms a and b and a number v, W(v) is evidence against "mu_a <= v <= mu_b" (with epsilon against
"mu_a + epsilon <= v <= mu_b"). Under that hypothesis the stream (a, m) has mean at most
v - epsilon + zeta_m, and the stream (b, m) at least v - zeta_m, which is handled as its mirror image
(x -> 1 - x, for Gaussian rewards x -> -x). `levels` gives each stream's likelihood ratios LR_(k,m,i).

**Mixing.** A separate mixture per arm would pay half a log n twice. The two arms share one unknown, the
gap between them, so one joint prior over its scale is enough: a prior pi_i over levels of arm a, and a
prior rho_d over how far arm b's level is from it (the two may be pulled unequally). An arm's level i is

- T_k[i] = LR_(k,M,i): the truest fidelity alone;
- X_k[i] = sum_m 1/M LR_(k,m,i) prod_(m' != m) H_(k,m'): one fidelity carries the gap and the others
  help, with H = (1 - w) + w sum_i pi_i LR_i;
- Z_k[i] = prod_m LR_(k,m,i) of the *active* rewards only. Whether a reward is active is decided before
  its pull (see `mf-toptwo`), so no prior over fidelities has to be paid.

W(v) = sum_i pi_i sum_d rho_d (t T_a[i] T_b[i+d] + x X_a[i] X_b[i+d] + z Z_a[i] Z_b[i+d]), plus the same
for the fallback levels; t + x + z = 1, and W is the T part alone if there is one fidelity.

**Proof that W(v) is safe.** A pull moves one stream. Products over distinct streams, and averages of
total weight at most 1, of supermartingales started at 1 are supermartingales started at 1; rewards that
are left out of Z by a decision made before their pull change nothing. So for the best arm * and
v = mu_*, every W_(a,*)(v) stays below (K-1)/delta for ever with probability at least 1 - delta/(K-1)
(Ville), whatever the sampling rule, the batches and the moment of looking. If "a beats b" requires
inf_v log W_(a,b)(v) >= log((K-1)/delta), then * is ever beaten by any arm with probability at most delta.

**One process for "b is the best arm".** The log(K-1) is the price of not knowing who will beat b. With epsilon = 0
and three arms or more it is not paid: whoever leads was declared before its pulls. Let

- A_b[i] = prod_(k != b) ((1 - h) + h prod_m LR_(k,m,i)), over the arms k that have led, of the rewards that they gave
  as leaders (`mfbandit.confidence.pair._leaders`);
- A'_b[i] the same of their rewards at the truest fidelity alone;
- E_b(v) = p sum_(a != b) W_(a,b)(v) + l sum_i pi_i sum_d rho_d ((1 - u) A_b[i] Z_b[i+d] + u A'_b[i] T_b[i+d]) (fallback
  included; A_b and T_b alone if there is one fidelity), with p = (1 - l) / (K - 1). Rewards of cheap fidelities that
  were active and then turned out to say nothing weigh on A_b and Z_b; the part u is free of them.

If b is the best arm and v its truth, all others lie at or below v, and every factor is a supermartingale as above: a
pull of k moves one factor of A_b and at most one of A'_b, linear in what it moves, and whether it is a leader's reward
was decided before it.
So inf_v E_b(v) ever reaches 1/delta with probability at most delta. A wrong answer needs that for the best arm (for all
of them, if there are several): there is no union over arms. Of the sum over a one term is enough for a lower bound.
"""

from __future__ import annotations

import math

from mfbandit.confidence.pair._hypothesis import Hypothesis, PairScratch, Rewards
from mfbandit.confidence.pair._leaders import Leaders
from mfbandit.confidence.pair._likelihood_levels import (
    CUT,
    FALLBACK,
    LEVELS,
    SURE,
    WIDTH,
    Cell,
    Stream,
    cost_octave,
    inside,
    stream_levels,
    stretch,
)
from mfbandit.confidence.pair._weights import WEIGHTS, tables
from mfbandit.core import GAUSSIAN, Arrays, Floats, any_thread, join_threads, kernel, shared_range

__all__ = ["cell_at", "log_evidence"]

_TABLES = tables(WEIGHTS)
_PRIOR, _FALLBACK_PRIOR, _HELP, _LED = (_TABLES[name] for name in ("_PRIOR", "_FALLBACK_PRIOR", "_HELP", "_LED"))
_LED_TRUEST = _TABLES["_LED_TRUEST"]
#: Of the difference d of two arms' levels: of total 1 over all integers.
_NEAR, _OFFSET_PRIOR = _TABLES["_NEAR"], _TABLES["_OFFSET_PRIOR"]
#: Weights of the truest fidelity alone, of one carrying fidelity, and of the active rewards.
_TRUEST, _CARRIED, _ACTIVE = (_TABLES[name] for name in ("_TRUEST", "_CARRIED", "_ACTIVE"))
#: Which rewards of a stream: all, the active ones, and from here on those of the leaders in their order.
_OF_ALL, _OF_ACTIVE, _OF_LEADERS = 0, 1, 2
#: The row of A_b among the levels of both arms, a row to work in, and that of A'_b.
_LEADERS_ROW, _ONE_LEADER, _LEADERS_TRUEST = 6, 7, 8
#: From here on, plus cap / 8, products of several streams count as cut where cap is larger: see `log_evidence`.
_ROOM = 335.0
#: Streams of the better arm's side that can say nothing count this many times, so that no other one of the worse arm's
#: makes up for one of them.
_APART = 2.0**20


@kernel
def stream_of(rewards: Rewards, part: int, arm: int, m: int) -> Stream:
    """All rewards of a stream, its active ones, or those of a leader."""
    if part >= _OF_LEADERS:
        led, place = rewards.leaders, part - _OF_LEADERS
        return Stream(float(led.pulls[place, m]), float(led.sums[place, m]), float(led.squares[place, m]))
    if part == _OF_ACTIVE:
        return Stream(
            float(rewards.active.pulls[arm, m]),
            float(rewards.active.sums[arm, m]),
            float(rewards.active.squares[arm, m]),
        )
    return Stream(
        float(rewards.seen.pulls[arm, m]), float(rewards.seen.sums[arm, m]), float(rewards.seen.squares[arm, m])
    )


@kernel
def mirrored(stream: Stream, gaussian: bool) -> Stream:
    """The stream of the rewards 1 - x, or -x."""
    mirror = 0.0 if gaussian else 1.0
    squared = stream.squared - mirror * (2.0 * stream.total - stream.n)
    return Stream(stream.n, mirror * stream.n - stream.total, squared)


@kernel
def cell_of_stream(problem: Arrays, epsilon: float, side: int, cell: Cell, arm: int, m: int) -> Cell:
    """The q of a stream that go with a cell of v."""
    bias = problem.bias[arm, m]
    if side == 0:
        shift = bias - epsilon
        ends, inner = (cell.low + shift, cell.high + shift), (cell.first + shift, cell.last + shift)
        return Cell(ends[0], ends[1], inner[0], inner[1], cell.cap, cell.floor + shift, cell.ceiling + shift)
    shift = (0.0 if problem.reward_code == GAUSSIAN else 1.0) + bias
    ends, inner = (shift - cell.high, shift - cell.low), (shift - cell.first, shift - cell.last)
    return Cell(ends[0], ends[1], inner[0], inner[1], cell.cap, shift - cell.ceiling, shift - cell.floor)


@kernel
def help_of(streams: Floats, m: int, scale: float, weights: int) -> float:
    """The log of H of a stream, from its levels."""
    number, help_share = (weights - 1) * LEVELS, _HELP[weights - 1]
    mixed = _FALLBACK_PRIOR[weights - 1] * streams[m, FALLBACK]
    for i in range(LEVELS):
        mixed += _PRIOR[number + i] * streams[m, i]
    return math.log((1.0 - help_share) * math.exp(-scale) + help_share * mixed) + scale


@kernel
def carried_levels(problem: Arrays, side: int, cap: float, helped: float, scratch: PairScratch) -> None:
    """Write T_k and X_k from the levels of all streams, and a Z_k of no rewards."""
    fidelities = problem.cost.shape[1]
    streams, helps, levels = scratch.streams, scratch.helps, scratch.levels
    t, x, z, scale = 3 * side, 3 * side + 1, 3 * side + 2, 0.25 * cap
    unit, most = math.exp(-scale), math.exp(cap - 2.0 * scale)
    for i in shared_range(WIDTH):
        levels[t, i] = streams[problem.truest, i] * unit
        levels[x, i] = 0.0
        levels[z, i] = unit * unit
    if fidelities > 1:
        for m in range(fidelities):
            weight = math.exp(min(helped - helps[m], cap) - scale) / fidelities
            for i in shared_range(WIDTH):
                levels[x, i] = min(most, levels[x, i] + weight * float(streams[m, i]))
            join_threads()
            if helped - helps[m] > cap:
                scratch.counts[CUT] += 1.0
        note_cuts(levels, x, most, scratch)


@kernel
def note_cuts(levels: Floats, row: int, most: float, scratch: PairScratch) -> None:
    """Count a row of which a number was cut."""
    largest = 0.0
    for i in shared_range(WIDTH):
        largest = max(largest, float(levels[row, i]))
    if any_thread(largest >= most):
        scratch.counts[CUT] += 1.0


@kernel
def parts_of(problem: Arrays, hypothesis: Hypothesis, side: int, leaders: Leaders) -> int:
    """Into how many parts the rewards are taken that speak for one side."""
    if side == 0 and hypothesis.leader_share > 0.0:
        return _OF_LEADERS + int(leaders.known[0])
    return _OF_ACTIVE + 1 if problem.cost.shape[1] > 1 else _OF_ALL + 1


@kernel
def arm_levels(
    problem: Arrays, hypothesis: Hypothesis, side: int, cell: Cell, rewards: Rewards, scratch: PairScratch
) -> None:
    """Write T_k, X_k and Z_k, level by level, at their smallest over a cell of v; with the better arm A, too.

    They are scaled by e^(-cap / 2), so that products of two stay within floating point where it matters
    for any cap up to 900 (one that overflows is above the cap anyhow).
    `side` is 0 for the better arm and 1 for the worse one.
    """
    fidelities, gaussian = problem.cost.shape[1], problem.reward_code == GAUSSIAN
    streams, helps, levels = scratch.streams, scratch.helps, scratch.levels
    scale = 0.25 * cell.cap
    unit, back, most = math.exp(-scale), math.exp(scale), math.exp(cell.cap - 2.0 * scale)
    helped, led = 0.0, _LED[hypothesis.weights - 1]
    # Products of what speaks for the claim alone, in a row that is not in use at that time.
    largest, room = 5 if side == 0 else _ONE_LEADER, min(most, math.exp(_ROOM - 0.375 * cell.cap))
    # All parts take turns: a second call of `stream_levels` would take long to compile.
    for part in range(parts_of(problem, hypothesis, side, rewards.leaders)):
        arm, row = hypothesis.better if side == 0 else hypothesis.worse, 3 * side + 2
        if part == _OF_ACTIVE and fidelities == 1:
            continue
        if part >= _OF_LEADERS:
            arm, row = int(rewards.leaders.arm[part - _OF_LEADERS]), _ONE_LEADER
            if arm == hypothesis.worse:
                continue
            for i in shared_range(WIDTH):
                levels[row, i] = unit * unit
        for i in shared_range(WIDTH):
            levels[largest, i] = unit * unit
        for m in range(fidelities):
            stream = stream_of(rewards, part, arm, m)
            if stream.n == 0.0:
                if part == _OF_ALL:
                    helps[m] = 0.0
                    for i in shared_range(WIDTH):
                        streams[m, i] = unit
                continue
            # Where all rewards are active, their levels are there already.
            if part != _OF_ACTIVE or stream.n != rewards.seen.pulls[arm, m]:
                octave = cost_octave(problem.declared[arm, m], problem.declared[arm, problem.truest])
                within = cell_of_stream(problem, hypothesis.epsilon, side, cell, arm, m)
                facing = mirrored(stream, gaussian) if side == 1 else stream
                stream_levels(
                    hypothesis.evidence, facing, within, octave, problem.sigma, streams, m, scratch.logs, scratch.counts
                )
            if part >= _OF_ACTIVE:
                for i in shared_range(WIDTH):
                    levels[row, i] = min(most, float(levels[row, i]) * float(streams[m, i]) * back)
                    levels[largest, i] = min(most, float(levels[largest, i]) * max(1.0, float(streams[m, i]) * back))
            elif fidelities > 1:
                helps[m] = help_of(streams, m, scale, hypothesis.weights)
                helped += helps[m]
        if part >= _OF_ACTIVE:
            note_cuts(levels, largest, room, scratch)
        if part == _OF_ALL:
            carried_levels(problem, side, cell.cap, helped, scratch)
        elif part >= _OF_LEADERS:
            for i in shared_range(WIDTH):
                factor = (1.0 - led) + led * (float(levels[_ONE_LEADER, i]) * back * back)
                levels[_LEADERS_ROW, i] = min(most, float(levels[_LEADERS_ROW, i]) * factor)
            note_cuts(levels, _LEADERS_ROW, room, scratch)
            if fidelities > 1 and rewards.leaders.pulls[part - _OF_LEADERS, problem.truest] > 0.0:
                for i in shared_range(WIDTH):
                    factor = (1.0 - led) + led * (float(streams[problem.truest, i]) * back)
                    levels[_LEADERS_TRUEST, i] = min(most, float(levels[_LEADERS_TRUEST, i]) * factor)
                note_cuts(levels, _LEADERS_TRUEST, most, scratch)


@kernel
def mixed_levels(levels: Floats, better: int, worse: int, weights: int) -> float:
    """The sum over levels i and offsets d of pi_i rho_d better[i] worse[i + d] of two rows, fallback included."""
    # A product may overflow to infinity: Python's floats do so in silence, NumPy's with a warning.
    # The offset prior is geometric on both sides, so one pass up and one pass down give all sums.
    number, near = (weights - 1) * LEVELS, _NEAR[weights - 1]
    value, carried = 0.0, 0.0
    for i in range(LEVELS):
        carried = near * carried + float(levels[worse, i])
        value += _PRIOR[number + i] * float(levels[better, i]) * carried
    carried = 0.0
    for i in range(LEVELS - 1, -1, -1):
        value += _PRIOR[number + i] * float(levels[better, i]) * near * carried
        carried = near * carried + float(levels[worse, i])
    fallback = float(levels[better, FALLBACK]) * float(levels[worse, FALLBACK])
    return _OFFSET_PRIOR[weights - 1] * value + _FALLBACK_PRIOR[weights - 1] * fallback


@kernel
def cell_at(problem: Arrays, low: float, high: float, cap: float) -> Cell:
    """The cell of all v between two."""
    first, last = 0.0, 0.0
    if problem.reward_code != GAUSSIAN:
        number = stretch(low, False)
        first = inside(number)
        last = first if low == high else inside(max(number, stretch(high, True)))
    return Cell(low, high, first, last, cap, low, high)


@kernel
def log_evidence(problem: Arrays, hypothesis: Hypothesis, cell: Cell, rewards: Rewards, scratch: PairScratch) -> float:
    """A lower bound of log W(v), or log E(v), on a cell of v, exact where it is a point (ratios cut at e^cap).

    `scratch.counts` tells whether values at several points belong to one convex function: nothing was cut, and the
    same streams can say nothing. A product of several streams may be cut on the way and come back, or lose a stream
    that was set to 0, though it would matter beside the others. So it counts as cut where those streams of it that
    speak for the claim come to e^cap. Where they do not, a ratio below e^(-cap - 80), times the others of both arms,
    is at most e^(cap - 80), so e^-20 of what is to be proven. The smallest floating-point numbers are larger than that
    where cap is large: a product then counts as cut from e^(335 + cap / 8) on.
    """
    cap, scale = cell.cap, math.exp(-0.5 * cell.cap)
    join_threads()
    scratch.counts[CUT] = 0.0
    scratch.counts[SURE] = 0.0
    for i in shared_range(WIDTH):
        scratch.levels[_LEADERS_ROW, i] = scale
        scratch.levels[_LEADERS_TRUEST, i] = scale
    for side in range(2):
        arm_levels(problem, hypothesis, side, cell, rewards, scratch)
        join_threads()
        if side == 0:
            scratch.counts[SURE] *= _APART
    value, weights = 0.0, hypothesis.weights
    parts = 3 if problem.cost.shape[1] > 1 else 1
    # The last turns are those of the leaders, against the active rewards of the worse arm (or all at one fidelity), and
    # at the truest fidelity alone.
    truest = _LED_TRUEST[weights - 1] if parts > 1 else 0.0
    turns = parts if hypothesis.leader_share == 0.0 else (parts + 2 if truest > 0.0 else parts + 1)
    for part in range(turns):
        weight, better, worse = hypothesis.leader_share * (1.0 - truest), _LEADERS_ROW, parts + 2
        if part > parts:
            weight, better, worse = hypothesis.leader_share * truest, _LEADERS_TRUEST, 3
        if part < parts:
            weight = _ACTIVE[weights - 1] if part == 2 else _CARRIED[weights - 1] if part == 1 else _TRUEST[weights - 1]
            weight, better, worse = (weight if parts > 1 else 1.0) * hypothesis.pair_share, part, part + 3
        value += weight * mixed_levels(scratch.levels, better, worse, weights)
    return math.log(value) + cap if value > 0.0 else -math.inf
