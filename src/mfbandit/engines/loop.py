"""The loop that keeps evaluations running until a study is done.

One thread, the caller's, talks to the study; evaluations run elsewhere and report through a queue. So it
is here that leases are renewed, and nothing of it slows an evaluation.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

import numpy as np

from mfbandit.engines.display import Display, make_display
from mfbandit.engines.engine import Engine, Evaluate, Resources, make_engine, reason
from mfbandit.engines.interrupts import Interrupts
from mfbandit.engines.words import shown
from mfbandit.errors import InvalidInput, RewardError, StudyError
from mfbandit.study.pull import Pull

if TYPE_CHECKING:
    from mfbandit.study.result import Result
    from mfbandit.study.study import Study
    from mfbandit.study.view import View

__all__ = ["optimize"]

_logger = logging.getLogger("mfbandit")

#: A pull whose lease was not renewed for this long is handed out again: what a crash costs in time.
_LEASE_SECONDS = 60.0
#: Renewals per lease.
_BEATS = 4
#: How often to look whether other workers made new pulls possible: at first, and at most.
_SHORT_PAUSE, _LONG_PAUSE = 0.01, 1.0
#: How long evaluations may go on after Ctrl-C.
_GRACE_SECONDS = 3.0
#: Letters of a reason in the warning; all of it is in the log of the study.
_LONGEST = 300


def optimize(
    study: Study,
    evaluate: Evaluate,
    *,
    workers: int = 1,
    engine: str | Executor = "threads",
    progress: bool = True,
    callback: Callable[[View], Any] | None = None,
    resources: Resources | None = None,
) -> Result:
    """Evaluate the pulls of a study until it is done; see `Study.optimize`."""
    if isinstance(workers, bool) or not isinstance(workers, (int, np.integer)) or workers < 1:
        raise InvalidInput(f"workers must be a whole number >= 1, got {workers!r}")
    if callback is not None and not callable(callback):
        raise InvalidInput(f"callback must be a function of a view of the study, got {callback!r}")
    crew = make_engine(engine, evaluate, study.problem, resources)
    with make_display(study, progress) as display:
        return _Run(study, crew, int(workers), display, callback).go()


class _Run:
    """One run of a study: the evaluations that are out, and what is due when."""

    def __init__(
        self,
        study: Study,
        engine: Engine,
        workers: int,
        display: Display,
        callback: Callable[[View], Any] | None,
    ) -> None:
        self.study, self.engine, self.workers = study, engine, workers
        self.display, self.callback = display, callback
        self.running: dict[int, tuple[Pull, Future[Any]]] = {}
        self.reports: SimpleQueue[int | None] = SimpleQueue()
        self.interrupts = Interrupts(self._wake)
        self.lease = min(_LEASE_SECONDS, study.settings.lease_seconds)
        self.next_beat = time.monotonic() + self.lease / _BEATS
        self.pause = _SHORT_PAUSE
        self.stop_at = float("inf")
        self.refused: RewardError | None = None

    def go(self) -> Result:
        """Run until the study is done or somebody wants it to end."""
        cancelled = False
        try:
            with self.interrupts:
                self.study.retry()
                cancelled = not self._loop()
        except KeyboardInterrupt:
            cancelled = True
        finally:
            self._leave()
            self.study.hurry(False)
        if self.refused is not None:
            raise self.refused
        ended = self.study.status != "running"
        return self.study.result("cancelled" if cancelled and not ended else None)

    def _loop(self) -> bool:
        """Keep the workers busy; returns whether the study is done."""
        while True:
            stopping = self._stopping()
            if not stopping and len(self.running) < self.workers:
                self._hand_out()
            if not self.running and (stopping or self.study.done):
                return not stopping
            if stopping and (self.interrupts.count > 1 or time.monotonic() > self.stop_at):
                return False
            self._look_after()
            self._take_in()

    def _wake(self) -> None:
        """Somebody wants to end: wait neither for reports nor for a storage that does not answer."""
        self.reports.put(None)
        self.study.hurry(True)

    def _stopping(self) -> bool:
        """Whether somebody wants to end; evaluations that run get a moment to finish."""
        if not self.interrupts.count:
            return False
        if self.stop_at == float("inf"):
            self.stop_at = time.monotonic() + _GRACE_SECONDS
            if self.running:
                self.display.say(f"ending: {len(self.running)} running; Ctrl-C again to leave them")
        return True

    def _hand_out(self) -> None:
        pulls = self.study.ask(self.workers - len(self.running), lease_seconds=self.lease, in_process=True)
        for place, pull in enumerate(pulls):
            try:
                future = self.engine.submit(pull)
            except BaseException:
                self.study.release(pulls[place:])
                raise
            self.running[pull.id] = pull, future
            future.add_done_callback(partial(self._report, pull.id))

    def _report(self, number: int, done: Future[Any]) -> None:
        """Say, from whatever thread, that an evaluation ended."""
        self.reports.put(number)

    def _take_in(self) -> None:
        """Wait for a report, and tell the study of all there are."""
        told = False
        try:
            number = self.reports.get(timeout=self._patience())
            while True:
                if number is not None and number in self.running:
                    self._tell(*self.running[number])
                    del self.running[number]
                    told = True
                number = self.reports.get_nowait()
        except Empty:
            pass
        if told:
            self.pause = _SHORT_PAUSE
            self._call_back()

    def _call_back(self) -> None:
        if self.callback is None:
            return
        try:
            self.callback(self.study.view())
        except StopIteration:
            self.interrupts.count += 1

    def _patience(self) -> float:
        """How long nothing but a report is of interest."""
        now = time.monotonic()
        wait = min(self.next_beat, self.stop_at) - now
        if len(self.running) < self.workers:
            # Other processes may complete the round, or give pulls back.
            wait = min(wait, self.pause)
            self.pause = min(2.0 * self.pause, _LONG_PAUSE)
        return max(0.0, wait)

    def _tell(self, pull: Pull, future: Future[Any]) -> None:
        """Report the outcome of an evaluation."""
        try:
            error = future.exception()
        except CancelledError as cancelled:
            error = cancelled
        if error is None:
            try:
                self.study.tell(pull, future.result())
                return
            except RewardError as refused:
                self._refuse(pull, refused)
                return
        if self.interrupts.count:  # it may have failed because of Ctrl-C
            self.study.release([pull])
            return
        if isinstance(error, BrokenExecutor):  # of the user: it can neither be mended nor blamed on a pull
            self.study.release([pull])
            raise StudyError(f"the executor is broken: {error}; make a new one and run again") from error
        said = reason(error)
        short = shown(" ".join(said.split()), _LONGEST)
        _logger.warning("arm %r at fidelity %r failed: %s", pull.arm, pull.fidelity, short)
        _logger.debug("the failure of pull %d", pull.id, exc_info=error)
        self.study.fail(pull, said)
        # Its arm may have been retired: see at once which evaluations are still wanted.
        self.next_beat = time.monotonic()

    def _refuse(self, pull: Pull, refused: RewardError) -> None:
        """End the run: an evaluator that returns what is no reward would do so again, at the same cost."""
        self.study.release([pull])
        # Others that run are paid for and may finish, as after Ctrl-C.
        self.interrupts.count = max(1, self.interrupts.count)
        if self.refused is None:
            self.refused = RewardError(f"arm {pull.arm!r} at fidelity {pull.fidelity!r}: {refused}")

    def _look_after(self) -> None:
        """Renew the leases when their time has come, and drop what is no longer wanted."""
        self.display.running = len(self.running)
        now = time.monotonic()
        if now < self.next_beat:
            return
        self.next_beat = now + self.lease / _BEATS
        if self.running:
            pulls = [pull for pull, _ in self.running.values()]
            wanted = self.study.heartbeat(pulls, lease_seconds=self.lease)
            for pull in set(pulls).difference(wanted):
                self.running.pop(pull.id)[1].cancel()

    def _leave(self) -> None:
        """Give back what is not finished, and let go of the engine."""
        abandoned, self.running = list(self.running.values()), {}
        for _, future in abandoned:
            future.cancel()
        self.engine.close()
        if abandoned:
            try:
                self.study.release([pull for pull, _ in abandoned])
            except StudyError as error:
                _logger.warning("pulls could not be given back and are out until their leases end: %s", error)
