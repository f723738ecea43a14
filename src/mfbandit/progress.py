"""Progress of long computations on stderr: silent unless it is a terminal and the wait is worth it."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Any

__all__ = ["Progress", "no_progress"]

#: Seconds of work before anything is shown.
_PATIENCE = 1.0


class _Silent:
    """A progress bar that shows nothing."""

    def advance(self, trials: int, pulls: int) -> None:
        """Take note of work done."""


@contextlib.contextmanager
def no_progress() -> Iterator[_Silent]:
    """Progress that shows nothing."""
    yield _Silent()


class Progress:
    """A bar with trials done, pulls per second and the time left."""

    def __init__(self, title: str, total: int) -> None:
        self.title, self.total = title, total
        self.done = self.pulls = 0
        self.started = time.monotonic()
        self.bar: Any = None
        self.task: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        if self.bar is not None:
            self.bar.stop()

    def advance(self, trials: int, pulls: int) -> None:
        """Take note of work done, and show it."""
        self.done += trials
        self.pulls += pulls
        seconds = time.monotonic() - self.started
        if self.bar is None and (seconds < _PATIENCE or not sys.stderr.isatty()):
            return
        if self.bar is None:
            self._open()
        rate = self.pulls / max(seconds, 1e-9)
        self.bar.update(self.task, completed=self.done, rate=f"{rate / 1e6:.1f}M pulls/s")

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self.bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("trials"),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self.task = self.bar.add_task(self.title, total=self.total, rate="")
        self.bar.start()
