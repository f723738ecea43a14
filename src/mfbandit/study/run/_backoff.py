"""When to try again what failed, and when to stop asking for a while.

Nothing here decides which pull is asked for next, or which result counts: only when it is evaluated.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from mfbandit.formatting import shown
from mfbandit.model import Pull
from mfbandit.workers import BUG, LASTING, TEMPORARY, Failure

__all__ = ["Backoff", "FailureHandling"]

#: Seconds before the first new attempt, and at most; each wait is up to twice the one before.
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
#: So many pulls that fail one after another are a burst.
_BURST = 3
#: Letters of a reason in a line.
_LONGEST = 200


class FailureHandling(NamedTuple):
    """What to make of a failure."""

    counted: int
    """How many failures of the pull to record: 0 while it will be tried again, in the end all of them at once.

    So the pull stays with this process, and no other one takes it before it has waited.
    """
    said: str | None = None
    """A line for people."""
    blameless: bool = False
    """Whether they count because a pause lasted too long, and not for a fault of this arm."""


@dataclass
class _Trouble:
    """A pull that failed."""

    since: float
    attempts: int = 0
    withheld: int = 0
    due: float = 0.0


@dataclass
class _Pause:
    """A time in which only one evaluation now and then is tried."""

    began: float
    until: float
    attempts: int = 1
    probe: int | None = None


class Backoff:
    """Spaces out the attempts of a run.

    A pull that failed waits before it is tried again, twice as long each time, and as long as the error
    asks for. If failures come from several pulls with no success between them, the fault is not theirs:
    the run pauses, tries one pull now and then, and goes on when it succeeds. Failures in a pause use up
    no retries. After `patience` seconds of pause they count again.

    Parameters
    ----------
    patience : float
        How long a pause may last; 0: no waits and no pauses.
    clock, chance : callable
        The time in seconds, and a random number in [0, 1) by which waits differ.
    bugs_last : bool
        Whether a `TypeError` and the like are mistakes in code, which waiting does not mend, until something works.
    """

    def __init__(
        self,
        patience: float,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] | None = None,
        bugs_last: bool = True,
    ) -> None:
        self._patience, self._clock, self._bugs_last = patience, clock, bugs_last
        self._chance = random.Random().random if chance is None else chance
        self._troubles: dict[int, _Trouble] = {}
        #: Pulls that failed since the last success.
        self._failing: dict[int, Pull] = {}
        #: The same by arm and fidelity, since each of them succeeded.
        self._cells: dict[tuple[str, str], set[int]] = {}
        #: Arms and fidelities that have given a reward in this run.
        self._worked: set[tuple[str, str]] = set()
        self._succeeded = -float("inf")
        self._pause: _Pause | None = None
        self._gave_up = False

    def until_probe(self) -> float | None:
        """Seconds until a pull may be tried in a pause; None if there is no pause, infinite if one runs."""
        if self._pause is None:
            return None
        return float("inf") if self._pause.probe is not None else self._pause.until - self._clock()

    def probe(self, pull: Pull) -> None:
        """Note that a pull is tried in a pause."""
        if self._pause is not None:
            self._pause.probe = pull.id

    def forget(self, pull: Pull) -> None:
        """Note that nobody waits for a pull any more."""
        self._troubles.pop(pull.id, None)
        self._cells.get((pull.arm, pull.fidelity), set()).discard(pull.id)
        if self._pause is not None and self._pause.probe == pull.id:
            self._pause.probe = None

    def wait(self, pull: Pull) -> float:
        """Seconds before a pull may be tried.

        Where several pulls of an arm at a fidelity failed, others of it are not tried before those.
        """
        trouble = self._troubles.get(pull.id)
        if trouble is not None:
            return trouble.due - self._clock()
        failing = self._cells.get((pull.arm, pull.fidelity), ())
        if len(failing) < _BURST:
            return 0.0
        return max(self._troubles[one].due for one in failing) + FIRST_WAIT - self._clock()

    def attempts(self, pull: Pull) -> int:
        """How often a pull failed in this run."""
        trouble = self._troubles.get(pull.id)
        return 0 if trouble is None else trouble.attempts

    def withheld(self, pull: Pull) -> int:
        """How many failures of a pull were not recorded."""
        trouble = self._troubles.get(pull.id)
        return 0 if trouble is None else trouble.withheld

    def succeeded(self, pull: Pull) -> str | None:
        """An evaluation brought a reward; returns a line for people if that ends a pause."""
        cell = (pull.arm, pull.fidelity)
        self._worked.add(cell)
        self._cells.pop(cell, None)
        self._succeeded = now = self._clock()
        self._failing.clear()
        self._troubles.pop(pull.id, None)
        self._gave_up = False
        pause, self._pause = self._pause, None
        if pause is None:
            return None
        self._cells.clear()
        for trouble in self._troubles.values():
            # What they failed of is over, and nothing is known against them.
            trouble.since = trouble.due = now
        return f"evaluations succeed again: the study goes on after a pause of {now - pause.began:.1f} s"

    def failed(self, pull: Pull, failure: Failure, left: int) -> FailureHandling:
        """Say what to make of a failure of a pull that had `left` more retries when this run began."""
        if self._patience <= 0.0:
            return FailureHandling(1)  # at once, for anybody to try again
        if failure.kind == BUG and self._bugs_last and not self._worked:
            failure = failure._replace(kind=LASTING)
        now = self._clock()
        trouble = self._troubles.setdefault(pull.id, _Trouble(now))
        trouble.attempts += 1
        self._cells.setdefault((pull.arm, pull.fidelity), set()).add(pull.id)
        if failure.kind != LASTING:
            self._failing[pull.id] = pull
        if self._pause is not None:
            return self._failed_in_pause(self._pause, pull, failure, trouble)
        trouble.due = now
        left -= trouble.withheld
        if not self._gave_up and failure.kind != LASTING:
            trouble.due += self._delay(trouble.attempts, failure)
            if self._is_outage(pull, failure, left, trouble):
                return self._begin_pause(failure, trouble)
            if failure.kind == TEMPORARY and now - trouble.since < self._patience:
                # It says itself that it will pass.
                return _withhold(trouble)
        return _withhold(trouble) if left > 0 else _count(trouble)

    def _is_outage(self, pull: Pull, failure: Failure, left: int, trouble: _Trouble) -> bool:
        """Whether failures are nobody's own.

        One pull alone is to blame, unless it is the only one there is, and what it measures worked before, or
        nothing has worked yet.
        """
        last = left <= 0 and self._succeeded <= trouble.since
        if last and not self._worked:
            return True
        if not last and len(self._failing) < _BURST:
            return False
        if pull.block is not None and self._worked and failure.kind != TEMPORARY:
            # A block that fails for every arm is a bad block; an outage fails on the next one, too.
            return len({one.block for one in self._failing.values()}) > 1
        return self._blameless(pull) or failure.kind == TEMPORARY

    def _blameless(self, pull: Pull) -> bool:
        """Whether what fails worked before, or others fail too."""
        return (pull.arm, pull.fidelity) in self._worked or len({one.arm for one in self._failing.values()}) > 1

    def _begin_pause(self, failure: Failure, trouble: _Trouble) -> FailureHandling:
        now = self._clock()
        wait = min(self._delay(1, failure), self._patience)
        self._pause = _Pause(now, now + wait)
        _withhold(trouble)
        why = shown(" ".join(failure.said.split()), _LONGEST)
        return FailureHandling(
            0,
            f"evaluations fail one after another, the last with {why}: the study pauses, tries again in "
            f"{wait:.1f} s, and gives up after {self._patience:g} s",
        )

    def _failed_in_pause(self, pause: _Pause, pull: Pull, failure: Failure, trouble: _Trouble) -> FailureHandling:
        now = self._clock()
        left = pause.began + self._patience - now
        if left <= 0.0:
            self._pause, self._gave_up = None, self._blameless(pull)
            for other in self._troubles.values():
                other.due = now
            said = f"evaluations failed for {now - pause.began:.1f} s: the study waits no longer"
            return _count(trouble)._replace(said=said, blameless=self._gave_up)
        if pull.id == pause.probe:
            pause.probe = None
            pause.attempts += 1
            pause.until = now + min(self._delay(pause.attempts, failure), left)
        elif failure.retry_after is not None:
            pause.until = max(pause.until, now + min(failure.retry_after, left))
        return _withhold(trouble)

    def _delay(self, attempt: int, failure: Failure) -> float:
        """How long to wait after an attempt: at random, so that workers do not come back all at once."""
        wait = min(FIRST_WAIT * 2.0 ** min(attempt - 1, 30), LONGEST_WAIT)
        wait *= 0.5 + 0.5 * self._chance()
        return min(max(wait, failure.retry_after or 0.0), self._patience)


def _withhold(trouble: _Trouble) -> FailureHandling:
    """Count a failure later, if ever."""
    trouble.withheld += 1
    return FailureHandling(0)


def _count(trouble: _Trouble) -> FailureHandling:
    """Count a failure, and those of the pull that were not counted before."""
    counted, trouble.withheld = 1 + trouble.withheld, 0
    return FailureHandling(counted)
