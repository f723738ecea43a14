"""What the pulls of a study have really cost, and what the next ones are expected to cost.

Costs count in the order of asking, as rewards do: what is expected follows from the log alone. A pull that costs
nothing was taken from a cache, and says nothing of the next one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from mfbandit.core import Floats
from mfbandit.errors import RewardError, StorageError
from mfbandit.storage import json_text
from mfbandit.study._reward_check import OneOffCost, as_cost
from mfbandit.study._settings import Settings
from mfbandit.study.state.rounds._round import PlannedRow

__all__ = ["Costs", "outcome_text", "read_costs"]

#: Nothing is expected to cost less than this part of what costs most: policies divide by costs.
_LEAST = 1e-9
#: What is not known at all is taken to cost so much where a limit has to be kept.
_NOTHING = 1e-300


class Costs:
    """What pulls cost: as declared, as measured, and as expected."""

    def __init__(self, settings: Settings) -> None:
        problem = settings.problem
        self.declared: list[list[float]] = settings.seen.costs.tolist()
        #: What one pull of each arm at each fidelity costs if nobody tells, and what it is expected to cost.
        self.prices = self.expected = self.declared
        #: The fidelities that cost something else since the study was made, by what was said.
        self._repriced: set[int] = set()
        racing = settings.seen.blocks is not None
        self._opening = [fidelity.block_cost if racing else 0.0 for fidelity in problem.fidelities]
        self._measured = np.array([fidelity.measured is not None for fidelity in problem.fidelities])
        self._guessed = [fidelity.guessed for fidelity in problem.fidelities]
        self._shape = problem.costs.shape
        #: Whether any cost was told that has counted.
        self.known = False
        self._stale = False
        #: What pulls have cost beyond what was declared, by arm and fidelity.
        self.beyond: Floats = np.zeros((0, 0))
        self._sums = self._counts = self.beyond

    def reprice(self, settings: Settings) -> None:
        """Let pulls that are planned from now on cost what the settings say."""
        names = [fidelity.name for fidelity in settings.problem.fidelities]
        self._repriced = {names.index(name) for name, _ in settings.prices}
        self.prices = settings.price_table().tolist()
        self._begin()
        self._stale = True

    def pay(self, row: PlannedRow, pulls: int) -> None:
        """Note that pulls of a row have counted; what they cost is told beside, or their price."""
        if row.done >= 0 or row.fidelity in self._repriced:
            opening = self._opening[row.fidelity] if row.opens else 0.0
            self.add(row, pulls * (row.price - opening - self.declared[row.arm][row.fidelity]))

    def is_told(self, fidelity: int) -> bool:
        """Whether what pulls of a fidelity have cost was told."""
        return self.known and bool(self._counts[:, fidelity].any())

    def count(self, row: PlannedRow, cost: float) -> None:
        """Note what a pull of a row has cost."""
        self.add(row, cost - row.price)
        cell = row.arm, row.fidelity
        paid = cost - (self._opening[row.fidelity] if row.opens else 0.0)
        if paid > 0.0 and not isinstance(cost, OneOffCost):
            self._sums[cell] += paid
            self._counts[cell] += 1
            self._stale = True

    def count_row(self, row: PlannedRow, told: Iterable[tuple[bool, float | None, float]]) -> tuple[float, float]:
        """Note what the pulls of a row have cost: whether each counts, its cost if told, and what attempts cost before.

        Returns what they have cost beyond what was declared: those that count, and those that were called off.
        """
        beyond = called_off = 0.0
        for counts, cost, failed in told:
            more = failed + (0.0 if cost is None else cost - row.price)
            if not counts:
                # Its cost may have come before its arm was given up or not: nothing that is planned may depend on it.
                called_off += more
                continue
            beyond += more
            if cost is not None:
                self.count(row, cost)
            if failed:
                self.add(row, failed)
        return beyond, called_off

    def was_paid(self, arm: int, fidelity: int) -> bool:
        """Whether a cost was told for an arm at a fidelity."""
        return self.known and bool(self._counts[arm, fidelity])

    def add(self, row: PlannedRow, more: float) -> None:
        """Note that a row has cost more, or less, than was declared."""
        self._begin()
        self.beyond[row.arm, row.fidelity] += more

    def _begin(self) -> None:
        """Begin to count what pulls cost beyond what was declared."""
        if not self.known:
            self.known = True
            self.beyond, self._sums, self._counts = (np.zeros(self._shape) for _ in range(3))

    def now(self, row: PlannedRow) -> float:
        """What a pull of a row is expected to cost by now, where a limit has to be kept.

        It is what was paid for such pulls on average, else what was expected when it was planned. Where nothing is
        declared, that may mean nothing: it goes by other arms then, and is next to nothing before the first result,
        since a study whose limit is below a meaningless 1 would not begin.
        """
        if row.arm < 0 or row.fidelity in self._repriced:
            return row.cost
        cell, fidelity = (row.arm, row.fidelity), row.fidelity
        opening = self._opening[fidelity] if row.opens else 0.0
        if self.was_paid(*cell):
            return float(self._sums[cell] / self._counts[cell]) + opening
        if self._guessed[fidelity]:
            return row.cost
        paid = int(self._counts[:, fidelity].sum()) if self.known else 0
        if paid:
            return float(self._sums[:, fidelity].sum() / paid) + opening
        return row.cost if row.cost != row.price else _NOTHING + opening

    def renew(self) -> bool:
        """Let what is expected follow from all costs that have counted; returns whether it has changed."""
        if not self._stale:
            return False
        self._stale = False
        self.expected = self._expected().tolist()
        return True

    def _expected(self) -> Floats:
        """The mean cost of an arm at a fidelity.

        Where none was paid, it is the declared one, times what the fidelity has cost beyond what was declared for it,
        times what the arm has cost beyond others. A measured fidelity that was never paid for goes by the others.
        """
        declared, sums, counts = np.array(self.declared), self._sums, self._counts
        planned = counts * declared
        by_fidelity = _ratio(sums.sum(axis=0), planned.sum(axis=0))
        measured = self._measured & ~np.isnan(by_fidelity)
        usual = _ratio(sums[:, measured].sum(), planned[:, measured].sum())
        unpaid = np.where(self._measured & ~np.isnan(usual), usual, 1.0)
        by_fidelity = np.where(np.isnan(by_fidelity), unpaid, by_fidelity)
        by_arm = _ratio(sums.sum(axis=1), (planned * by_fidelity).sum(axis=1))
        guess = declared * by_fidelity * np.where(np.isnan(by_arm), 1.0, by_arm)[:, np.newaxis]
        means = _ratio(sums, counts)
        found = np.where(np.isnan(means), guess, means)
        said = sorted(self._repriced)
        found[:, said] = np.array(self.prices)[:, said]
        floored: Floats = np.maximum(found, _LEAST * found.max())
        return floored


def _ratio(over: Any, under: Any) -> Floats:
    """A quotient, and NaN where it is one by 0."""
    found: Floats = np.divide(over, under, out=np.full(np.shape(over), np.nan), where=np.asarray(under) > 0)
    return found


def outcome_text(cost: float | None, note: str | None, lost: float = 0.0) -> str | None:
    """What the record of a result says beside the reward; None if that is nothing.

    Examples
    --------
    >>> outcome_text(0.5, None), outcome_text(OneOffCost(0.5), "again", 2.0), outcome_text(None, None)
    ('{"cost":0.5}', '{"cost":0.5,"note":"again","lost":2.0,"usual":false}', None)
    """
    usual = False if isinstance(cost, OneOffCost) else None
    parts = (("cost", None if cost is None else float(cost)), ("note", note), ("lost", lost or None), ("usual", usual))
    said = {key: value for key, value in parts if value is not None}
    return json_text(said) if said else None


def read_costs(text: str) -> tuple[float | None, float]:
    """The cost that the record of a result says, None if it says none, and what attempts have cost that failed before.

    Examples
    --------
    >>> read_costs('{"cost":0.5,"lost":2.0}'), read_costs('{"note":"again"}')
    ((0.5, 2.0), (None, 0.0))
    """
    try:
        said = json.loads(text)
        cost, usual = said.get("cost"), said.get("usual", True)
        return None if cost is None else as_cost(cost, usual=usual is not False), as_cost(said.get("lost", 0.0))
    except (ValueError, AttributeError, RewardError):
        raise StorageError(f"the log holds a result that cannot be read: {text[:60]!r}") from None
