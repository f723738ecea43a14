"""Ctrl-C while evaluations run: a wish to end, not an exception in the middle of something."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

__all__ = ["Interrupts"]


class Interrupts:
    """Counts Ctrl-C instead of raising; a third one raises, should the first two not be heard.

    Does nothing outside the main thread, where Python delivers no signals, or where they are ignored.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self.count = 0
        self._wake = wake
        self._before: Any = None

    def __enter__(self) -> Interrupts:
        before = signal.getsignal(signal.SIGINT)
        main = threading.current_thread() is threading.main_thread()
        if main and before is not None and before is not signal.SIG_IGN:
            self._before = before
            signal.signal(signal.SIGINT, self._caught)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _caught(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        self._wake()
        if self.count > 2:
            raise KeyboardInterrupt
