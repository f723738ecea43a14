"""Ctrl-C and other requests to end while evaluations run: a wish, not an exception in the middle of something."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from mfbandit.workers import end_all_programs

__all__ = ["Interrupts"]

_logger = logging.getLogger("mfbandit")


class Interrupts:
    """Counts signals that ask to end instead of obeying at once; a third one raises KeyboardInterrupt.

    SIGINT is Ctrl-C. SIGTERM and SIGHUP are taken only where nobody else handles them: they end the process,
    after it has left things in order (`pass_on`). Does nothing outside the main thread, where Python delivers
    no signals, or where they are ignored.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self.count = 0
        self._wake = wake
        self._before: dict[int, Any] = {}
        self._deadly: int | None = None

    @property
    def name(self) -> str:
        """What asked to end."""
        return "Ctrl-C" if self._deadly is None else signal.Signals(self._deadly).name

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is not threading.main_thread():
            return self
        before = signal.getsignal(signal.SIGINT)
        if before is not None and before is not signal.SIG_IGN:
            self._catch(signal.SIGINT)
        for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
            if signal.getsignal(number) is signal.SIG_DFL:
                self._catch(number)
        return self

    def _catch(self, number: int) -> None:
        self._before[number] = signal.signal(number, self._caught)

    def __exit__(self, *exception: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def ask_to_end(self) -> None:
        """Say from another thread what a first signal says; a second time, what a second one does."""
        self.count += 1
        self._wake()

    def _caught(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if number != signal.SIGINT:
            self._deadly = number
        self._wake()
        if self.count > 2:
            raise KeyboardInterrupt

    def pass_on(self) -> None:
        """End the process, if that is what a signal asked for; its programs go with it."""
        if self._deadly is not None:
            _logger.warning("ended by %s; run it again to go on", self.name)
            end_all_programs()
            signal.raise_signal(self._deadly)
