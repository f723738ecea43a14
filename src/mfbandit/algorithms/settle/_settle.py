"""The race for other goals than one best arm: those not settled go from block to block together.

Statements about two arms are shown by evidence of their own (`settle_bets` for rewards with a range, `settle_sums` for
normal ones); what follows from them is in one file for each question. The race is run in one lane after the other,
from cheap to expensive, as `mf-race` does it. No leaders are declared, since no process follows them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mfbandit.algorithms.mf_race._race_lanes import TRIED, planned
from mfbandit.algorithms.settle._settle_bets import look_at_bets
from mfbandit.algorithms.settle._settle_better import closest_to_control, settle_better
from mfbandit.algorithms.settle._settle_cheapest import closest_to_first, settle_cheapest
from mfbandit.algorithms.settle._settle_lanes import lane_to_race
from mfbandit.algorithms.settle._settle_memory import ControlMemory, PairMemory, SettleParams, drop, is_open
from mfbandit.algorithms.settle._settle_scores import score
from mfbandit.algorithms.settle._settle_sums import look_at_sums
from mfbandit.algorithms.settle._settle_top import closest_across, settle_top
from mfbandit.confidence.race import blocks_at_least, lane_shares
from mfbandit.core import (
    STUDENT,
    WAIT,
    Ahead,
    Algorithm,
    Arrays,
    Goal,
    InFlight,
    Ints,
    State,
    any_out,
    bind,
    block_room,
    kernel,
    open_block,
    slot,
)
from mfbandit.model import BetterThan, CheapestWithin, Question, TopM

__all__ = ["settling_algorithm"]

#: So many blocks are opened at first, and then as many more as are open, as a part of them.
_FIRST, _GROWTH = 2, 0.02
#: Rounding that evidence must be above its threshold by.
_SLACK = 1e-9


@slot
def look(problem: Arrays, params: SettleParams, state: State, lane: int) -> None:
    """Look at all evidence in a lane that is new, and note what is shown."""


@slot
def settle(problem: Arrays, params: SettleParams, state: State) -> bool:
    """Note where each arm stands by what is shown, and who is measured no longer; whether all is settled."""


@kernel
def is_lost(problem: Arrays, state: State, arm: int) -> bool:
    """Whether nothing more can be shown of an arm: normal differences end where a cell could not be had."""
    return bool(problem.reward_code == 3 and state.blocks.missing[arm, problem.truest] > 0)


@kernel
def is_stuck(problem: Arrays, params: SettleParams, state: State) -> bool:
    """Whether what is asked cannot be settled any more."""
    lost = left = 0
    for arm in range(state.pulls.shape[0]):
        if arm != params.control and state.own.beaten[arm] == 0:
            left += 1
            lost += 1 if is_lost(problem, state, arm) else 0
    if params.control >= 0:
        return lost == left or is_lost(problem, state, params.control)
    return lost > 0


@kernel
def leave_lost(problem: Arrays, params: SettleParams, state: State) -> None:
    """Measure arms no longer of which nothing more can be shown: those that can be settled do not wait for them."""
    for arm in range(state.pulls.shape[0]):
        if arm != params.control and is_lost(problem, state, arm):
            drop(state, arm)


@kernel
def caught_up(state: State, lane: int) -> bool:
    """Whether all who race were measured on all blocks that are open, or are."""
    for arm in range(state.pulls.shape[0]):
        if is_open(state, arm) and planned(state, arm, lane) < state.blocks.opened[lane]:
            return False
    return True


@kernel
def note_out(state: State, flying: InFlight) -> None:
    """Note which pulls are out: they are on blocks that are open, so that nothing need be expected of them."""
    for arm in range(state.pulls.shape[0]):
        for lane in range(state.pulls.shape[1]):
            state.own.flying[arm, lane] = flying.pulls[arm, lane]


@kernel
def more_blocks(params: SettleParams, state: State, lane: int) -> int:
    """How many blocks to open next."""
    opened = state.blocks.opened[lane]
    more = _FIRST if opened == 0 else int(_GROWTH * opened)
    return int(min(max(1, more, params.batch), block_room(state.blocks) - opened))


@kernel
def plan(problem: Arrays, params: SettleParams, state: State, out: Ints) -> int:
    """Measure the arms that are not settled on the next blocks."""
    for lane in range(problem.cost.shape[1]):
        look(problem, params, state, lane)
    score(problem, state)
    if settle(problem, params, state):
        return 0
    lane = lane_to_race(problem, params, state)
    if lane == problem.truest:
        if is_stuck(problem, params, state):
            return 0
        leave_lost(problem, params, state)
    if caught_up(state, lane):
        more = more_blocks(params, state, lane)
        if more == 0 and problem.blocks.size == 0:
            return 0
        for _ in range(more):
            open_block(state.blocks, lane, -1, -1)
    rows = 0
    for arm in range(state.pulls.shape[0]):
        blocks = state.blocks.opened[lane] - planned(state, arm, lane)
        if blocks > 0 and is_open(state, arm):
            out[rows, 0], out[rows, 1], out[rows, 2] = arm, lane, blocks
            rows += 1
    return rows if rows > 0 or not any_out(state.own.flying) else WAIT


@kernel
def recommend(problem: Arrays, params: SettleParams, state: State) -> int:
    """The arm that is chosen, or has the highest mean of those that are; the first, if none is."""
    found = 0
    for arm in range(state.pulls.shape[0]):
        own = state.own
        ahead = own.sides[arm] == own.sides[found] and own.scores[arm] > own.scores[found]
        if (own.sides[arm] == 1 and own.sides[found] != 1) or ahead:
            found = arm
    return found


@kernel
def note_answer(problem: Arrays, params: SettleParams, state: State, sides: Ints) -> None:
    """Say where each arm stands."""
    for arm in range(state.pulls.shape[0]):
        sides[arm] = state.own.sides[arm]


def _shifts(question: Question, epsilon: float) -> list[float]:
    """By how much the first arm of each kind of statement is better than the second."""
    if isinstance(question, CheapestWithin):
        return [0.0, epsilon - question.slack, -epsilon]
    return [0.0, -epsilon] if epsilon > 0.0 or isinstance(question, BetterThan) else [0.0]


def settling_algorithm(problem: Arrays, goal: Goal, control: int, batch: int) -> Algorithm:
    """Make the kernels and parameters for a goal on one problem; `control` is the place of the control, if any."""
    arms, lanes = problem.cost.shape
    question, normal = goal.question, problem.reward_code == STUDENT
    assert question is not None
    shifts = _shifts(question, goal.epsilon)
    level = math.log(goal.delta) - math.log(question.at_risk(arms))
    params = SettleParams(
        log_need=_SLACK - level - np.log(lane_shares(lanes, problem.truest)),
        shifts=np.array(shifts),
        kinds=len(shifts),
        control=control,
        m=question.m if isinstance(question, TopM) else 1,
        use_costs=np.array(question.use_costs[:arms] if isinstance(question, CheapestWithin) else [0.0] * arms),
        at_least=blocks_at_least(problem.blocks.caution),
        batch=batch,
        # What is spent in a lane is not lost where the truest goes on from there.
        tried=1.0 if problem.blocks.continues else TRIED,
    )
    parts: dict[type, tuple[Any, Any]] = {
        BetterThan: (settle_better, closest_to_control),
        TopM: (settle_top, closest_across),
        CheapestWithin: (settle_cheapest, closest_to_first),
    }
    settled, rival = parts[type(question)]
    return Algorithm(
        plan=bind(plan, look=look_at_sums if normal else look_at_bets, settle=settled, closest=rival),
        recommend=recommend,
        params=params,
        rows=arms,
        memory=ControlMemory if control >= 0 else PairMemory,
        evidence="blocks",
        # With normal differences a round is one block of every arm, which all of them share.
        ahead=None if normal else Ahead(prepare=note_out, on_copy=False),
        note_answer=note_answer,
    )
