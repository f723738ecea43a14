"""Where rejection ends: the search for bounds of differences, of many pairs of arms at once."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

__all__ = ["Rejected", "bracket", "highest_rejected"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
#: Whether shifts of some pairs, given by their places, are rejected. What is rejected is so for every lower shift, too.
Rejected = Callable[[Ints, Floats], npt.NDArray[np.bool_]]

#: Steps of a search by halves, and of one outwards.
_HALVES, _OUTWARDS = 34, 24


def bracket(rejected: Rejected, scale: Floats, top: float) -> tuple[Floats, Floats]:
    """Shifts of each pair between which rejection ends, where rewards have no range; differences are of a `scale`."""
    high = np.minimum(scale, top)
    low = np.full(scale.size, -math.inf)
    for k in range(_OUTWARDS):
        trial = -scale * 2.0**k
        left = np.flatnonzero(np.isinf(low) & (trial < high))
        found = rejected(left, trial[left])
        low[left[found]] = trial[left[found]]
        high[left[~found]] = trial[left[~found]]
    return high, low


def highest_rejected(rejected: Rejected, high: Floats, low: Floats, top: float) -> Floats:
    """The highest shift of each pair that is rejected, between two; `top` if the higher one is.

    Examples
    --------
    >>> ends = np.array([0.25, 0.5])
    >>> highest_rejected(lambda pairs, shift: shift <= ends[pairs], np.ones(2), -np.ones(2), 1.0).round(6).tolist()
    [0.25, 0.5]
    """
    high, low = high.copy(), low.copy()
    done = rejected(np.arange(high.size), high)
    left = np.flatnonzero(~done & np.isfinite(low))
    for _ in range(_HALVES):
        middle = 0.5 * (low + high)[left]
        beyond = rejected(left, middle)
        low[left[beyond]], high[left[~beyond]] = middle[beyond], middle[~beyond]
    return np.where(done, top, low)
