"""The ask-and-tell side of a study: where pulls are handed out and their results taken in.

Every action is one step on the log (`Log.exchange`): follow what others wrote, decide, write.
"""

from __future__ import annotations

import math
import os
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from mfbandit._checks import is_whole, whole_number
from mfbandit.errors import InvalidInput, StudyError
from mfbandit.model import Outcome, Pull
from mfbandit.storage import FAILURE, LEASE, RESULT, RETRY, Record, Storage
from mfbandit.study._lease_owner import Owners, this_process
from mfbandit.study._policy_digest import PolicyCode
from mfbandit.study._reward_check import OutcomeCheck, PullReport, as_cost, check_lease, plain_text
from mfbandit.study._settings import Header
from mfbandit.study.state._replica import Replica
from mfbandit.study.state.rounds._costs import outcome_text
from mfbandit.study.state.rounds._pulls import Pulls
from mfbandit.study.state.rounds._round import lease_note

__all__ = ["AskTell"]

Clock = Callable[[], float]

#: What a report of a pull can be.
_AWAITED, _LATE, _UNKNOWN, _ENDED = 1, 0, -1, 2


class AskTell(Replica):
    """Hands out the pulls of a study and takes in their results."""

    def __init__(
        self, storage: Storage, name: str, header: Header, durable: bool = True, allow_changed_policy: bool = False
    ) -> None:
        settings = header.settings
        self.code = PolicyCode(name, header, allow_changed_policy)
        super().__init__(storage, name, settings, header.identity)
        self._durable = durable
        self._pulls = Pulls(settings, header.identity)
        self._on_blocks = settings.problem.blocks is not None
        self._check = OutcomeCheck(settings.problem)
        #: How far the clock of the storage is ahead of this process's; known after the first ask.
        self._clock_ahead = math.inf
        #: Pulls that this process evaluates itself, how leases call it, and what it knows of others.
        self._held: set[int] = set()
        self._process, self._owner, self._owners = 0, "", Owners()

    def ask(
        self, n: int = 1, *, lease_seconds: float | None = None, in_process: bool = False, people: bool = False
    ) -> list[Pull]:
        """Get up to `n` pulls that may run at once.

        Parameters
        ----------
        n : int
            How many at most.
        lease_seconds : float, optional
            How long they are yours, the study's own setting by default; then, without a `heartbeat`, others get them.
        in_process : bool
            Whether this process evaluates them, so that they are lost with it: should it be killed, other processes on
            this machine (with Linux) are handed them at once, and need not wait for the lease to end.
        people : bool
            Whether to get pulls of fidelities that people measure (``by="people"``); others get none of them.

        Returns
        -------
        list of Pull
            Empty when none can be handed out now: the study is done, or it waits for the results of pulls that are out.
        """
        if type(n) is not int or n < 1:
            whole_number("n", n, 1)
        term = self._term(lease_seconds)
        note = lease_note(term, self._my_name() if in_process else "")
        self._study_state.maybe_compile()
        pulls: list[Pull] = []

        def decide(news: Sequence[Record], clock: Clock) -> list[Record]:
            study_state, records = self._apply_news(news), list[Record]()
            self._drop(pulls)
            if study_state.due:
                self.code.check()
                self._plan(records)
            if study_state.ended or study_state.stuck:
                return records
            playing, now = study_state.round, clock()
            self._clock_ahead = now - time.monotonic()
            playing.expire(now)
            while len(pulls) < n:
                position = study_state.next_position(people)
                if position < 0:
                    if self._take_back_abandoned():
                        continue
                    break
                playing.lease(position, now + term, note)
                records.append(Record(LEASE, playing.first + position, now + term, note))
                pulls.append(self._pull(position))
                if in_process:
                    self._held.add(playing.first + position)
            return records

        with self._lock:
            try:
                playing = self._study_state.round
                if playing.fresh < playing.size or not self._nothing_to_ask(people):
                    self._exchange(decide, False)
            except BaseException:
                self._drop(pulls)
                raise
        return pulls

    def tell(
        self, pull: Pull | int, reward: float | Outcome, *, cost: float | None = None, note: str | None = None
    ) -> bool:
        """Report the reward of a pull.

        Parameters
        ----------
        pull : Pull or int
            What `ask` returned, or its id.
        reward : float
            A finite number in the range of the problem's rewards, or an `Outcome`, which says cost and note itself.
        cost : float, optional
            What it really cost, 0 for what was taken from a cache; by default what its fidelity says.
        note : str, optional
            A text that is kept in the log.

        Returns
        -------
        bool
            Whether it counts: not if the pull already has a result (exactly one counts) or its arm was retired.
        """
        return self.tell_all([(pull, self._check.joined(reward, cost, note))])[0]

    def tell_all(self, rewards: Iterable[tuple[Pull | int, float | Outcome]]) -> list[bool]:
        """Report many rewards, as pairs of what `tell` takes, in one step; if one is refused, nothing is recorded."""
        checked = [self._check(found, pull, self._number(pull)) for pull, found in rewards]
        self._study_state.maybe_compile()
        return self._report(checked)

    def check_outcome(self, pull: Pull, found: Any) -> None:
        """Raise RewardError if `tell` would refuse what an evaluation of a pull brings."""
        self._check(found, pull, pull.id)

    def fail(self, pull: Pull | int, reason: str = "", *, cost: float = 0.0) -> bool:
        """Report that the evaluation of a pull failed.

        The pull is handed out again, up to `retries` times. Then the study stops with status "failed",
        retires the arm, or counts the cell at its worst, as chosen by `on_failure`.

        Parameters
        ----------
        pull : Pull or int
            What `ask` returned, or its id.
        reason : str
            What went wrong; kept in the log.
        cost : float
            What the attempt has cost all the same.

        Returns
        -------
        bool
            Whether it counts; not if the pull already has a result.
        """
        lost = as_cost(cost)
        return self._report([PullReport(pull, self._number(pull), lost, FAILURE, plain_text(reason), lost)])[0]

    def heartbeat(self, pulls: Iterable[Pull], *, lease_seconds: float | None = None) -> list[Pull]:
        """Say that pulls are still being worked on; returns those that are still wanted."""
        return self._lease_again(pulls, self._term(lease_seconds))

    def release(self, pulls: Iterable[Pull]) -> None:
        """Give back pulls that nobody will evaluate, so that they are handed out again at once."""
        self._lease_again(pulls, 0.0)

    def retry(self) -> bool:
        """Go on with a study that stopped because an evaluation failed; False if it had not."""
        forgiven: list[int] = []

        def decide(news: Sequence[Record], clock: Clock) -> list[Record]:
            forgiven[:] = self._apply_news(news).stuck
            for number in forgiven:
                self._study_state.retry(number)
            return [Record(RETRY, number) for number in forgiven]

        with self._lock:
            self._exchange(decide, self._durable)
        return bool(forgiven)

    def _plan(self, records: list[Record]) -> None:
        """Plan all rounds that are due."""
        while (record := self._study_state.next_record()) is not None:
            records.append(record)

    def _nothing_to_ask(self, people: bool) -> bool:
        """Whether a look at the log, without a lock on it, shows that nothing can be handed out."""
        if self._stale or self._study_state.due or self._study_state.next_position(people) >= 0:
            return False
        study_state = self.current()
        if study_state.ended or study_state.stuck:
            return True
        playing = study_state.round
        expired = playing.soonest <= time.monotonic() + self._clock_ahead
        nothing = not study_state.due and not expired and study_state.next_position(people) < 0
        return nothing and not playing.abandoned(self._is_gone)

    def _term(self, lease_seconds: float | None) -> float:
        """For how long a pull is handed out."""
        return self.settings.lease_seconds if lease_seconds is None else check_lease(lease_seconds)

    def _my_name(self) -> str:
        """How leases call this study in this process; another after a fork."""
        if self._process != os.getpid():
            self._process, self._owner = os.getpid(), this_process(secrets.token_hex(3))
            self._held = set()
        return self._owner

    def _is_gone(self, position: int, owner: str) -> bool:
        """Whether nobody works on a position any more that a process had taken for itself."""
        if owner == self._my_name():
            # Its result was lost by the storage after it had been told.
            return self._study_state.round.first + position not in self._held
        return self._owners.is_gone(owner)

    def _drop(self, pulls: list[Pull]) -> None:
        """Forget pulls that were not handed out after all."""
        if pulls:
            self._held.difference_update(pull.id for pull in pulls)
            pulls.clear()

    def _take_back_abandoned(self) -> bool:
        """Free the positions of processes that are gone; returns whether there were any."""
        positions = self._study_state.round.abandoned(self._is_gone)
        for position in positions:
            self._study_state.round.give_back(position)
        return bool(positions)

    def _report(self, reports: Sequence[PullReport]) -> list[bool]:
        """Enter what became of pulls, and plan the next round if that completes this one."""
        verdicts: list[int] = []

        def decide(news: Sequence[Record], clock: Clock) -> list[Record]:
            study_state, records = self._apply_news(news), list[Record]()
            verdicts.clear()
            for pull, number, value, kind, text, cost, work, lost in reports:
                if number >= study_state.asked and self._may_plan():
                    self._plan(records)
                verdict = self._verdict(pull, number)
                if verdict == _AWAITED:
                    # What is told when a study has its answer is recorded, and does not count.
                    verdict = _ENDED if study_state.ended else _AWAITED
                    if kind == RESULT:
                        if self._check.measured:
                            position = number - study_state.round.first
                            self._check.check_told(study_state.round.row_of(position).fidelity, cost)
                        text = outcome_text(cost, text, lost)
                        study_state.result(number, value, cost, lost)
                    else:
                        study_state.failure(number, text or "", value)
                    records.append(Record(kind, number, value, text))
                    if work is not None:
                        records.append(Record(LEASE, number, 0.0, work))
                    # A result counts whoever brings it; what to ask next is not for other code to say.
                    if self._may_plan():
                        self._plan(records)
                verdicts.append(verdict)
            return records

        with self._lock:
            self._exchange(decide, self._durable)
            self._held.difference_update(report.number for report in reports)
        for report, verdict in zip(reports, verdicts, strict=True):
            if verdict == _UNKNOWN:
                raise StudyError(f"pull {report.number} was never handed out by study {self.name!r}")
        return [verdict == _AWAITED for verdict in verdicts]

    def _may_plan(self) -> bool:
        """Whether a round is due that whoever brings a result may plan; `ask` says why if it must not be planned."""
        study_state = self._study_state
        return study_state.due and self.code.may_decide and (study_state.race is None or not study_state.race.refusal)

    def _verdict(self, pull: Pull | int, number: int) -> int:
        """Whether a report of a pull is awaited, comes too late, or was never asked for."""
        playing = self._study_state.round
        position = number - playing.first
        if position < playing.folded or position in playing.waiting:
            return _LATE
        if not isinstance(pull, Pull):
            return _AWAITED if position < playing.fresh else _UNKNOWN
        # Whoever has the very pull was given it, even if the note of that was lost with the power.
        if position < playing.size:
            row, index = playing.pull_at(position)
            if pull.index == index and pull.arm_index == row.arm and pull.fidelity_index == row.fidelity:
                return _AWAITED
        # If results before it were lost with a server, what is asked for instead may be another pull.
        return _LATE if self.was_read_again else _UNKNOWN

    def _number(self, pull: Pull | int) -> int:
        if isinstance(pull, Pull):
            if pull.study != self.identity:
                raise StudyError(f"pull {pull.id} ({pull.arm!r} at {pull.fidelity!r}) is of another study")
            return pull.id
        if not is_whole(pull) or pull < 0:
            raise InvalidInput(f"a pull is what ask returned, or its id, a whole number; got {pull!r}")
        return int(pull)

    def _pull(self, position: int) -> Pull:
        """The pull at a position of the round being played."""
        study_state = self._study_state
        row, index = study_state.pull_at(position)
        seed = self._pulls.seed(row.arm, row.fidelity, index)
        block = study_state.block_at(position, seed) if self._on_blocks else (None, None)
        return self._pulls.pull(study_state, position, seed, block)

    def _lease_again(self, pulls: Iterable[Pull], term: float) -> list[Pull]:
        """Extend the leases of pulls by `term`, or end them if it is 0; returns those still wanted."""
        given = [(pull, self._number(pull)) for pull in pulls]
        wanted: list[Pull] = []

        def decide(news: Sequence[Record], clock: Clock) -> list[Record]:
            study_state, records = self._apply_news(news), list[Record]()
            wanted.clear()
            until = clock() + term if term > 0.0 else 0.0
            if self._may_plan() and any(number >= study_state.asked for _, number in given):
                self._plan(records)  # the round that they are of was lost by the storage
            playing = study_state.round
            for pull, number in given:
                position = number - playing.first
                # What is out when a study ends is not wanted any more.
                held = position < playing.fresh if term == 0.0 else not study_state.ended
                if held and self._verdict(pull, number) == _AWAITED:
                    note = lease_note(term, self._my_name() if number in self._held else "") if term > 0.0 else None
                    playing.lease(position, until, note)
                    wanted.append(pull)
                    records.append(Record(LEASE, number, until, note))
            return records

        with self._lock:
            if term == 0.0:
                # Whether or not the log learns of it, this process does not work on them any more.
                self._held.difference_update(number for _, number in given)
            self._exchange(decide, False)
        return wanted
