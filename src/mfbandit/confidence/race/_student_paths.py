"""Student's evidence of races, for normal differences of unknown variance: whole paths, with their guards.

NumPy beside the kernels of policies: a certificate is checked by code that does not share theirs.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from mfbandit.confidence.race._guards import Guards
from mfbandit.confidence.race._rules import (
    BLOCKS_WITHOUT_NOISE,
    EFFECT_WEIGHTS,
    EFFECTS,
    LEAST_SQUARES,
    blocks_at_least,
)

__all__ = ["log_evidence", "log_gate", "student_peaks"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: From so many blocks on a simple formula is off by no more than this.
_MANY, _OFF = 64, 0.02
#: So many points are worked out at a time.
_POINTS = 20_000
#: A logarithm is taken of the product of so many ratios, none of which is above 1,000 or so.
_LOGS = 32

_erfc = np.frompyfunc(math.erfc, 1, 1)
_lgamma = np.frompyfunc(math.lgamma, 1, 1)


def log_gate(count: Floats, t: Floats) -> Floats:
    """What log E cannot exceed: -n/2 log(1 - T^2/n), the largest likelihood ratio of all effects."""
    with np.errstate(divide="ignore"):
        return np.asarray(-0.5 * count * np.log1p(-np.minimum(t * t / count, 1.0)))


def log_evidence(count: Ints, t: Floats) -> Floats:
    """Log E after `count` blocks at T >= 0, both (P,): likelihood ratio of the scale-invariant data.

    Examples
    --------
    >>> log_evidence(np.array([5, 10_000]), np.array([2.2, 20.0])).round(3).tolist()
    [5.95, 200.836]
    """
    found = np.empty(count.size)
    for start in range(0, count.size, _POINTS):
        part = slice(start, start + _POINTS)
        found[part] = _log_evidence(count[part], t[part])
    return found


def _log_limit(count: Floats, t: Floats) -> Floats:
    """A little above log E of many blocks, by Laplace's method: how far it is off is measured in the tests."""

    def log_moment(c: Floats) -> Floats:
        y = 0.5 * (c + np.sqrt(c * c + 4.0 * (count - 1.0)))
        return np.asarray((count - 1.0) * np.log(y) + y * (c - 0.5 * y) - 0.5 * np.log1p((count - 1.0) / (y * y)))

    total, at_zero = np.full(t.size, -math.inf), log_moment(np.zeros(t.size))
    for weight, effect in zip(EFFECT_WEIGHTS, EFFECTS, strict=True):
        total = np.logaddexp(total, math.log(weight) - 0.5 * count * effect**2 + log_moment(effect * t) - at_zero)
    return total + _OFF


def _log_evidence(count: Ints, t: Floats) -> Floats:
    order = np.argsort(-count, kind="stable")
    n = count[order]
    c = EFFECTS[:, None] * t[order]
    first = (
        0.5 * math.log(2.0 * math.pi)
        + 0.5 * c * c
        + np.log1p(-0.5 * np.asarray(_erfc(c / math.sqrt(2.0)), dtype=float))
    )
    total = first.copy()
    ratio = c + np.exp(-first)
    product = np.ones_like(c)
    # Points are sorted, so that those which need more than k steps come first.
    active = np.searchsorted(-n, -np.arange(int(n[0]) if n.size else 0), side="left")
    for k in range(1, active.size):
        if active[k] < c.shape[1] or k % _LOGS == 0:
            total[:, : c.shape[1]] += np.log(product)
            c, ratio = c[:, : active[k]], ratio[:, : active[k]]
            product = np.ones_like(c)
        product *= ratio
        ratio = c + k / ratio
    total[:, : c.shape[1]] += np.log(product)
    at_zero = (0.5 * n - 1.0) * math.log(2.0) + np.asarray(_lgamma(0.5 * n), dtype=float)
    each = np.log(EFFECT_WEIGHTS)[:, None] - 0.5 * n * (EFFECTS**2)[:, None] + total - at_zero
    most = each.max(axis=0)
    found = np.empty(count.size)
    found[order] = most + np.log(np.exp(each - most).sum(axis=0))
    return found


