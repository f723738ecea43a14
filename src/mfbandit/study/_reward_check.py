"""Checks of what evaluations report."""

from __future__ import annotations

import math
import numbers
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from mfbandit._checks import is_number, whole_number
from mfbandit.errors import InvalidInput, RewardError
from mfbandit.model import Outcome, Problem, Pull, RewardKind
from mfbandit.storage import RESULT, json_text

__all__ = [
    "OneOffCost",
    "OutcomeCheck",
    "PullReport",
    "RewardCheck",
    "as_cost",
    "check_lease",
    "plain_text",
    "work_text",
]

#: Gaussian rewards beyond this would overflow when squared and summed.
_HUGE = 1e150
#: Letters of an object that is no reward.
_LONGEST = 200


def plain_text(value: object) -> str:
    r"""What a reason says, as text that every database takes.

    Examples
    --------
    >>> plain_text(ValueError("no\0 answer \ud800"))
    'no answer ?'
    """
    return str(value).replace("\0", "").encode("utf-8", "replace").decode()


class RewardCheck:
    """Turns a reported reward into a float, or refuses it.

    Examples
    --------
    >>> from mfbandit.model import Bernoulli
    >>> RewardCheck(Bernoulli())(True)
    1.0
    >>> RewardCheck(Bernoulli())(Decimal("0.5"))
    0.5
    >>> RewardCheck(Bernoulli())(1.5)
    Traceback (most recent call last):
    mfbandit.errors.RewardError: a reward must lie between 0.0 and 1.0, got 1.5
    """

    def __init__(self, kind: RewardKind) -> None:
        self._low = -_HUGE if kind.low is None else kind.low
        self._high = _HUGE if kind.high is None else kind.high
        self._rule = (
            "must be a finite number" if kind.low is None else f"must lie between {self._low!r} and {self._high!r}"
        )

    def __call__(self, reward: Any) -> float:
        """Return the reward as a float."""
        if type(reward) is not float:
            reward = _number(reward)
        if not self._low <= reward <= self._high:
            raise RewardError(f"a reward {self._rule}, got {reward!r}")
        return reward + 0.0  # type: ignore[no-any-return]


class OneOffCost(float):
    """What a pull has cost that says nothing of what the next one will cost."""

    __slots__ = ()


class PullReport(NamedTuple):
    """What became of a pull."""

    pull: Pull | int
    number: int
    value: float
    kind: int = RESULT
    text: str | None = None
    """Why it failed, or a note to its reward."""
    cost: float | None = None
    work: str | None = None
    """How long it took, and who did it: `work_text`."""
    lost: float = 0.0
    """What attempts have cost that failed before and of which nothing else is known."""


class OutcomeCheck:
    """Turns what an evaluation brings into a report, or refuses it."""

    def __init__(self, problem: Problem) -> None:
        self._reward = RewardCheck(problem.reward)
        #: The names of fidelities whose cost must be told.
        self.measured = {m: one.name for m, one in enumerate(problem.fidelities) if one.measured is not None}

    def __call__(self, found: Any, pull: Pull | int, number: int) -> PullReport:
        """Check what an evaluation of a pull, which has this number, brings."""
        cost = note = work = None
        lost = 0.0
        if isinstance(found, Outcome):
            cost = None if found.cost is None else as_cost(found.cost, usual=found.usual)
            lost = 0.0 if found.lost is None else as_cost(found.lost)
            note = None if found.note is None else plain_text(found.note)
            work = work_text(found.seconds, found.worker, found.failed)
            found = found.reward
        reward = self._reward(found)
        if self.measured and isinstance(pull, Pull):
            self.check_told(pull.fidelity_index, cost)
        return PullReport(pull, number, reward, RESULT, note, cost, work, lost)

    def check_told(self, fidelity: int, cost: float | None) -> None:
        """Refuse a reward without its cost where nobody else knows it."""
        if cost is None and fidelity in self.measured:
            raise RewardError(
                f"what a pull costs at fidelity {self.measured[fidelity]!r} is measured, and was not told: return "
                "mf.Outcome(reward, cost=...), or tell(pull, reward, cost=...)"
            )

    @staticmethod
    def joined(reward: Any, cost: Any, note: Any) -> Any:
        """A reward with the cost and the note that were passed beside it."""
        if cost is None and note is None:
            return reward
        if isinstance(reward, Outcome):
            raise InvalidInput("an Outcome says cost and note itself: pass them there, or beside a plain reward")
        return Outcome(reward, cost, note)


def as_cost(cost: Any, *, usual: bool = True) -> float:
    """A cost that was told, as a float; `usual` is whether it says what the next one will cost.

    Examples
    --------
    >>> as_cost(Decimal("0.25"))
    0.25
    >>> as_cost(-1)
    Traceback (most recent call last):
    mfbandit.errors.RewardError: the cost of a pull must be a finite number >= 0, got -1
    """
    try:
        number = math.nan if isinstance(cost, bool) else _number(cost)
    except RewardError:
        number = math.nan
    if not 0.0 <= number < math.inf:
        raise RewardError(f"the cost of a pull must be a finite number >= 0, got {_shown(cost)}")
    return number + 0.0 if usual else OneOffCost(number + 0.0)


def work_text(seconds: Any, worker: Any, failed: Any = None) -> str | None:
    """What the log says of who did a pull and how long it took; None if that was not told.

    Examples
    --------
    >>> work_text(0.25, "anna"), work_text(None, None)
    ('{"seconds":0.25,"worker":"anna"}', None)
    """
    said: dict[str, Any] = {}
    if seconds is not None:
        if not is_number(seconds) or not 0.0 <= seconds < math.inf:
            raise RewardError(f"the seconds that a pull took must be a finite number >= 0, got {_shown(seconds)}")
        said["seconds"] = round(float(seconds), 6)
    if worker is not None:
        said["worker"] = plain_text(worker)
    if failed:
        said["failed"] = whole_number("failed", failed, 0)
    return json_text(said) if said else None


def check_lease(seconds: Any) -> float:
    """Refuse what is no time for which a pull can be handed out.

    Examples
    --------
    >>> check_lease(60)
    60.0
    >>> check_lease(float("inf"))
    Traceback (most recent call last):
    mfbandit.errors.InvalidInput: lease_seconds must be a finite number > 0, got inf; a day is 86400
    """
    if not is_number(seconds) or not 0.0 < seconds < math.inf:
        raise InvalidInput(f"lease_seconds must be a finite number > 0, got {seconds!r}; a day is 86400")
    return float(seconds)


def _number(reward: Any) -> float:
    """The number that an object stands for: a scalar of any library, but no text and no array of one number."""
    number = reward if isinstance(reward, (int, float)) else _item(reward)
    if not isinstance(number, (int, float, numbers.Real, Decimal)):
        raise RewardError(f"a reward must be a number, got {_shown(reward)}")
    try:
        return float(number)
    except OverflowError:
        return math.inf
    except ValueError:  # a signalling NaN
        return math.nan


def _item(reward: Any) -> Any:
    """What a scalar of a library for arrays holds; anything else as it is."""
    if not hasattr(reward, "item") or getattr(reward, "ndim", 0) != 0 or np.ma.is_masked(reward):
        return reward
    try:
        return reward.item()
    except Exception as error:  # whatever the library raises where there is no number
        raise RewardError(f"a reward must be a number, got {_shown(reward)}: {error}") from None


def _shown(reward: Any) -> str:
    """An object in a sentence: one line of it, and not too long."""
    text = " ".join(repr(reward).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({type(reward).__name__})"
