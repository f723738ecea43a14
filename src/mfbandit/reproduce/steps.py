"""Progress of the reproduction on stderr: what is running, and the time left."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

__all__ = ["Steps"]


class Steps:
    """Progress over steps of known weight: a bar on a terminal, a line per study elsewhere.

    Parameters
    ----------
    total : float
        Work of all steps, in pulls.
    quiet : bool
        Show nothing.
    """

    def __init__(self, total: float, *, quiet: bool = False) -> None:
        self.total, self.done = max(total, 1.0), 0.0
        self.quiet = quiet
        self.started = time.monotonic()
        self.bar: Any = None
        self.task: Any = None

    def __enter__(self) -> Steps:
        if not self.quiet and sys.stderr.isatty():
            self._open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        if self.bar is not None:
            self.bar.stop()

    def study(self, text: str) -> None:
        """Say that a study begins or ended; on a terminal the bar says enough."""
        if self.bar is None and not self.quiet:
            print(f"mfbandit: {text}", file=sys.stderr, flush=True)

    def running(self, text: str) -> None:
        """Say what is being computed now."""
        if self.bar is not None:
            self.bar.update(self.task, description=text)

    def finished(self, weight: float) -> None:
        """Take note of work done."""
        self.done += weight
        if self.bar is not None:
            self.bar.update(self.task, completed=min(self.done, self.total), left=self.left())

    def left(self) -> str:
        """The time left, if work goes on at the rate so far.

        Examples
        --------
        >>> steps = Steps(100.0, quiet=True)
        >>> steps.left()
        ''
        """
        if self.done <= 0.0:
            return ""
        seconds = (time.monotonic() - self.started) * max(0.0, self.total / self.done - 1.0)
        return f"about {seconds / 60:.0f} min left" if seconds >= 90 else f"about {seconds:.0f} s left"

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self.task = self.bar.add_task("", total=self.total, left="")
        self.bar.start()
