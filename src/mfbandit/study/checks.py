"""Checks of what evaluations report."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mfbandit.errors import InvalidInput, RewardError
from mfbandit.problem import RewardKind

__all__ = ["RewardCheck", "check_lease", "plain_text"]

#: Gaussian rewards beyond this would overflow when squared and summed.
_HUGE = 1e150


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
    >>> from mfbandit.problem import Bernoulli
    >>> RewardCheck(Bernoulli())(True)
    1.0
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
            if not isinstance(reward, (int, float, np.integer, np.floating, np.bool_)):
                raise RewardError(f"a reward must be a number, got {reward!r}")
            try:
                reward = float(reward)
            except OverflowError:
                reward = math.inf
        if not self._low <= reward <= self._high:
            raise RewardError(f"a reward {self._rule}, got {reward!r}")
        return reward + 0.0  # type: ignore[no-any-return]


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
    number = isinstance(seconds, (int, float, np.number)) and not isinstance(seconds, bool)
    if not number or not 0.0 < seconds < math.inf:
        raise InvalidInput(f"lease_seconds must be a finite number > 0, got {seconds!r}; a day is 86400")
    return float(seconds)
