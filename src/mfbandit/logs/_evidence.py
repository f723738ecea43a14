"""What a table of scores shows about two systems: evidence from the differences on items, in unit scale.

Items are taken for independent draws from the source that one wants to know about. Then the differences D of two
systems are independent draws, too, within [-1, 1], and nothing else is assumed. Two ways to judge them:

- **any time**: bettors stake shares of their capital on "the mean of D is above c". What they have together is an
  e-process: the chance that it ever reaches 1/p is at most p, so one may look, add items, and look again. It does not
  depend on the order of the items.
- **once**: the number of items was fixed before anybody looked. For right or wrong answers this is the exact test of
  those items on which just one of the two is right (McNemar's, by the binomial), and shows more.

The proofs are in docs/logs.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from mfbandit._checks import fraction, is_number
from mfbandit._optional import optional
from mfbandit.confidence.race import BETS
from mfbandit.errors import InvalidInput

__all__ = ["AnyTime", "Differences", "Judgement", "Once", "check_levels", "judgement"]

Floats = npt.NDArray[np.float64]

#: Log of the weights of bettors. Those have the most who stake what is best where one system is ahead by a quarter of
#: the items on which just one of them is right, as happens in logs of hundreds or thousands of items.
_LOG_WEIGHTS: Floats = -np.log1p(np.abs(np.arange(BETS.size) - 4.0))
_LOG_WEIGHTS -= np.log(np.exp(_LOG_WEIGHTS).sum())
#: Shares of the level in a single look: for who wins the items that differ, and for each end of how many differ.
_WHO, _HOW_MANY = 0.9, 0.05
#: Halvings of the interval in which a bound, or the logarithm of a level, is looked for.
_BOUND_STEPS, _LEVEL_STEPS = 24, 26
#: Smaller levels are not told apart.
_LEAST = 1e-300


@dataclass(frozen=True)
class Differences:
    """The differences of two systems on n items, as distinct values and how often each occurs."""

    values: Floats
    counts: Floats

    @classmethod
    def of(cls, first: Floats, second: Floats) -> Differences:
        """Those of two rows of a table in unit scale."""
        # Scores that are equal up to rounding are one value; the mean moves by less than that.
        values, counts = np.unique(np.round(first - second, 12), return_counts=True)
        return cls(np.clip(values, -1.0, 1.0), counts.astype(float))

    @property
    def n(self) -> float:
        """How many items there are."""
        return float(self.counts.sum())

    @cached_property
    def mean(self) -> float:
        """The mean difference."""
        return float(self.values @ self.counts / self.n)

    def reversed(self) -> Differences:
        """Those of the second system to the first."""
        return Differences(-self.values[::-1], self.counts[::-1])

    @property
    def whole(self) -> bool:
        """Whether all differences are -1, 0 or 1."""
        return bool(np.isin(self.values, (-1.0, 0.0, 1.0)).all())

    def count(self, value: float) -> int:
        """How often a value occurs."""
        return int(self.counts[self.values == value].sum())


def log_gains(differences: Differences, shift: float) -> Floats:
    """The log of what every bet is multiplied by on an item of each value, (bets, values).

    Under "the mean is at most `shift`" the mean factor is at most 1.
    """
    gains = (differences.values - shift) / (1.0 + max(shift, 0.0))
    return np.asarray(np.log1p(BETS[:, None] * gains))


class Judgement:
    """Evidence against "the mean of D is at most shift"; p is valid in the sense of the kind."""

    def log_p(self, differences: Differences, shift: float = 0.0) -> float:
        """Log of p of one pair."""
        raise NotImplementedError

    def log_p_best(self, logs: Floats) -> float:
        """Log of p for "b is the best", from log p of each other system being no better; only one need be."""
        raise NotImplementedError

    def at_least(self, differences: Differences, log_level: float) -> float:
        """The least that the mean can be: a lower bound at a level."""
        if self.log_p(differences, -1.0) > log_level:
            return -1.0
        return _last(lambda shift: self.log_p(differences, shift) <= log_level, -1.0, 1.0, _BOUND_STEPS)


class AnyTime(Judgement):
    """The capital of bettors; right whenever one looks."""

    def log_p(self, differences: Differences, shift: float = 0.0) -> float:
        """Log of p of one pair.

        Examples
        --------
        >>> ahead = Differences(np.array([-1.0, 0.0, 1.0]), np.array([5.0, 70.0, 25.0]))
        >>> round(AnyTime().log_p(ahead), 3)
        -5.203
        """
        return -log_capital(log_gains(differences, shift) @ differences.counts)

    def log_p_best(self, logs: Floats) -> float:
        """An average of e-processes is one: its weights are fixed, whoever turns out to lead."""
        return min(0.0, -_log_sum_exp(-logs - math.log(logs.size)))


class Once(Judgement):
    """An exact test for a number of items that was fixed in advance, if all answers are right or wrong."""

    def log_p(self, differences: Differences, shift: float = 0.0) -> float:
        """Log of p of one pair.

        Examples
        --------
        >>> ahead = Differences(np.array([-1.0, 0.0, 1.0]), np.array([5.0, 70.0, 25.0]))
        >>> round(Once().log_p(ahead), 3)
        -8.62
        """
        if not differences.whole:
            return AnyTime().log_p(differences, shift)
        if shift == 0.0:
            won, lost = differences.count(1.0), differences.count(-1.0)
            # The chance of so many wins or more among as many items that differ, each won by a toss of a coin.
            tail = float(_special().betainc(won, lost + 1, 0.5)) if won else 1.0
            return math.log(max(tail, _LEAST)) - math.log(_WHO)
        # From above: the level must be one at which the bound passes.
        return -_last(lambda level: self._bound(differences, -level) > shift, 0.0, -math.log(_LEAST), _LEVEL_STEPS)

    def log_p_best(self, logs: Floats) -> float:
        """A union over who might be better."""
        return min(0.0, float(logs.min()) + math.log(logs.size))

    def at_least(self, differences: Differences, log_level: float) -> float:
        """The least that the mean can be."""
        if not differences.whole:
            return AnyTime().at_least(differences, log_level)
        return self._bound(differences, log_level)

    def _bound(self, differences: Differences, log_level: float) -> float:
        """A lower bound of the mean: that of the share of wins among items that differ, times how many differ."""
        quantile = _special().betaincinv
        level = math.exp(log_level)
        won, lost, n = differences.count(1.0), differences.count(-1.0), int(differences.n)
        differing = won + lost
        share = float(quantile(won, lost + 1, _WHO * level)) if won else 0.0
        ahead = 2.0 * share - 1.0
        if ahead > 0.0:
            return ahead * float(quantile(differing, n - differing + 1, _HOW_MANY * level))
        most = 1.0 - float(quantile(n - differing, differing + 1, _HOW_MANY * level)) if differing < n else 1.0
        return ahead * most


def _special() -> Any:
    return optional("scipy.special", "comparing logs needs SciPy")


def check_levels(delta: float, epsilon: float) -> tuple[float, float]:
    """The allowed probability of a wrong claim and the difference that does not matter, checked."""
    if not is_number(epsilon) or not 0.0 <= epsilon < math.inf:
        raise InvalidInput(f"epsilon must be a number >= 0, got {epsilon!r}")
    return fraction("delta", delta), float(epsilon)


def judgement(once: bool) -> Judgement:
    """The way to judge."""
    return Once() if once else AnyTime()


def log_capital(logs: Floats) -> float:
    """Log of what all bettors have together, from the log of what each has made of one unit."""
    return _log_sum_exp(logs + _LOG_WEIGHTS)


def _log_sum_exp(logs: Floats) -> float:
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).sum()))


def _last(true_at: Callable[[float], bool], low: float, high: float, steps: int) -> float:
    """The last point of an interval up to which a statement is true, from below; the beginning if it never is."""
    if true_at(high):
        return high
    for _ in range(steps):
        middle = 0.5 * (low + high)
        if true_at(middle):
            low = middle
        else:
            high = middle
    return low
