"""What is certain of a race, because all blocks of a finite lane are known."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mfbandit.confidence.race._lane import Lane
from mfbandit.confidence.race._rules import TOLERANCE

__all__ = ["equal_arms", "no_better", "surely_best"]


def no_better(lane: Lane, answer: int) -> npt.NDArray[np.bool_]:
    """The arms that are no better than the answer for certain, itself included: both are known on all blocks."""
    found = np.zeros(lane.known.size, dtype=bool)
    if lane.size and lane.known[answer] == lane.size:
        least = lane.low_sums[answer, lane.size]
        whole = lane.known == lane.size
        found[whole] = lane.high_sums[whole, lane.size] <= least + TOLERANCE * lane.size
    found[answer] = True
    return found


def equal_arms(lane: Lane, answer: int) -> list[int]:
    """The other arms with the same sum as the answer over all blocks of the lane."""
    if not lane.size or lane.complete[answer] < lane.size:
        return []
    apart = np.abs(lane.low_sums[:, -1] - lane.low_sums[answer, -1])
    equal = (lane.complete == lane.size) & (apart <= TOLERANCE * lane.size)
    return [int(b) for b in np.flatnonzero(equal) if b != answer]


def surely_best(lane: Lane, impossible: npt.NDArray[np.bool_]) -> bool:
    """Whether some arm is the best for certain, of those that are not impossible."""
    whole = (lane.known == lane.size) & ~impossible
    if not lane.size or not whole.any():
        return False
    ends = np.where(whole, lane.low_sums[:, -1], -np.inf)
    return bool((no_better(lane, int(ends.argmax())) | impossible).all())
