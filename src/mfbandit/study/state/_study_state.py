"""The state of a study: what its log amounts to.

It knows nothing of storages, clocks or threads. It is told, in the order of the log, what happened,
and it plans the next round when one is due. Two states that were told the same are equal, so
any process can take over from any other.

Results count in the order in which pulls were asked for, never in the order in which they finish: only
then is the choice of a pull independent of how fast rewards come in.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from mfbandit.core import PULLS, ROUNDS, State, clear_rest
from mfbandit.errors import StorageError, StudyError
from mfbandit.storage import FAILURE, LEASE, RESULT, RETRY, ROUND, SETTING, Record, json_text
from mfbandit.study._settings import Settings, read_changes
from mfbandit.study.state._bias_violations import read_beliefs
from mfbandit.study.state._changeable_state import ChangeableState
from mfbandit.study.state._planner import Streams, streams_of
from mfbandit.study.state._study_blocks import write_blocks
from mfbandit.study.state.rounds._costs import read_costs
from mfbandit.study.state.rounds._round import PlannedRow, Round
from mfbandit.study.state.rounds._round_record import (
    MemoryDiff,
    RoundRecord,
    apply_diff,
    check_layout,
    dump_state,
    extent_of,
    load_state,
    read_round,
    shapes_of,
)
from mfbandit.study.state.rounds._round_rows import cut_rows, list_rows
from mfbandit.study.state.rounds._window import read_marks

__all__ = ["StudyState"]

#: What only a round says that changes which arms are in play, or what is believed of them.
_CHANGES = {"arms", "broken", "state"}


class StudyState(ChangeableState):
    """What the log of a study amounts to, and what comes next."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.planning_seconds = 0.0
        #: What compiled code sees of the state that it was made of.
        self._streams: tuple[State, Streams] | None = None

    def maybe_compile(self) -> None:
        """Compile the policy once that pays; which of the two plans does not matter."""
        self.planner.maybe_compile(self.state, self.planning_seconds, self.rounds)

    # What happens

    def next_record(self) -> Record | None:
        """Plan as far as can be planned now; the record of the next round, or None if results are missing for it."""
        while self.due:
            record = self.plan()
            if record is not None:
                return record
        return None

    def apply(self, records: Sequence[Record]) -> None:
        """Follow what the log says, in its order."""
        for record in records:
            kind = record.kind
            if kind == RESULT:
                self.result(record.pull, record.value, *(read_costs(record.text) if record.text else ()))
            elif kind == LEASE:
                self.round.lease(record.pull - self.round.first, record.value, record.text)
            elif kind == ROUND:
                self._apply_planned_round(record)
            elif kind == FAILURE:
                self.failure(record.pull, record.text or "", record.value)
            elif kind == RETRY:
                self.retry(record.pull)
            elif kind == SETTING:
                if self.change(read_changes(record.text)) != bool(record.value):
                    raise StorageError("the log changes a setting, and not the number of the next pull: it is damaged")
            else:
                raise StorageError(f"the log holds a record of an unknown kind {kind!r}")

    def result(self, pull: int, reward: float, cost: float | None = None, lost: float = 0.0) -> None:
        """A pull has a reward, in the units of the problem; what it has cost, and attempts before, if that was told."""
        playing = self.round
        position = pull - playing.first
        playing.leases.pop(position, None)
        if self.failures:
            self.failures.pop(pull, None)
            self.stuck.pop(pull, None)
        playing.waiting[position] = reward
        if cost is not None:
            playing.costs[position] = cost
        if lost:
            playing.lost[position] = playing.lost.get(position, 0.0) + lost
        self._fold()

    def failure(self, pull: int, reason: str, cost: float = 0.0) -> None:
        """A pull failed, which has cost so much: try it again, or give up."""
        playing = self.round
        if cost:
            playing.lost[pull - playing.first] = playing.lost.get(pull - playing.first, 0.0) + cost
        reasons = self.failures.setdefault(pull, [])
        reasons.append(reason)
        playing.give_back(pull - playing.first)
        if len(reasons) <= self.settings.retries:
            return
        row = playing.row_of(pull - playing.first)
        problem = self.settings.problem
        said = (
            f"arm {problem.arms[row.arm]!r} failed at fidelity {problem.fidelities[row.fidelity].name!r} "
            f"{len(reasons)} times, the last time with: {reason}"
        )
        if self.settings.on_failure == "retire":
            self._retire(pull - playing.first, said)
        elif self.settings.on_failure == "worst":
            # The cell cannot be had: it counts, in its turn, as missing.
            self.missing.add((row.arm, row.fidelity, playing.pull_at(pull - playing.first)[1]))
            self.result(pull, math.nan)
        else:
            self.stuck[pull] = said

    def retry(self, pull: int) -> None:
        """The failures of a pull are forgiven."""
        self.failures.pop(pull, None)
        self.stuck.pop(pull, None)

    def _retire(self, failed: int, reason: str) -> None:
        """Give up the arm of a position that failed too often: call off its pulls of this round."""
        playing = self.round
        arm = playing.row_of(failed).arm
        self.retired[arm] = reason
        end = 0
        for row in playing.rows:
            start, end = end, end + row.size
            if row.arm != arm:
                continue
            for position in range(max(start, playing.folded), end):
                self.failures.pop(playing.first + position, None)
                if position not in playing.waiting:
                    playing.waiting[position] = None
                    if playing.was_out(position):
                        playing.paid.add(position)
        self._fold()

    def _fold(self) -> None:
        """Let the results count whose turn it is."""
        playing, state, race = self.round, self.state, self.race
        fast = self.planner.observe if race is None else None
        waiting, position = playing.waiting, playing.folded
        while position in waiting and position < playing.barrier:
            row = playing.rows[playing.row]
            reward = waiting.pop(position)
            if playing.costs or playing.lost:
                self._pay(row, position, reward is not None)
            if reward is not None:
                self.costs.pay(row, 1)
                k, m = row.cell
                if not self._centred:
                    self.centre(reward)
                if fast is not None:
                    fast(self._streams_of_state(), k, m, self._unit(reward))
                else:
                    self._observe(state, k, m, self._unit(reward))
                if race is not None:
                    race.count(row, reward)
            else:
                playing.called_off += 1
                playing.in_flight += position in playing.paid
            position += 1
            if position == playing.ends[playing.row]:
                told = row.size - playing.called_off
                state.clock[PULLS] += told
                # What was out when an arm was retired is paid for, whether or not it ever comes back.
                state.spent[0] += (told + playing.in_flight - playing.metered) * row.price + playing.metered_cost
                playing.called_off = playing.in_flight = playing.metered = 0
                playing.metered_cost = 0.0
                playing.row += 1
            playing.folded = position
            if self.costs.known:
                self._look_at_limit()
        if position == playing.size and not self.ended:
            self._complete()
        elif self._is_short():
            self._end_short()

    def _streams_of_state(self) -> Streams:
        """What compiled code sees of the state; to put it together takes longer than to enter a reward."""
        if self._streams is None or self._streams[0] is not self.state:
            self._streams = self.state, streams_of(self.state)
        return self._streams[1]

    def _complete(self) -> None:
        """All results of the round are in."""
        self.state.clock[ROUNDS] += 1
        self.rounds += 1
        if self.round.cut and not self.settings.spends:
            self.ended = "max_cost"

    # Planning

    def plan(self) -> Record | None:
        """Plan the round that is due; returns its record."""
        race = self.race
        if race is not None and race.refusal:
            raise StudyError(race.refusal)
        changes = self._new_planner(self._violations(self.round.rows))
        self._plan_with_costs()
        planner = self.planner
        if race is not None:
            self.state = race.with_room(self.state)
        state, before = self.state, [] if race is None else self.state.blocks.opened.tolist()
        if self._diff is None:
            self._diff = MemoryDiff(state)
        self._judge_race_again()
        if self._stops:
            planned, cut = self.rows_with_starts([]), False
        else:
            started = time.thread_time()
            rows = planner.plan(planner.problem, planner.algorithm.params, state, planner.out)
            self.planning_seconds += time.thread_time() - started
            planned, cut = self._within_limit(planner.out[:rows].tolist())
        opened = [] if race is None else race.opened(state, before)
        record = self._record(planned, cut, opened, changes)
        self._start_round(planned, cut, opened)
        return record

    def _record(
        self,
        rows: Sequence[PlannedRow],
        cut: bool,
        opened: Sequence[Sequence[int]],
        changes: dict[str, Any],
        known: Mapping[str, Any] = MappingProxyType({}),
    ) -> Record:
        """The record of a round; `changes` says which arms and bounds have changed, `known` what had counted."""
        state, notes = self.state, self._diff
        body: RoundRecord = {"rows": [[row.arm, row.fidelity, row.size] for row in rows]}
        body |= known  # type: ignore[typeddict-item]
        if cut:
            body["cut"] = True
        if self.book is not None:
            body |= write_blocks(opened, rows)  # type: ignore[typeddict-item]
        if changes or notes is None:
            body |= {**changes, "state": dump_state(state)}  # type: ignore[typeddict-item]
            self._diff = None
        elif self.rounds and self.rounds % notes.every == 0:
            body |= notes.everything(state)  # type: ignore[typeddict-item]
        else:
            body |= notes.changes(state)  # type: ignore[typeddict-item]
        if self.asked == 0 and (shapes := shapes_of(state)):
            body["layout"] = shapes
        return Record(ROUND, self.asked, extent_of(body), json_text(body))

    @property
    def refusal(self) -> str:
        """Why no more rounds are planned; empty if there is no reason."""
        return "" if self.race is None else self.race.refusal

    def _within_limit(self, rows: Sequence[Sequence[int]]) -> tuple[list[PlannedRow], bool]:
        """The rows that a policy has planned, cut where a pull would exceed the limit; whether that was so."""
        arms, columns = self.planner.arms, self.planner.columns
        listed = self.rows_with_starts([(arms[k], columns[m], n) for k, m, n in rows])
        return cut_rows(listed, self.costs, float(self.state.spent[0]), self.settings.limit)

    def rows_with_starts(self, rows: Sequence[Sequence[int]]) -> list[PlannedRow]:
        """The rows of a round, each with the number of its first pull."""
        if self.book is not None:
            return self.book.rows_with_starts(self.planner, self.state, rows)
        return list_rows(self.planner, self.costs, self.state, rows)

    def _start_round(
        self, rows: list[PlannedRow], cut: bool, opened: Sequence[Sequence[int]] = (), marks: Sequence[int] = ()
    ) -> None:
        """Make a round the one being played, or end the study if it has no pulls."""
        self.round = Round(self.asked, rows, cut)
        self.ends_empty = not rows
        if self.race is not None:
            self.race.enter(opened, rows)
            self.state = self.race.with_rows(self.state, rows)
        if not rows:
            self._end(cut)

    def _apply_planned_round(self, record: Record) -> None:
        """Another process planned a round."""
        if record.pull != self.asked or not self.due:
            raise StorageError(
                f"the log holds a round from pull {record.pull} on, but {self.asked} were asked for and "
                f"{self.round.first + self.round.folded} have counted: it is damaged"
            )
        self.apply_round_record(read_round(record.text))

    def apply_round_record(self, body: RoundRecord) -> None:
        """Enter a planned round as its record describes it."""
        self._diff = None
        self._follow_judging()
        if self.race is not None and not _CHANGES.isdisjoint(body):
            raise StorageError("the log of a race has a round that changes arms or bounds: it is damaged")
        if "broken" in body:
            self.broken, added = read_beliefs(body)
            self._believe(added)
        if "arms" in body:
            self._keep_arms(list(body["arms"]))
        self._plan_with_costs()
        check_layout(self.state, body)
        if "state" in body:
            load_state(self.state, body["state"])
        else:
            apply_diff(self.state, body)
            clear_rest(self.state.own)
        opened = body.get("opened", [])
        if self.race is not None:
            self.state = self.race.follow(self.state, opened)
        rows = self.rows_with_starts(body["rows"])
        if self.book is not None:
            self.book.check(rows, body.get("blocks"))
        self._start_round(rows, bool(body.get("cut", False)), opened, read_marks(body, len(rows)))
