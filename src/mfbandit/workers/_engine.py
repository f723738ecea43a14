"""What an engine is: something that takes a pull and promises its reward."""

from __future__ import annotations

import asyncio
import inspect
import os
import platform
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

from mfbandit.model import Pull
from mfbandit.workers._command import Command
from mfbandit.workers._failure import RemoteFailure, note_seconds

__all__ = [
    "ENGINES",
    "Engine",
    "Evaluate",
    "Evaluated",
    "Resources",
    "end_commands",
    "evaluate_elsewhere",
    "evaluate_now",
    "is_async",
]

#: A function of a pull that returns its reward, or a coroutine of it.
Evaluate: TypeAlias = Callable[[Pull], Any]
#: What a pull needs, by the name of its fidelity.
Resources: TypeAlias = Mapping[str, Mapping[str, Any]]

#: Engines by name.
ENGINES = ("threads", "processes", "ray")


class Engine(Protocol):
    """Evaluates pulls, each of them elsewhere."""

    def submit(self, pull: Pull) -> Future[Any]:
        """Start an evaluation; its future brings an `Evaluated`, or what went wrong."""

    def started(self, future: Future[Any]) -> bool:
        """Whether an evaluation has begun, so that its time counts; one may wait for a place."""

    def end(self, pull: Pull, future: Future[Any]) -> None:
        """Give up an evaluation, and end it where that can be done."""

    def check(self, error: BaseException | None = None) -> None:
        """Raise StudyError if the engine itself is lost; `error` is what an evaluation just brought."""

    def close(self) -> None:
        """Let go of everything; evaluations that still run are given up."""


class Evaluated(NamedTuple):
    """What an evaluation has brought, and how long it took, not counting the time in a queue."""

    found: Any
    seconds: float
    worker: str
    """Who evaluated it: machine, process and, unless it is the main one, thread."""

    @classmethod
    def since(cls, began: float, found: Any) -> Evaluated:
        """What was evaluated here from a moment of `time.perf_counter` until now."""
        thread = threading.current_thread()
        name = "" if thread is threading.main_thread() else f" {thread.name}"
        return cls(found, time.perf_counter() - began, f"{platform.node()}:{os.getpid()}{name}")


def evaluate_now(evaluate: Evaluate, pull: Pull) -> Evaluated:
    """Evaluate a pull to the end, in this thread."""
    began = time.perf_counter()
    try:
        found = evaluate(pull)
        if inspect.isawaitable(found):
            found = asyncio.run(_awaited(found))
    except BaseException as error:
        note_seconds(error, began)
        raise
    return Evaluated.since(began, found)


def evaluate_elsewhere(evaluate: Evaluate, pull: Pull) -> Evaluated:
    """Evaluate a pull in another process, and describe there what it raises."""
    try:
        return evaluate_now(evaluate, pull)
    except BaseException as error:
        raise RemoteFailure.of(error) from None


def end_commands(evaluate: Evaluate, pull: Pull | None = None) -> None:
    """End the command that evaluates a pull, or all of them, if the evaluator is one."""
    if isinstance(evaluate, Command):
        evaluate.cancel(pull)


async def _awaited(reward: Any) -> Any:
    return await reward


def is_async(evaluate: Evaluate) -> bool:
    """Whether a call of it only makes a coroutine."""
    return inspect.iscoroutinefunction(evaluate) or inspect.iscoroutinefunction(type(evaluate).__call__)


@dataclass(frozen=True)
class Ray:
    """A Ray cluster as the engine, with what pulls need there.

    Parameters
    ----------
    resources : mapping, optional
        What a pull needs, by fidelity, such as ``{"human": {"num_cpus": 0}}``.

    Examples
    --------
    >>> import mfbandit as mf
    >>> mf.Ray(resources={"human": {"num_cpus": 0}})
    Ray(resources={'human': {'num_cpus': 0}})
    """

    resources: Resources | None = None
