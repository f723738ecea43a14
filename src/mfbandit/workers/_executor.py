"""Evaluations on an executor of the user's own."""

from __future__ import annotations

import time
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

from mfbandit.errors import StudyError
from mfbandit.model import Pull
from mfbandit.workers._engine import Evaluate, end_commands, evaluate_elsewhere

__all__ = ["UserExecutor"]

#: How many timeouts long a place is waited for.
_PATIENCE = 1.5


class UserExecutor:
    """An executor that belongs to somebody else, and is left open.

    What runs on it cannot be ended: an evaluation that was given up keeps its place until it returns.
    """

    def __init__(self, executor: Executor, evaluate: Evaluate, timeout: float | None = None) -> None:
        self._executor, self._evaluate, self._timeout = executor, evaluate, timeout
        # Other executors need not say when a call begins.
        self._says_when = isinstance(executor, (ThreadPoolExecutor, ProcessPoolExecutor))
        self._waiting: set[Future[Any]] = set()
        self._given_up: set[Future[Any]] = set()
        self._last_start = time.monotonic()

    def submit(self, pull: Pull) -> Future[Any]:
        """Start an evaluation."""
        try:
            future = self._executor.submit(evaluate_elsewhere, self._evaluate, pull)
        except BrokenExecutor as error:
            raise StudyError(
                f"the executor is broken and takes no more work ({error}): make a new one and run again"
            ) from error
        except RuntimeError as error:
            raise StudyError(f"the executor takes no work: {error}") from error
        if not self._waiting:
            self._last_start = time.monotonic()
        self._waiting.add(future)
        return future

    def started(self, future: Future[Any]) -> bool:
        """Whether an evaluation has left the queue."""
        if future in self._waiting and (future.running() or future.done()):
            self._waiting.discard(future)
            self._last_start = time.monotonic()
        return future not in self._waiting or not self._says_when

    def end(self, pull: Pull, future: Future[Any]) -> None:
        """Give up an evaluation, which may run on."""
        self._waiting.discard(future)
        end_commands(self._evaluate, pull)
        if not future.cancel():
            self._given_up.add(future)

    def check(self, error: BaseException | None = None) -> None:
        """Raise StudyError if the executor is broken, or full of evaluations that do not return."""
        if isinstance(error, BrokenExecutor):  # it can neither be mended nor blamed on a pull
            raise StudyError(f"the executor is broken: {error}; make a new one and run again") from error
        self._given_up = {future for future in self._given_up if not future.done()}
        waiting = [future for future in list(self._waiting) if not self.started(future)]
        # Whatever began before has ended, or was given up, by now.
        if self._given_up and waiting and time.monotonic() > self._last_start + _PATIENCE * (self._timeout or 0.0):
            raise StudyError(
                f"the executor has no place left: {len(self._given_up)} evaluations that took too long still run; "
                "make a new one and run again"
            )

    def close(self) -> None:
        """Leave the executor as it is."""
        end_commands(self._evaluate)
