"""The answer of a race, at its end and before it."""

from __future__ import annotations

import math

from mfbandit.algorithms.mf_race._race_lanes import lane_mean, leader_at_first, mean_on_first
from mfbandit.algorithms.mf_race._race_memory import RaceParams
from mfbandit.core import Arrays, State, kernel

__all__ = ["recommend"]

#: Who is so much behind, as a part of the most blocks, or by so many, may be waiting for its turn in a round.
_SAME_ROUND, _FEW = 0.1, 2


@kernel
def highest_mean(problem: Arrays, state: State, lane: int) -> int:
    """The arm with the highest mean of those not beaten in a lane.

    Whoever pauses lies behind, whatever the mean on fewer blocks is.
    """
    found, best, most = -1, 0.0, 0
    for arm in range(state.pulls.shape[0]):
        if state.own.beaten[arm] == 0:
            most = max(most, state.pulls[arm, lane])
    for arm in range(state.pulls.shape[0]):
        if state.own.beaten[arm] == 1 or (state.own.paused[arm] == 1 and state.pulls[arm, lane] < most):
            continue
        # A round that is not over has arms without any reward, which no sum of 0 may put first.
        mean = lane_mean(problem, state, arm, lane) if state.pulls[arm, lane] > 0 else -math.inf
        if found < 0 or mean > best:
            found, best = arm, mean
    return found


@kernel
def ahead_of_all(problem: Arrays, params: RaceParams, state: State, lane: int) -> int:
    """Whoever is ahead of those not beaten in a lane where arms have come to very different blocks.

    Of those measured on most blocks it is the arm with the highest mean, or one whose turn is yet to come in this round
    and which is ahead on the blocks that both were measured on. All others lie behind, whatever their means on fewer
    blocks are.
    """
    found, most = -1, 0
    for arm in range(state.pulls.shape[0]):
        if state.own.beaten[arm] == 0:
            most = max(most, state.pulls[arm, lane])
    for arm in range(state.pulls.shape[0]):
        if state.own.beaten[arm] == 1 or state.pulls[arm, lane] < most:
            continue
        if found < 0 or lane_mean(problem, state, arm, lane) > lane_mean(problem, state, found, lane):
            found = arm
    behind = max(params.batch, _FEW, int(_SAME_ROUND * most))
    for arm in range(state.pulls.shape[0]):
        n = state.pulls[arm, lane]
        if state.own.beaten[arm] == 1 or state.own.paused[arm] == 1 or n == 0 or n == most or n + behind < most:
            continue
        common = min(n, state.pulls[found, lane])
        ahead = mean_on_first(problem, state, arm, lane, common) - mean_on_first(problem, state, found, lane, common)
        if ahead > 0.0:
            found = arm
    return found


@kernel
def recommend(problem: Arrays, params: RaceParams, state: State) -> int:
    """The answer so far: by the truest lane if there is any reward."""
    lane = problem.truest if state.blocks.opened[problem.truest] > 0 else problem.order[state.own.lane[0]]
    led = leader_at_first(problem, state, lane) if params.epsilon > 0.0 else -1
    if led >= 0:
        # It is of the leader that being within epsilon is shown, and whoever is ahead on a few blocks is no better.
        return int(led)
    if params.early or params.limit < math.inf:
        return int(ahead_of_all(problem, params, state, lane))
    return int(highest_mean(problem, state, lane))
