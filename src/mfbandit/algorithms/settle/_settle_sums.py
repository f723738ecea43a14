"""The evidence for statements about two arms, with normal differences of unknown variance: Student's."""

from __future__ import annotations

import math

from mfbandit.algorithms.mf_race._race_memory import gap_bound
from mfbandit.algorithms.mf_race._race_sums import binary, compare, shows
from mfbandit.algorithms.settle._settle_memory import (
    SettleParams,
    first_arm,
    is_open,
    second_arm,
    shift_of,
    statements,
)
from mfbandit.confidence.race import BLOCKS_WITHOUT_NOISE, lower_median
from mfbandit.core import Arrays, State, kernel, reward_at

__all__ = ["look_at_sums"]

_WITHOUT_NOISE = BLOCKS_WITHOUT_NOISE


@kernel
def add_block(state: State, lane: int, first: int) -> None:
    """Add the next block to the sums of an arm's differences to all others."""
    memory = state.own.sums
    position = memory.upto[lane, first]
    mine = reward_at(state.blocks, lane, first, position)
    for arm in range(state.pulls.shape[0]):
        if arm == first or state.own.looked[lane, arm] <= position:
            continue
        gained = mine - reward_at(state.blocks, lane, arm, position)
        if gained != gained:
            memory.halted[lane, first, arm] = position + 1
            continue
        memory.sums[lane, first, arm] += gained
        memory.squares[lane, first, arm] += gained * gained
    memory.upto[lane, first] = position + 1


@kernel
def usual_spread(state: State, lane: int, first: int) -> float:
    """The median of the standard deviations of an arm's differences to others so far."""
    memory, size = state.own.sums, 0
    for arm in range(state.pulls.shape[0]):
        n = min(state.own.looked[lane, arm], memory.upto[lane, first])
        if arm == first or n < 2 or memory.halted[lane, first, arm] > 0:
            continue
        total = memory.sums[lane, first, arm]
        left = memory.squares[lane, first, arm] - total * total / n
        memory.sorted[size] = math.sqrt(max(0.0, left) / (n - 1))
        size += 1
    return lower_median(memory.sorted, size) if size > 0 else 0.0


@kernel
def judge_block(problem: Arrays, params: SettleParams, state: State, lane: int, first: int) -> None:
    """Note what the blocks in the sums of an arm show about it and others."""
    memory, arms, rules = state.own.sums, state.pulls.shape[0], problem.blocks
    n = memory.upto[lane, first]
    step = rules.resolution if rules.resolution > 0.0 else memory.least[lane]
    if n < params.at_least or (step == 0.0 and n < _WITHOUT_NOISE):
        return
    margin = rules.caution * usual_spread(state, lane, first) if rules.caution > 0.0 else 0.0
    for number in range(statements(params, arms)):
        for arm in range(arms):
            second = second_arm(params, number, arm)
            if first_arm(params, arms, number, arm) != first or second == first or state.own.shown[number, arm] == 1:
                continue
            if state.own.looked[lane, second] < n or memory.halted[lane, first, second] > 0:
                continue
            bound = gap_bound(problem, lane, first, second) + shift_of(params, arms, number)
            total, squares = memory.sums[lane, first, second], memory.squares[lane, first, second]
            if shows(n, total, squares, bound, margin, step * step / 12.0, params.log_need[lane]):
                state.own.shown[number, arm] = 1


@kernel
def look_at_sums(problem: Arrays, params: SettleParams, state: State, lane: int) -> None:
    """Look at all evidence in a lane that is new, and note what is shown."""
    if binary(state):
        return
    own, measured = state.own, state.blocks.opened[lane]
    for arm in range(state.pulls.shape[0]):
        # Whoever returns to the race comes up to the others first.
        if problem.order[own.lane[0]] == lane and is_open(state, arm):
            measured = min(measured, state.pulls[arm, lane])
    for arm in range(state.pulls.shape[0]):
        own.looked[lane, arm] = min(measured, state.pulls[arm, lane])
    for blocks in range(1, measured + 1):
        if blocks > own.sums.compared[lane]:
            compare(state, lane, blocks - 1)
        for first in range(state.pulls.shape[0]):
            if own.looked[lane, first] >= blocks and own.sums.upto[lane, first] < blocks:
                add_block(state, lane, first)
                judge_block(problem, params, state, lane, first)
