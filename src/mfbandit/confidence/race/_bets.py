"""Bets on differences of bounded rewards: what a bettor's capital is multiplied by on each block.

A bettor who stakes a share l of the capital that "the mean of D is at most c" is wrong multiplies it on
each block by 1 + l x, where x is at least -1 and has a mean of at most 0 if the statement is true. See
docs/certificates.md.
"""

from __future__ import annotations

from mfbandit.confidence.race._rules import BETS, TOLERANCE
from mfbandit.core import BlockRules, Floats, kernel

__all__ = ["bet", "capital", "impossible", "null_mean", "outcome", "start"]

_TOLERANCE = TOLERANCE


@kernel
def null_mean(rules: BlockRules, bound: float, position: int, ahead: float) -> float:
    """The largest mean that D can have on the next block if its mean over all blocks is at most `bound`.

    `ahead` is the sum of D before; without replacement, what has been seen cannot come again.
    """
    if rules.size == 0:
        return bound
    return (rules.size * bound - ahead) / (rules.size - position)


@kernel
def outcome(rules: BlockRules, difference: float, mean: float) -> float:
    """What is won per stake, at least -1: its mean is at most 0 if D has a mean of at most `mean`."""
    if rules.swing > 0.0:
        return min(1.0, max(-1.0, (difference - mean) / rules.swing))
    if mean <= -1.0 + 1e-12:
        return 0.0
    mean = min(mean, 1.0)
    return (difference - mean) / (1.0 + max(mean, 0.0))


@kernel
def impossible(rules: BlockRules, bound: float, seen: int, ahead: float) -> bool:
    """Whether the mean of D is above `bound` whatever the blocks not seen yet hold."""
    if rules.size == 0:
        return bound <= -1.0
    return ahead - (rules.size - seen) > rules.size * (bound + _TOLERANCE)


@kernel
def start(capitals: Floats, lane: int, process: int, arm: int) -> None:
    """Give every bettor of a process a capital of 1."""
    for j in range(capitals.shape[3]):
        capitals[lane, process, arm, j] = 1.0


@kernel
def bet(capitals: Floats, lane: int, process: int, arm: int, won: float) -> None:
    """Let all bettors of a process play one block."""
    for j in range(capitals.shape[3]):
        capitals[lane, process, arm, j] *= 1.0 + BETS[j] * won


@kernel
def capital(capitals: Floats, lane: int, process: int, arm: int) -> float:
    """The mean capital of the bettors of a process."""
    total = 0.0
    for j in range(capitals.shape[3]):
        total += capitals[lane, process, arm, j]
    return float(total / capitals.shape[3])
