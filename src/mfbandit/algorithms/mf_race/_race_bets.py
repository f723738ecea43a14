"""The evidence of a race on bounded rewards, block by block: see docs/certificates.md.

Against "b is the best arm" there is, in every lane, a process that follows the declared leaders and one
for each comparator. Their capitals, weighed and summed at the same number of blocks, beat b when the sum
reaches 1 / (share of the lane * delta).
"""

from __future__ import annotations

import math

from mfbandit.algorithms.mf_race._race_memory import RaceParams, beat, gap_bound
from mfbandit.confidence.race import bet, capital, impossible, null_mean, outcome, start
from mfbandit.core import Arrays, BlockRules, State, kernel, reward_at

__all__ = ["look_bets", "near_bets", "start_bets"]

#: An arm pauses while the evidence against it is at least that; it begins at the weights of what is followed, below 1.
_AGAINST = 0.9
#: Nobody pauses before so many blocks: evidence comes and goes at first.
_PAUSED_FROM = 16


@kernel
def difference(state: State, lane: int, comparator: int, arm: int, position: int) -> float:
    """The comparator's reward less the arm's; a cell that could not be had counts as badly as it can."""
    mine = reward_at(state.blocks, lane, comparator, position)
    other = reward_at(state.blocks, lane, arm, position)
    return (mine if mine == mine else 0.0) - (other if other == other else 1.0)


@kernel
def start_bets(state: State, lane: int, place: int) -> None:
    """Start the processes of a new comparator."""
    for arm in range(state.pulls.shape[0]):
        state.own.bets.upto[lane, place, arm] = 0


@kernel
def play_block(
    rules: BlockRules, state: State, lane: int, process: int, comparator: int, arm: int, bound: float
) -> None:
    """Let a process bet on its next block; at the first, everybody has a capital of 1."""
    memory = state.own.bets
    position = memory.upto[lane, process, arm]
    if position == 0:
        start(memory.capitals, lane, process, arm)
        memory.ahead[lane, process, arm] = 0.0
    gained = difference(state, lane, comparator, arm, position)
    ahead = memory.ahead[lane, process, arm]
    # An arm that joined later may have been made to fit the blocks before: these only count in the sum.
    if position >= max(state.blocks.joined[lane, comparator], state.blocks.joined[lane, arm]):
        bet(memory.capitals, lane, process, arm, outcome(rules, gained, null_mean(rules, bound, position, ahead)))
    memory.ahead[lane, process, arm] = ahead + gained
    memory.upto[lane, process, arm] = position + 1


@kernel
def follow_leaders(problem: Arrays, state: State, lane: int, arm: int, blocks: int) -> bool:
    """Bring the process that follows the declared leaders up to some number of blocks; whether that can be done."""
    memory, process = state.own.bets, state.own.held.shape[1]
    while memory.upto[lane, process, arm] < blocks:
        position = memory.upto[lane, process, arm]
        comparator = state.blocks.declared[lane, position, 0]
        if comparator == arm:
            comparator = state.blocks.declared[lane, position, 1]
        if comparator < 0:
            if position == 0:
                start(memory.capitals, lane, process, arm)
            memory.against[lane, arm] = 0
            memory.upto[lane, process, arm] = position + 1
            continue
        if state.pulls[comparator, lane] <= position:
            return False
        if memory.against[lane, arm] != comparator + 1:
            total = 0.0
            for i in range(position):
                total += difference(state, lane, comparator, arm, i)
            memory.ahead[lane, process, arm] = total
            memory.against[lane, arm] = comparator + 1
        play_block(problem.blocks, state, lane, process, comparator, arm, gap_bound(problem, lane, comparator, arm))
    return True


@kernel
def look_bets(problem: Arrays, params: RaceParams, state: State, lane: int) -> None:
    """Look at all evidence in a lane that is new, and note who is beaten."""
    for arm in range(state.pulls.shape[0]):
        if state.own.beaten[arm] == 0 and look_arm(problem, params, state, lane, arm):
            beat(state, arm)


@kernel
def look_arm(problem: Arrays, params: RaceParams, state: State, lane: int, arm: int) -> bool:
    """Look at all evidence against an arm in a lane that is new; whether it is beaten."""
    own, rules = state.own, problem.blocks
    need = math.exp(params.log_level) / params.shares[lane] * (1.0 + 1e-9)
    for blocks in range(own.looked[lane, arm] + 1, state.pulls[arm, lane] + 1):
        own.looked[lane, arm] = blocks
        total = 0.0
        if params.leader_weight > 0.0 and follow_leaders(problem, state, lane, arm, blocks):
            total += params.leader_weight * capital(own.bets.capitals, lane, own.held.shape[1], arm)
        for place in range(own.held.shape[1]):
            comparator = own.held[lane, place] - 1
            if comparator < 0 or comparator == arm or state.pulls[comparator, lane] < blocks:
                continue
            bound = gap_bound(problem, lane, comparator, arm)
            while own.bets.upto[lane, place, arm] < blocks:
                play_block(rules, state, lane, place, comparator, arm, bound)
            if impossible(rules, bound, blocks, own.bets.ahead[lane, place, arm]):
                return True
            total += params.pair_weight * capital(own.bets.capitals, lane, place, arm)
        if total >= need:
            return True
        own.paused[arm] = 1 if params.pauses and total >= _AGAINST and blocks >= _PAUSED_FROM else 0
    return False


@kernel
def near_bets(problem: Arrays, params: RaceParams, state: State, lane: int, answer: int, arm: int) -> bool:
    """Whether the answer was shown to be within epsilon of an arm."""
    memory, process, rules = state.own.bets, state.own.held.shape[1] + 1, problem.blocks
    if memory.answer[lane] != answer + 1:
        memory.answer[lane] = answer + 1
        for k in range(state.pulls.shape[0]):
            memory.upto[lane, process, k] = 0
            memory.near[lane, k] = 0
    need = math.exp(params.log_level) / (params.shares[lane] * params.pair_weight) * (1.0 + 1e-9)
    bound = gap_bound(problem, lane, answer, arm) - params.epsilon
    common = min(state.pulls[answer, lane], state.pulls[arm, lane])
    while memory.near[lane, arm] == 0 and memory.upto[lane, process, arm] < common:
        play_block(rules, state, lane, process, answer, arm, bound)
        ahead = memory.ahead[lane, process, arm]
        if impossible(rules, bound, memory.upto[lane, process, arm], ahead) or (
            capital(memory.capitals, lane, process, arm) >= need
        ):
            memory.near[lane, arm] = 1
    return bool(memory.near[lane, arm] == 1)
