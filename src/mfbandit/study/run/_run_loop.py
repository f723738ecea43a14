"""The loop that keeps evaluations running until a study is done.

One thread, the caller's, talks to the study; evaluations run elsewhere and report through a queue. So it
is here that leases are renewed, and nothing of it slows an evaluation.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable
from concurrent.futures import Executor
from os import PathLike
from typing import TYPE_CHECKING, Any

from mfbandit._checks import is_number, whole_number
from mfbandit.errors import InvalidInput, RewardError, StudyError
from mfbandit.model import Pull
from mfbandit.study.run._backoff import Backoff
from mfbandit.study.run._evaluations import Evaluation, Evaluations, batch_size, tasks_of
from mfbandit.study.run._folders import Folders, open_folders
from mfbandit.study.run._interrupts import Interrupts
from mfbandit.study.run._run_async import refuse_to_block
from mfbandit.study.run._study_display import Display, make_display
from mfbandit.workers import REFUSED, Command, Evaluate, Ray, Resources, check_timeout, describe, make_engine

if TYPE_CHECKING:
    from mfbandit.study._result import Result
    from mfbandit.study._study import Study
    from mfbandit.study._view import View

__all__ = ["optimize"]

_logger = logging.getLogger("mfbandit")

#: A pull whose lease was not renewed for this long is handed out again: what a crash costs in time.
_LEASE_SECONDS = 60.0
#: Renewals per lease.
_BEATS = 4
#: How often to look whether other workers made new pulls possible: at first, and at most.
_SHORT_PAUSE, _LONG_PAUSE = 0.01, 1.0
#: How often to look whether the engine is still there, and whether evaluations left its queue, at most.
_CHECK_SECONDS = 1.0
#: How many pulls more than workers may wait for another attempt before no more are asked for.
_MOST_HELD = 100
#: How long evaluations may go on after Ctrl-C.
_GRACE_SECONDS = 3.0


def optimize(
    study: Study,
    evaluate: Evaluate,
    *,
    workers: int = 1,
    engine: str | Executor | Ray = "threads",
    progress: bool = True,
    callback: Callable[[View], Any] | None = None,
    resources: Resources | None = None,
    timeout: float | None = None,
    failure_patience: float = 60.0,
    folders: str | PathLike[str] | Folders | None = None,
    on_start: Callable[[Interrupts], Any] | None = None,
) -> Result:
    """Evaluate the pulls of a study until it is done, see `Study.optimize`; `on_start` gets what can end the run."""
    refuse_to_block()
    workers = whole_number("workers", workers, 1)
    if callback is not None and not callable(callback):
        raise InvalidInput(f"callback must be a function of a view of the study, got {callback!r}")
    check_timeout(timeout)
    if not is_number(failure_patience) or not failure_patience >= 0:
        raise InvalidInput(f"failure_patience must be a number >= 0, got {failure_patience!r}")
    if isinstance(evaluate, Command):
        # It ends itself, wherever it runs, with all it started.
        evaluate, timeout = evaluate.within(timeout), None
    made = make_engine(engine, evaluate, study.problem, resources, timeout)
    evaluations = Evaluations(made, timeout, study.problem.fidelities, open_folders(study, folders))
    # Who wants no retries does not want to wait for them. No arm is retired for what may be an outage.
    fresh = study.settings.on_failure == "stop" and not study.cost
    backoff = Backoff(float(failure_patience) if study.settings.retries else 0.0, bugs_last=fresh)
    run = _Run(study, evaluations, workers, callback, backoff, batch_size(evaluate))
    if on_start is not None:
        on_start(run.interrupts)
    try:
        return run.run(progress)
    finally:
        run.interrupts.pass_on()


class _Run:
    """One run of a study: the evaluations that are out, those that wait, and what is due when."""

    def __init__(
        self, study: Study, evaluations: Evaluations, workers: int, callback: Any, backoff: Backoff, batch: int
    ) -> None:
        self.study, self.running, self.backoff = study, evaluations, backoff
        self.callback: Callable[[View], Any] | None = callback
        #: How many pulls a task has at most, 0 if it has one alone; how many tasks run at once, with how many pulls.
        self.batch, self.tasks, self.workers = batch, workers, workers * max(1, batch)
        self.display: Display = make_display(study, False)
        #: Pulls that failed and are tried again later.
        self.held: dict[int, Pull] = {}
        self.interrupts = Interrupts(self._wake)
        self.lease = min(_LEASE_SECONDS, study.settings.lease_seconds)
        self.next_beat = time.monotonic() + self.lease / _BEATS
        self.next_look = time.monotonic() + _CHECK_SECONDS
        self.pause, self.stop_at = _SHORT_PAUSE, float("inf")
        self.refused: RewardError | None = None

    def run(self, progress: bool) -> Result:
        """Run until the study is done or somebody wants it to end."""
        with make_display(self.study, progress) as self.display:
            self.display.workers, self.display.age = self.tasks, self.running.age
            return self._run()

    def _run(self) -> Result:
        cancelled = False
        try:
            with self.interrupts:
                self.study.retry()
                cancelled = not self._loop()
        except KeyboardInterrupt:
            cancelled = True
        finally:
            self._shut_down()
            self.study.hurry(False)
        if self.refused is not None:
            raise self.refused
        ended = self.study.status != "running"
        return self.study.result("cancelled" if cancelled and not ended else None)

    def _loop(self) -> bool:
        """Keep the workers busy; returns whether the study is done."""
        while True:
            stopping = self._stopping()
            if not stopping:
                self._submit_pulls()
            if self.study.known_end:
                self._take_what_is_there()
                return True
            if not self.running and (stopping or self.study.done):
                return not stopping
            if stopping and (self.interrupts.count > 1 or time.monotonic() > self.stop_at):
                return False
            self._renew_leases()
            self._collect_results()
            self._end_what_takes_too_long()
            self.running.engine.check()

    def _wake(self) -> None:
        """Somebody wants to end: wait neither for reports nor for a storage that does not answer."""
        self.running.wake()
        self.study.hurry(True)

    def _stopping(self) -> bool:
        """Whether somebody wants to end; evaluations that run get a moment to finish."""
        if not self.interrupts.count:
            return False
        if self.stop_at == float("inf"):
            self.stop_at = time.monotonic() + _GRACE_SECONDS
            if self.running:
                self.display.say(f"ending: {len(self.running)} running; {self.interrupts.name} again to leave them")
        return True

    def _submit_pulls(self) -> None:
        """Keep the workers busy, unless what failed has to wait."""
        pause = self.backoff.until_probe()
        if (self.held or pause is not None) and self.study.done:
            return
        if pause is not None:
            if pause <= 0.0 and len(self.running) < self.workers:
                self._probe()
            return
        if self.held:
            due = [pull for _, pull in sorted(self.held.items()) if self.backoff.wait(pull) <= 0.0]
            self._start(due[: self.workers - len(self.running)])
        free = self.workers - len(self.running)
        while free > 0 and len(self.held) < self.workers + _MOST_HELD:
            pulls = self.study.ask(free, lease_seconds=self.lease, in_process=True)
            self.held.update({pull.id: pull for pull in pulls if self.backoff.wait(pull) > 0.0})
            self._start([pull for pull in pulls if pull.id not in self.held])
            # Fewer than asked for: there are no more.
            free = self.workers - len(self.running) if len(pulls) == free else 0

    def _probe(self) -> None:
        """Try one pull to see whether evaluations succeed again, rather not the one that fails most often."""
        held = sorted(self.held.values(), key=lambda pull: (self.backoff.attempts(pull), pull.id))
        pulls = held[:1] or self.study.ask(1, lease_seconds=self.lease, in_process=True)
        for pull in pulls:
            self.backoff.probe(pull)
        self._start(pulls)

    def _start(self, pulls: list[Pull]) -> None:
        for position, task in tasks_of(pulls, max(1, self.batch), self.tasks):
            for pull in task:
                self.held.pop(pull.id, None)
            try:
                self.running.start(task, together=self.batch > 0)
            except BaseException:
                self.held.update({pull.id: pull for pull in pulls[position:]})  # to be given back
                raise

    def _collect_results(self) -> None:
        """Wait for a report, and tell the study of all there are."""
        done = self.running.done(self._wait_seconds())
        told = self._tell([evaluation for evaluation in done if evaluation.error() is None])
        # In the order of their ends: a success must not excuse failures that come after it, nor the other way round.
        for evaluation in done:
            if (error := evaluation.error()) is not None:
                self._failed(evaluation, error)
            elif evaluation.pull.id in told and (said := self.backoff.succeeded(evaluation.pull)):
                self.display.say(said)
            self.running.forget(evaluation)
        if done:
            self.pause = _SHORT_PAUSE
            self._call_back()
        elif self.running and time.monotonic() >= self.next_look:
            # Others may have found the answer, and what runs here is not needed any more.
            self.next_look = time.monotonic() + _CHECK_SECONDS
            self.study.current()

    def _take_what_is_there(self) -> None:
        """Record what is done when the study has its answer; nobody waits for what still runs, and it is ended."""
        for evaluation in self.running.done(0.0):
            if evaluation.error() is None:  # what went wrong with others is of no interest any more
                with contextlib.suppress(RewardError):
                    self.study.tell(evaluation.pull, evaluation.outcome())
            self.running.forget(evaluation)

    def _end_what_takes_too_long(self) -> None:
        """End evaluations whose time is over: they have failed."""
        for evaluation in self.running.overdue():
            self._failed(evaluation, self.running.too_late)
            self.running.end(evaluation)

    def _call_back(self) -> None:
        if self.callback is None:
            return
        try:
            self.callback(self.study.view())
        except StopIteration:
            self.interrupts.count += 1

    def _wait_seconds(self) -> float:
        """How long nothing but a report is of interest."""
        now = time.monotonic()
        wait = min(self.next_beat - now, self.stop_at - now, _CHECK_SECONDS, self.running.until_overdue())
        if len(self.running) < self.workers:
            # Other processes may complete the round, or give pulls back.
            wait = min(wait, self.pause, self._until_next_attempt())
            self.pause = min(2.0 * self.pause, _LONG_PAUSE)
        return max(0.001, wait)

    def _until_next_attempt(self) -> float:
        """Seconds until something that failed may be tried again."""
        pause = self.backoff.until_probe()
        if pause is not None:
            return pause
        return min((self.backoff.wait(pull) for pull in self.held.values()), default=float("inf"))

    def _tell(self, evaluations: list[Evaluation]) -> set[int]:
        """Report the rewards of evaluations, in one step; returns the pulls whose rewards are none to be refused."""
        rewards: list[tuple[Pull, Any]] = []
        for evaluation in evaluations:
            lost = self.running.take_lost(evaluation.pull)
            rewards.append((evaluation.pull, evaluation.outcome(self.backoff.withheld(evaluation.pull), lost)))
            try:
                self.study.check_outcome(*rewards[-1])
            except RewardError as refused:
                rewards.pop()
                self._refuse(evaluation.pull, refused)
        self.running.succeeded([pull for pull, _ in rewards], lambda: self.study.current().arms_out)
        if rewards:
            self.study.tell_all(rewards)
        return {pull.id for pull, _ in rewards}

    def _failed(self, evaluation: Evaluation, error: BaseException) -> None:
        """Record a failure of a pull, unless it is none of its own."""
        pull, failure = evaluation.pull, describe(error)
        if failure.kind == REFUSED:
            self._refuse(pull, RewardError(failure.said))
            return
        self.held[pull.id] = pull
        if self.interrupts.count:  # it may have failed because of Ctrl-C; held pulls are given back
            return
        self.running.engine.check(error)
        self.running.lose(evaluation, failure)
        before = len(self.study.current().failures.get(pull.id, ()))
        paused = self.backoff.until_probe() is not None
        verdict = self.backoff.failed(pull, failure, self.study.settings.retries - before)
        _logger.debug("the failure of pull %d", pull.id, exc_info=error)
        if verdict.said:
            _logger.warning("%s: %s", self.study.name, verdict.said)
        elif not paused and (line := self.running.failure_line(evaluation, failure.said)):
            _logger.warning(line)
        if not verdict.counted:
            return
        if verdict.blameless and self.study.settings.on_failure != "stop":
            spared = "arm is retired" if self.study.settings.on_failure == "retire" else "cell is given up"
            raise StudyError(
                f"{verdict.said}; no {spared} for it, run again to go on; the last failure: {failure.said}"
            )
        del self.held[pull.id]
        for _ in range(verdict.counted):
            self.study.fail(pull, failure.said, cost=self.running.take_lost(pull))
        # Its arm may have been retired: see at once which evaluations are still wanted.
        self.next_beat = time.monotonic()

    def _refuse(self, pull: Pull, refused: RewardError) -> None:
        """End the run: an evaluator that returns what is no reward would do so again, at the same cost."""
        self.study.release([pull])
        # Others that run are paid for and may finish, as after Ctrl-C.
        self.interrupts.count = max(1, self.interrupts.count)
        if self.refused is None:
            self.refused = RewardError(f"arm {pull.arm!r} at fidelity {pull.fidelity!r}: {refused}")

    def _mine(self) -> list[Pull]:
        """The pulls that are evaluated or held."""
        return list({pull.id: pull for pull in (*self.running.pulls, *self.held.values())}.values())

    def _renew_leases(self) -> None:
        """Renew the leases when their time has come, and drop what is no longer wanted."""
        now = time.monotonic()
        self.display.running = len(self.running)
        self.display.next_attempt = now + self._until_next_attempt()
        if now < self.next_beat:
            return
        self.next_beat = now + self.lease / _BEATS
        pulls = self._mine()
        if pulls:
            wanted = self.study.heartbeat(pulls, lease_seconds=self.lease)
            for pull in set(pulls).difference(wanted):
                self._drop(pull)

    def _drop(self, pull: Pull) -> None:
        """Give up a pull that nobody waits for any more."""
        self.backoff.forget(pull)
        self.held.pop(pull.id, None)
        self.running.end_pull(pull)

    def _shut_down(self) -> None:
        """Give back what is not finished, and let go of the engine."""
        abandoned = self._mine()
        self.held.clear()
        self.running.close()
        if abandoned:
            try:
                self.study.release(abandoned)
            except StudyError as error:
                _logger.warning("pulls could not be given back and are out until their leases end: %s", error)
