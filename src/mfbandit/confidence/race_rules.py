"""What the evidence of races on blocks is made of: bets, effects, and how weights are given out.

All of it is fixed before any reward is seen. The proof is in docs/certificates.md.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

__all__ = [
    "BETS",
    "BLOCKS_AT_LEAST",
    "EFFECTS",
    "EFFECT_WEIGHTS",
    "FULL_SWING",
    "TOLERANCE",
    "lane_shares",
    "leader_weight",
    "near_weight",
    "pair_weight",
]

Floats = npt.NDArray[np.float64]

#: What a bettor stakes on each block, as shares of the most that may be staked; each has the same capital at first.
BETS: Floats = np.array([0.9 * 2.0 ** (-0.5 * j) for j in range(12)])
#: By this much bets are raised where a swing is declared.
FULL_SWING = 0.97 / 0.9
#: Sizes of effects (means over standard deviations) that Student's evidence weighs, and their weights.
EFFECTS: Floats = np.array([4.0 * 2.0 ** (-0.5 * i) for i in range(16)])
EFFECT_WEIGHTS: Floats = np.array([1.0 / (i + 6.0) for i in range(16)]) / math.fsum(1.0 / (i + 6.0) for i in range(16))
#: Student's evidence is looked at from so many blocks on.
BLOCKS_AT_LEAST = 5
#: What rounding may do to sums of rewards in [0, 1], per block.
TOLERANCE = 1e-9
#: The truest lane's share of delta where there are several lanes.
_TRUEST = 0.6


def lane_shares(lanes: int, truest: int) -> Floats:
    """The shares of delta that lanes have; they sum to 1.

    Examples
    --------
    >>> lane_shares(1, 0).tolist(), lane_shares(3, 2).tolist()
    ([1.0], [0.2, 0.2, 0.6])
    """
    shares = np.full(lanes, (1.0 - _TRUEST) / max(1, lanes - 1))
    shares[truest] = 1.0 if lanes == 1 else _TRUEST
    return shares


def leader_weight(arms: int, student: bool) -> float:
    """The weight of the process against an arm that follows declared leaders; Student's is split among them."""
    if arms <= 2:
        return 0.0
    return 0.1 if student else 0.5


def pair_weight(arms: int, student: bool) -> float:
    """The weight of each process of a pair of arms."""
    return (1.0 - leader_weight(arms, student)) / max(1, arms - 1)


def near_weight(arms: int, lanes: int) -> float:
    """The weight of each process that shows the answer to be within epsilon of another arm."""
    return 1.0 / (lanes * max(1, arms - 1))
