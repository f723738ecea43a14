"""The rewards of one lane, arm after arm, each as far as it is known.

Of many thousand arms most are known on a few blocks and some on thousands. A table of all arms and all blocks would be
empty but for a thousandth of it, so that rows are taken from here, and whatever goes through all blocks of all arms
does it stretch by stretch (`stretches`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mfbandit.core import Blocks

__all__ = ["LaneCells", "portions", "stretches"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: Pairs are worked out so many cells at a time.
_CELLS = 2_000_000


@dataclass(frozen=True)
class LaneCells:
    """Rewards of K arms, one after the other, in unit scale; NaN for cells that could not be had."""

    values: Floats
    starts: Ints
    """Where the rewards of each arm begin, (K,)."""
    known: Ints
    """How many each arm has, (K,)."""

    @classmethod
    def of_table(cls, rewards: Floats, known: Ints) -> LaneCells:
        """The cells of a table (K, n)."""
        arms, blocks = rewards.shape
        return cls(np.ascontiguousarray(rewards).ravel(), blocks * np.arange(arms), known)

    @classmethod
    def of_blocks(cls, blocks: Blocks, lane: int, known: Ints) -> LaneCells:
        """The cells of a lane of a state."""
        held = blocks.rewards.shape[2]
        within = np.arange(held) < known[:, None]
        shallow = np.minimum(known, held)
        values = np.empty(int(known.sum()))
        starts = np.cumsum(known) - known
        places = np.arange(int(shallow.sum())) + np.repeat(starts - (np.cumsum(shallow) - shallow), shallow)
        values[places] = blocks.rewards[lane][within]
        for arm in np.flatnonzero(known > held):
            row = blocks.deep[blocks.deep_row[lane, arm], : known[arm] - held]
            values[starts[arm] + held : starts[arm] + known[arm]] = row
        return cls(values, starts, known.copy())

    @classmethod
    def in_order(cls, arms: int, of_arm: Ints, rewards: Floats) -> LaneCells:
        """The cells of rewards in the order in which they were asked for, and the arm of each."""
        known = np.bincount(of_arm, minlength=arms)
        return cls(rewards[np.argsort(of_arm, kind="stable")], np.cumsum(known) - known, known)

    @property
    def blocks(self) -> int:
        """How many blocks the arm has that has most."""
        return int(self.known.max(initial=0))

    def rows(self, arms: Ints, start: int, stop: int) -> Floats:
        """The rewards of some arms from one position up to another, (P, n); NaN beyond what is known."""
        positions = np.arange(start, stop)
        places = self.starts[arms][:, None] + positions
        beyond = positions >= self.known[arms][:, None]
        places[beyond] = 0
        found = self.values[places] if self.values.size else np.zeros(places.shape)
        found[beyond] = np.nan
        return found

    @cached_property
    def missing(self) -> tuple[Ints, Ints]:
        """The arm and the position of every known cell that could not be had."""
        # Other rewards than known ones may lie between those of two arms.
        places = np.flatnonzero(np.isnan(self.values))
        arms = np.searchsorted(self.starts, places, side="right") - 1
        positions = places - self.starts[arms]
        known = positions < self.known[arms]
        return arms[known], positions[known]

    def complete_from(self, start: int) -> Ints:
        """The first position of each arm, `start` or later, that is not known or could not be had, (K,)."""
        found = np.maximum(self.known, start)
        arms, positions = self.missing
        later = positions >= start
        np.minimum.at(found, arms[later], positions[later])
        return found


def stretches(ends: Ints) -> Iterator[tuple[int, int, Ints]]:
    """Cut positions where arms come to their ends: from, to, and the arms that are there all along.

    Examples
    --------
    >>> [(start, stop, arms.tolist()) for start, stop, arms in stretches(np.array([2, 5, 2]))]
    [(0, 2, [0, 1, 2]), (2, 5, [1])]
    """
    start, left = 0, np.arange(ends.size)
    for stop in np.unique(ends[ends > 0]).tolist():
        left = left[ends[left] >= stop]
        yield start, stop, left
        start = stop


def portions(blocks: Ints) -> Iterator[Ints]:
    """Places with so many blocks each, but for those with none; so many at a time that tables of them fit.

    Examples
    --------
    >>> [part.tolist() for part in portions(np.array([2, 0, 5]))]
    [[0, 2]]
    """
    order = np.argsort(-blocks, kind="stable")
    order, start = order[blocks[order] > 0], 0
    while start < order.size:
        stop = start + max(1, _CELLS // int(blocks[order[start]]))
        yield np.sort(order[start:stop])
        start = stop
