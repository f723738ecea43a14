"""Evaluations on an executor of the user's own."""

from __future__ import annotations

from concurrent.futures import BrokenExecutor, Executor, Future
from typing import Any

from mfbandit.engines.engine import Evaluate, call
from mfbandit.errors import StudyError
from mfbandit.study.pull import Pull

__all__ = ["Borrowed"]


class Borrowed:
    """An executor that belongs to somebody else, and is left open."""

    def __init__(self, executor: Executor, evaluate: Evaluate) -> None:
        self._executor, self._evaluate = executor, evaluate

    def submit(self, pull: Pull) -> Future[Any]:
        """Start an evaluation."""
        try:
            return self._executor.submit(call, self._evaluate, pull)
        except BrokenExecutor as error:
            raise StudyError(
                f"the executor is broken and takes no more work ({error}): make a new one and run again"
            ) from error
        except RuntimeError as error:
            raise StudyError(f"the executor takes no work: {error}") from error

    def close(self) -> None:
        """Leave the executor as it is."""
