"""Progress of the reproduction on stderr: what is running, and the time left."""

from __future__ import annotations

import sys

from mfbandit.simulation import Bar

__all__ = ["Steps"]


class Steps(Bar):
    """Progress over steps of known weight, in pulls: a bar on a terminal, a line per study elsewhere."""

    title = ""

    def study(self, text: str) -> None:
        """Say that a study begins or ended; on a terminal the bar says enough."""
        if not self.visible and not self.quiet:
            print(f"mfbandit: {text}", file=sys.stderr, flush=True)

    def running(self, text: str) -> None:
        """Say what is being computed now."""
        self.title = text
        self.draw(self.title, self.left())

    def finished(self, weight: float) -> None:
        """Take note of work done."""
        self.done += weight
        self.draw(self.title, self.left())
