"""Waiting for a storage that does not answer."""

from __future__ import annotations

import logging
import math
import random
import time
from typing import Any

from mfbandit._checks import is_number
from mfbandit.errors import InvalidInput

__all__ = ["PATIENCE_SECONDS", "Outage", "check_patience"]

_logger = logging.getLogger("mfbandit")

#: For how long a storage that does not answer is tried again.
PATIENCE_SECONDS = 60.0
#: The time between two attempts: at first, and at most.
_SHORT_PAUSE, _LONG_PAUSE = 0.01, 1.0
#: Outages that are over sooner are nothing that anybody need know.
_SILENT_SECONDS = 0.5
#: What is left of patience when somebody wants to end.
_HURRY_SECONDS = 2.0
#: Its own, since the numbers of the user's program must not depend on it.
_chance = random.Random()


def check_patience(patience: Any) -> float:
    """Refuse what is no time to wait.

    Examples
    --------
    >>> check_patience(5)
    5.0
    >>> check_patience(-1)
    Traceback (most recent call last):
    mfbandit.errors.InvalidInput: patience must be a number of seconds >= 0, got -1
    """
    if not is_number(patience) or not patience >= 0:
        raise InvalidInput(f"patience must be a number of seconds >= 0, got {patience!r}")
    return float(patience)


class Outage:
    """One step on a storage, which is tried until it succeeds or patience is at its end."""

    def __init__(self, label: str, patience: float, started: float) -> None:
        self._label, self._patience, self._started = label, patience, started
        self._pause = _SHORT_PAUSE
        self._said = False

    def wait(self, reason: str, hurry: bool) -> bool:
        """Wait a little before the next attempt; False if there is no time left for one."""
        gone = time.monotonic() - self._started
        if gone >= (min(self._patience, _HURRY_SECONDS) if hurry else self._patience):
            return False
        if gone >= _SILENT_SECONDS and not self._said:
            self._said = True
            left = "for ever" if math.isinf(self._patience) else f"for up to {self._patience:g} s"
            _logger.warning("%s does not answer (%s): trying again %s", self._label, reason, left)
        # Workers that lost the same server do not all come back at the same moment.
        time.sleep(min(self._pause * _chance.uniform(0.5, 1.0), self._patience - gone))
        self._pause = min(2.0 * self._pause, _LONG_PAUSE)
        return True

    def over(self) -> None:
        """There is a connection again."""
        if self._said:
            self._said = False
            _logger.warning("%s answers again, after %.1f s", self._label, time.monotonic() - self._started)

    def waited(self) -> str:
        """What to add to an error, if there was any waiting."""
        gone = time.monotonic() - self._started
        return f" (tried for {gone:.0f} s; patience={self._patience:g})" if gone >= 1.0 else ""
