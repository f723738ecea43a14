"""How far a study has come: what is out, what has counted and been paid, and what it waits for."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from mfbandit.core import PULLS, ROUNDS
from mfbandit.study._settings import Settings
from mfbandit.study.state._study_statistics import StudyStatistics
from mfbandit.study.state.rounds._round import HoldUp, PlannedRow, Round

__all__ = ["StudyProgress"]

#: Rounding that sums of costs may differ by.
_SLACK = 1e-12


class StudyProgress(StudyStatistics):
    """The statistics of a study, the round being played, and how it ended, to be read."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.round = Round(0, (), False)
        self.rounds = 0
        #: How the study ended; empty while it goes on.
        self.ended = ""
        #: Whether the last round that was planned has no pulls.
        self.ends_empty = False
        #: Reasons of the failures of pulls without a result, by pull.
        self.failures: dict[int, list[str]] = {}
        #: Arm, fidelity and index of pulls of a race that cannot be had.
        self.missing: set[tuple[int, int, int]] = set()
        #: Pulls that failed too often, where a study then stops.
        self.stuck: dict[int, str] = {}
        #: How many pulls may be out at once at fidelities that have a limit of their own.
        limits = [fidelity.at_most for fidelity in settings.problem.fidelities]
        self._by_people = {number for number, one in enumerate(settings.problem.fidelities) if one.by == "people"}
        self._at_most = {number: most for number, most in enumerate(limits) if most is not None}

    @property
    def asked(self) -> int:
        """How many pulls were planned so far."""
        return self.round.first + self.round.size

    def block_at(self, position: int, seed: int) -> tuple[int | None, int | None]:
        """The block of a position of the round being played, and its seed; `seed` is that of the pull."""
        if self.book is None:
            return None, None
        row, index = self.round.pull_at(position)
        block = row.blocks[index - row.start]
        return block, self.book.seed(row.fidelity, block, seed)

    def pull_at(self, position: int) -> tuple[PlannedRow, int]:
        """Which pull is at a position: its row, and its index; nobody goes on from a cell that could not be had."""
        row, index = self.round.pull_at(position)
        if row.done < 0 or self.book is None or (row.arm, row.done, index) not in self.missing:
            return row, index
        reached = self.book.continuing.before[row.fidelity]
        left = [m for m in reached[reached.index(row.done) :] if (row.arm, m, index) not in self.missing]
        known = self.state.pulls[row.cell[0]]
        done = next((m for m in left if known[self.planner.columns.index(m)] > index), -1)
        return row._replace(done=done), index

    def next_position(self, people: bool = False) -> int:
        """The next position of a pull to hand out, to people or to others, or -1.

        Fidelities with as many out as they may have wait.
        """
        playing, goes_on = self.round, self.book is not None and bool(self.book.continuing.before)
        if not self._at_most and not self._by_people and not goes_on:
            return -1 if people else playing.next_position()
        out = (
            Counter(playing.row_of(position).fidelity for position in playing.leases)
            if self._at_most
            else Counter[int]()
        )
        full = {fidelity for fidelity, most in self._at_most.items() if out[fidelity] >= most}
        full |= set(range(self.settings.problem.n_fidelities)) - self._by_people if people else self._by_people
        if not full and not goes_on:
            return playing.next_position()
        return playing.next_position_where(
            lambda position: (
                playing.row_of(position).fidelity not in full and not (goes_on and self._waits_for_block(position))
            )
        )

    def _waits_for_block(self, position: int) -> bool:
        """Whether a pull goes on from one that has no result yet."""
        playing = self.round
        row, index = playing.pull_at(position)
        if row.done < 0:
            return False
        start = 0
        for other, end in zip(playing.rows, playing.ends, strict=True):
            if (other.arm, other.fidelity) == (row.arm, row.done) and other.start <= index < other.start + other.size:
                return not playing.told(start + index - other.start)
            start = end
        return False

    def hold_up(self) -> HoldUp:
        """Why no pull can be handed out now, but for those that wait for people."""
        if self.ended or self.stuck or self.due or self.next_position() >= 0:
            return HoldUp()
        if self.round.barrier < self.round.size:
            return HoldUp("limit")
        free = self.round.next_position()
        fidelity = self.round.row_of(free).fidelity if free >= 0 else -1
        if fidelity in self._by_people:
            return HoldUp("people", fidelity=fidelity)
        if fidelity in self._at_most:
            return HoldUp("at_most", fidelity=fidelity)
        return HoldUp("round", self.round.first + self.round.first_missing())

    @property
    def arms_out(self) -> set[int]:
        """The arms that were given up, or are beaten in a race."""
        beaten = getattr(self.state.own, "beaten", None) if self.race is not None else None
        return set(self.retired) | (set() if beaten is None else set(np.flatnonzero(beaten).tolist()))

    @property
    def due(self) -> bool:
        """Whether a round has to be planned."""
        return not self.ended and self.round.folded == self.round.size

    @property
    def planned_cost(self) -> float:
        """What all pulls that were planned cost, those without a result among them, up to where money ends."""
        playing, end, total = self.round, 0, self.folded_cost
        for row in playing.rows:
            end += row.size
            left = min(end, playing.barrier) - max(playing.folded, end - row.size)
            total += max(0.0, left) * self.costs.now(row)
        return total

    @property
    def status(self) -> str:
        """Where the study stands."""
        return self.ended or ("failed" if self.stuck else "running")

    @property
    def cost(self) -> float:
        """The cost of all pulls that have a result, and of attempts that failed, if that was told."""
        playing = self.round
        total = self.folded_cost
        if playing.folded == playing.size:
            return total
        for position, reward in playing.waiting.items():
            if reward is not None:
                total += playing.cost_at(position)
        return total + math.fsum(playing.lost.values())

    @property
    def folded_pulls(self) -> int:
        """How many results have counted, those of retired arms among them."""
        return int(self.state.clock[PULLS]) + self.round.counted_in_row()[0]

    @property
    def folded_cost(self) -> float:
        """What they cost, with pulls of retired arms that were out when these were given up."""
        playing, total = self.round, float(self.state.spent[0])
        told, in_flight = playing.counted_in_row()
        if not told + in_flight:
            return total + playing.metered_cost
        return total + (told + in_flight - playing.metered) * playing.rows[playing.row].price + playing.metered_cost

    def _pay(self, row: PlannedRow, position: int, counts: bool) -> None:
        """Note what was told of the costs of a position whose turn it is; it counts unless it was called off."""
        playing = self.round
        cost, lost = playing.costs.pop(position, None), playing.lost.pop(position, 0.0)
        if cost is not None and counts:
            self.costs.count(row, cost)
            playing.metered += 1
            playing.metered_cost += cost
        if lost:
            self.costs.add(row, lost)
            playing.metered_cost += lost

    def _look_at_limit(self) -> None:
        """Find from which position on what is planned cannot be paid for, by what pulls have cost so far."""
        limit = self.settings.limit
        if self.costs.known and limit < math.inf:
            self.round.look_at_limit(limit * (1.0 + _SLACK) - self.folded_cost, self.costs.now)
        else:
            self.round.barrier = math.inf

    def _is_short(self) -> bool:
        """Whether all has counted that can be paid for, and more is planned."""
        return not self.ended and self.round.folded >= self.round.barrier

    def _end_short(self) -> None:
        """End the study where it cannot pay for the rest of what is planned."""
        settings = self.settings
        spent = settings.spends and settings.limit == settings.budget
        self.ended = "budget" if spent else "max_cost"

    def _end(self, cut: bool) -> None:
        """End the study: nothing more is planned, or nothing more can be paid for."""
        settings = self.settings
        if cut:
            self.state.clock[ROUNDS] += 1
        if not self.planner.arms:
            self.ended = "failed"
        elif self._stops:
            self.ended = "violation"
        elif settings.spends:
            self._end_short()
        else:
            proven = not cut and self.planner.proves(settings, self.problem, self.state)
            self.ended = "max_cost" if cut else "certified" if proven else "answered"
