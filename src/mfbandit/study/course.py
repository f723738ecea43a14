"""The course of a study: what its log amounts to.

A course knows nothing of storages, clocks or threads. It is told, in the order of the log, what happened,
and it plans the next round when one is due. Two courses that were told the same are in the same state, so
any process can take over from any other.

Results count in the order in which pulls were asked for, never in the order in which they finish: only
then is the choice of a pull independent of how fast rewards come in.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from mfbandit.confidence.alarm import BrokenBound
from mfbandit.core import PULLS, ROUNDS, arrays, new_state, observe
from mfbandit.errors import StorageError
from mfbandit.layout import clear_rest
from mfbandit.problem import Gaussian
from mfbandit.storage.records import FAILURE, LEASE, RESULT, RETRY, ROUND, Record
from mfbandit.study.lineup import Lineup, carry_over, line_up, line_up_rest
from mfbandit.study.noted import (
    Notes,
    apply_notes,
    check_layout,
    dump_state,
    load_state,
    read_round,
    write_layout,
    write_round,
)
from mfbandit.study.round import Round, Row
from mfbandit.study.rows import cut_rows, list_rows
from mfbandit.study.settings import Settings
from mfbandit.study.violations import broken_bounds, read_beliefs, widened, write_beliefs

__all__ = ["Course"]


class Course:
    """The statistics of a study, the round being played, and how it ended."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        problem = settings.problem
        #: The problem with the bias bounds that are believed by now.
        self.problem = problem
        #: Bias bounds that the data have contradicted, and what was added to bounds since, by fidelity.
        self.broken: list[BrokenBound] = []
        self.added: dict[int, float] = {}
        self._full = arrays(problem, settings.policy.columns(problem))
        self._unit = problem.reward.to_unit
        #: The user's problem, with the unit scale that statistics are in.
        self._scaled = problem
        self._centred = not isinstance(problem.reward, Gaussian)
        self._costs = problem.costs.tolist()
        self.lineup: Lineup = line_up(settings, self._full)
        algorithm = self.lineup.algorithm
        self.state = new_state(self._full, algorithm.memory)
        self.round = Round(0, (), False)
        self.rounds = 0
        #: How the study ended; empty while it goes on.
        self.ended = ""
        #: Reasons of the failures of pulls without a result, by pull.
        self.failures: dict[int, list[str]] = {}
        #: Pulls that failed too often, where a study then stops.
        self.stuck: dict[int, str] = {}
        #: Arms that were given up, and why.
        self.retired: dict[int, str] = {}
        self.planning_seconds = 0.0
        self._notes: Notes | None = None

    # What the study reads

    @property
    def asked(self) -> int:
        """How many pulls were planned so far."""
        return self.round.first + self.round.size

    @property
    def due(self) -> bool:
        """Whether a round has to be planned."""
        return not self.ended and self.round.folded == self.round.size

    @property
    def status(self) -> str:
        """Where the study stands."""
        return self.ended or ("failed" if self.stuck else "running")

    @property
    def cost(self) -> float:
        """The cost of all pulls that have a result."""
        playing = self.round
        total = self.folded_cost
        if playing.folded == playing.size:
            return total
        for place, reward in playing.waiting.items():
            if reward is not None:
                total += playing.row_of(place).cost
        return total

    @property
    def folded_pulls(self) -> int:
        """How many results have counted, those of retired arms among them."""
        return int(self.state.clock[PULLS]) + self.round.counted_in_row()[0]

    @property
    def folded_cost(self) -> float:
        """What they cost, with pulls of retired arms that were out when these were given up."""
        told, in_flight = self.round.counted_in_row()
        total = float(self.state.spent[0])
        return total + (told + in_flight) * self.round.rows[self.round.row].cost if told + in_flight else total

    # What happens

    def apply(self, records: Sequence[Record]) -> None:
        """Follow what the log says, in its order."""
        for record in records:
            kind = record.kind
            if kind == RESULT:
                self.result(record.pull, record.value)
            elif kind == LEASE:
                self.round.lease(record.pull - self.round.first, record.value, record.text)
            elif kind == ROUND:
                self._follow(record)
            elif kind == FAILURE:
                self.failure(record.pull, record.text or "")
            elif kind == RETRY:
                self.retry(record.pull)
            else:
                raise StorageError(f"the log holds a record of an unknown kind {kind!r}")

    def result(self, pull: int, reward: float) -> None:
        """A pull has a reward, in the units of the problem."""
        playing = self.round
        place = pull - playing.first
        playing.leases.pop(place, None)
        if self.failures:
            self.failures.pop(pull, None)
            self.stuck.pop(pull, None)
        playing.waiting[place] = reward
        self._fold()

    def failure(self, pull: int, reason: str) -> None:
        """A pull failed: try it again, or give up."""
        playing = self.round
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
            self._retire(row.arm, said)
        else:
            self.stuck[pull] = said

    def retry(self, pull: int) -> None:
        """The failures of a pull are forgiven."""
        self.failures.pop(pull, None)
        self.stuck.pop(pull, None)

    def _retire(self, arm: int, reason: str) -> None:
        """Give up an arm: call off its pulls of this round."""
        self.retired[arm] = reason
        playing = self.round
        end = 0
        for row in playing.rows:
            start, end = end, end + row.size
            if row.arm != arm:
                continue
            for place in range(max(start, playing.folded), end):
                self.failures.pop(playing.first + place, None)
                if place not in playing.waiting:
                    playing.waiting[place] = None
                    if place < playing.fresh:
                        playing.paid.add(place)
        self._fold()

    def _fold(self) -> None:
        """Let the results count whose turn it is."""
        playing, state = self.round, self.state
        waiting, place = playing.waiting, playing.folded
        while place in waiting:
            row = playing.rows[playing.row]
            reward = waiting.pop(place)
            if reward is not None:
                if not self._centred:
                    self.centre(reward)
                observe(state, row.cell[0], row.cell[1], self._unit(reward))
            else:
                playing.called_off += 1
                playing.in_flight += place in playing.paid
            place += 1
            if place == playing.ends[playing.row]:
                told = row.size - playing.called_off
                state.clock[PULLS] += told
                # What was out when an arm was retired is paid for, whether or not it ever comes back.
                state.spent[0] += (told + playing.in_flight) * row.cost
                playing.called_off = playing.in_flight = 0
                playing.row += 1
        playing.folded = place
        if place == playing.size and not self.ended:
            self._complete()

    def centre(self, first: float) -> None:
        """Fix the origin of Gaussian rewards by the first that counts, in the order of asking.

        All statistics are relative to it; no reward counts before it is fixed. Every process finds it in the log.
        """
        self._centred = True
        kind = self._scaled.reward
        if isinstance(kind, Gaussian) and kind.near(first) is not kind:
            self._scaled = self._scaled.with_reward(kind.near(first))
            self._unit = self._scaled.reward.to_unit
            self.problem = self.problem.with_reward(self._scaled.reward)
            self.lineup.rescale(self.settings, self._scaled)

    def _complete(self) -> None:
        """All results of the round are in."""
        self.state.clock[ROUNDS] += 1
        self.rounds += 1
        if self.round.cut and not self.settings.spends:
            self.ended = "max_cost"

    # Planning

    def plan(self) -> Record:
        """Plan the round that is due; returns its record."""
        found = self._violations()
        changes = self._new_lineup(found)
        lineup, state = self.lineup, self.state
        if self._notes is None:
            self._notes = Notes(state)
        if self._stops:
            planned, cut = self.listed([]), False
        else:
            started = time.perf_counter()
            rows = lineup.plan(lineup.problem, lineup.algorithm.params, state, lineup.out)
            self.planning_seconds += time.perf_counter() - started
            spent, limit = float(state.spent[0]), self.settings.limit
            within, cut = cut_rows(lineup, self._costs, spent, limit, lineup.out[:rows].tolist())
            planned = self.listed(within)
        if changes:
            changes = f'{changes},"state":{dump_state(state)}'
            self._notes = None
        else:
            changes = self._notes.changes(state)
        if self.asked == 0:
            changes += write_layout(state)
        record = Record(ROUND, self.asked, 0.0, write_round(planned, cut, changes))
        self._open(planned, cut)
        return record

    def listed(self, rows: Sequence[Sequence[int]]) -> list[Row]:
        """The rows of a round, each with the number of its first pull."""
        return list_rows(self.lineup, self._costs, self.state, rows)

    def _open(self, rows: list[Row], cut: bool) -> None:
        """Make a round the one being played, or end the study if it has no pulls."""
        self.round = Round(self.asked, rows, cut)
        if not rows:
            self._end(cut)

    def _end(self, cut: bool) -> None:
        settings = self.settings
        if cut:
            self.state.clock[ROUNDS] += 1
        if not self.lineup.arms:
            self.ended = "failed"
        elif self._stops:
            self.ended = "violation"
        elif settings.spends:
            self.ended = "budget" if settings.limit == settings.budget else "max_cost"
        else:
            self.ended = "max_cost" if cut else "certified" if self.lineup.proves(settings, self.state) else "answered"

    @property
    def _stops(self) -> bool:
        """Whether the data contradict a bias bound and that is to end the study."""
        return bool(self.broken) and self.settings.on_violation == "stop"

    def _violations(self) -> list[BrokenBound]:
        """The bias bounds that the round before has shown to be wrong."""
        settings, lineup = self.settings, self.lineup
        if settings.on_violation == "ignore" or len(lineup.columns) < 2 or not lineup.arms:
            return []
        places = sorted({row.cell[0] for row in self.round.rows})
        total = settings.problem.n_arms
        return broken_bounds(lineup.problem, self.state, settings.alarm_level, lineup.arms, places, total)

    def _new_lineup(self, found: list[BrokenBound]) -> str:
        """Go on with the arms that are left and the bounds to believe; returns what the record says of it."""
        # It says all of it each time, so that the last such record is enough to go on from.
        left = [arm for arm in self.lineup.arms if arm not in self.retired] if self.retired else None
        if not found and (left is None or len(left) == len(self.lineup.arms)):
            return ""
        if found:
            action = self.settings.on_violation
            self.broken += found
            self._believe({} if action == "stop" else widened(self.problem, self.added, found, action))
        arms = list(self.lineup.arms) if left is None else left
        self._line_up(arms)
        listed = ",".join(map(str, arms))
        return f',"arms":[{listed}]{write_beliefs(self.broken, self.added)}'

    def _believe(self, added: dict[int, float]) -> None:
        """Take bias bounds to be wider by so much, in unit scale, by fidelity."""
        if added != self.added:
            self.added = added
            self.problem = self._scaled.widened(added)
            self._full = arrays(self.problem, self.settings.policy.columns(self.settings.problem))

    def _line_up(self, arms: list[int]) -> None:
        """Keep the statistics of some arms, active ones too; an algorithm's notes start anew."""
        self._notes = None
        old, before = self.state, self.lineup
        self.lineup = line_up_rest(self.settings, self._full, arms, self._scaled)
        self.state = carry_over(before, old, self.lineup)

    def _follow(self, record: Record) -> None:
        """Another process planned a round."""
        if record.pull != self.asked or not self.due:
            raise StorageError(
                f"the log holds a round from pull {record.pull} on, but {self.asked} were asked for and "
                f"{self.round.first + self.round.folded} have counted: it is damaged"
            )
        self.enter(read_round(record.text))

    def enter(self, body: dict[str, object]) -> None:
        """Enter a planned round as its record describes it."""
        self._notes = None
        if "broken" in body:
            self.broken, added = read_beliefs(body)
            self._believe(added)
        if "arms" in body:
            self._line_up(list(body["arms"]))  # type: ignore[call-overload]
        check_layout(self.state, body)
        if "state" in body:
            load_state(self.state, body["state"])  # type: ignore[arg-type]
        else:
            apply_notes(self.state, body)
            clear_rest(self.state.own)
        self._open(self.listed(body["rows"]), bool(body.get("cut", False)))  # type: ignore[arg-type]

    def recommend(self) -> int:
        """The arm the policy would answer with, as an index of the problem; -1 if none is left."""
        return self.lineup.arms[self.lineup.answer(self.state)] if self.lineup.arms else -1
