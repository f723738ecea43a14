"""Evaluations in processes of this machine."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from types import FrameType
from typing import Any

from mfbandit.errors import InvalidInput
from mfbandit.model import Pull
from mfbandit.workers._engine import Evaluate, evaluate_elsewhere
from mfbandit.workers._failure import WorkerDied
from mfbandit.workers._programs import end_all_programs

__all__ = ["Processes"]

_evaluate: Evaluate

#: How long a process may take to end what it started.
_ENDING_SECONDS = 1.0


class Processes:
    """One process per evaluation at once, each in a pool of its own.

    A process that dies takes its whole pool with it. With a pool for each, that costs no other evaluation,
    and it is known which pull the process died of.
    """

    def __init__(self, evaluate: Evaluate) -> None:
        self._pickled = _pickle(evaluate)
        methods = multiprocessing.get_all_start_methods()
        # A forked process would inherit locks that threads of this one hold.
        self._context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
        self._idle: list[ProcessPoolExecutor] = []
        self._processes: dict[ProcessPoolExecutor, Future[int]] = {}
        self._busy: dict[Future[Any], ProcessPoolExecutor] = {}

    def submit(self, pull: Pull) -> Future[Any]:
        """Start an evaluation."""
        while True:
            pool = self._idle.pop() if self._idle else self._start()
            try:
                running = pool.submit(_run, pull)
            except BrokenProcessPool:  # it died while it had nothing to do
                self._forget(pool)
                continue
            promised: Future[Any] = Future()
            promised.set_running_or_notify_cancel()
            self._busy[promised] = pool
            running.add_done_callback(partial(self._pass_result_on, pool, promised))
            return promised

    def _start(self) -> ProcessPoolExecutor:
        pool = ProcessPoolExecutor(1, self._context, _initialize_worker, (self._pickled,))
        self._processes[pool] = pool.submit(os.getpid)
        return pool

    def _pass_result_on(self, pool: ProcessPoolExecutor, promised: Future[Any], done: Future[Any]) -> None:
        """Pass on the outcome of an evaluation, and see whether its process still lives."""
        self._busy.pop(promised, None)
        if done.cancelled():
            promised.set_exception(WorkerDied("the evaluation was given up"))
            return
        error = done.exception()
        if isinstance(error, BrokenProcessPool):
            self._forget(pool)
            error = WorkerDied(f"the process that evaluated it died ({error})")
        else:
            self._idle.append(pool)
        if error is not None:
            promised.set_exception(error)
        else:
            promised.set_result(done.result())

    def _forget(self, pool: ProcessPoolExecutor) -> None:
        self._processes.pop(pool, None)
        pool.shutdown(wait=False)

    def started(self, future: Future[Any]) -> bool:
        """Whether the process of an evaluation is up."""
        pool = self._busy.get(future)
        process = None if pool is None else self._processes.get(pool)
        return process is None or process.done()

    def end(self, pull: Pull, future: Future[Any]) -> None:
        """End the process of an evaluation, with all it started."""
        pool = self._busy.get(future)
        if pool is not None:
            self._kill([pool])

    def check(self, error: BaseException | None = None) -> None:
        """Processes that are lost are replaced."""

    def close(self) -> None:
        """End the processes, whatever they are doing."""
        self._kill([pool for pool in list(self._processes) if pool not in self._idle])
        for pool in list(self._processes):
            pool.shutdown(wait=False, cancel_futures=True)

    def _kill(self, pools: list[ProcessPoolExecutor]) -> None:
        started = [self._processes[pool] for pool in pools if pool in self._processes]
        _end_processes([process.result() for process in started if _is_up(process)])
        for process in started:
            if not process.done():
                process.add_done_callback(_end_when_up)


def _is_up(process: Future[int]) -> bool:
    return process.done() and not process.cancelled() and process.exception() is None


def _end_when_up(process: Future[int]) -> None:
    if _is_up(process):
        _end_processes([process.result()])


def _end_processes(processes: list[int]) -> None:
    """Ask processes to end, then see to it that they and what they started do."""
    for process in processes:
        _signal(process, signal.SIGTERM)
    deadline = time.monotonic() + _ENDING_SECONDS
    while any(_lives(process) for process in processes) and time.monotonic() < deadline:
        time.sleep(0.005)
    if hasattr(signal, "SIGKILL"):
        for process in processes:
            _signal(process, signal.SIGKILL)


def _signal(process: int, number: int) -> None:
    """Send a signal to a process and to what it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process, number)
        else:
            os.kill(process, number)


def _lives(process: int) -> bool:
    if not hasattr(os, "killpg"):
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def _pickle(evaluate: Evaluate) -> bytes:
    try:
        return pickle.dumps(evaluate)
    except Exception as error:
        raise InvalidInput(
            f"evaluate cannot be sent to other processes ({error}): define it at the top of a module, "
            "or use engine='threads'"
        ) from error


def _initialize_worker(pickled: bytes) -> None:
    """Prepare a new process."""
    global _evaluate
    # Ctrl-C reaches every process of a terminal; what becomes of evaluations is for the study to say.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "setsid"):
        # What an evaluation starts is in this session, and can be ended with it.
        os.setsid()
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, _ended)
        threading.Thread(target=_end_with_parent, name="mfbandit-parent", daemon=True).start()
    _evaluate = pickle.loads(pickled)


def _ended(number: int, frame: FrameType | None) -> None:
    """End at once, and the commands that run in sessions of their own before that."""
    end_all_programs()
    os._exit(128 + number)


def _end_with_parent() -> None:
    """Wait for the process of the study to end, and do not outlive it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        end_all_programs()
        os.killpg(0, signal.SIGKILL)


def _run(pull: Pull) -> Any:
    return evaluate_elsewhere(_evaluate, pull)
