"""A Ray cluster: the connection to it, and tasks on it that promise a result."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

from mfbandit.errors import MissingExtra

__all__ = ["MOVES", "RayCluster", "import_ray"]

#: How often Ray moves a task to another node when its own is lost.
MOVES = 3


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


class RayCluster:
    """A connection to a cluster, and the tasks on it that are still wanted.

    Uses the cluster that this process is connected to, else the one that RAY_ADDRESS or a running local
    cluster names, else starts one on this machine, which ends when the connection is closed.
    """

    def __init__(self) -> None:
        self.ray = ray = import_ray()
        self._started = not ray.is_initialized()
        self._references: dict[Any, None] = {}
        if self._started:
            with _own_modules():
                ray.init(log_to_driver=False, logging_level="warning")

    def task(self, function: Any, **options: Any) -> Any:
        """A function as a task; only lost nodes are Ray's to retry, not what it raises."""
        return self.ray.remote(max_retries=MOVES, retry_exceptions=False, **options)(function)

    def start(self, task: Any, *arguments: Any) -> Future[Any]:
        """Start a task; its future brings the result, or what went wrong."""
        reference = task.remote(*arguments)
        # The reference must live as long as the task is wanted, and no longer.
        self._references[reference] = None
        future: Future[Any] = reference.future()
        future.add_done_callback(functools.partial(self._ended, reference))
        return future

    def _ended(self, reference: Any, done: Future[Any]) -> None:
        """Forget a task; if it was its future that was cancelled, the task itself still runs."""
        self._references.pop(reference, None)
        if done.cancelled():
            self.ray.cancel(reference, force=True)

    def close(self) -> None:
        """Cancel what still runs, and end the cluster if it was started here."""
        for reference in list(self._references):
            self.ray.cancel(reference, force=True)
        self._references.clear()
        if self._started:
            self.ray.shutdown()
