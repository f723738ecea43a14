"""The state of a study whose width is more than 1: rounds are planned while others are out.

Which results a plan may know is fixed by its position in the order of asking (`mfbandit.core._ahead`), so that
decisions do not depend on how many workers there are, which of them is fast, or who of several processes plans. A row
counts when its turn has come and all its results are in. The record of a round says how many pulls had counted when it
was planned, so that whoever follows the log lets as many count before it enters what the plan has noted.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from mfbandit._checks import is_whole
from mfbandit.core import PULLS, ROUNDS, ROW_LIMIT, WAIT, Ahead, Copy, InFlight, copy_for, lag_of, rows_at_once
from mfbandit.errors import StorageError, StudyError
from mfbandit.storage import Record
from mfbandit.study._settings import Settings
from mfbandit.study.state._study_state import StudyState
from mfbandit.study.state.rounds._round import HoldUp, PlannedRow
from mfbandit.study.state.rounds._round_record import MemoryDiff, read_round
from mfbandit.study.state.rounds._round_rows import cut_rows, in_pieces, list_rows
from mfbandit.study.state.rounds._window import Window, write_marks

__all__ = ["WideStudyState", "study_state_of"]


class WideStudyState(StudyState):
    """The statistics of a study, the rounds that are out, and how it ended."""

    round: Window

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.round = Window(0)
        #: Whether the policy wants one more row to count before it plans.
        self._waits = False
        #: Whether nothing more can be paid for.
        self._cut = False
        #: Whether that has changed since: the study goes on when what is out has counted.
        self._raised = False
        #: What the next record has to say of arms and bounds.
        self._changes: dict[str, Any] = {}
        #: The rows that have counted since the last plan.
        self._new_rows: list[PlannedRow] = []
        #: The rounds of a race of which no row has counted: what each has opened, and its rows.
        self._rounds_out: list[tuple[list[list[int]], list[PlannedRow]]] = []
        #: Arms that will be given up, by the first of their pulls that failed too often, and why.
        self._failing: dict[int, tuple[int, str]] = {}
        #: What pulls cost that were called off before they were handed out.
        self._spared = 0.0
        self._flying = self._nothing_out()
        self._copy: tuple[Any, Copy] | None = None

    def next_position(self, people: bool = False) -> int:
        """The next position of a pull to hand out, or -1: as many are out as may be."""
        full = len(self.round.leases) >= self.settings.width
        return -1 if full or self._all_spent() else super().next_position(people)

    def _all_spent(self) -> bool:
        """Whether results say that no money is left, though some wait for others that are out before they count."""
        limit = self.settings.limit
        return limit < math.inf and bool(self.round.leases) and self.cost >= limit

    def hold_up(self) -> HoldUp:
        """Why no pull can be handed out now."""
        if not (self.ended or self.stuck) and len(self.round.leases) >= self.settings.width:
            return HoldUp("width")
        found = super().hold_up()
        if found.kind != "round":
            return found
        return found._replace(kind="limit" if self._cut or self._all_spent() else "expected" if self._waits else "lag")

    @property
    def cost(self) -> float:
        """The cost of all pulls that have a result, or were out when their arm was given up."""
        playing = self.round
        called_off = math.fsum(playing.cost_at(position) for position in playing.paid if position >= playing.folded)
        return super().cost + called_off - self._spared

    @property
    def due(self) -> bool:
        """Whether a round has to be planned."""
        return not (self.ended or self._cut or self.round.barrier < math.inf or self._must_count())

    def _must_count(self) -> bool:
        """Whether a row has to count before the next round is planned."""
        end = self.round.next_end
        settled = self.asked - lag_of(self._ahead, self.settings.width, self.asked, self.settings.problem.n_arms)
        ends = self._cut or self.round.barrier < math.inf
        return 0 < end <= self.round.barrier and (ends or self._waits or self.round.first + end <= settled)

    def _nothing_out(self) -> InFlight:
        return InFlight(*(np.zeros(self.state.pulls.shape, dtype=np.int64) for _ in range(3)))

    def _fold(self) -> None:
        """Let the rows count whose turn it is and that are complete."""
        while self.round.is_complete() and not self.ended and self._must_count():
            self._count_row()

    def _count_next(self) -> bool:
        """Let the first row that is out count, if it is complete; returns whether it was."""
        if complete := self.round.is_complete():
            self._count_row()
        return complete

    def _count_row(self) -> None:
        """Let the first row that is out count."""
        state, flying = self.state, self._flying
        if self.race is not None and self.round.begins and self.round.next_row.arm >= 0:
            while not self._rounds_out[0][1]:
                self.race.enter(*self._rounds_out.pop(0))
            self.race.enter(*self._rounds_out.pop(0))
        start = self.round.folded
        row, mark, rewards, paid = self.round.count_row()
        k, m = row.cell
        if k >= 0:
            flying.pulls[k, m] -= row.size
            flying.marked[k, m] -= mark % 2 * row.size
            flying.leading[k, m] -= mark // 2 * row.size
            before = state.pulls[k, m], state.sums[k, m], state.squares[k, m]
        for reward in rewards:
            if reward is not None:
                self._count(row, reward)
        told = sum(reward is not None for reward in rewards)
        if k >= 0 and mark:
            self.take_marked(k, m, mark, before)
        state.clock[PULLS] += told
        self.costs.pay(row, told)
        # What is left to spend must not depend on how many of those called off had been handed out.
        state.spent[0] += row.size * row.price
        self._spared += (row.size - told - paid) * row.price
        if self.round.costs or self.round.lost:
            more, spared = self.costs.count_row(row, self.round.take_costs(start, rewards))
            state.spent[0] += more
            self._spared -= spared
        if row.arm >= 0:
            self._new_rows.append(row)
        self._waits = False
        for arm in [arm for arm, (pull, _) in self._failing.items() if pull < self.round.first + self.round.folded]:
            self.retired[arm] = self._failing.pop(arm)[1]
        if self.round.begins:
            state.clock[ROUNDS] += 1
            self.rounds += 1
        if self.costs.known:
            self._look_at_limit()
        if self._cut and self.round.next_end < 0:
            self._end(True)
            if self._raised:
                self._go_on()
        elif self._is_short():
            self._end_short()

    def _count(self, row: PlannedRow, reward: float) -> None:
        """Let one reward count."""
        if not self._centred:
            self.centre(reward)
        fast = self.planner.observe if self.race is None else None
        if row.cell[0] >= 0 and fast is not None:
            fast(self._streams_of_state(), *row.cell, self._unit(reward))
        elif row.cell[0] >= 0:
            self._observe(self.state, *row.cell, self._unit(reward))
        if self.race is not None:
            self.race.count(row, reward)

    def take_marked(self, k: int, m: int, mark: int, before: tuple[Any, Any, Any]) -> None:
        """Enter the rewards of a marked row."""
        state, (n, sums, squares) = self.state, before
        gained = state.sums[k, m] - sums, state.squares[k, m] - squares
        self._ahead.take_marked(state, k, m, mark, float(state.pulls[k, m] - n), *gained)

    @property
    def _ahead(self) -> Ahead:
        """How the policy plans while pulls are out; nothing is planned without arms."""
        return self.planner.algorithm.ahead or Ahead()

    def _retire(self, failed: int, reason: str) -> None:
        """Give up the arm of a position that failed too often, once its turn has come to count.

        Results of the arm before that position count as ever, and plans that may not know of the failure do not: when
        it came changes nothing. What the arm has after that position is not needed.
        """
        playing = self.round
        arm = playing.row_of(failed).arm
        self._failing[arm] = playing.first + failed, reason
        for position in playing.call_off(arm, failed):
            self.failures.pop(playing.first + position, None)
        self._fold()

    # Planning

    def plan(self) -> Record | None:
        """Plan the round that is due; returns its record, or None if more has to count first."""
        race = self.race
        if race is not None and race.refusal:
            raise StudyError(race.refusal)
        self._changes |= self._new_planner(self._violations(self._new_rows))
        self._plan_with_costs()
        self._new_rows.clear()
        planner = self.planner
        if race is not None:
            self.state = race.with_room(self.state)
        state, opened_before = self.state, [] if race is None else self.state.blocks.opened.tolist()
        if self._diff is None:
            self._diff = MemoryDiff(state)
        self._judge_race_again()
        planned, marks, cut = list[PlannedRow](), list[int](), False
        if not self._stops:
            started = time.thread_time()
            arguments = planner.problem, planner.algorithm.params, state, self._room_for_copy(), self._flying
            rows = int(planner.plan(*arguments, planner.out))
            self.planning_seconds += time.thread_time() - started
            if rows == WAIT:
                self._waits = True
                self._fold()
                return None
            most = rows_at_once(self._ahead, self.settings.width, planner.algorithm.rows)
            listed = in_pieces(planner.out[: min(rows, most)].tolist(), self)
            planned, cut = self._planned_rows(listed)
            # Those of a race are never marked.
            marks = [row[3] for row in listed[: len(planned)]] if race is None else [0] * len(planned)
        opened = [] if race is None else race.opened(state, opened_before)
        known: dict[str, Any] = {"counted": self.round.first + self.round.folded}
        known |= write_marks(marks)
        if self._changes and self._spared:
            known["spared"] = self._spared
        record = self._record(planned, cut, opened, self._changes, known)
        self._changes = {}
        self._start_round(planned, cut, opened, marks)
        return record

    def _planned_rows(self, rows: list[list[int]]) -> tuple[list[PlannedRow], bool]:
        """The rows that a policy has planned, cut where a pull would exceed the limit; whether that was so."""
        arms, columns = self.planner.arms, self.planner.columns
        most = ROW_LIMIT if self.race is None else 2**31
        listed = self.rows_with_starts([(arms[k], columns[m], min(n, most)) for k, m, n, _ in rows])
        return cut_rows(
            listed, self.costs, float(self.state.spent[0]) + self.round.cost_out(self.costs.now), self.settings.limit
        )

    def rows_with_starts(self, rows: Sequence[Sequence[int]]) -> list[PlannedRow]:
        """The rows of a round, each with the number of its first pull, after those that are out."""
        state = self.state._replace(pulls=self.state.pulls + self._flying.pulls)
        if self.book is not None:
            return self.book.rows_with_starts(self.planner, state, rows)
        return list_rows(self.planner, self.costs, state, rows)

    def _room_for_copy(self) -> Copy:
        """Room for the copy of the state that a plan is made on."""
        if self._copy is None or self._copy[0] is not self.state.own:
            self._copy = self.state.own, copy_for(self.planner.problem, self.state)
        return self._copy[1]

    def _start_round(
        self, rows: list[PlannedRow], cut: bool, opened: Sequence[Sequence[int]] = (), marks: Sequence[int] = ()
    ) -> None:
        """Add a round to those that are out, or end the study if it has no pulls."""
        self.round.add(rows, marks, cut)
        self.ends_empty = not rows
        for arm in {row.arm for row in rows} & self._failing.keys():
            self.round.call_off(arm, self._failing[arm][0] - self.round.first)
        if self.race is not None:
            self.state = self.race.with_rows(self.state, rows)
            self._rounds_out.append(([list(one) for one in opened], rows))
        if rows:
            self.enter_flying(list(zip(rows, marks, strict=True)))
            self._cut = cut and not self.settings.spends
        elif cut and self.round.next_end > 0:
            self._cut = True
        else:
            self._end(cut)
        self._fold()

    def change(self, changes: Mapping[str, Any]) -> bool:
        """Go on with other settings; if nothing more could be paid for, as soon as what is out has counted."""
        before, short = self.settings.limit, self.round.barrier < math.inf
        if short:
            # Rows that are out and were told count as soon as they can be paid for.
            self.ended = ""
        super().change(changes)
        self._raised = self._cut and (self._raised or self.settings.limit > before)
        if short and not self.ended:
            self._look_at_limit()
            self._fold()
            if self._is_short():
                self._end_short()
        self._fold()  # what came in after the end
        return False

    def _go_on(self) -> bool:
        """Take back that the study has ended; what is out counts when its turn comes."""
        self._cut = self._raised = False
        if self.round.next_end < 0 or not self.ends_empty:
            return super()._go_on()
        # The round without pulls that ended it has the number of the next pull, and counts in its turn.
        self.ended = ""
        self.round.leave_out_number()
        self.state.clock[ROUNDS] -= 1
        return True

    def empty_round(self, first: int) -> Window:
        """No pulls, and the next one to be planned has this number."""
        return Window(first)

    @property
    def planned_cost(self) -> float:
        """What all pulls that were planned cost, those without a result among them."""
        return float(self.state.spent[0]) + self.round.cost_out(self.costs.now) - self._spared

    def enter_flying(self, rows: Iterable[tuple[PlannedRow, int]]) -> None:
        """Note which streams have pulls out."""
        for row, mark in rows:
            k, m = row.cell
            if k >= 0:
                self._flying.pulls[k, m] += row.size
                self._flying.marked[k, m] += mark % 2 * row.size
                self._flying.leading[k, m] += mark // 2 * row.size

    def _keep_arms(self, arms: list[int]) -> None:
        """Keep the statistics of some arms; what is out of others will not count."""
        super()._keep_arms(arms)
        self.round.relabel(self.planner.cells)
        self._flying = self._nothing_out()
        self.enter_flying(self.round.rows_out())

    def _apply_planned_round(self, record: Record) -> None:
        """Another process planned a round, when as many pulls had counted as its record says."""
        body = read_round(record.text)
        counted = body.get("counted")
        if not is_whole(counted):
            raise StorageError(f"the log holds a round that does not say how many pulls had counted, but {counted!r}")
        if record.pull != self.asked or self.ended:
            raise StorageError(
                f"the log holds a round from pull {record.pull} on, but {self.asked} were asked for: it is damaged"
            )
        self.count_up_to(counted)
        self._new_rows.clear()
        self._changes = {}
        self._spared = body.get("spared", self._spared)
        self.apply_round_record(body)


def study_state_of(settings: Settings) -> StudyState:
    """The state of a study that has not begun, by its width and whether its policy plans while pulls are out."""
    study_state = StudyState(settings)
    return WideStudyState(settings) if study_state.planner.ahead else study_state
