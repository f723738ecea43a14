"""Evaluations in threads of this process, and coroutines in one of them."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

from mfbandit.model import Pull
from mfbandit.workers._engine import Evaluate, Evaluated, end_commands, evaluate_now
from mfbandit.workers._failure import RemoteFailure, note_seconds

__all__ = ["AsyncioLoop", "Threads"]

Task = tuple[Future[Any], Pull]

#: Seconds that an event loop may take to show that no coroutine blocks it.
_RESPONSE_SECONDS = 0.5


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
                reward = evaluate_now(self._evaluate, pull)
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

    def started(self, future: Future[Any]) -> bool:
        """There is a thread for each."""
        return True

    def end(self, pull: Pull, future: Future[Any]) -> None:
        """Give up an evaluation; a command is ended, a function runs on in its thread."""
        future.cancel()
        end_commands(self._evaluate, pull)

    def check(self, error: BaseException | None = None) -> None:
        """Threads are never lost."""

    def close(self) -> None:
        """Tell the threads to end when they are done."""
        end_commands(self._evaluate)
        for _ in range(self._started):
            self._tasks.put(None)


class AsyncioLoop:
    """Coroutines in one event loop, which runs in a thread of its own.

    If a coroutine that was given up blocks the loop, the next ones get a new loop.
    """

    def __init__(self, evaluate: Evaluate) -> None:
        self._evaluate = evaluate
        self._answered: threading.Event | None = None
        self._open()

    def _open(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._closing = threading.Event()
        self._thread = threading.Thread(
            target=_run, args=(self._loop, self._closing), name="mfbandit-loop", daemon=True
        )
        self._thread.start()

    def submit(self, pull: Pull) -> Future[Any]:
        """Start an evaluation."""
        if self._answered is not None and not self._answered.wait(_RESPONSE_SECONDS):
            self._closing.set()
            self._open()
        self._answered = None
        return asyncio.run_coroutine_threadsafe(self._evaluated(pull), self._loop)

    async def _evaluated(self, pull: Pull) -> Any:
        """Evaluate a pull; what would end the loop is a failure of the pull."""
        began = time.perf_counter()
        try:
            return Evaluated.since(began, await self._evaluate(pull))
        except BaseException as error:
            note_seconds(error, began)
            if isinstance(error, SystemExit | KeyboardInterrupt):
                raise RemoteFailure.of(error) from None
            raise

    def started(self, future: Future[Any]) -> bool:
        """Coroutines begin at once."""
        return True

    def end(self, pull: Pull, future: Future[Any]) -> None:
        """Cancel a coroutine, and ask the loop to show that it still runs."""
        future.cancel()
        if self._answered is None:
            self._answered = threading.Event()
            self._loop.call_soon_threadsafe(self._answered.set)

    def check(self, error: BaseException | None = None) -> None:
        """A loop that is lost is replaced."""

    def close(self) -> None:
        """Cancel what still runs, and end the loop; a coroutine that does not heed it is left behind."""
        self._closing.set()
        asyncio.run_coroutine_threadsafe(_cancel_all(), self._loop)
        self._thread.join(timeout=1.0)


def _run(loop: asyncio.AbstractEventLoop, closing: threading.Event) -> None:
    """Run an event loop until it is to close, whatever its tasks raise."""
    asyncio.set_event_loop(loop)
    try:
        while True:
            try:
                loop.run_forever()
            except (SystemExit, KeyboardInterrupt):
                # Of a task that an evaluation started: it is told there, and the others go on.
                continue
            if closing.is_set():
                break
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


async def _cancel_all() -> None:
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    asyncio.get_running_loop().stop()
