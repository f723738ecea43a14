"""What the evidence of races on blocks is made of: bets, effects, and how weights are given out.

All of it is fixed before any reward is seen. The proof is in docs/certificates.md.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "BETS",
    "BLOCKS_WITHOUT_NOISE",
    "EFFECTS",
    "EFFECT_WEIGHTS",
    "LEAST_SQUARES",
    "STUDENT_LED",
    "TOLERANCE",
    "OpenArms",
    "ProcessWeights",
    "bet_count",
    "blocks_at_least",
    "lane_shares",
    "weights",
]

Floats = npt.NDArray[np.float64]

#: What bettors stake on each block, as shares of the most that may be staked; each has the same capital at first.
BETS: Floats = np.array([0.97 * 2.0 ** (-0.5 * j) for j in range(14)])
#: On N blocks nobody need stake much less than this over the root of N: so little would not decide anything.
_LEAST_BET = 2.7
#: Sizes of effects (means over standard deviations) that Student's evidence weighs, and their weights.
EFFECTS: Floats = np.array([2.0 ** (2.75 - 0.5 * i) for i in range(16)])
EFFECT_WEIGHTS: Floats = np.array([1.0 / (i + 6.0) for i in range(16)]) / math.fsum(1.0 / (i + 6.0) for i in range(16))
#: What rounding may do to sums of rewards in [0, 1], per block.
TOLERANCE = 1e-9
#: Sums of squares below this say nothing: squares near the least number there is lose their digits.
LEAST_SQUARES = 1e-280
#: With no more arms than that, normal rewards have no process that follows leaders.
STUDENT_LED = 50
#: The truest lane's share of delta where there are several lanes.
_TRUEST = 0.8


def bet_count(size: int) -> int:
    """How many bettors there are for a set of `size` blocks; 0 stands for no end of them.

    Examples
    --------
    >>> [bet_count(size) for size in (1, 100, 2000, 10**6, 0)]
    [1, 5, 10, 14, 14]
    """
    if size == 0:
        return len(BETS)
    return max(1, min(len(BETS), 2 + math.floor(2.0 * math.log2(BETS[0] * math.sqrt(size) / _LEAST_BET))))


def blocks_at_least(caution: float) -> int:
    """From how many blocks on Student's evidence is looked at.

    Few equal differences look as if there were no variance; where one bad block is allowed for, that does no harm.
    """
    return 3 if caution >= 1.0 else 5


#: From how many blocks on it is, where no two arms of a lane ever differed: there is nothing yet to tell the noise by.
BLOCKS_WITHOUT_NOISE = 60


def lane_shares(lanes: int, truest: int) -> Floats:
    """The shares of delta that lanes have; they sum to 1.

    Examples
    --------
    >>> lane_shares(1, 0).tolist(), lane_shares(3, 2).round(9).tolist()
    ([1.0], [0.1, 0.1, 0.8])
    """
    shares = np.full(lanes, (1.0 - _TRUEST) / max(1, lanes - 1))
    shares[truest] = 1.0 if lanes == 1 else _TRUEST
    return shares


class ProcessWeights(NamedTuple):
    """The weights of the processes against one arm in a lane; with all pairs they sum to 1."""

    leader: float
    """Of the process that follows declared leaders; Student's is split among them."""
    pair: float
    """Of each process of a pair of arms."""


class OpenArms(NamedTuple):
    """What is to know of a race that arms may join and leave."""

    present: npt.NDArray[np.bool_]
    """Which of all places have an arm that is in the race, (K,)."""
    joined: npt.NDArray[np.int64]
    """How many blocks of each lane were open when each arm joined, (M, K)."""


def weights(arms: int, student: bool, led: bool) -> ProcessWeights:
    """How weights are given out; `led` is whether leaders are declared.

    They are not where several lanes share one order: a leader declared for a block before any lane opens it would
    have to be measured on it in all of them, beaten or not.

    Examples
    --------
    >>> weights(5, student=False, led=True).leader, weights(5, student=True, led=True)
    (0.8, ProcessWeights(leader=0.0, pair=0.25))
    """
    leader = 0.0
    if led and arms > (STUDENT_LED if student else 2):
        leader = 0.1 if student else 0.8
    return ProcessWeights(leader, (1.0 - leader) / max(1, arms - 1))
