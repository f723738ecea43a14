"""The round being played: which of its pulls are handed out, told, or wait for their turn to count."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from heapq import heappop, heappush
from itertools import accumulate
from typing import NamedTuple

from mfbandit.core import afford

__all__ = ["HoldUp", "PlannedRow", "Round", "lease_note"]

#: Clocks of one machine that are this far apart are not wrong.
_TOLERANCE_SECONDS = 1.0


class PlannedRow(NamedTuple):
    """Some pulls of one arm at one fidelity."""

    arm: int
    """Index in the user's problem."""
    fidelity: int
    """Index in the user's problem."""
    size: int
    start: int
    """How many pulls of this arm at this fidelity came before."""
    cell: tuple[int, int]
    """Where its statistics are."""
    cost: float
    """What one pull is expected to cost."""
    price: float
    """What it costs if nobody tells: as declared, or as was said since."""
    blocks: tuple[int, ...] = ()
    """The block of each pull; empty for a problem without blocks."""
    opens: bool = False
    """Whether its pulls are the first on their blocks in this fidelity, so that they pay for opening them."""
    done: int = -1
    """The fidelity that its pulls go on from; -1 if they begin anew."""


@lru_cache(maxsize=64)
def lease_note(term: float, owner: str) -> str:
    """What the record of a lease says, beside its end.

    Examples
    --------
    >>> lease_note(60.0, "host/boot/7/123/a"), lease_note(3600.0, "")
    ('60 host/boot/7/123/a', '3600')
    """
    return f"{term:g} {owner}" if owner else f"{term:g}"


@lru_cache(maxsize=64)
def _read_note(note: str | None) -> tuple[float, str]:
    """For how many seconds a lease was given, and to which process, if it ends with that one; most notes are the same.

    Older versions wrote no note: such a lease may last, and has no owner.
    """
    term, _, owner = (note or "").partition(" ")
    try:
        return float(term) if term else float("inf"), owner
    except ValueError:
        return float("inf"), owner


class HoldUp(NamedTuple):
    """What a study waits for."""

    kind: str = ""
    """Empty if it waits for nothing; "round": all results of a round; "width": as many pulls are out as may be;
    "lag": plans are as far ahead of the results that have counted as they may be; "expected": what is out ends the
    study if it comes back as expected; "limit": nothing more can be paid for; "at_most": a fidelity has as many
    pulls out as it may have; "people": what could be handed out is for people."""
    pull: int = -1
    """The first pull without a result, where that is what it waits for."""
    fidelity: int = -1
    """The fidelity, for "at_most" and "people"."""


