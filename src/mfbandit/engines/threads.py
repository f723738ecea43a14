"""Evaluations in threads of this process, and coroutines in one of them."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

from mfbandit.engines.engine import Evaluate, call
from mfbandit.study.pull import Pull

__all__ = ["Loop", "Threads"]

Task = tuple[Future[Any], Pull]


class Threads:
    """As many threads as there are evaluations at once.

    Unlike those of the standard library they do not keep the interpreter from ending, so that nobody has
    to wait for an evaluation that was given up.
    """

    def __init__(self, evaluate: Evaluate) -> None:
        self._evaluate = evaluate
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._idle = self._started = 0

    def submit(self, pull: Pull) -> Future[Any]:
        """Start an evaluation."""
        future: Future[Any] = Future()
        with self._lock:
            if self._idle:
                self._idle -= 1
            else:
                self._started += 1
                name = f"mfbandit-{self._started}"
                threading.Thread(target=self._work, name=name, daemon=True).start()
        self._tasks.put((future, pull))
        return future

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            future, pull = task
            if not future.set_running_or_notify_cancel():
                self._rest()
                continue
            try:
                reward = call(self._evaluate, pull)
            except BaseException as error:
                self._rest()
                future.set_exception(error)
            else:
                # Idle before the result is known: whoever waits for it may submit the next one at once.
                self._rest()
                future.set_result(reward)
            del task, future, pull

    def _rest(self) -> None:
        with self._lock:
            self._idle += 1

    def close(self) -> None:
        """Tell the threads to end when they are done."""
        for _ in range(self._started):
            self._tasks.put(None)


class Loop:
    """Coroutines in one event loop, which runs in a thread of its own."""

    def __init__(self, evaluate: Evaluate) -> None:
        self._evaluate = evaluate
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="mfbandit-loop", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        finally:
            self._loop.close()

    def submit(self, pull: Pull) -> Future[Any]:
        """Start an evaluation."""
        return asyncio.run_coroutine_threadsafe(self._evaluate(pull), self._loop)

    def close(self) -> None:
        """Cancel what still runs, and end the loop; a coroutine that does not heed it is left behind."""
        asyncio.run_coroutine_threadsafe(self._cancel_all(), self._loop)
        self._thread.join(timeout=1.0)

    async def _cancel_all(self) -> None:
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._loop.stop()
