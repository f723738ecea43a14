"""The lag: how far plans may be ahead of the results that have counted, in pulls.

It depends on the width, on how many pulls were asked for, and on nothing else. It grows with a run, up to some times
the width: a pull that takes five times as long as others keeps no worker waiting then, and what is planned without
knowing its result is a small part of the run. It grows by one at most for each pull, so that a row that counts for one
plan counts for all later ones.
"""

from __future__ import annotations

from collections.abc import Callable

from mfbandit.core._ahead import Ahead
from mfbandit.core.kernels._kernels import kernel

__all__ = ["arms_sharing", "lag_kernel", "lag_of", "most_lag"]

#: The lag is the width until so many times the width were asked for; then it grows by this for each pull.
_NARROW, _GROWTH = 10, 0.1
#: It grows up to so many times the width, and once more for each doubling that makes the width out of 1.
_MOST_WIDTHS = 2
#: First it is so many pulls of so many that were asked for, but at least the width over so many.
_BLIND, _OF_ASKED, _OF_WIDTH = 2, 5, 8
#: So many arms share the pulls of a race for a while.
_MANY = 100


@kernel
def most_lag(width: int) -> int:
    """The lag that is never exceeded.

    Examples
    --------
    >>> [most_lag(width) for width in (2, 8, 64)]
    [6, 40, 512]
    """
    most, doubled = _MOST_WIDTHS, 1
    while doubled < width:
        most, doubled = most + 1, 2 * doubled
    return int(most * width)


@kernel
def growing_lag(width: int, asked: int) -> int:
    """The lag from the width up to the most."""
    return int(min(most_lag(width), width + int(_GROWTH * max(0, asked - _NARROW * width))))


@kernel
def pull_lag(width: int, asked: int, sharing: int) -> int:
    """The lag where arms are measured by single pulls, however many share them.

    Most is learned from the first pulls, and 64 blind ones may cost as much as a whole short run.

    Examples
    --------
    >>> [pull_lag(8, asked, 2) for asked in (0, 10, 80, 160, 1000)]
    [2, 4, 8, 16, 40]
    """
    first = max(2, width // _OF_WIDTH, _BLIND * asked // _OF_ASKED)
    return int(min(first, growing_lag(width, asked)))


@kernel
def race_lag(width: int, asked: int, sharing: int) -> int:
    """The lag on blocks, where so many arms share the pulls evenly and leave one by one.

    An arm that is beaten has been measured on as many blocks too many as plans were ahead, divided by the arms left. So
    plans get ahead as the blocks do, not as the pulls: a race of a few blocks is over before that pays.

    Examples
    --------
    >>> [race_lag(8, asked, 20) for asked in (80, 800, 1600, 10_000)]
    [8, 8, 16, 40]
    """
    return int(growing_lag(width, 2 * asked // sharing))


def lag_kernel(ahead: Ahead) -> Callable[[int, int, int], int]:
    """The lag of an algorithm: ``(width, asked, arms_sharing) -> lag``."""
    return pull_lag if ahead.on_copy else race_lag


def arms_sharing(ahead: Ahead, arms: int) -> int:
    """How many arms, of so many, share the pulls of a run evenly; of very many most are out at once."""
    return max(2, min(arms, _MANY)) if ahead.shared else 2


def lag_of(ahead: Ahead, width: int, asked: int, arms: int) -> int:
    """The lag of an algorithm that plans among so many arms."""
    return lag_kernel(ahead)(width, asked, arms_sharing(ahead, arms))
