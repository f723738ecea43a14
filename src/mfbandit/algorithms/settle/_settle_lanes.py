"""The lanes of a race for other goals: an arm leaves a cheap one when the truest is worth more for what is left."""

from __future__ import annotations

import math
from typing import NamedTuple

from mfbandit.algorithms.mf_race._race_lanes import cell_price, is_tried, worth
from mfbandit.algorithms.mf_race._race_memory import gap_bound
from mfbandit.algorithms.settle._settle_memory import (
    SettleParams,
    first_arm,
    is_open,
    second_arm,
    shift_of,
    statements,
)
from mfbandit.core import Arrays, State, kernel, reward_at, slot

__all__ = ["closest", "lane_to_race"]

#: Nobody leaves a lane before that much of a pull in the truest lane is spent.
_PATIENCE = 0.25


class PairSums(NamedTuple):
    """Two arms on the blocks that both were measured on."""

    arm: int
    rival: int
    n: int
    mean: float
    """Of the arm's rewards less the rival's."""
    spread: float


@slot
def closest(params: SettleParams, state: State, arm: int) -> int:
    """The arm by which an arm is settled soonest, as it seems; -1 if there is none."""


@kernel
def open_arms(params: SettleParams, state: State) -> int:
    """How many arms are measured in the lane that is raced in, beside the control."""
    found = 0
    for arm in range(state.pulls.shape[0]):
        if arm != params.control and is_open(state, arm):
            found += 1
    return found


@kernel
def worth_of(problem: Arrays, params: SettleParams, state: State, pair: PairSums, off: float) -> float:
    """The evidence that a block may bring for the statement about two arms that is closest to being shown, in nats.

    `off` is by how much the lane may be off about their difference.
    """
    arms, most = state.pulls.shape[0], 0.0
    for number in range(statements(params, arms)):
        for arm in (pair.arm, pair.rival):
            first, second = first_arm(params, arms, number, arm), second_arm(params, number, arm)
            forwards = first == pair.arm and second == pair.rival
            backwards = first == pair.rival and second == pair.arm
            if (forwards or backwards) and state.own.shown[number, arm] == 0:
                ahead = pair.mean if forwards else -pair.mean
                most = max(most, worth(ahead - shift_of(params, arms, number) - off, pair.spread))
    return most


@kernel
def sums_of(problem: Arrays, state: State, lane: int, arm: int, rival: int) -> PairSums:
    """How far an arm is ahead of another on the blocks of a lane so far, and how that differs between blocks."""
    n = min(state.pulls[arm, lane], state.pulls[rival, lane])
    total = squares = 0.0
    for i in range(n):
        gained = reward_at(state.blocks, lane, arm, i) - reward_at(state.blocks, lane, rival, i)
        if gained == gained:
            total += gained
            squares += gained * gained
    mean = total / max(1, n)
    variance = max(0.0, squares / max(1, n) - mean * mean)
    if problem.reward_code != 3:
        # A few blocks on which all is equal do not mean that there is no spread.
        variance += 0.25 / max(1, n)
    return PairSums(arm, rival, n, mean, math.sqrt(variance))


@kernel
def is_done_here(problem: Arrays, params: SettleParams, state: State, lane: int, pair: PairSums, left: int) -> bool:
    """Whether the truest lane is worth more than this one for what is to be shown of two arms."""
    if problem.reward_code == 3 and (
        state.blocks.missing[pair.arm, lane] > 0 or state.blocks.missing[pair.rival, lane] > 0
    ):
        # Normal differences are looked at up to a cell that could not be had, and no farther.
        return True
    price = cell_price(problem, pair.arm, lane, left)
    truest = cell_price(problem, pair.arm, problem.truest, left)
    if pair.n == 0 or pair.n * price < _PATIENCE * truest:
        return False
    hope = pair.spread / math.sqrt(pair.n)
    here = worth_of(problem, params, state, pair, gap_bound(problem, lane, pair.arm, pair.rival) - hope)
    there = worth_of(problem, params, state, pair, 0.0)
    return bool(here * truest <= there * price)


@kernel
def leave_for_next(problem: Arrays, params: SettleParams, state: State, lane: int) -> None:
    """Let those arms leave a lane for which the truest is worth more, by what tells them from their closest rivals."""
    left = open_arms(params, state)
    for arm in range(state.pulls.shape[0]):
        if arm == params.control or not is_open(state, arm):
            continue
        rival = closest(params, state, arm)
        # Where all are gone that it could be told from, nothing is to be learned.
        if rival < 0 or is_done_here(problem, params, state, lane, sums_of(problem, state, lane, arm, rival), left):
            state.own.gone[arm] = 1


@kernel
def lane_to_race(problem: Arrays, params: SettleParams, state: State) -> int:
    """Go on to the next lane while nobody has a reason to be in this one; the lane to race in."""
    own = state.own
    while True:
        lane = problem.order[own.lane[0]]
        if lane == problem.truest:
            return int(lane)
        opened = state.blocks.opened[lane]
        stays = is_tried(problem, params, lane)  # type: ignore[arg-type]
        if stays and opened > 0:
            leave_for_next(problem, params, state, lane)
            rivals = open_arms(params, state) + (1 if params.control >= 0 else 0)
            stays = rivals > 1 and opened != problem.blocks.size
        if stays:
            return int(lane)
        own.lane[0] += 1
        for arm in range(state.pulls.shape[0]):
            own.gone[arm] = 0
