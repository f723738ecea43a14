"""What lowers Student's evidence where differences look unlike normal ones.

Both guards are worked out stretch by stretch, between the blocks at which arms come to their ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from mfbandit.confidence.race._cells import stretches
from mfbandit.confidence.race._lane import Lane

__all__ = ["Guards", "least_step", "typical_spread"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: Differences below this part of the largest one are rounding.
_NOISE = 1e-9
#: So many cells are worked out at a time.
_CELLS = 2_000_000


def typical_spread(lane: Lane, arm: int) -> Floats:
    """G: the lower median of the deviations of differences to an arm, over the first 1, 2, ... positions, (n,).

    An arm that joined later counts from there on. One that is known on fewer positions counts on with the last
    deviation that it had, but for one that comes to a cell that could not be had: what that would say is not known.
    """
    blocks = int(lane.complete[arm])
    found = np.zeros(int(lane.known[arm]))
    mine = lane.cells.rows(np.array([arm]), 0, blocks)[0]
    ends = np.minimum(lane.complete, blocks)
    starts = lane.since(np.full(ends.size, arm), np.arange(ends.size))
    ends[arm] = 0
    ends[ends <= starts] = 0
    # Sums are about the first difference, so that they keep their digits.
    first = np.zeros(ends.size)
    for start in np.unique(starts[ends > 0]):
        there = np.flatnonzero((starts == start) & (ends > 0))
        first[there] = mine[start] - lane.cells.rows(there, start, start + 1)[:, 0]
    sums, squares = np.zeros(ends.size), np.zeros(ends.size)
    # Deviations of arms that came to their ends, in order.
    over = np.zeros(0)
    for start, stop, arms in _short_stretches(ends, None if lane.joined is None else starts):
        difference = mine[start:stop] - lane.cells.rows(arms, start, stop) - first[arms, None]
        total = np.cumsum(difference, axis=1) + sums[arms, None]
        square = np.cumsum(difference * difference, axis=1) + squares[arms, None]
        sums[arms], squares[arms] = total[:, -1], square[:, -1]
        n = np.arange(start + 1, stop + 1) - starts[arms, None]
        left = np.maximum(square - n * (total / n) ** 2, 0.0)
        spread = np.sqrt(left / np.maximum(n - 1, 1))
        # One difference has no deviation; a stretch ends after it.
        found[start:stop] = _middle(over, spread[starts[arms] < start])
        ended = (ends[arms] == stop) & (stop - starts[arms] > 1)
        ended &= (lane.complete[arms] == lane.known[arms]) | (ends[arms] == blocks)
        over = np.sort(np.concatenate([over, spread[ended, -1]]))
    reached = int(ends.max(initial=0))
    if over.size and reached < blocks:
        found[max(reached, 1) : blocks] = over[(over.size - 1) // 2]
    return found


def _short_stretches(ends: Ints, starts: Ints | None) -> list[tuple[int, int, Ints]]:
    """Stretches, cut after the first position of each arm, and into such as have not too many cells.

    `starts` is None where all arms begin with the first position.
    """
    cut = []
    for start, stop, arms in _cut_first(ends) if starts is None else _open_stretches(starts, ends):
        step = max(1, _CELLS // max(1, arms.size))
        cut += [(begin, min(begin + step, stop), arms) for begin in range(start, stop, step)]
    return cut


def _cut_first(ends: Ints) -> Iterator[tuple[int, int, Ints]]:
    """Stretches of arms that begin together, the first position alone."""
    for start, stop, arms in stretches(ends):
        if start == 0 and stop > 1:
            yield 0, 1, arms
        yield max(start, min(1, stop - 1)), stop, arms


def _open_stretches(starts: Ints, ends: Ints) -> Iterator[tuple[int, int, Ints]]:
    """Stretches of arms that begin at their own positions, the first one of each alone."""
    some = ends > starts
    bounds = np.unique(np.concatenate([starts[some], starts[some] + 1, ends[some]])).tolist()
    for start, stop in pairwise(bounds):
        yield start, stop, np.flatnonzero(some & (starts <= start) & (ends >= stop))


def _middle(over: Floats, columns: Floats) -> Floats:
    """The lower median of some numbers in order together with each column of others."""
    rows = columns.shape[0]
    if over.size + rows == 0:
        return np.zeros(columns.shape[1])
    wanted = (over.size + rows - 1) // 2
    # So many of the ordered numbers are below it for certain, and those after the others above it.
    below = max(0, wanted - rows)
    near = over[below : wanted + 1]
    together = np.concatenate([np.broadcast_to(near[:, None], (near.size, columns.shape[1])), columns])
    return np.asarray(np.partition(together, wanted - below, axis=0)[wanted - below])


def least_step(lane: Lane) -> Floats:
    """r: the least difference of two arms within a block that is more than rounding, over the first positions, (n,).

    An arm that joined later counts from there on.
    """
    steps, spans = np.full(lane.cells.blocks, np.inf), np.zeros(lane.cells.blocks)
    joined = None if lane.joined is None else np.minimum(lane.joined, lane.known)
    parts = [part for part in _short_stretches(lane.known, joined) if part[2].size]
    for start, stop, arms in parts:
        had = np.sort(lane.cells.rows(arms, start, stop), axis=0)
        known = ~np.isnan(had)
        spans[start:stop] = np.where(known, had, -np.inf).max(axis=0) - np.where(known, had, np.inf).min(axis=0)
    largest = np.maximum.accumulate(np.maximum(spans, 0.0))
    for start, stop, arms in parts:
        apart = np.diff(np.sort(lane.cells.rows(arms, start, stop), axis=0), axis=0)
        counted = np.where(~np.isnan(apart) & (apart > _NOISE * largest[start:stop]), apart, np.inf)
        steps[start:stop] = counted.min(axis=0, initial=np.inf)
    least = np.minimum.accumulate(steps)
    return np.where(np.isinf(least), 0.0, least)


@dataclass
class Guards:
    """What lowers Student's evidence where differences look unlike normal ones: any such number is valid."""

    lane: Lane
    caution: float
    resolution: float
    _spreads: dict[int, Floats] = field(default_factory=dict)

    def spread(self, arm: int) -> Floats:
        """The caution times the typical spread of differences to an arm, by position."""
        if arm not in self._spreads:
            plain = typical_spread(self.lane, arm) if self.caution else np.zeros(int(self.lane.known[arm]))
            self._spreads[arm] = self.caution * plain
        return self._spreads[arm]

    @cached_property
    def steps(self) -> Floats:
        """The resolution of rewards, by position."""
        if self.resolution > 0.0:
            return np.full(self.lane.cells.blocks, self.resolution)
        return least_step(self.lane)
