"""The rows of a round: from what a policy plans to pulls of the user's arms and fidelities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import attrgetter

from mfbandit.core import State, afford
from mfbandit.study.state._planner import Planner
from mfbandit.study.state._round import Row

__all__ = ["cut_rows", "list_rows"]

_size = attrgetter("size")


def list_rows(
    planner: Planner, costs: Sequence[Sequence[float]], state: State, rows: Sequence[Sequence[int]]
) -> list[Row]:
    """Rows with what is known of them: how many pulls came before, where their statistics are, what a pull costs."""
    cells, pulls = planner.cells, state.pulls
    starts: dict[tuple[int, int], int] = {}
    listed = []
    for arm, fidelity, size in rows:
        cell = cells[arm, fidelity]
        start = starts.get(cell)
        if start is None:
            start = pulls.item(cell)
        starts[cell] = start + size
        listed.append(Row(arm, fidelity, size, start, cell, costs[arm][fidelity]))
    return listed


def cut_rows(rows: list[Row], spent: float, limit: float) -> tuple[list[Row], bool]:
    """The rows of a round, cut where a pull would exceed the limit; whether that was so."""
    if limit == math.inf and all(map(_size, rows)):
        return rows, False  # as most are
    planned = []
    for row in rows:
        size = afford(limit - spent, row.cost, row.size) if limit < math.inf else row.size
        spent += size * row.cost
        if size > 0:
            planned.append(row._replace(size=size, blocks=row.blocks[:size]))
        if size < row.size:
            return planned, True
    return planned, False
