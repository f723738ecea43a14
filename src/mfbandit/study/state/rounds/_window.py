"""The pulls of several rounds at once: planned one after the other while those before are still out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from heapq import heapify
from typing import Any

from mfbandit.study.state.rounds._round import PlannedRow, Round

__all__ = ["MARKS", "Window", "read_marks", "write_marks"]

#: Rows that have counted are forgotten when there are more than so many of them.
_KEPT = 256
#: The marks of rows, by the names that the record of a round has for them.
MARKS = {"marked": 1, "leading": 2}


def write_marks(marks: Sequence[int]) -> dict[str, Any]:
    """What the record of a round says of the marks of its rows.

    Examples
    --------
    >>> write_marks([0, 1, 3])
    {'marked': [1, 2], 'leading': [2]}
    """
    rows = {name: [row for row, mark in enumerate(marks) if mark & bit] for name, bit in MARKS.items()}
    return {name: found for name, found in rows.items() if found}


def read_marks(body: Mapping[str, Any], rows: int) -> list[int]:
    """The marks of the rows of a round, of which there are so many, by its record."""
    return [sum(bit for name, bit in MARKS.items() if row in body.get(name, ())) for row in range(rows)]


class Window(Round):
    """The pulls that were planned and have not all counted, numbered by their position from the first row on."""

    __slots__ = ("_ready", "begins", "lasts", "marks")

    def __init__(self, first: int) -> None:
        super().__init__(first, (), False)
        self.rows: list[PlannedRow] = []
        #: What the rewards of each row are marked as: see `mfbandit.core.Ahead`.
        self.marks: list[int] = []
        #: Whether it is the last of its round.
        self.lasts: list[bool] = []
        #: Whether the next row to count is the first of its round.
        self.begins = True
        #: Positions before this one have their results, or need none.
        self._ready = 0

    def add(self, rows: Sequence[PlannedRow], marks: Sequence[int], cut: bool) -> None:
        """Add a round; `marks` are those of its rows."""
        if len(self.rows) > _KEPT and self.row > len(self.rows) // 2:
            self._forget_counted()
        for number, row in enumerate(rows):
            self.size += row.size
            self.rows.append(row)
            self.ends.append(self.size)
            self.marks.append(marks[number])
            self.lasts.append(number == len(rows) - 1)
        self.cut = cut

    def leave_out_number(self) -> None:
        """Let the next round begin one later, as if a pull of nobody had been called off."""
        self.add([PlannedRow(-1, -1, 1, 0, (-1, -1), 0.0, 0.0)], (0,), self.cut)
        self.waiting[self.size - 1] = None

    @property
    def next_row(self) -> PlannedRow:
        """The first row that has not counted."""
        return self.rows[self.row]

    @property
    def next_end(self) -> int:
        """Where the first row ends that has not counted, or -1."""
        return self.ends[self.row] if self.row < len(self.rows) else -1

    def is_complete(self) -> bool:
        """Whether the first row that has not counted has all its results."""
        while self._ready in self.waiting:
            self._ready += 1
        return self._ready >= self.next_end > 0

    def count_row(self) -> tuple[PlannedRow, int, list[float | None], int]:
        """Let the first row count: the row, its mark, its rewards, and how many called off had been out.

        What was told of their costs is for `take_costs`.
        """
        row, mark, end = self.rows[self.row], self.marks[self.row], self.ends[self.row]
        positions = range(self.folded, end)
        paid = sum(self.waiting[position] is None and position in self.paid for position in positions)
        self.begins = self.lasts[self.row]
        self.folded = end
        self.row += 1
        return row, mark, [self.waiting.pop(position) for position in positions], paid

    def take_costs(self, start: int, rewards: Sequence[float | None]) -> list[tuple[bool, float | None, float]]:
        """What was told of the costs of a row that has counted: if it counts, its cost, what failed attempts cost."""
        positions = enumerate(rewards, start=start)
        return [
            (reward is not None, self.costs.pop(position, None), self.lost.pop(position, 0.0))
            for position, reward in positions
        ]

    def look_at_limit(self, left: float, now: Callable[[PlannedRow], float]) -> None:
        """Find from which row on nothing can be paid for with the money left; each costs what is expected `now`."""
        self.barrier, position = float("inf"), self.folded
        for row, _ in self.rows_out():
            left -= row.size * now(row)
            if left < 0.0:
                self.barrier = position
                return
            position += row.size

    def call_off(self, arm: int, first: int) -> list[int]:
        """Call off the positions of an arm from one on, those that have a reward, too; returns them."""
        found: list[int] = []
        for row, end in zip(self.rows[self.row :], self.ends[self.row :], strict=True):
            if row.arm == arm:
                found += range(max(end - row.size, first), end)
        for position in found:
            if (position not in self.waiting and self.was_out(position)) or self.waiting.get(position) is not None:
                self.paid.add(position)
            self.waiting[position] = None
            self.leases.pop(position, None)
        return found

    def rows_out(self) -> list[tuple[PlannedRow, int]]:
        """The rows that have not counted, and their marks."""
        return list(zip(self.rows[self.row :], self.marks[self.row :], strict=True))

    def cost_out(self, price: Callable[[PlannedRow], float]) -> float:
        """What the pulls are expected to cost that have not counted, by their prices, up to where money ends."""
        position, total = self.folded, 0.0
        for row, _ in self.rows_out():
            position += row.size
            total += row.size * price(row) if position <= self.barrier else 0.0
        return total

    def relabel(self, cells: dict[tuple[int, int], tuple[int, int]]) -> None:
        """Find where the statistics of rows that are out lie now that other arms are in play."""
        nowhere = (-1, -1)
        for number in range(self.row, len(self.rows)):
            row = self.rows[number]
            self.rows[number] = row._replace(cell=cells.get((row.arm, row.fidelity), nowhere))

    def counted_in_row(self) -> tuple[int, int]:
        """Rows count as a whole: none is half counted."""
        return 0, 0

    def loose(self) -> int:
        """How many positions have a reward that does not count yet."""
        return sum(reward is not None for reward in self.waiting.values())

    def _forget_counted(self) -> None:
        """Number positions from the first row on that has not counted."""
        past, gone = self.folded, self.row
        del self.rows[:gone], self.marks[:gone], self.lasts[:gone], self.ends[:gone]
        self.ends[:] = [end - past for end in self.ends]
        self.first += past
        self.size -= past
        self._ready -= past
        self.fresh = max(0, self.fresh - past)
        self.barrier -= past
        self.costs = {position - past: cost for position, cost in self.costs.items()}
        self.lost = {position - past: cost for position, cost in self.lost.items()}
        self.folded = self.row = 0
        self.leases = {position - past: lease for position, lease in self.leases.items() if position >= past}
        self.waiting = {position - past: reward for position, reward in self.waiting.items()}
        self.paid = {position - past for position in self.paid if position >= past}
        self._returned[:] = [position - past for position in self._returned if position >= past]
        heapify(self._returned)
        self.skipped = {position - past for position in self.skipped if position >= past}