def _paths(guards: Guards, winners: Ints, losers: Ints, shift: Floats, start: int) -> tuple[Floats, Floats]:
    """T of each pair after each block from `start` on, and how many blocks those are; T = 0 where nothing counts."""
    lane = guards.lane
    # It halts before the first cell that could not be had.
    ends = lane.cells.complete_from(start)
    reach = np.minimum(ends[winners], ends[losers])
    most = max(start, int(reach.max(initial=0)))
    count = np.arange(1.0, most - start + 1)
    spread = np.zeros((winners.size, most - start))
    step = guards.steps[start:most]
    for arm in np.unique(winners):
        values = guards.spread(int(arm))
        upto = min(most, values.size)
        if upto > start:
            spread[winners == arm, : upto - start] = values[start:upto]
    null = lane.allowed(winners, losers) + shift
    excess = lane.cells.rows(winners, start, most) - lane.cells.rows(losers, start, most) - null[:, None]
    least = np.where(step > 0.0, blocks_at_least(guards.caution), BLOCKS_WITHOUT_NOISE)
    counts = (np.arange(start, most) < reach[:, None]) & (count >= least)
    excess = np.where(np.arange(start, most) < reach[:, None], excess, 0.0)
    ahead = np.cumsum(excess, axis=1) - spread
    power = np.cumsum(excess * excess, axis=1) + spread**2 + count * step**2 / 12.0
    t = np.where(counts & (ahead > 0.0), ahead / np.sqrt(np.where(power > LEAST_SQUARES, power, math.inf)), 0.0)
    return np.minimum(t, np.sqrt(count)), count


def student_peaks(
    guards: Guards,
    winners: Ints,
    losers: Ints,
    shift: Floats,
    need: Floats,
    start: int = 0,
    *,
    any_will_do: bool = False,
) -> Floats:
    """The largest log E of each pair over all blocks, against "truth(winner) - truth(loser) <= shift".

    Only blocks count that were opened when both arms were there, and no earlier ones than `start`. Only what is above
    `need` is worked out; -inf where nothing is. If `any_will_do`, one above it is enough.
    """
    starts = np.maximum(start, guards.lane.since(winners, losers))
    found = np.full(winners.size, -math.inf)
    for first in np.unique(starts):
        pairs = np.flatnonzero(starts == first)
        some = winners[pairs], losers[pairs], shift[pairs], need[pairs]
        found[pairs] = _peaks_from(guards, *some, int(first), any_will_do=any_will_do)
    return found


def _peaks_from(
    guards: Guards, winners: Ints, losers: Ints, shift: Floats, need: Floats, start: int, *, any_will_do: bool
) -> Floats:
    """The largest log E of pairs over the blocks from `start` on."""
    t, count = _paths(guards, winners, losers, shift, start)
    peak = np.full(winners.size, -math.inf)
    if not t.size:
        return peak
    gate = np.where(t > 0.0, log_gate(count, t), -math.inf)
    rows, columns = np.nonzero((gate > need[:, None]) & (count >= _MANY))
    gate[rows, columns] = np.minimum(gate[rows, columns], _log_limit(count[columns], t[rows, columns]))
    whole = np.broadcast_to(count.astype(np.int64), t.shape)
    # The best by the gate first: what it gives spares most of the others.
    best = gate.argmax(axis=1)
    rows = np.flatnonzero(gate[np.arange(best.size), best] > need)
    peak[rows] = log_evidence(whole[rows, best[rows]], t[rows, best[rows]])
    gate[rows, best[rows]] = -math.inf
    if any_will_do:
        gate[peak > need] = -math.inf
    open_rows, open_columns = np.nonzero(gate > np.maximum(peak, need)[:, None])
    values = log_evidence(whole[open_rows, open_columns], t[open_rows, open_columns])
    np.maximum.at(peak, open_rows, values)
    return np.where(peak > need, peak, -math.inf)
