"""Which arms are the m best: an arm is in, or out, once enough others are shown to be worse, or better, than it.

An arm is in that is shown to be better than all but m - 1 others, where those that are out count as worse. It is out
where m others are shown to be better, or are in. With an epsilon, arms that are neither are enough if those with the
highest means are shown to be no worse than the others by more than epsilon. The proof is in docs/goals.md.
"""

from __future__ import annotations

from mfbandit.algorithms.settle._settle_memory import SettleParams, drop, is_certain, is_shown
from mfbandit.algorithms.settle._settle_scores import score
from mfbandit.core import Arrays, State, kernel

__all__ = ["closest_across", "settle_top"]


@kernel
def worse_ones(state: State, arm: int) -> int:
    """How many arms are out, or shown to be worse than an arm."""
    found = 0
    for other in range(state.pulls.shape[0]):
        if other != arm and (state.own.sides[other] == 2 or is_shown(state, 0, arm, other)):
            found += 1
    return found


@kernel
def better_ones(state: State, arm: int) -> int:
    """How many arms are in, or shown to be better than an arm."""
    found = 0
    for other in range(state.pulls.shape[0]):
        if other != arm and (state.own.sides[other] == 1 or is_shown(state, 0, other, arm)):
            found += 1
    return found


@kernel
def count_side(state: State, side: int) -> int:
    """How many arms stand on a side."""
    found = 0
    for arm in range(state.pulls.shape[0]):
        if state.own.sides[arm] == side:
            found += 1
    return found


@kernel
def take_sides(params: SettleParams, state: State) -> None:
    """Note who is in and who is out, again and again until that says nothing new."""
    own, arms, changed = state.own, state.pulls.shape[0], True
    for arm in range(arms):
        own.sides[arm] = 0
    while changed:
        changed = False
        for arm in range(arms):
            if own.sides[arm] == 0 and count_side(state, 1) < params.m and worse_ones(state, arm) >= arms - params.m:
                own.sides[arm], changed = 1, True
            elif own.sides[arm] == 0 and count_side(state, 2) < arms - params.m and better_ones(state, arm) >= params.m:
                own.sides[arm], changed = 2, True


@kernel
def rank_open(state: State) -> None:
    """Mark each arm that is neither in nor out with how many of these have higher means; others with -1."""
    own, arms = state.own, state.pulls.shape[0]
    for arm in range(arms):
        own.marks[arm] = 0 if own.sides[arm] == 0 else -1
        for other in range(arms):
            ahead = own.scores[other] > own.scores[arm] or (own.scores[other] == own.scores[arm] and other < arm)
            if own.marks[arm] >= 0 and other != arm and own.sides[other] == 0 and ahead:
                own.marks[arm] += 1


@kernel
def are_enough(problem: Arrays, params: SettleParams, state: State, wanted: int) -> bool:
    """Whether the first so many arms by their means are shown to be no worse than the others by more than epsilon."""
    own, arms, kind = state.own, state.pulls.shape[0], params.kinds - 1
    for first in range(arms):
        if not 0 <= own.marks[first] < wanted:
            continue
        for second in range(arms):
            if own.marks[second] < wanted or is_shown(state, kind, first, second):
                continue
            if not is_certain(problem, state, first, second, params.shifts[kind]):
                return False
    return True


@kernel
def settle_top(problem: Arrays, params: SettleParams, state: State) -> bool:
    """Note who is in and who is out; whether that is all, or the arms with the highest means do for the rest."""
    own, arms = state.own, state.pulls.shape[0]
    take_sides(params, state)
    for arm in range(arms):
        if own.sides[arm] > 0:
            drop(state, arm)
    score(problem, state)
    wanted = params.m - count_side(state, 1)
    left = arms - params.m - count_side(state, 2)
    rank_open(state)
    if wanted > 0 and left > 0 and not are_enough(problem, params, state, wanted):
        return False
    for arm in range(arms):
        if own.sides[arm] == 0:
            own.sides[arm] = 1 if own.marks[arm] < wanted else 2
    return True


@kernel
def closest_across(params: SettleParams, state: State, arm: int) -> int:
    """The arm by which an arm is settled soonest: of those on the other side of the m best, who is closest to it."""
    own, found, best = state.own, -1, 0.0
    wanted = params.m - count_side(state, 1)
    for other in range(state.pulls.shape[0]):
        if own.marks[arm] < 0 or own.marks[other] < 0 or own.gone[other] == 1:
            continue
        if (own.marks[other] < wanted) == (own.marks[arm] < wanted):
            continue
        apart = abs(own.scores[other] - own.scores[arm])
        if found < 0 or apart < best:
            found, best = other, apart
    return found
