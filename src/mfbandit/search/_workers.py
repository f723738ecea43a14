"""Who makes the fits: this process, or joblib's workers, to whom a fit is handed as soon as one of them is free."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from queue import SimpleQueue
from typing import Any, NamedTuple

from joblib import effective_n_jobs, parallel_config
from sklearn import config_context, get_config
from sklearn.utils.parallel import Parallel, delayed

from mfbandit.search._measure import FitScore, Job, Task, measure

__all__ = ["FitWorkers", "default_width", "fit_all"]

#: Larger arrays are written to a file once, from which all workers read. Estimators get copies of some rows, never the
#: file, so that it may be read-only.
_SENT = 1 << 14
#: Takes what came of a job, in the order in which jobs end.
Take = Callable[[Any, FitScore], None]
#: Gives up to so many more jobs, each with a mark by which it is known.
More = Callable[[int], Sequence[tuple[Any, Job]]]


class WorkerSettings(NamedTuple):
    """What a worker takes over from the process that runs the search."""

    sklearn: dict[str, Any]
    process: int
    warnings: list[Any]
    nested: Any
    """The backend and the number of jobs for fits that themselves run in parallel."""


class FitWorkers:
    """Makes fits, so many at once, by the backend of joblib that is active."""

    def __init__(self, task: Task, n_jobs: int | None) -> None:
        self.task = task
        self.count: int = effective_n_jobs(n_jobs)

    def run(self, more: More, take: Take) -> None:
        """Make the fits that `more` gives, until it gives none and none is being made."""
        if self.count == 1:
            self._run_here(more, take)
            return
        with Parallel(n_jobs=self.count, max_nbytes=_SENT) as parallel:
            if _can_be_fed(parallel):
                self._run_fed(parallel._backend, more, take)
            else:
                self._run_batches(parallel, more, take)

    def _run_here(self, more: More, take: Take) -> None:
        while given := more(1):
            for mark, job in given:
                take(mark, measure(self.task, job))

    def _run_batches(self, parallel: Any, more: More, take: Take) -> None:
        while given := more(8 * self.count):
            found = parallel(delayed(measure)(self.task, job) for _, job in given)
            for (mark, _), measured in zip(given, found, strict=True):
                take(mark, measured)

    def _run_fed(self, backend: Any, more: More, take: Take) -> None:
        """Keep one fit more than there are workers with the backend, so that none waits for the next."""
        ended: SimpleQueue[tuple[Any, Any]] = SimpleQueue()
        settings = WorkerSettings(get_config(), os.getpid(), list(warnings.filters), backend.get_nested_backend())
        out = 0
        while True:
            for mark, job in more(max(0, self.count + 1 - out)):
                call = partial(_measure_there, self.task, job, settings)
                backend.submit(call, callback=partial(_put, ended, mark))
                out += 1
            if not out:
                return
            mark, result = ended.get()
            out -= 1
            take(mark, backend.retrieve_result_callback(result))


def _can_be_fed(parallel: Any) -> bool:
    """Whether the backend takes one job at a time, as joblib's own loop hands them over, and get it ready for that."""
    backend = getattr(parallel, "_backend", None)
    if not getattr(backend, "supports_retrieve_callback", False) or not hasattr(backend, "submit"):
        return False
    manager = getattr(getattr(backend, "_workers", None), "_temp_folder_manager", None)
    if manager is not None:
        # Large arrays are handed over in files, in a folder of this call.
        manager.set_current_context(parallel._id)
    return True


def default_width(workers: int) -> int:
    """How many fits are planned without each other's scores, by default.

    One more than two workers make, so that none waits for the next: a fit that was planned before its candidate was out
    is for nothing, and there are the more of them the farther plans are ahead. More workers wait for one another
    more often, and get more.
    """
    return max(1, 2 * workers - 1)


def fit_all(workers: FitWorkers, jobs: Sequence[Job]) -> list[FitScore]:
    """Make fits that are all known beforehand; in their order."""
    waiting = list(enumerate(jobs))[::-1]
    found: dict[int, FitScore] = {}

    def more(count: int) -> list[tuple[int, Job]]:
        return [waiting.pop() for _ in range(min(count, len(waiting)))]

    workers.run(more, found.__setitem__)
    return [found[index] for index in range(len(jobs))]


def _put(ended: SimpleQueue[tuple[Any, Any]], mark: Any, result: Any) -> None:
    ended.put((mark, result))


def _measure_there(task: Task, job: Job, settings: WorkerSettings) -> FitScore:
    """Make a fit in a worker, as it would be made here."""
    backend, n_jobs = settings.nested
    with config_context(**settings.sklearn), parallel_config(backend=backend, n_jobs=n_jobs), ExitStack() as stack:
        if os.getpid() != settings.process:
            # Threads have the filters already, and share them.
            stack.enter_context(warnings.catch_warnings())
            warnings.filters = settings.warnings
        return measure(task, job)
