"""The rows of a round: from what a policy plans to pulls of the user's arms and fidelities."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from mfbandit.core import State, afford
from mfbandit.study.state._planner import Planner
from mfbandit.study.state._round import Row

__all__ = ["cut_listed", "cut_rows", "list_rows", "numbered"]

Costs = Sequence[Sequence[float]]
#: Arm, fidelity, pulls, pulls before, and the place of the statistics.
Numbered = tuple[int, int, int, int, tuple[int, int]]


def cut_rows(
    planner: Planner, costs: Costs, spent: float, limit: float, rows: Sequence[Sequence[int]]
) -> tuple[list[tuple[int, int, int]], bool]:
    """Planned rows in indices of the problem, cut where a pull would exceed the limit; whether that was so."""
    planned = []
    for k, m, wanted in rows:
        arm, fidelity, count = planner.arms[k], planner.columns[m], wanted
        if limit < math.inf:
            cost = costs[arm][fidelity]
            count = afford(limit - spent, cost, wanted)
            spent += count * cost
        if count > 0:
            planned.append((arm, fidelity, count))
        if count < wanted:
            return planned, True
    return planned, False


def cut_listed(rows: Sequence[Row], spent: float, limit: float) -> tuple[list[Row], bool]:
    """The same for rows that know what a pull costs."""
    planned = []
    for row in rows:
        size = afford(limit - spent, row.cost, row.size) if limit < math.inf else row.size
        spent += size * row.cost
        if size > 0:
            planned.append(row._replace(size=size, blocks=row.blocks[:size]))
        if size < row.size:
            return planned, True
    return planned, False


def list_rows(planner: Planner, costs: Costs, state: State, rows: Sequence[Sequence[int]]) -> list[Row]:
    """Rows with what is known of them: how many pulls came before, where their statistics are, what a pull costs."""
    return [
        Row(arm, fidelity, size, start, cell, costs[arm][fidelity])
        for arm, fidelity, size, start, cell in numbered(planner, state, rows)
    ]


def numbered(planner: Planner, state: State, rows: Sequence[Sequence[int]]) -> Iterator[Numbered]:
    """Rows with the number of pulls that came before, and the place of their statistics."""
    starts: dict[tuple[int, int], int] = {}
    for arm, fidelity, size in rows:
        cell = planner.cells[arm, fidelity]
        start = starts.get(cell)
        if start is None:
            start = state.pulls.item(cell)
        starts[cell] = start + size
        yield arm, fidelity, size, start, cell
