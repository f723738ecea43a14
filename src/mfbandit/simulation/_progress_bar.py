"""Progress of long computations on stderr: a bar on a terminal that is gone when the work is done."""

from __future__ import annotations

import sys
import time
from typing import Any, Self

__all__ = ["Bar", "Progress"]

#: Seconds of a simulation before anything is shown.
_PATIENCE = 1.0


class Bar:
    """Work done of a total, and the bar that shows it where stderr is a terminal.

    Parameters
    ----------
    total : float
        All the work there is, in any unit.
    quiet : bool
        Show nothing.
    """

    def __init__(self, total: float, *, quiet: bool = False) -> None:
        self.total, self.done = max(total, 1.0), 0.0
        self.quiet = quiet
        self.visible = not quiet and sys.stderr.isatty()
        self.started = time.monotonic()
        self.bar: Any = None
        self.task: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def draw(self, title: str, note: str) -> None:
        """Show how much is done, with a few words before the bar and after it."""
        if not self.visible:
            return
        if self.bar is None:
            self._open()
        self.bar.update(self.task, description=title, completed=min(self.done, self.total), note=note)

    def left(self) -> str:
        """The time left, if work goes on at the rate so far.

        Examples
        --------
        >>> Bar(100.0).left()
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
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self.task = self.bar.add_task("", total=self.total, note="")
        self.bar.start()


class Progress(Bar):
    """Trials done, pulls per second and the time left, if the wait is worth it."""

    def __init__(self, title: str, total: int, *, quiet: bool = False) -> None:
        super().__init__(total, quiet=quiet)
        self.title, self.pulls = title, 0

    def advance(self, trials: int, pulls: int) -> None:
        """Take note of work done, and show it."""
        self.done += trials
        self.pulls += pulls
        seconds = time.monotonic() - self.started
        if seconds < _PATIENCE:
            return
        rate = self.pulls / max(seconds, 1e-9) / 1e6
        self.draw(self.title, f"{self.done:,.0f} of {self.total:,.0f} trials, {rate:.1f}M pulls/s, {self.left()}")
