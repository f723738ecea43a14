"""Runs inside an event loop that goes on meanwhile."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from mfbandit.errors import StudyError
from mfbandit.workers import Evaluate, is_async

if TYPE_CHECKING:
    from mfbandit.model import Pull
    from mfbandit.study._result import Result
    from mfbandit.study.run._interrupts import Interrupts

__all__ = ["refuse_to_block", "run_beside"]


def refuse_to_block() -> None:
    """Refuse to run where an event loop would stand still until the study is done.

    A notebook runs one of its own, and waits for its cells.
    """
    if "ipykernel" in sys.modules:
        return
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise StudyError(
        "an event loop runs here, and this call would stop it until the study is done: write "
        "'await mf.identify_async(...)' or 'await study.optimize_async(...)'"
    )


async def run_beside(run: Callable[..., Result], evaluate: Evaluate, engine: Any) -> Result:
    """Call a function that runs a study on a thread of its own, and end it when whoever waits for it is cancelled.

    Parameters
    ----------
    run : callable
        Takes `evaluate`, and `on_start`: a function that gets what a run is asked to end by.
    evaluate : callable
        If it is a coroutine function, its coroutines run in this loop, so that they may share its sessions and locks.
    engine
        Where evaluations run; coroutines go elsewhere only for "threads".
    """
    ending = _Ending()
    if engine == "threads" and is_async(evaluate):
        evaluate = _in_loop(asyncio.get_running_loop(), evaluate)
    running = asyncio.ensure_future(asyncio.to_thread(partial(run, evaluate, on_start=ending.started)))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        ending.ask()
        await asyncio.wait([running])
        raise


class _Ending:
    """The wish that a run ends, whether or not it has begun."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._interrupts: Interrupts | None = None
        self._wanted = False

    def started(self, interrupts: Interrupts) -> None:
        """The run has begun."""
        with self._lock:
            self._interrupts = interrupts
            if self._wanted:
                self._end(interrupts)

    def ask(self) -> None:
        """Somebody wants it to end."""
        with self._lock:
            self._wanted = True
            if self._interrupts is not None:
                self._end(self._interrupts)

    @staticmethod
    def _end(interrupts: Interrupts) -> None:
        for _ in range(2):  # what runs is not waited for
            interrupts.ask_to_end()


def _in_loop(loop: asyncio.AbstractEventLoop, evaluate: Callable[[Pull], Coroutine[Any, Any, Any]]) -> Evaluate:
    """The same coroutine function for another loop, whose coroutines run in this one."""

    async def evaluate_there(pull: Pull) -> Any:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(evaluate(pull), loop))

    return evaluate_there
