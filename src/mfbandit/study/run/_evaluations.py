"""The evaluations that are out: which they are, which are done, and which take too long."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from typing import Any

from mfbandit.formatting import shown
from mfbandit.model import Fidelity, Outcome, Pull
from mfbandit.study.run._folders import FolderStore
from mfbandit.workers import Batch, Batches, Engine, Evaluate, Failure, TookTooLong

__all__ = ["Evaluation", "Evaluations", "batch_size", "tasks_of"]

#: How often to look whether evaluations left the queue of their engine, as a share of the timeout.
_LOOKS = 0.2
#: Letters of a reason in a warning; all of it is in the log of the study.
_LONGEST = 300


@dataclass(eq=False)
class Evaluation:
    """An evaluation that is out."""

    pull: Pull
    future: Future[Any]
    index: int | None = None
    """Which of the rewards that its future brings is its own; None if that brings one alone."""
    together: int = 1
    """How many pulls are evaluated together with it, itself included."""
    began: float = field(default_factory=time.monotonic)
    deadline: float | None = None
    """When it has taken too long; not known before it has begun."""
    timed: bool = False
    """Whether its cost is the time that it takes, if it does not say another."""

    def error(self) -> BaseException | None:
        """What went wrong, once it is done; None if nothing did."""
        try:
            return self.future.exception()
        except CancelledError as cancelled:
            return cancelled

    def lost(self, failure: Failure) -> float:
        """What it has cost although it failed: what the failure says, or the time that it took."""
        lost = failure.cost
        if lost is None and self.timed:
            # Nobody says how long it took if it was ended, or its worker has died.
            lost = time.monotonic() - self.began if failure.seconds is None else failure.seconds
        return (lost or 0.0) / self.together

    def outcome(self, failed: int = 0, lost: float = 0.0) -> Outcome:
        """What it brought after so many failures that nobody recorded, and their cost; raises what went wrong."""
        found, seconds, worker = self.future.result()
        if self.index is not None:
            found, seconds = found[self.index], seconds / len(found)
        if not isinstance(found, Outcome):
            return Outcome(found, seconds if self.timed else None, None, seconds, worker, failed, lost)
        said = {"cost": seconds if self.timed else None, "seconds": seconds, "worker": worker}
        said |= {"failed": failed, "lost": lost}
        return replace(found, **{key: value for key, value in said.items() if getattr(found, key) is None})


def batch_size(evaluate: Evaluate) -> int:
    """How many pulls an evaluator takes together; 0 if it takes one alone."""
    return evaluate.size if isinstance(evaluate, Batches) else 0


def tasks_of(pulls: Sequence[Pull], batch: int, workers: int) -> Iterator[tuple[int, Sequence[Pull]]]:
    """What runs as one task, with the index of its first pull: pulls of one fidelity, so few that all workers get some.

    `batch` is how many pulls an evaluator takes at most.
    """
    most = min(batch, -(-len(pulls) // workers))
    start = 0
    while start < len(pulls):
        end = start + 1
        while end < min(start + most, len(pulls)) and pulls[end].fidelity_index == pulls[start].fidelity_index:
            end += 1
        yield start, pulls[start:end]
        start = end


class Evaluations:
    """Evaluations on an engine, which report from whatever thread."""

    def __init__(
        self, engine: Engine, timeout: float | None, fidelities: Sequence[Fidelity], folders: FolderStore | None = None
    ) -> None:
        self.engine = engine
        #: What evaluations leave for others, where any fidelity continues another.
        self._folders = folders
        #: Whether each fidelity costs the time that it takes.
        self._timed = [fidelity.measured == "seconds" for fidelity in fidelities]
        self.timeout = timeout
        self._out: dict[int, Evaluation] = {}
        #: A pull may be out again while one that was given up still runs, so it is futures that report.
        self._numbers: dict[Future[Any], dict[int, None]] = {}
        self._reports: SimpleQueue[Future[Any] | None] = SimpleQueue()
        #: What failed attempts of pulls have cost, until the study is told.
        self._lost: dict[int, float] = {}
        #: The task of which it was said last that it failed.
        self._said_of: Future[Any] | None = None

    def __len__(self) -> int:
        """How many are out."""
        return len(self._out)

    @property
    def too_late(self) -> TookTooLong:
        """What went wrong with an evaluation that is overdue."""
        return TookTooLong(self.timeout or 0.0)

    @property
    def pulls(self) -> list[Pull]:
        """What is evaluated."""
        return [evaluation.pull for evaluation in self._out.values()]

    def start(self, pulls: Sequence[Pull], *, together: bool) -> None:
        """Start to evaluate one pull, or some of them together."""
        given = pulls if self._folders is None else [self._folders.prepare(pull) for pull in pulls]
        if together:
            # An engine hands on what it is given, and asks it for nothing but its fidelity.
            future = self.engine.submit(Batch(tuple(given)))  # type: ignore[arg-type]
            self._note([Evaluation(pull, future, index, len(pulls)) for index, pull in enumerate(pulls)])
        else:
            self._note([Evaluation(pulls[0], self.engine.submit(given[0]))])

    def succeeded(self, pulls: Iterable[Pull], arms_out: Callable[[], Iterable[int]]) -> None:
        """Let others go on from what evaluations left; what arms left that are out is of no use any more."""
        if self._folders is not None:
            for pull in pulls:
                self._folders.keep(pull)
            self._folders.clear(arms_out())

    def _note(self, evaluations: list[Evaluation]) -> None:
        """Wait for the evaluations of one task."""
        future = evaluations[0].future
        for evaluation in evaluations:
            evaluation.timed = self._timed[evaluation.pull.fidelity_index]
            self._out[evaluation.pull.id] = evaluation
            self._note_start(evaluation)
        self._numbers[future] = dict.fromkeys(evaluation.pull.id for evaluation in evaluations)
        future.add_done_callback(self._reports.put)

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
                if report is not None:
                    found += [self._out[number] for number in self._numbers.get(report, ())]
                report = self._reports.get_nowait()
        except Empty:
            return found

    def failure_line(self, evaluation: Evaluation, said: str) -> str:
        """What to say of a failure; empty for the others of a batch, which failed with its first one."""
        if evaluation.future is self._said_of:
            return ""
        self._said_of, task = evaluation.future, self._numbers.get(evaluation.future, {})
        others = f" and the {len(task) - 1} other pulls of its batch" if len(task) > 1 else ""
        return (
            f"arm {evaluation.pull.arm!r} at fidelity {evaluation.pull.fidelity!r}{others} failed: "
            f"{shown(' '.join(said.split()), _LONGEST)}"
        )

    def lose(self, evaluation: Evaluation, failure: Failure) -> None:
        """Note what an evaluation has cost that failed; the study learns of it with what becomes of its pull."""
        number = evaluation.pull.id
        self._lost[number] = self._lost.get(number, 0.0) + evaluation.lost(failure)

    def take_lost(self, pull: Pull) -> float:
        """What attempts of a pull have cost that failed and of which the study was not told; it is now."""
        return self._lost.pop(pull.id, 0.0)

    def forget(self, evaluation: Evaluation) -> None:
        """Wait no longer for an evaluation."""
        task = self._numbers.get(evaluation.future, {})
        if evaluation.pull.id in task:
            del task[evaluation.pull.id], self._out[evaluation.pull.id]
            if self._folders is not None:
                self._folders.drop(evaluation.pull)
        if not task:
            self._numbers.pop(evaluation.future, None)

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
        """Give up an evaluation; a task ends with the last one of its pulls."""
        self.forget(evaluation)
        if evaluation.future not in self._numbers:
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
        if self._folders is not None:
            self._folders.close()
