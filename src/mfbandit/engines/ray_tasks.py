"""Evaluations as tasks of a Ray cluster."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

from mfbandit.engines.engine import Evaluate, call
from mfbandit.errors import InvalidInput, MissingExtra
from mfbandit.study.pull import Pull

__all__ = ["RayTasks"]

_logger = logging.getLogger("mfbandit")
#: How often Ray moves a task to another node when its own is lost.
_MOVES = 3


def import_ray() -> Any:
    """The module ray, or an error that names the extra."""
    try:
        import ray
    except ImportError as error:
        raise MissingExtra("engine='ray' needs Ray: pip install 'mfbandit[ray]'") from error
    return ray


@contextlib.contextmanager
def _own_modules() -> Iterator[None]:
    """Let the workers of a cluster that is started here import what this process can."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(path or os.getcwd() for path in sys.path)
    try:
        yield
    finally:
        del os.environ["PYTHONPATH"]
        if before is not None:
            os.environ["PYTHONPATH"] = before


class RayTasks:
    """One Ray task per evaluation, with what its fidelity needs.

    Uses the cluster that this process is connected to, else the one that RAY_ADDRESS or a running local
    cluster names, else starts one on this machine, which ends with the study.
    """

    def __init__(self, evaluate: Evaluate, resources: dict[str, dict[str, Any]]) -> None:
        self._ray = ray = import_ray()
        self._started = not ray.is_initialized()
        if self._started:
            with _own_modules():
                ray.init(log_to_driver=False, logging_level="warning")
        self._evaluate = ray.put(evaluate)
        # Only lost nodes are Ray's to retry: failed evaluations are counted by the study.
        self._task = ray.remote(max_retries=_MOVES, retry_exceptions=False)(call)
        self._tasks = {fidelity: self._with(fidelity, options) for fidelity, options in resources.items()}
        self._references: dict[Any, None] = {}

    def _with(self, fidelity: str, options: dict[str, Any]) -> Any:
        """The task with the resources of a fidelity."""
        try:
            chosen = self._task.options(**options)
        except (ValueError, TypeError) as error:
            raise InvalidInput(f"the resources of fidelity {fidelity!r} are refused by Ray: {error}") from None
        there = self._ray.cluster_resources()
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
        reference = task.remote(self._evaluate, pull)
        self._references[reference] = None
        future: Future[Any] = reference.future()
        # The reference must live as long as the task is wanted, and no longer.
        future.add_done_callback(lambda done: self._references.pop(reference, None))
        return future

    def close(self) -> None:
        """Cancel what still runs, and end the cluster if it was started here."""
        for reference in list(self._references):
            self._ray.cancel(reference, force=True)
        self._references.clear()
        if self._started:
            self._ray.shutdown()
