"""Evaluations in processes of this machine."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import Any

from mfbandit.engines.engine import Evaluate, WorkerDied, call
from mfbandit.errors import InvalidInput
from mfbandit.study.pull import Pull

__all__ = ["Processes"]

_evaluate: Evaluate


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
            running.add_done_callback(partial(self._settle, pool, promised))
            return promised

    def _start(self) -> ProcessPoolExecutor:
        pool = ProcessPoolExecutor(1, self._context, _begin, (self._pickled,))
        self._processes[pool] = pool.submit(os.getpid)
        return pool

    def _settle(self, pool: ProcessPoolExecutor, promised: Future[Any], done: Future[Any]) -> None:
        """Pass on the outcome of an evaluation, and see whether its process still lives."""
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

    def close(self) -> None:
        """End the processes, whatever they are doing."""
        for pool, process in list(self._processes.items()):
            if pool not in self._idle and process.done() and not process.exception():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.result(), signal.SIGTERM)
            pool.shutdown(wait=False, cancel_futures=True)


def _pickle(evaluate: Evaluate) -> bytes:
    try:
        return pickle.dumps(evaluate)
    except Exception as error:
        raise InvalidInput(
            f"evaluate cannot be sent to other processes ({error}): define it at the top of a module, "
            "or use engine='threads'"
        ) from error


def _begin(pickled: bytes) -> None:
    """Prepare a new process."""
    global _evaluate
    # Ctrl-C reaches every process of a terminal; what becomes of evaluations is for the study to say.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _evaluate = pickle.loads(pickled)


def _run(pull: Pull) -> Any:
    return call(_evaluate, pull)
