"""At which level each statement about two arms is shown, and the least level at which all is settled."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from mfbandit.confidence.race import Race

__all__ = ["Flags", "Floats", "least_levels", "pair_levels"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


def pair_levels(race: Race, shift: float, *, certain: bool = False) -> Floats:
    """Log of the level at which "truth(a) - truth(b) > shift" is shown, (K, K) by a and b; -inf if for certain.

    If `certain`, it is also certain where both are known on all blocks and the difference is `shift` at least.
    """
    arms = race.problem.n_arms
    winners, losers = (places.ravel() for places in np.indices((arms, arms)))
    apart = winners != losers
    found = np.full(arms * arms, math.inf)
    found[apart] = race.log_pairs(winners[apart], losers[apart], shift)
    if certain:
        found[apart] = np.where(race.certain_pairs(winners[apart], losers[apart], shift), -math.inf, found[apart])
    return found.reshape(arms, arms)


def least_levels(settled: Callable[[float], Flags], levels: Floats) -> Floats:
    """The least of some levels at which each arm is settled; 0 (log of 1) where none is enough.

    What is settled at a level is so at every higher one.

    Examples
    --------
    >>> needs = np.array([-3.0, -1.0, 5.0])
    >>> least_levels(lambda level: needs <= level, np.array([-4.0, -3.0, -2.0, -1.0])).tolist()
    [-3.0, -1.0, 0.0]
    """
    steps = np.unique(levels[levels < 0.0])
    size = settled(0.0).size
    low, high = np.zeros(size, dtype=np.int64), np.full(size, steps.size)
    # Each arm has a search by halves of its own; one look at a level serves all.
    looked: dict[int, Flags] = {}
    while (low < high).any():
        middle = (low + high) // 2
        for step in np.unique(middle[low < high]).tolist():
            if step not in looked:
                looked[step] = settled(float(steps[step]))
            here = (middle == step) & (low < high)
            high[here & looked[step]] = step
            low[here & ~looked[step]] = step + 1
    return np.asarray(np.append(steps, 0.0)[high])
