"""The rows of a round: from what a policy plans to pulls of the user's arms and fidelities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import attrgetter
from typing import Protocol

import numpy as np

from mfbandit.core import Ints, State, afford
from mfbandit.errors import StorageError
from mfbandit.study._settings import Settings
from mfbandit.study.state._planner import Planner
from mfbandit.study.state.rounds._costs import Costs
from mfbandit.study.state.rounds._round import PlannedRow
from mfbandit.study.state.rounds._round_record import read_round

__all__ = ["cut_rows", "in_pieces", "list_rows", "read_rows"]

_size = attrgetter("size")
_ROWS = '{"rows":[['
#: A row of pulls whose cost is not known is cut into so many at most.
_PIECES = 64


def list_rows(planner: Planner, costs: Costs, state: State, rows: Sequence[Sequence[int]]) -> list[PlannedRow]:
    """Rows with what is known of them: how many pulls came before, where their statistics are, what a pull costs."""
    cells, pulls = planner.cells, state.pulls
    expected, prices = costs.expected, costs.prices
    starts: dict[tuple[int, int], int] = {}
    listed = []
    for arm, fidelity, size in rows:
        cell = cells[arm, fidelity]
        start = starts.get(cell)
        if start is None:
            start = pulls.item(cell)
        starts[cell] = start + size
        listed.append(PlannedRow(arm, fidelity, size, start, cell, expected[arm][fidelity], prices[arm][fidelity]))
    return listed


class Planning(Protocol):
    """A study, as far as its plans are cut by what they cost."""

    settings: Settings
    planner: Planner
    costs: Costs
    state: State


def in_pieces(rows: list[list[int]], study: Planning) -> list[list[int]]:
    """The rows that a policy has planned, cut if money is limited and nobody knows what an arm's first pulls will cost.

    Where several rows are out, what pulls have cost is known when their row has counted. So no more are handed out than
    can be paid for, but for those that are out at that time.
    """
    if study.settings.limit == math.inf:
        return rows
    cut: list[list[int]] = []
    arms, columns = study.planner.arms, study.planner.columns
    for k, m, pulls, marked in rows:
        known = study.state.pulls[k, m] > 0 or study.costs.was_paid(arms[k], columns[m])
        size = pulls if known else max(1, -(-pulls // _PIECES))
        cut += [[k, m, min(size, pulls - start), marked] for start in range(0, pulls, max(1, size))]
    return cut


def cut_rows(rows: list[PlannedRow], costs: Costs, spent: float, limit: float) -> tuple[list[PlannedRow], bool]:
    """The rows of a round, cut where a pull would exceed the limit; whether that was so."""
    if limit == math.inf and all(map(_size, rows)):
        return rows, False  # as most are
    planned = []
    for row in rows:
        # More may be spent than there was, where costs are measured.
        cost = costs.now(row)
        size = max(0, afford(limit - spent, cost, row.size)) if limit < math.inf else row.size
        spent += size * cost
        if size > 0:
            planned.append(row._replace(size=size, blocks=row.blocks[:size]))
        if size < row.size:
            return planned, True
    return planned, False


def read_rows(texts: Sequence[str]) -> Ints:
    """All rows (arm, fidelity, count) of many rounds, one after the other."""
    if not all(text.startswith(_ROWS) for text in texts):
        rows = [row for text in texts for row in read_round(text)["rows"]]
        return np.array(rows, dtype=np.int64).reshape(-1, 3)
    # Rows come first in a record: all of them are read at once, much faster than to read every record.
    plain = ",".join([text[len(_ROWS) : text.index("]]")] for text in texts]).replace("],[", ",")
    try:
        numbers = np.fromstring(plain, dtype=np.int64, sep=",")
        # What is no number ends the reading, with a warning or an error by the version of NumPy.
        if numbers.size == plain.count(",") + 1:
            return numbers.reshape(-1, 3)
    except (ValueError, DeprecationWarning):
        pass
    raise StorageError("the log holds a round that cannot be read")