class Round:
    """The pulls of one round, numbered by their position in it."""

    __slots__ = (
        "_planned",
        "_returned",
        "barrier",
        "called_off",
        "costs",
        "cut",
        "ends",
        "first",
        "folded",
        "fresh",
        "in_flight",
        "leases",
        "lost",
        "metered",
        "metered_cost",
        "newest",
        "paid",
        "row",
        "rows",
        "size",
        "skipped",
        "soonest",
        "waiting",
    )

    def __init__(self, first: int, rows: Sequence[PlannedRow], cut: bool) -> None:
        self.first = first
        self.rows = rows
        self.cut = cut
        self.ends: list[int] = []
        size = 0
        for row in rows:
            size += row.size
            self.ends.append(size)
        self.size = size
        #: Positions before this one have counted.
        self.folded = 0
        #: The row that `folded` lies in.
        self.row = 0
        #: Pulls of that row that were called off, and how many of them were out at that time.
        self.called_off = self.in_flight = 0
        #: Positions that were called off after they had been handed out.
        self.paid: set[int] = set()
        #: Rewards that came before their turn, in unit scale; None for a pull that was called off.
        self.waiting: dict[int, float | None] = {}
        #: What was told of the costs of these, and what attempts cost that failed before.
        self.costs: dict[int, float] = {}
        self.lost: dict[int, float] = {}
        #: How many pulls of the row being played were told with their cost, and all that was told of costs.
        self.metered, self.metered_cost = 0, 0.0
        #: Positions from this one on cannot be paid for; infinite if all can.
        self.barrier = float("inf")
        self._planned: list[float] = []
        #: Positions from this one on were never handed out.
        self.fresh = 0
        #: The positions that are out: until when, by the storage's clock, and the note of that.
        self.leases: dict[int, tuple[float, str | None]] = {}
        #: No lease ends before this time, and none began after that one.
        self.soonest = float("inf")
        self.newest = float("-inf")
        self._returned: list[int] = []
        #: Positions before `fresh` that were never handed out: others overtook them.
        self.skipped: set[int] = set()

    def counted_in_row(self) -> tuple[int, int]:
        """Results of the row being played that have counted, and pulls of it that were called off when out."""
        if self.folded == self.size:
            return 0, 0
        past = self.ends[self.row] - self.rows[self.row].size
        return self.folded - past - self.called_off, self.in_flight

    def look_at_limit(self, left: float, now: Callable[[PlannedRow], float]) -> None:
        """Find from which position on nothing can be paid for with the money left.

        Pulls of the row being played cost what they are expected to `now`, those after it what was expected when this
        was asked for the first time in the round.
        """
        self.barrier = float("inf")
        if self.folded == self.size:
            return
        row, wanted = self.rows[self.row], self.ends[self.row] - self.folded
        cost = now(row)
        paid = max(0, afford(left, cost, wanted))
        if paid < wanted:
            self.barrier = self.folded + paid
            return
        if not self._planned:
            self._planned = list(accumulate((row.size * now(row) for row in self.rows), initial=0.0))
        goal = self._planned[self.row + 1] + left - paid * cost
        number = bisect_right(self._planned, goal, self.row + 1) - 1
        if number < len(self.rows):
            row = self.rows[number]
            each = (self._planned[number + 1] - self._planned[number]) / row.size
            self.barrier = self.ends[number] - row.size + afford(goal - self._planned[number], each, row.size)

    def cost_at(self, position: int) -> float:
        """What a position that has a reward has cost."""
        cost = self.costs.get(position)
        return self.row_of(position).price if cost is None else cost

    def row_of(self, position: int) -> PlannedRow:
        """The row that a position lies in."""
        return self.rows[bisect_right(self.ends, position)]

    def pull_at(self, position: int) -> tuple[PlannedRow, int]:
        """Which pull is at a position: its row, and how many pulls of that arm at that fidelity came before."""
        number = bisect_right(self.ends, position)
        row = self.rows[number]
        return row, row.start + position - self.ends[number] + row.size

    def told(self, position: int) -> bool:
        """Whether a position has its result, or needs none any more."""
        return position < self.folded or position in self.waiting

    def was_out(self, position: int) -> bool:
        """Whether a position was ever handed out."""
        return position < self.fresh and position not in self.skipped

    def first_missing(self) -> int:
        """The first position without a result."""
        position = self.folded
        while position in self.waiting:
            position += 1
        return position

    def unfinished(self) -> list[int]:
        """The positions that were handed out and have no result."""
        return [
            position
            for position in range(self.folded, self.fresh)
            if self.was_out(position) and position not in self.waiting
        ]

    def loose(self) -> int:
        """How many positions have a reward in rows that are not yet complete."""
        if self.folded == self.size:
            return 0
        past = self.ends[self.row] - self.rows[self.row].size
        early = sum(reward is not None for reward in self.waiting.values())
        return self.folded - past - self.called_off + early

    def lease(self, position: int, until: float, note: str | None = None) -> None:
        """Note that a position is handed out, or still worked on, until a time; 0 takes it back."""
        if position < self.folded or position in self.waiting or position >= self.size:
            return
        if position >= self.fresh:
            for skipped in range(self.fresh, position):
                heappush(self._returned, skipped)
                self.skipped.add(skipped)
            self.fresh = position + 1
        elif self.skipped:
            self.skipped.discard(position)
        self.leases[position] = until, note
        if until <= 0.0:
            self.give_back(position)
            return
        if until < self.soonest:
            self.soonest = until
        began = until - _read_note(note)[0]
        if began > self.newest:
            self.newest = began

    def give_back(self, position: int) -> None:
        """Make a position free to be handed out again."""
        if self.leases.pop(position, None) is not None:
            heappush(self._returned, position)

    def expire(self, now: float) -> None:
        """Take back the positions whose lease is over."""
        if now < self.newest - _TOLERANCE_SECONDS:
            self._shorten(now)
        if now < self.soonest:
            return
        for position in [position for position, (until, _) in self.leases.items() if until <= now]:
            self.give_back(position)
        self.soonest = min((until for until, _ in self.leases.values()), default=float("inf"))

    def _shorten(self, now: float) -> None:
        """The clock went back since leases were given: none is to last longer than it was given for."""
        for position, (until, note) in self.leases.items():
            latest = now + _read_note(note)[0]
            if until > latest:
                self.leases[position] = latest, note
                self.soonest = min(self.soonest, latest)
        self.newest = now

    def abandoned(self, is_gone: Callable[[int, str], bool]) -> list[int]:
        """The positions whose owners are gone, as a function of the position and the owner's name says."""
        owners = [(position, _read_note(note)[1]) for position, (_, note) in self.leases.items()]
        return [position for position, owner in owners if owner and is_gone(position, owner)]

    def next_position(self) -> int:
        """The next position to hand out, or -1; it must be leased or the same one comes again."""
        position = self._next_position()
        return position if position < self.barrier else -1

    def _next_position(self) -> int:
        if not self._returned and self.folded <= self.fresh < self.size and self.fresh not in self.waiting:
            return self.fresh
        returned = self._returned
        while returned:
            position = returned[0]
            if position in self.leases or self.told(position):
                heappop(returned)
                continue
            return position
        while self.fresh < self.size and self.told(self.fresh):
            self.fresh += 1
        return self.fresh if self.fresh < self.size else -1

    def next_position_where(self, may: Callable[[int], bool]) -> int:
        """The next position to hand out of those that may be, or -1."""
        free = [
            position
            for position in sorted(set(self._returned))
            if position not in self.leases and not self.told(position)
        ]
        for position in (*free, *range(self.fresh, self.size)):
            if not self.told(position) and may(position):
                return int(position) if position < self.barrier else -1
        return -1
