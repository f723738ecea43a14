"""The best arm against every rival: the evidence that spending yields at a level of confusion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mfbandit._checks import FloatArray
from mfbandit.instances import Instance
from mfbandit.theory._scale import in_units
from mfbandit.theory.divergence._divergence import divergences

__all__ = ["Pairs", "Rows", "Spending"]

Ints = NDArray[np.intp]

_STEPS = 80


class Spending(NamedTuple):
    """Cost spent per fidelity on the best arm (m,) and on every rival (B, m)."""

    best: FloatArray
    rivals: FloatArray

    @property
    def total(self) -> float:
        """All of it."""
        return float(self.best.sum() + self.rivals.sum())

    def divided(self, evidence: float) -> Spending:
        """Return what yields evidence 1 where this yields ``evidence``."""
        if evidence <= 0.0:
            return Spending(np.full_like(self.best, np.inf), np.full_like(self.rivals, np.inf))
        return Spending(self.best / evidence, self.rivals / evidence)


class Rows(NamedTuple):
    """Evidence per unit of cost for the best arm and the rival, (n, m), and slopes in the level."""

    best: FloatArray
    rival: FloatArray
    best_slope: FloatArray
    rival_slope: FloatArray


class Pairs:
    """All pairs (best arm, rival) of an instance, on some of its fidelities.

    Attributes
    ----------
    best : int
        The best arm.
    rivals : array (B,)
        The other arms.
    low, high : arrays (B,)
        Levels between which the hardest one lies: below ``low`` the rival costs nature nothing,
        above ``high`` the best arm does.
    """

    def __init__(self, instance: Instance, columns: Sequence[int]) -> None:
        units = in_units(instance)
        self._divergences = divergences(instance)
        self._columns = list(columns)
        self._biases = units.biases
        self._costs = units.costs[:, self._columns]
        self.best = units.best
        self.rivals: Ints = np.delete(np.arange(len(units.means)), units.best)
        reachable_low = (units.means + units.biases)[:, self._columns].min(axis=1)
        reachable_high = (units.means - units.biases)[units.best, self._columns].max()
        self.low: FloatArray = reachable_low[self.rivals]
        self.high: FloatArray = np.full(len(self.rivals), reachable_high)

    @property
    def widths(self) -> FloatArray:
        """Distance between the ends of the levels."""
        return self.high - self.low

    def rows(self, owners: Ints, levels: FloatArray) -> Rows:
        """Evidence per cost of pairs ``owners`` (n,) at levels (n,)."""
        rivals = self.rivals[owners]
        leaders = np.full(len(owners), self.best)
        down, down_slope = self._divergences.down(leaders, levels[:, None] + self._biases[leaders])
        up, up_slope = self._divergences.up(rivals, levels[:, None] - self._biases[rivals])
        best_costs, rival_costs = self._costs[leaders], self._costs[rivals]
        return Rows(
            down[:, self._columns] / best_costs,
            up[:, self._columns] / rival_costs,
            down_slope[:, self._columns] / best_costs,
            up_slope[:, self._columns] / rival_costs,
        )

    def hardest_levels(self, spending: Spending, start: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Minimise the evidence of every pair over the level.

        Parameters
        ----------
        spending : Spending
            What is spent.
        start : array (B,)
            First guesses.

        Returns
        -------
        levels : array (B,)
            Levels of least evidence.
        evidence : array (B,)
            Proven lower bounds of the least evidence, from the tangents on both sides of it.
        """
        search = _LevelSearch(self.low, self.high)
        levels = start
        for step in range(_STEPS):
            search.tell(levels, *self._evidence(spending, levels))
            if search.settled:
                break
            levels = search.halfway() if step % 3 == 2 else search.crossing()
        return search.levels, np.maximum(search.floor, 0.0)

    def topped_up(self, spending: Spending, levels: FloatArray, evidence: FloatArray) -> Spending:
        """Spend more on the rivals whose pairs lack evidence, twice what is missing at the level.

        Parameters
        ----------
        spending : Spending
            What is spent.
        levels, evidence : arrays (B,)
            The hardest level of every pair and the evidence there.

        Returns
        -------
        Spending
        """
        pairs = np.arange(len(self.rivals))
        rates = self.rows(pairs, levels).rival
        column = rates.argmax(axis=1)
        missing = np.maximum(1.0 - evidence, 0.0)
        rivals = spending.rivals.copy()
        with np.errstate(divide="ignore", invalid="ignore"):
            extra = np.where(missing > 0.0, 2.0 * missing / rates[pairs, column], 0.0)
        rivals[pairs, column] += extra
        return Spending(spending.best, rivals)

    def _evidence(self, spending: Spending, levels: FloatArray) -> tuple[FloatArray, FloatArray]:
        rows = self.rows(np.arange(len(self.rivals)), levels)
        value = rows.best @ spending.best + (rows.rival * spending.rivals).sum(axis=1)
        slope = rows.best_slope @ spending.best + (rows.rival_slope * spending.rivals).sum(axis=1)
        return value, slope


class _LevelSearch:
    """Minimise many convex functions at once, each on its own interval, from values and slopes."""

    def __init__(self, low: FloatArray, high: FloatArray) -> None:
        self.left, self.right = low.copy(), high.copy()
        # Until a side was visited its tangent is missing: value unknown, slope of no use.
        self.left_value, self.left_slope = np.full(low.shape, np.nan), np.full(low.shape, -np.inf)
        self.right_value, self.right_slope = np.full(low.shape, np.nan), np.full(low.shape, np.inf)
        self.levels, self.least = 0.5 * (low + high), np.full(low.shape, np.inf)
        self.floor = np.full(low.shape, -np.inf)

    def tell(self, levels: FloatArray, value: FloatArray, slope: FloatArray) -> None:
        falling = slope < 0.0
        self.left = np.where(falling, levels, self.left)
        self.left_value = np.where(falling, value, self.left_value)
        self.left_slope = np.where(falling, slope, self.left_slope)
        self.right = np.where(falling, self.right, levels)
        self.right_value = np.where(falling, self.right_value, value)
        self.right_slope = np.where(falling, self.right_slope, slope)
        better = value < self.least
        self.levels = np.where(better, levels, self.levels)
        self.least = np.where(better, value, self.least)
        self.floor = np.maximum(self.floor, self._tangent_floor())

    def _tangent_floor(self) -> FloatArray:
        width = self.right - self.left
        from_left = self.left_value + self.left_slope * width
        from_right = self.right_value - self.right_slope * width
        with np.errstate(divide="ignore", invalid="ignore"):
            at = (from_right - self.left_value) / (self.left_slope - self.right_slope)
            meeting = self.left_value + self.left_slope * at
        # With one tangent only, the function cannot be lower than it is at the other end.
        one_sided = np.where(np.isnan(self.left_value), from_right, from_left)
        both = ~(np.isnan(self.left_value) | np.isnan(self.right_value))
        return np.where(both, meeting, one_sided)

    @property
    def settled(self) -> bool:
        near = self.least - self.floor <= 1e-11 * self.least
        return bool((near | (self.right - self.left <= 1e-15 * np.abs(self.right))).all())

    def halfway(self) -> FloatArray:
        return 0.5 * (self.left + self.right)

    def crossing(self) -> FloatArray:
        """Where the slope would vanish if it were linear; halfway until both sides are known."""
        with np.errstate(invalid="ignore"):
            share = self.left_slope / (self.left_slope - self.right_slope)
        known = np.isfinite(share) & (share > 0.0) & (share < 1.0)
        return self.left + np.where(known, share, 0.5) * (self.right - self.left)
