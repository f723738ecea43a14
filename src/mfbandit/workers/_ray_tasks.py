"""Evaluations as tasks of a Ray cluster."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from types import FrameType
from typing import Any

from mfbandit.errors import InvalidInput, StudyError
from mfbandit.model import Pull
from mfbandit.workers._engine import Evaluate, evaluate_elsewhere
from mfbandit.workers._failure import TookTooLong
from mfbandit.workers._programs import end_all_programs
from mfbandit.workers._ray_cluster import RayCluster

__all__ = ["RayTasks"]

_logger = logging.getLogger("mfbandit")

#: How long an evaluation that was told that its time is over may take to end.
_ENDING_SECONDS = 5.0


class RayTasks:
    """One Ray task per evaluation, with what its fidelity needs."""

    def __init__(self, evaluate: Evaluate, resources: dict[str, dict[str, Any]], timeout: float | None = None) -> None:
        self._cluster = RayCluster()
        self._evaluate = self._cluster.ray.put(evaluate)
        self._timeout = timeout
        # What an evaluation raises is a failure, and failures are counted by the study.
        self._task = self._cluster.task(_call)
        self._tasks = {fidelity: self._with(fidelity, options) for fidelity, options in resources.items()}

    def _with(self, fidelity: str, options: dict[str, Any]) -> Any:
        """The task with the resources of a fidelity."""
        try:
            chosen = self._task.options(**options)
        except (ValueError, TypeError) as error:
            raise InvalidInput(f"the resources of fidelity {fidelity!r} are refused by Ray: {error}") from None
        there = self._cluster.ray.cluster_resources()
        for option, resource in (("num_cpus", "CPU"), ("num_gpus", "GPU")):
            wanted = options.get(option) or 0
            if wanted > there.get(resource, 0):
                _logger.warning(
                    "fidelity %r asks for %s=%g, and the cluster has %g: its pulls wait until it grows",
                    *(fidelity, option, wanted, there.get(resource, 0)),
                )
        return chosen

    def submit(self, pull: Pull) -> Future[Any]:
        """Start an evaluation."""
        task = self._tasks.get(pull.fidelity, self._task)
        try:
            return self._cluster.start(task, self._evaluate, pull, self._timeout)
        except Exception as error:
            self.check(error)
            raise StudyError(f"the Ray cluster takes no work: {error}") from error

    def started(self, future: Future[Any]) -> bool:
        """Not known here: a task may wait for a place, and watches its own time."""
        return False

    def end(self, pull: Pull, future: Future[Any]) -> None:
        """Cancel a task."""
        future.cancel()

    def check(self, error: BaseException | None = None) -> None:
        """Raise StudyError if the cluster is lost: then what its tasks raise is no fault of theirs."""
        if error is None or isinstance(error, self._cluster.ray.exceptions.RayError):
            self._cluster.check(error)

    def close(self) -> None:
        """Cancel what still runs, and end the cluster if it was started here."""
        self._cluster.close()


def _call(evaluate: Evaluate, pull: Pull, timeout: float | None) -> Any:
    """Evaluate a pull as a task, which ends when its time is over."""
    if timeout is None:
        return evaluate_elsewhere(evaluate, pull)
    with _limited(timeout):
        return evaluate_elsewhere(evaluate, pull)


@contextlib.contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raise TookTooLong in this thread when time is over; if that is not heard, end the process."""

    def over(number: int, frame: FrameType | None) -> None:
        raise TookTooLong(seconds)

    def die() -> None:
        end_all_programs()
        os._exit(1)

    last = threading.Timer(min(seconds + _ENDING_SECONDS, threading.TIMEOUT_MAX), die)
    last.daemon = True
    last.start()
    told = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGALRM, over) if told else None
    if told:
        signal.setitimer(signal.ITIMER_REAL, min(seconds, threading.TIMEOUT_MAX))
    try:
        yield
    finally:
        if told:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, before)
        last.cancel()
