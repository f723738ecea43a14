"""The evidence for statements about two arms, with bounded rewards: a bet on each block, against the opposite."""

from __future__ import annotations

import math

from mfbandit.algorithms.mf_race._race_bets import difference
from mfbandit.algorithms.mf_race._race_memory import gap_bound
from mfbandit.algorithms.settle._settle_memory import SettleParams, first_arm, second_arm, shift_of, statements
from mfbandit.confidence.race import bet, capital, impossible, null_mean, outcome, start
from mfbandit.core import Arrays, State, kernel

__all__ = ["look_at_bets"]


@kernel
def bet_on_next(
    problem: Arrays, state: State, lane: int, number: int, arm: int, first: int, second: int, bound: float
) -> None:
    """Bet on the next block that the first arm is better than the second by more than `bound`."""
    memory, rules = state.own.bets, problem.blocks
    position = memory.upto[lane, number, arm]
    if position == 0:
        start(memory.capitals, lane, number, arm)
        memory.ahead[lane, number, arm] = 0.0
    gained = difference(state, lane, first, second, position)
    ahead = memory.ahead[lane, number, arm]
    bet(memory.capitals, lane, number, arm, outcome(rules, gained, null_mean(rules, bound, position, ahead)))
    memory.ahead[lane, number, arm] = ahead + gained
    memory.upto[lane, number, arm] = position + 1


@kernel
def look_at_bets(problem: Arrays, params: SettleParams, state: State, lane: int) -> None:
    """Look at all evidence in a lane that is new, and note what is shown."""
    memory, arms = state.own.bets, state.pulls.shape[0]
    need = math.exp(params.log_need[lane])
    for number in range(statements(params, arms)):
        for arm in range(arms):
            first, second = first_arm(params, arms, number, arm), second_arm(params, number, arm)
            if first == second or state.own.shown[number, arm] == 1:
                continue
            bound = gap_bound(problem, lane, first, second) + shift_of(params, arms, number)
            common = min(state.pulls[first, lane], state.pulls[second, lane])
            while memory.upto[lane, number, arm] < common and state.own.shown[number, arm] == 0:
                bet_on_next(problem, state, lane, number, arm, first, second, bound)
                seen, ahead = memory.upto[lane, number, arm], memory.ahead[lane, number, arm]
                enough = capital(memory.capitals, lane, number, arm) >= need
                if enough or impossible(problem.blocks, bound, seen, ahead):
                    state.own.shown[number, arm] = 1
