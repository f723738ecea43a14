"""How many items would settle which of two systems is better, if further items are like those seen.

What bettors will have after n' more items is foretold from the mean m and the standard deviation s of their log gains
on the n items seen: m n' on average, and by 4 chances in 5 no less than m n' - 0.84 s sqrt(n' + n'^2 / n), which allows
for the luck of the new items and for that of the old ones, by which m is known. Where the second never gets there, the
difference seen is too small beside its noise to tell.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from mfbandit._optional import optional
from mfbandit.logs._evidence import AnyTime, Differences, Judgement, log_capital, log_gains

__all__ = ["ItemsNeeded", "items_needed"]

Floats = npt.NDArray[np.float64]

#: The normal quantile of 4 chances in 5.
_LIKELY = 0.8416
#: Beyond so many items nothing is foretold.
MOST = 10_000_000


@dataclass(frozen=True)
class ItemsNeeded:
    """How many items would settle it, those seen included; None where that cannot be told."""

    even: int | None
    """With an even chance."""
    likely: int | None
    """With 4 chances in 5."""

    @classmethod
    def most(cls, each: list[ItemsNeeded]) -> ItemsNeeded:
        """What all of several questions need."""
        even, likely = [one.even for one in each], [one.likely for one in each]
        return cls(
            None if None in even else max((n for n in even if n is not None), default=0),
            None if None in likely else max((n for n in likely if n is not None), default=0),
        )


def items_needed(judge: Judgement, differences: Differences, shift: float, log_level: float) -> ItemsNeeded:
    """How many items would reject "the mean is at most shift" at a level.

    In a log that is looked at once the items must be new ones; else those seen count, too.

    Examples
    --------
    >>> ahead = Differences(np.array([-1.0, 0.0, 1.0]), np.array([10.0, 72.0, 18.0]))
    >>> items_needed(AnyTime(), ahead, 0.0, math.log(0.05))
    ItemsNeeded(even=332, likely=1744)
    """
    n = int(differences.n)
    if differences.mean <= shift:
        return ItemsNeeded(None, None)
    if isinstance(judge, AnyTime) or not differences.whole:
        seen = n if isinstance(judge, AnyTime) else 0
        enough = _by_betting(differences, shift, log_level, seen)
    else:
        seen, enough = 0, _by_counting(differences, shift, log_level)
    even, likely = (_first(partial(enough, luck), MOST) for luck in (0.0, _LIKELY))
    return ItemsNeeded(None if even is None else seen + even, None if likely is None else seen + likely)


def _by_betting(differences: Differences, shift: float, log_level: float, seen: int) -> Callable[[float, int], bool]:
    gains = log_gains(differences, shift)
    n = differences.n
    mean = gains @ differences.counts / n
    deviation = np.sqrt(np.maximum(gains**2 @ differences.counts / n - mean**2, 0.0))

    def enough(luck: float, more: int) -> bool:
        foretold = mean * (seen + more) - luck * deviation * math.sqrt(more + more**2 / n)
        return log_capital(foretold) >= -log_level

    return enough


def _by_counting(differences: Differences, shift: float, log_level: float) -> Callable[[float, int], bool]:
    special = optional("scipy.special", "comparing logs needs SciPy")
    n = differences.n
    ahead = differences.mean - shift
    deviation = math.sqrt(max(float(differences.values**2 @ differences.counts / n) - differences.mean**2, 1e-12))
    need = -float(special.ndtri(0.9 * math.exp(log_level)))

    def enough(luck: float, items: int) -> bool:
        return ahead * items - luck * deviation * math.sqrt(items + items**2 / n) >= need * deviation * math.sqrt(items)

    return enough


def _first(enough: Callable[[int], bool], most: int) -> int | None:
    """The least number for which something holds, and from there on; None if not even for the most."""
    high = 1
    while not enough(high):
        if high >= most:
            return None
        high = min(2 * high, most)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
