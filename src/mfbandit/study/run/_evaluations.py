"""The evaluations that are out: which they are, which are done, and which take too long."""

from __future__ import annotations

import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

from mfbandit.model import Pull
from mfbandit.workers import Engine

__all__ = ["Evaluation", "Evaluations"]

#: How often to look whether evaluations left the queue of their engine, as a share of the timeout.
_LOOKS = 0.2


@dataclass(eq=False)
class Evaluation:
    """An evaluation that is out."""

    pull: Pull
    future: Future[Any]
    began: float = field(default_factory=time.monotonic)
    deadline: float | None = None
    """When it has taken too long; not known before it has begun."""


class Evaluations:
    """Evaluations on an engine, which report from whatever thread."""

    def __init__(self, engine: Engine, timeout: float | None) -> None:
        self.engine = engine
        self.timeout = timeout
        self._out: dict[int, Evaluation] = {}
        #: A pull may be out again while one that was given up still runs, so it is futures that report.
        self._numbers: dict[Future[Any], int] = {}
        self._reports: SimpleQueue[Future[Any] | None] = SimpleQueue()

    def __len__(self) -> int:
        """How many are out."""
        return len(self._out)

    @property
    def pulls(self) -> list[Pull]:
        """What is evaluated."""
        return [evaluation.pull for evaluation in self._out.values()]

    def start(self, pull: Pull) -> None:
        """Start to evaluate a pull."""
        evaluation = Evaluation(pull, self.engine.submit(pull))
        self._out[pull.id] = evaluation
        self._numbers[evaluation.future] = pull.id
        self._note_start(evaluation)
        evaluation.future.add_done_callback(self._reports.put)

    def age(self, number: int) -> float | None:
        """For how many seconds a pull is evaluated here; None if it is not."""
        evaluation = self._out.get(number)
        return None if evaluation is None else time.monotonic() - evaluation.began

    def wake(self) -> None:
        """Let `done` return."""
        self._reports.put(None)

    def done(self, seconds: float) -> list[Evaluation]:
        """Those that are done; waits for one at most so long."""
        found = []
        try:
            report = self._reports.get(timeout=seconds)
            while True:
                number = None if report is None else self._numbers.get(report)
                if number is not None:
                    found.append(self._out[number])
                report = self._reports.get_nowait()
        except Empty:
            return found

    def forget(self, evaluation: Evaluation) -> None:
        """Wait no longer for an evaluation."""
        if self._numbers.pop(evaluation.future, None) is not None:
            del self._out[evaluation.pull.id]

    def overdue(self) -> list[Evaluation]:
        """Those that take too long."""
        if self.timeout is None:
            return []
        for evaluation in self._out.values():
            self._note_start(evaluation)
        now = time.monotonic()
        return [
            evaluation
            for evaluation in self._out.values()
            if evaluation.deadline is not None and now >= evaluation.deadline and not evaluation.future.done()
        ]

    def until_overdue(self) -> float:
        """Seconds until one may take too long, or is to be looked at again."""
        if self.timeout is None or not self._out:
            return float("inf")
        look, now = _LOOKS * self.timeout, time.monotonic()
        return min(look if one.deadline is None else one.deadline - now for one in self._out.values())

    def _note_start(self, evaluation: Evaluation) -> None:
        """Let the time of an evaluation count once it has begun."""
        if self.timeout is not None and evaluation.deadline is None and self.engine.started(evaluation.future):
            evaluation.deadline = time.monotonic() + self.timeout

    def end(self, evaluation: Evaluation) -> None:
        """Give up an evaluation."""
        self.forget(evaluation)
        self.engine.end(evaluation.pull, evaluation.future)

    def end_pull(self, pull: Pull) -> None:
        """Give up the evaluation of a pull, if there is one."""
        evaluation = self._out.get(pull.id)
        if evaluation is not None:
            self.end(evaluation)

    def close(self) -> None:
        """Give up all of them, and let go of the engine."""
        for evaluation in list(self._out.values()):
            self.forget(evaluation)
            evaluation.future.cancel()
        self.engine.close()
