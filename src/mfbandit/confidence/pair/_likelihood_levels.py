"""Likelihood ratios of one stream at a grid of effect sizes: the raw material of pair certificates.

A stream is all rewards of one arm at one fidelity, known by n, S (sum) and Q (sum of squares). Level i
stands for an effect of 4 * 2^(-i/2) standard deviations between the stream's mean and a number q. Each
level gives a likelihood ratio that is a nonnegative supermartingale, started at 1, whenever the stream's
mean is at most q, however the pulls were chosen:

- *Gaussian*, sigma known: log LR = n (t d - t^2 / 2), with d = (S / n - q) / sigma.
- *Tilt*, any reward in [0, 1]: log LR = l S - n log(1 + q (e^l - 1)); by convexity
  E e^(l x) <= 1 + q (e^l - 1). It is the likelihood ratio of 0/1 rewards, hence best for them.
- *Variance-adaptive*, any reward in [0, 1]: with xi = (x - q) / q >= -1 and 0 < c < 1, Fan's inequality
  log(1 + c xi) >= c xi + (log(1 - c) + c) xi^2 makes
  log LR = c (S - n q) / q + (log(1 - c) + c) (Q - 2 q S + n q^2) / q^2. Best for rewards of low variance.

Where the last two are used together, a level is an average of both with weights that depend on the level
alone, the tilt having the smaller part where effects are small.

After the levels comes a *fallback*: a mixture over all effects (Beta(1/2, 1/2) for [0, 1], normal for
Gaussian rewards), one-sided, so that any gap is caught in the end. It is not a supermartingale itself but
is dominated by one, the mixture at the true mean.

**One grid.** l and c come from fixed grids: l = 4 * 2^(-j/2), at most 8, with j = i + s - e. Here s is
the octave of the cost ratio (a cheap fidelity is pulled more often, so smaller effects matter there), and
e the octave of 1 / (q (1 - q)), so that l is an effect over a standard deviation. Both are fixed before
any data: that the parameters depend on v and on costs, never on rewards, is what the proof needs. The
line of v is cut into fixed stretches (`EDGES`), and e is the same all over a stretch.

**Lower bounds on a cell.** `stream_levels` takes an interval [low, high] of q and gives, level by level,
the smallest value on it (a point is the interval [q, q]). The Gaussian ratio and the fallback fall in q.
The tilt falls in q and is concave in l: on a cell of several stretches the smaller of its values at the
two extreme l is a lower bound, within one stretch it is exact. The variance-adaptive log LR is a concave
quadratic in 1 / q, so its minimum is at an end.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

from mfbandit.confidence._special import beta_price, divergence
from mfbandit.core import Floats, any_thread, join_threads, kernel, shared_range

__all__ = [
    "CUT",
    "EDGES",
    "FALLBACK",
    "LEVELS",
    "LOGS",
    "PARTLY",
    "SURE",
    "WIDTH",
    "Cell",
    "Stream",
    "cost_octave",
    "inside",
    "stream_levels",
    "stretch",
]

#: Number of effect-size levels; the fallback comes after them.
LEVELS = 22
FALLBACK = LEVELS
WIDTH = LEVELS + 1
#: What is kept of the logarithms of the tilt at one q: l and the logarithm of all levels,
#: twice, four numbers that tell the q, and the two octaves there.
LOGS = 4 * LEVELS + 6

#: What is counted while evidence is computed: ratios that were cut at e^cap, and streams that can say nothing.
CUT, SURE = 0, 1

#: How the levels of one stream are made: from the tilt, from tilt and variance together, Gaussian.
TILT, BOTH, NORMAL = 0, 1, 2

_GRID = 72
_OFFSET = 2
#: Effects 4 * 2^(-j/2) for j = -2, -1, ...: the largest is 8.
_EFFECT = tuple(4.0 * 2.0 ** (-0.5 * j) for j in range(-_OFFSET, _GRID - _OFFSET))
_EFFECT_EXPM1 = tuple(math.expm1(effect) for effect in _EFFECT)
#: Fractions c of the variance-adaptive ratio, and log(1 - c) + c.
_FRACTION = (0.97, 0.93, 0.87, *(0.8 * 2.0 ** (-0.5 * j) for j in range(_GRID - 3)))
_FRACTION_LOSS = tuple(math.log1p(-c) + c for c in _FRACTION)

#: What part of a level is the tilt's. The rest is the variance-adaptive ratio's, which where effects are small
#: loses next to nothing even on 0/1 rewards.
_TILTED = tuple(max(0.05, min(0.5, 0.5 * 2.0 ** (-0.5 * (j - 2)))) for j in range(_GRID))
#: From here on "mean <= q" says nothing about a reward in [0, 1], and the ratio is set to 1.
_SURE = 1.0 - 1e-9
#: Below this the variance-adaptive ratio is set to 0, which is safe.
_TINY = 1e-12
#: For so many counts a stream that can say something on a part of the cell only: there are never so many.
PARTLY = 2.0**40
#: Ratios below e^(-cap - this) are set to 0: no two products that were not cut let them matter beside rounding.
_FAINT = 80.0
_PER_OCTAVE = 1.0 / math.log(2.0)
#: The smallest q (1 - q) that octaves tell apart. Cells rest on octaves that rise towards the ends of [0, 1] and
#: beyond; a stretch of v may reach from q inside to q beyond an end, so they must not rise far.
_LEAST_SPREAD = 2.0**-6

_NEAR_ZERO = tuple(2.0**-k for k in range(24, 3, -1))
#: Ends of the stretches of v in [0, 1]: octaves near 0 and near 1, sixteenths between.
EDGES = (
    0.0,
    *_NEAR_ZERO,
    *(k / 16.0 for k in range(2, 15)),
    *(1.0 - edge for edge in reversed(_NEAR_ZERO)),
    1.0,
)
#: A number inside each stretch, for which its octave is computed.
_INSIDE = tuple(
    math.sqrt(max(low, 2.0**-26) * high)
    if high <= 0.125
    else (1.0 - math.sqrt(max(1.0 - high, 2.0**-26) * (1.0 - low)) if low >= 0.875 else 0.5 * (low + high))
    for low, high in pairwise(EDGES)
)


class Stream(NamedTuple):
    """The rewards of one arm at one fidelity."""

    n: float
    total: float
    squared: float
    """Sum of squares."""


class Cell(NamedTuple):
    """Where v may be, or the q of one stream that go with it."""

    low: float
    high: float
    first: float
    """A number inside the stretch where the cell begins, for v or for q."""
    last: float
    """A number inside the stretch where it ends."""
    cap: float
    """Logarithms of ratios are cut here."""
    floor: float
    """The cell or, of a point, where others will be asked for that are compared with it: see `variance_levels`."""
    ceiling: float


@kernel
def cost_octave(cost: float, truest: float) -> int:
    """The octave s of the cost of the truest fidelity over the cost of this one."""
    octave = math.floor(math.log(truest / cost) * _PER_OCTAVE + 0.5)
    return int(min(40.0, max(-4.0, octave)))


@kernel
def stretch(v: float, leftward: bool) -> int:
    """The number of the stretch that v lies in; at an edge the one to its right, or to its left."""
    low, high = 0, len(EDGES) - 2
    while low < high:
        middle = (low + high + 1) // 2
        if EDGES[middle] < v or (EDGES[middle] == v and not leftward):
            low = middle
        else:
            high = middle - 1
    return low


@kernel
def inside(number: int) -> float:
    """A number inside a stretch."""
    return _INSIDE[number]


@kernel
def variance_octave(q: float) -> int:
    """The octave e of 1 / (q (1 - q)), which rises towards the ends of [0, 1] and stays at its largest beyond."""
    spread = max(q * (1.0 - q), _LEAST_SPREAD)
    return int(math.floor(0.5 - math.log(spread) * _PER_OCTAVE))


@kernel
def octave_range(first: float, last: float) -> tuple[int, int]:
    """The largest and the smallest octave e between two q."""
    ends = variance_octave(first)
    if first == last:
        return ends, ends
    other = variance_octave(last)
    least = min(ends, other)
    if min(first, last) < 0.5 < max(first, last):
        least = 2
    return max(ends, other), least


@kernel
def beta_fallback(n: float, total: float, q: float) -> float:
    """The log of the one-sided Beta mixture against "mean <= q"."""
    rest = n - total
    price = beta_price(total, rest)
    if total <= n * q:
        return -price
    return divergence(total, n * q) + divergence(rest, n * (1.0 - q)) - price


@kernel
def normal_fallback(n: float, total: float, q: float, sigma: float) -> float:
    """The log of the one-sided normal mixture (rho = 1) against "mean <= q"."""
    loss = 0.5 * math.log1p(n)
    excess = (total - n * q) / sigma
    return 0.5 * excess * excess / (n + 1.0) - loss if excess > 0.0 else -loss


@kernel
def stream_levels(
    evidence: int,
    stream: Stream,
    cell: Cell,
    octave: int,
    sigma: float,
    out: Floats,
    row: int,
    logs: Floats,
    counts: Floats,
) -> None:
    """Write, level by level, into a row the smallest likelihood ratio over a cell of q, times e^(-cap / 4).

    Ratios above e^cap are cut down to it, which is safe and keeps numbers finite. The same row of `logs` keeps what
    streams have in common that face the same q, and `counts` tells what was cut (`CUT`, `SURE`).
    """
    if evidence == NORMAL:
        counts[CUT] += gaussian_levels(stream, cell, octave, sigma, out, row)
        join_threads()
        return
    if cell.low >= _SURE:
        counts[SURE] += 1.0
        for i in shared_range(WIDTH):
            out[row, i] = math.exp(-0.25 * cell.cap)
        join_threads()
        return
    # Rounding may have moved sums beyond their ends.
    n = stream.n
    inner = Stream(n, min(max(stream.total, 0.0), n), max(stream.squared, 0.0))
    high, most = max(cell.high, 0.0), cell.cap
    if cell.high >= _SURE:
        counts[SURE] += PARTLY
        high, most = _SURE, min(0.0, cell.cap)
    low = min(max(cell.low, 0.0), high)
    bounded = Cell(low, high, cell.first, cell.last, cell.cap, min(max(cell.floor, 0.0), high), max(cell.ceiling, high))
    cut = tilt_levels(evidence, inner, bounded, most, octave, out, row, logs) or cell.high < 0.0
    if evidence == BOTH and bounded.floor > _TINY:
        cut = variance_levels(inner, bounded, most, octave, out, row) or cut
    value = beta_fallback(n, inner.total, high)
    out[row, FALLBACK] = math.exp(min(value, most) - 0.25 * cell.cap)
    if cut or value > most:
        counts[CUT] += 1.0
    join_threads()


@kernel
def gaussian_levels(stream: Stream, cell: Cell, octave: int, sigma: float, out: Floats, row: int) -> int:
    """Write the ratios of Gaussian rewards, which fall in q; tell whether any was cut, by 1."""
    n, cap, scale = stream.n, cell.cap, 0.25 * cell.cap
    distance = stream.total / n - cell.high
    rate = n * distance / sigma
    largest = -math.inf
    for i in shared_range(LEVELS):
        effect = _EFFECT[i + octave + _OFFSET if i + octave + _OFFSET > 0 else 0]
        value = effect * (rate - 0.5 * n * effect)
        largest = max(largest, value)
        out[row, i] = math.exp(min(value, cap) - scale) if value > -cap - _FAINT else 0.0
    value = normal_fallback(n, stream.total, cell.high, sigma)
    out[row, FALLBACK] = math.exp(min(value, cap) - scale)
    return 1 if any_thread(max(largest, value) > cap) else 0


@kernel
def tilt_logs(cell: Cell, octave: int, logs: Floats, row: int) -> bool:
    """Write log(1 + q (e^l - 1)) at the upper end of a cell, for the two extreme l of each level; tell if they differ.

    They are the same for all streams that face this q, so they are there already more often than not.
    """
    high, key = cell.high, 4 * LEVELS
    same = logs[row, key] == high and logs[row, key + 1] == octave
    # The last octave is never 0, as it is before anything was written.
    if same and logs[row, key + 2] == cell.first and logs[row, key + 3] == cell.last and logs[row, key + 5] > 0.0:
        return bool(logs[row, key + 4] != logs[row, key + 5])
    join_threads()
    far, near = octave_range(cell.first, cell.last)
    logs[row, key] = high
    logs[row, key + 1] = octave
    logs[row, key + 2] = cell.first
    logs[row, key + 3] = cell.last
    logs[row, key + 4] = far
    logs[row, key + 5] = near
    for end in range(2 if far != near else 1):
        known, value = -1, 0.0
        for i in shared_range(LEVELS):
            j = int(min(max(i + octave - (near if end == 1 else far) + _OFFSET, 0), _GRID - 1))
            if j != known:
                value = math.log1p(high * _EFFECT_EXPM1[j])
                known = j
            logs[row, end * LEVELS + i] = value
            logs[row, (2 + end) * LEVELS + i] = _EFFECT[j]
    join_threads()
    return far != near


@kernel
def tilt_levels(
    evidence: int, stream: Stream, cell: Cell, most: float, octave: int, out: Floats, row: int, logs: Floats
) -> bool:
    """Write the ratios of the tilt, or their part of the levels where it is not alone; tell whether any was cut."""
    largest = -math.inf
    n, total, scale = stream.n, stream.total, 0.25 * cell.cap
    two = tilt_logs(cell, octave, logs, row)
    faint = -cell.cap - _FAINT
    for i in shared_range(LEVELS):
        value = total * logs[row, 2 * LEVELS + i] - n * logs[row, i]
        if two:
            value = min(value, total * logs[row, 3 * LEVELS + i] - n * logs[row, LEVELS + i])
        largest = max(largest, value)
        out[row, i] = math.exp(min(value, most) - scale) if value > faint else 0.0
    if evidence == BOTH:
        for i in shared_range(LEVELS):
            out[row, i] *= _TILTED[max(i + octave, 0)]
    return any_thread(largest > most)


@kernel
def variance_levels(stream: Stream, cell: Cell, most: float, octave: int, out: Floats, row: int) -> bool:
    """Add the part of the variance-adaptive ratios; tell whether any was cut.

    Their log is a concave quadratic in 1 / q, A / q - B / q^2 and a constant: least at an end of a cell, and convex in
    q from 3 B / A on. At a point that others are compared with it is taken where it is convex for all of them, and
    elsewhere at its least among them, a constant.
    """
    n, total, squared, scale = stream.n, stream.total, stream.squared, 0.25 * cell.cap
    low, high, largest, is_point = cell.floor, cell.ceiling, -math.inf, cell.low == cell.high
    lean_low, lean_high, lean = total / low - n, total / high - n, total / cell.high - n
    spread_low = max(0.0, (squared / low - 2.0 * total) / low + n)
    spread_high = max(0.0, (squared / high - 2.0 * total) / high + n)
    spread = max(0.0, (squared / cell.high - 2.0 * total) / cell.high + n)
    for i in shared_range(LEVELS):
        j = max(i + octave, 0)
        part, loss = _FRACTION[j], _FRACTION_LOSS[j]
        if is_point and (part - 2.0 * loss) * total * low >= -3.0 * loss * squared:
            value = part * lean + loss * spread
        else:
            value = min(part * lean_low + loss * spread_low, part * lean_high + loss * spread_high)
        largest = max(largest, value)
        if value > -cell.cap - _FAINT:
            out[row, i] += (1.0 - _TILTED[j]) * math.exp(min(value, most) - scale)
    return any_thread(largest > most)
