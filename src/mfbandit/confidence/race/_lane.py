"""One lane of a race as arrays: what every arm gave on each position, and who was declared before."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mfbandit.confidence.race._cells import LaneCells, portions

__all__ = ["Lane"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Lane:
    """The cells of one fidelity, in unit scale (K arms, n positions)."""

    given: Floats | LaneCells
    """Rewards as cells, or as a table (K, n); NaN for cells that could not be had, and beyond what is known."""
    known: Ints
    """How many positions of each arm are known, (K,)."""
    declared: Ints
    """Leader and runner-up of each position, -1 for nobody, (n, 2); or a table for each arm they are used for."""
    bias: Floats
    """Bias bounds of the arms, (K,)."""
    pair_bias: float
    """Bound on the bias of a difference; +inf if there is none beside those of the arms."""
    size: int
    """N, the size of a finite set; 0 if there is no end of blocks."""
    swing: float
    """How far a difference may stray from its mean; 0 if that is not declared."""
    joined: Ints | None = None
    """How many positions were open when each arm joined, (K,): there it proves nothing. None if all began together."""

    def allowed(self, winners: Ints, losers: Ints) -> Floats:
        """z: the most that the mean of winner minus loser can be here if the loser is truly as good."""
        return np.minimum(self.bias[winners] + self.bias[losers], self.pair_bias)

    def common(self, winners: Ints, losers: Ints) -> Ints:
        """How many positions of two arms are known."""
        return np.minimum(self.known[winners], self.known[losers])

    def since(self, winners: Ints, losers: Ints) -> Ints:
        """From which position on two arms are compared."""
        if self.joined is None:
            return np.zeros(winners.size, dtype=np.int64)
        return np.maximum(self.joined[winners], self.joined[losers])

    @cached_property
    def cells(self) -> LaneCells:
        """The rewards, arm after arm."""
        return self.given if isinstance(self.given, LaneCells) else LaneCells.of_table(self.given, self.known)

    @cached_property
    def rewards(self) -> Floats:
        """The same as a table, (K, n)."""
        if isinstance(self.given, LaneCells):
            return self.given.rows(np.arange(self.known.size), 0, self.given.blocks)
        return self.given

    @cached_property
    def pair_cells(self) -> float:
        """On how many positions both arms of a pair are known, over all pairs in both orders."""
        counts = np.sort(self.known)[::-1].astype(float)
        return 2.0 * float((counts * np.arange(counts.size)).sum())

    @cached_property
    def leaders(self) -> dict[int, tuple[int, int]]:
        """The first position that each leader was declared for, and as which of all leaders, counted from 1."""
        found: dict[int, tuple[int, int]] = {}
        for position, leader in enumerate(self.declared[:, 0].tolist()):
            if leader >= 0 and leader not in found:
                found[leader] = position, len(found) + 1
        return found

    def differences(self, first: int, second: int) -> Floats:
        """What an arm gave more than another on the positions on which both are known and compared."""
        both = np.array([first, second])
        start = int(self.since(both[:1], both[1:])[0])
        rows = self.cells.rows(both, start, max(start, int(self.known[both].min())))
        return np.asarray(rows[0] - rows[1])

    def largest_apart(self, winners: Ints, losers: Ints) -> Floats:
        """The largest difference of each pair on a position."""
        found, common = np.zeros(winners.size), self.common(winners, losers)
        for part in portions(common):
            stop = int(common[part].max())
            apart = self.cells.rows(winners[part], 0, stop) - self.cells.rows(losers[part], 0, stop)
            found[part] = np.nan_to_num(np.abs(apart)).max(axis=1)
        return found

    @cached_property
    def within(self) -> npt.NDArray[np.bool_]:
        """Which cells are known, had or not, (K, n)."""
        return np.arange(self.rewards.shape[1]) < self.known[:, None]

    @cached_property
    def complete(self) -> Ints:
        """How many positions of each arm come before the first cell that could not be had, (K,)."""
        return self.cells.complete_from(0)

    @cached_property
    def low(self) -> Floats:
        """Rewards in [0, 1], at worst for an arm that is to win."""
        return np.where(np.isnan(self.rewards), 0.0, self.rewards)

    @cached_property
    def high(self) -> Floats:
        """Rewards in [0, 1], at best for an arm that is to lose."""
        return np.where(np.isnan(self.rewards), 1.0, self.rewards)

    @cached_property
    def low_sums(self) -> Floats:
        """Sums of `low` before each position, (K, n + 1)."""
        return _sums(self.low)

    @cached_property
    def high_sums(self) -> Floats:
        """Sums of `high` before each position, (K, n + 1)."""
        return _sums(self.high)


def _sums(values: Floats) -> Floats:
    found = np.zeros((values.shape[0], values.shape[1] + 1))
    np.cumsum(values, axis=1, out=found[:, 1:])
    return found
