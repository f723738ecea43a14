"""Evidence of races for rewards of a known range: bets on differences, as whole paths.

NumPy beside the kernels of policies: a certificate is checked by code that does not share theirs.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from mfbandit.confidence.race._lane import Lane
from mfbandit.confidence.race._rules import BETS, TOLERANCE, bet_count

__all__ = ["contradicts_range", "leader_paths", "log_capital", "pair_paths", "sure_difference"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

#: Products are taken over so many blocks at a time, which no bet can bring to overflow.
_STRETCH = 128
#: Below this the mean of what is left is the least possible one.
_LEAST = -1.0 + 1e-12


def log_capital(gains: Floats, bets: Floats) -> Floats:
    """The log of what bettors have on average after each block, from the gains per stake, (P, n).

    Examples
    --------
    >>> log_capital(np.array([[1.0, -1.0]]), np.array([0.5])).round(4).tolist()
    [[0.4055, -0.2877]]
    """
    paths, blocks = gains.shape
    found = np.empty((paths, blocks))
    capital = np.full((bets.size, paths, 1), 1.0 / bets.size)
    scale = np.zeros(paths)
    for start in range(0, blocks, _STRETCH):
        part = 1.0 + bets[:, None, None] * gains[None, :, start : start + _STRETCH]
        np.cumprod(part, axis=2, out=part)
        part *= capital
        found[:, start : start + _STRETCH] = np.log(part.sum(axis=0)) + scale[:, None]
        # Those who fall hundreds of orders behind the best count for nothing; that only lowers the sum.
        most = part[:, :, -1].max(axis=0)
        capital = part[:, :, -1:] / most[None, :, None]
        scale += np.log(most)
    return found


def _gains(lane: Lane, difference: Floats, allowed: Floats, ahead: Floats) -> Floats:
    """What a stake of 1 gains on each block.

    `allowed` is the mean of the null, `ahead` the sum of differences before each block; (P, n) each.
    """
    if lane.swing > 0.0:
        return np.clip((difference - allowed) / lane.swing, -1.0, 1.0)
    mean = allowed
    if lane.size:
        left = lane.size - np.arange(difference.shape[1])
        mean = (lane.size * allowed - ahead) / left
    mean = np.minimum(mean, 1.0)
    return np.where(mean <= _LEAST, 0.0, (difference - mean) / (1.0 + np.maximum(mean, 0.0)))


def _bets(lane: Lane) -> Floats:
    return BETS[: bet_count(lane.size)]


def pair_paths(lane: Lane, winners: Ints, losers: Ints, shift: Floats) -> Floats:
    """Log E of each pair after each block, against "truth(winner) - truth(loser) <= shift"; -inf where not known."""
    reach = lane.common(winners, losers)
    most = int(reach.max(initial=0))
    difference = lane.low[winners, :most] - lane.high[losers, :most]
    ahead = lane.low_sums[winners, :most] - lane.high_sums[losers, :most]
    allowed = np.broadcast_to((lane.allowed(winners, losers) + shift)[:, None], difference.shape)
    gains = _gains(lane, difference, allowed, ahead)
    gains = np.where(np.arange(most) < lane.since(winners, losers)[:, None], 0.0, gains)
    found = log_capital(gains, _bets(lane))
    return np.where(np.arange(most) < reach[:, None], found, -math.inf)


def leader_paths(lane: Lane, losers: Ints) -> Floats:
    """Log of the process of each arm that follows declared leaders, after each block; -inf where not known."""
    most = int(lane.known[losers].max(initial=0))
    positions = np.arange(most)
    leader, second = lane.declared[..., :most, 0], lane.declared[..., :most, 1]
    winner = np.where(leader == losers[:, None], second, leader)
    idle = (winner < 0) | (winner == losers[:, None])
    winner = np.where(idle, losers[:, None], winner)
    difference = lane.low[winner, positions] - lane.high[losers, :most]
    ahead = lane.low_sums[winner, positions] - lane.high_sums[losers, :most]
    flat = np.broadcast_to(losers[:, None], winner.shape)
    gains = _gains(lane, difference, lane.allowed(winner, flat), ahead)
    found = log_capital(np.where(idle, 0.0, gains), _bets(lane))
    # It halts where a cell that it needs is not known: passing over blocks would choose them by their results.
    lacking = np.maximum.accumulate(lane.known[winner] <= positions, axis=1)
    return np.where(lacking | (positions >= lane.known[losers][:, None]), -math.inf, found)


def sure_difference(lane: Lane, winners: Ints, losers: Ints) -> Floats:
    """The least that the mean of winner minus loser over all N blocks can be, whatever those not known are."""
    reach = lane.common(winners, losers)
    ahead = lane.low_sums[winners, reach] - lane.high_sums[losers, reach]
    return (ahead - (lane.size - reach)) / lane.size


def contradicts_range(lane: Lane, winners: Ints, losers: Ints, shift: Floats) -> Flags:
    """Whether "truth(winner) - truth(loser) <= shift" contradicts the range of rewards."""
    allowed = lane.allowed(winners, losers) + shift
    if not lane.size:
        return np.asarray(allowed <= -1.0)
    # What is sure never falls when another block is known, so the last moment tells of all.
    return np.asarray(sure_difference(lane, winners, losers) > allowed + TOLERANCE)
