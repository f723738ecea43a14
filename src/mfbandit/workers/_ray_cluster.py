"""A Ray cluster: the connection to it, and tasks on it that promise a result."""

from __future__ import annotations

import contextlib
import functools
import os
import socket
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any, NoReturn, TypeAlias

from mfbandit._optional import optional
from mfbandit.errors import StudyError

__all__ = ["MOVES", "RayCluster", "import_ray"]

Address: TypeAlias = tuple[str, int]

#: How often Ray moves a task to another node when its own is lost.
MOVES = 3
#: How often the cluster is looked for, how long it may take to answer, and how long its head may be away: Ray
#: ends this process, without a word to it, after a minute.
_LOOK_SECONDS, _ANSWER_SECONDS, _AWAY_SECONDS = 2.0, 2.0, 10.0


def import_ray() -> Any:
    """The module ray, or an error that names the extra."""
    return optional("ray", "engine='ray' needs Ray", "ray")


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
        self._lost = False
        self._next_look = 0.0
        self._seen = time.monotonic()
        self._head, self._node = self._addresses()

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

    def check(self, error: BaseException | None = None) -> None:
        """Raise StudyError if the cluster is lost; `error` is one of Ray's own, and makes it likely."""
        now = time.monotonic()
        if error is None and now < self._next_look:
            return
        self._next_look = now + _LOOK_SECONDS
        if isinstance(error, self.ray.exceptions.LocalRayletDiedError) or not _answers(self._node):
            # It does not come back, and Ray ends this process some seconds later.
            self._give_up("the node of this process died")
        elif _answers(self._head):
            self._seen = time.monotonic()
        elif error is not None or time.monotonic() - self._seen > _AWAY_SECONDS:
            self._give_up("its head does not answer")

    def _addresses(self) -> list[Address | None]:
        """Where the head and the node of this process take connections, as far as they do.

        Ray's own calls would wait for a head that is gone. From afar, through Ray's client, neither can be seen.
        """
        context = self.ray.get_runtime_context()
        host, _, port = str(context.gcs_address).rpartition(":")
        head = (host.strip("[]"), int(port)) if port.isdigit() else None
        nodes = [node for node in self.ray.nodes() if node["NodeID"] == context.get_node_id()]
        own = (nodes[0]["NodeManagerAddress"], nodes[0]["NodeManagerPort"]) if nodes else None
        return [address if address is not None and _answers(address) else None for address in (head, own)]

    def _give_up(self, why: str) -> NoReturn:
        self._lost = True
        raise StudyError(f"the Ray cluster is lost: {why}; its pulls are given back, run again to go on")

    def _head_answers(self) -> bool:
        """Whether the head takes connections; Ray's own calls would wait for it."""
        host, colon, port = str(self.ray.get_runtime_context().gcs_address).rpartition(":")
        if not colon:  # a connection through another program
            return True
        try:
            socket.create_connection((host.strip("[]"), int(port)), _ANSWER_SECONDS).close()
        except OSError:
            return False
        return True

    def _own_node_lives(self) -> bool:
        """Whether the head still knows the node that this process is connected to."""
        own = self.ray.get_runtime_context().get_node_id()
        return all(node["Alive"] for node in self.ray.nodes() if node["NodeID"] == own)

    def close(self) -> None:
        """Cancel what still runs, and end the cluster if it was started here, or the connection if it is lost."""
        for reference in list(self._references):
            self.ray.cancel(reference, force=True)
        self._references.clear()
        # Ray would end this process for a head that does not come back.
        if self._started or self._lost:
            self.ray.shutdown()


def _answers(address: Address | None) -> bool:
    """Whether somebody takes connections there; so it is said of a place that is not known."""
    if address is None:
        return True
    try:
        socket.create_connection(address, _ANSWER_SECONDS).close()
    except OSError:
        return False
    return True
