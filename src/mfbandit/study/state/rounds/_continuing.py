"""Fidelities that go on from what cheaper ones left: training from 3 to 9 epochs.

All fidelities have one order of blocks, and every arm is measured on the first blocks of it. So how many pulls an arm
has at a cheaper fidelity says on which blocks it can go on from there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mfbandit.model import Problem
from mfbandit.study.state.rounds._costs import Costs
from mfbandit.study.state.rounds._round import PlannedRow

__all__ = ["Continuing"]


class Continuing:
    """Which fidelities go on from which, and what that costs."""

    def __init__(self, problem: Problem, costs: Costs) -> None:
        self._costs = costs
        mean = problem.costs.mean(axis=0).tolist()
        cheaper = {
            m: [other for other in range(problem.n_fidelities) if mean[other] < mean[m]]
            for m, fidelity in enumerate(problem.fidelities)
            if fidelity.continues
        }
        #: The cheaper fidelities that each one goes on from, the most expensive first; empty if it goes on from none.
        self.before = {m: sorted(others, key=lambda other: -mean[other]) for m, others in cheaper.items() if others}

    def split(self, row: PlannedRow, pulls: Mapping[int, int]) -> Iterator[PlannedRow]:
        """The parts of a row by what was reached on its blocks; `pulls` are those of its arm at each fidelity."""
        before = self.before.get(row.fidelity, ())
        position, end = row.start, row.start + row.size
        while position < end:
            done = next((m for m in before if pulls.get(m, 0) > position), -1)
            # What is reached by more is looked at first: the part ends where that has no pulls any more.
            upto = min(end, pulls[done]) if done >= 0 else end
            yield self._part(row, position - row.start, upto - row.start, done)
            position = upto
        if not row.size:
            yield row

    def _part(self, row: PlannedRow, first: int, end: int, done: int) -> PlannedRow:
        part = row._replace(size=end - first, start=row.start + first, blocks=row.blocks[first:end], done=done)
        if done < 0:
            return part
        declared = self._costs.declared[row.arm]
        spared = declared[done] / declared[row.fidelity]
        expected = self._costs.expected[row.arm][row.fidelity]
        # A mean of what was paid is that of going on, too.
        less = 0.0 if self._costs.was_paid(row.arm, row.fidelity) else spared * expected
        return part._replace(cost=row.cost - less, price=row.price - declared[done])
