"""The desk of a study: where pulls are handed out and their results taken in.

Every action is one step on the log (`Log.exchange`): follow what others wrote, decide, write. Should a step
be cut off half-way, the study is read again from the log.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from mfbandit.errors import InvalidInput, StudyError
from mfbandit.storage.records import (
    FAILURE,
    LEASE,
    RESULT,
    RETRY,
    Decide,
    Interrupted,
    Log,
    Record,
    Storage,
)
from mfbandit.study.checks import RewardCheck, plain_text
from mfbandit.study.course import Course
from mfbandit.study.lineup import copy_state
from mfbandit.study.policy_digest import PolicyCode
from mfbandit.study.pull import Pull, Seeds, make_pull
from mfbandit.study.resume import resume
from mfbandit.study.settings import Header

__all__ = ["Desk"]

Clock = Callable[[], float]

#: A policy is compiled, beside the study, once it has some rounds and planning them takes time. What was
#: compiled for another study is taken sooner: it takes a millisecond to find.
_LOOK_AFTER_SECONDS = 0.002
_COMPILE_AFTER_SECONDS = 0.02
_COMPILE_AFTER_ROUNDS = 100
#: How often a step that was cut off is done again.
_ATTEMPTS = 5
#: What a report of a pull can be.
_AWAITED, _LATE, _UNKNOWN = 1, 0, -1


class Desk:
    """Hands out the pulls of a study and takes in their results."""

    def __init__(
        self, storage: Storage, name: str, header: Header, durable: bool = True, allow_changed_policy: bool = False
    ) -> None:
        settings = header.settings
        self.name = name
        self.storage = storage
        self.settings = settings
        self.identity = header.identity
        self.code = PolicyCode(name, header, allow_changed_policy)
        self._durable = durable
        self._log: Log = storage.log(name)
        self._lock = threading.RLock()
        self._seeds = Seeds(settings.seed)
        self._arms = settings.problem.arms
        self._fidelities = [fidelity.name for fidelity in settings.problem.fidelities]
        self._check_reward = RewardCheck(settings.problem.reward)
        #: How far the clock of the storage is ahead of this process's; known after the first ask.
        self._clock_ahead = math.inf
        self._load()

    def ask(self, n: int = 1, *, lease_seconds: float | None = None) -> list[Pull]:
        """Get up to `n` pulls that may run at once.

        Parameters
        ----------
        n : int
            How many at most.
        lease_seconds : float, optional
            How long they are yours; after that, and without a `heartbeat`, they are handed out again.
            The study's own setting by default.

        Returns
        -------
        list of Pull
            Empty when none can be handed out now: the study is done, or it waits for the results of
            pulls that are out.
        """
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
            raise InvalidInput(f"n must be a whole number >= 1, got {n!r}")
        term = self.settings.lease_seconds if lease_seconds is None else lease_seconds
        if not term > 0.0:
            raise InvalidInput(f"lease_seconds must be a number > 0, got {lease_seconds!r}")
        self._maybe_compile()
        pulls: list[Pull] = []

        def decide(news: Sequence[Record], clock: Clock) -> list[Record]:
            course = self._follow(news)
            pulls.clear()
            if course.due:
                self.code.check()
            records = [course.plan()] if course.due else []
            if course.ended or course.stuck:
                return records
            playing, now = course.round, clock()
            self._clock_ahead = now - time.monotonic()
            playing.expire(now)
            while len(pulls) < n:
                place = playing.next_place()
                if place < 0:
                    break
                playing.lease(place, now + term)
                records.append(Record(LEASE, playing.first + place, now + term))
                pulls.append(self._pull(place))
            return records

        with self._lock:
            if self._course.round.fresh < self._course.round.size or not self._nothing_to_ask():
                self._exchange(decide, False)
        return pulls

    def tell(self, pull: Pull | int, reward: float) -> bool:
        """Report the reward of a pull.

        Parameters
        ----------
        pull : Pull or int
            What `ask` returned, or its id.
        reward : float
            A finite number in the range of the problem's rewards; anything else is refused and nothing
            is recorded.

        Returns
        -------
        bool
            Whether it counts. It does not if the pull already has a result (exactly one counts) or its
            arm was retired.
        """
        value = self._check_reward(reward)
        self._maybe_compile()
        return self._report(pull, RESULT, value, None)

    def fail(self, pull: Pull | int, reason: str = "") -> bool:
        """Report that the evaluation of a pull failed.

        The pull is handed out again, up to `retries` times. Then the study stops with status "failed", or
        retires the arm, as chosen by `on_failure`.

        Parameters
        ----------
        pull : Pull or int
            What `ask` returned, or its id.
        reason : str
            What went wrong; kept in the log.

        Returns
        -------
        bool
            Whether it counts; not if the pull already has a result.
        """
        return self._report(pull, FAILURE, 0.0, plain_text(reason))

    def heartbeat(self, pulls: Iterable[Pull], *, lease_seconds: float | None = None) -> list[Pull]:
        """Say that pulls are still being worked on; returns those that are still wanted."""
        term = self.settings.lease_seconds if lease_seconds is None else lease_seconds
        return self._lease_again(pulls, term)

    def release(self, pulls: Iterable[Pull]) -> None:
        """Give back pulls that nobody will evaluate, so that they are handed out again at once."""
        self._lease_again(pulls, 0.0)

    def retry(self) -> bool:
        """Go on with a study that stopped because an evaluation failed; False if it had not."""
        forgiven: list[int] = []

        def decide(news: Sequence[Record], clock: Clock) -> list[Record]:
            course = self._follow(news)
            forgiven[:] = course.stuck
            for number in forgiven:
                course.retry(number)
            return [Record(RETRY, number) for number in forgiven]

        with self._lock:
            self._exchange(decide, self._durable)
        return bool(forgiven)

    def _load(self) -> None:
        self._seen, self._course = resume(self.settings, self._log)
        self._stale = False

    def current(self) -> Course:
        """The course with all that others have written."""
        with self._lock:
            if self._stale:
                self._load()
            return self._follow(self._log.read(self._seen))

    def _follow(self, news: Sequence[Record]) -> Course:
        if news:
            self._course.apply(news)
            self._seen += len(news)
        return self._course

    def _exchange(self, decide: Decide, safe: bool) -> None:
        """Read what is new, decide and write, as one step."""
        for attempt in range(_ATTEMPTS):
            if self._stale:
                self._load()
            # Until the step is through, the course may be ahead of the log; if it fails, it is read again.
            self._stale = True
            try:
                self._seen = self._log.exchange(self._seen, decide, safe=safe)
            except Interrupted:
                if attempt == _ATTEMPTS - 1:
                    raise
            else:
                self._stale = False
                return

    def _nothing_to_ask(self) -> bool:
        """Whether a look at the log, without a lock on it, shows that nothing can be handed out."""
        if self._stale or self._course.due or self._course.round.next_place() >= 0:
            return False
        course = self.current()
        playing = course.round
        if course.ended or course.stuck:
            return True
        expired = playing.soonest <= time.monotonic() + self._clock_ahead
        return not course.due and not expired and playing.next_place() < 0

    def _report(self, pull: Pull | int, kind: int, value: float, text: str | None) -> bool:
        """Enter what became of a pull, and plan the next round if that completes this one."""
        number = self._number(pull)
        verdict = _LATE

        def decide(news: Sequence[Record], clock: Clock) -> list[Record]:
            nonlocal verdict
            course = self._follow(news)
            records: list[Record] = []
            if number >= course.asked and course.due and self.code.may_decide:
                records.append(course.plan())
            verdict = self._verdict(pull, number)
            if verdict == _AWAITED:
                if kind == RESULT:
                    course.result(number, value)
                else:
                    course.failure(number, text or "")
                records.append(Record(kind, number, value, text))
                # A result counts whoever brings it; what to ask next is not for other code to say.
                if course.due and self.code.may_decide:
                    records.append(course.plan())
            return records

        with self._lock:
            self._exchange(decide, self._durable)
        if verdict == _UNKNOWN:
            raise StudyError(f"pull {number} was never handed out by study {self.name!r}")
        return verdict == _AWAITED

    def _verdict(self, pull: Pull | int, number: int) -> int:
        """Whether a report of a pull is awaited, comes too late, or was never asked for."""
        playing = self._course.round
        place = number - playing.first
        if place < 0 or (place < playing.size and playing.told(place)):
            return _LATE
        if place < playing.fresh:
            return _AWAITED
        # Whoever has the very pull was given it, even if the note of that was lost with the power.
        matches = isinstance(pull, Pull) and place < playing.size and pull == self._pull(place)
        return _AWAITED if matches else _UNKNOWN

    def _number(self, pull: Pull | int) -> int:
        if isinstance(pull, Pull):
            if pull.study != self.identity:
                raise StudyError(f"pull {pull.id} ({pull.arm!r} at {pull.fidelity!r}) is of another study")
            return pull.id
        if isinstance(pull, bool) or not isinstance(pull, (int, np.integer)) or pull < 0:
            raise InvalidInput(f"a pull is what ask returned, or its id, a whole number; got {pull!r}")
        return int(pull)

    def _pull(self, place: int) -> Pull:
        """The pull at a place of the round being played."""
        playing = self._course.round
        row = playing.row_of(place)
        arm, fidelity, index = row.arm, row.fidelity, playing.index_of(place)
        return make_pull(
            {
                "id": playing.first + place,
                "arm": self._arms[arm],
                "fidelity": self._fidelities[fidelity],
                "cost": row.cost,
                "seed": self._seeds.seed(arm * len(self._fidelities) + fidelity, index),
                "index": index,
                "arm_index": arm,
                "fidelity_index": fidelity,
                "study": self.identity,
            }
        )

    def _lease_again(self, pulls: Iterable[Pull], term: float) -> list[Pull]:
        """Extend the leases of pulls by `term`, or end them if it is 0; returns those still wanted."""
        given = [(pull, self._number(pull)) for pull in pulls]
        wanted: list[Pull] = []

        def decide(news: Sequence[Record], clock: Clock) -> list[Record]:
            playing = self._follow(news).round
            wanted.clear()
            until = clock() + term if term > 0.0 else 0.0
            records: list[Record] = []
            for pull, number in given:
                place = number - playing.first
                if 0 <= place < playing.fresh and not playing.told(place):
                    playing.lease(place, until)
                    wanted.append(pull)
                    records.append(Record(LEASE, number, until))
            return records

        with self._lock:
            self._exchange(decide, False)
        return wanted

    def _maybe_compile(self) -> None:
        """Compile the policy once that pays; other threads go on meanwhile."""
        course = self._course
        lineup = course.lineup
        if lineup.asked_to_compile or course.planning_seconds < _LOOK_AFTER_SECONDS:
            return
        if not lineup.looked:
            lineup.asked_to_compile = lineup.compiled_before(course.state)
            return
        if course.planning_seconds < _COMPILE_AFTER_SECONDS or course.rounds < _COMPILE_AFTER_ROUNDS:
            return
        lineup.asked_to_compile = True
        # It takes seconds the first time on a machine, and which of the two plans does not matter.
        compiling = threading.Thread(target=course.lineup.compile, args=(copy_state(course.state),), daemon=True)
        compiling.start()
