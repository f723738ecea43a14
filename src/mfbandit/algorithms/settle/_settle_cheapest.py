"""Which arm is the cheapest to use of those within epsilon of the best.

It must be shown to be no worse by more than epsilon than all that are not shown to be worse than another, and each
arm that is cheaper to use must be shown to be worse than some other by more than epsilon (less the slack).
"""

from __future__ import annotations

from mfbandit.algorithms.settle._settle_memory import SettleParams, drop, is_certain, is_shown
from mfbandit.core import Arrays, State, kernel

__all__ = ["closest_to_first", "settle_cheapest"]

#: The kinds of statements: better at all, better by more than epsilon less the slack, worse by no more than epsilon.
_BETTER, _FAR, _NEAR = 0, 1, 2


@kernel
def is_outdone(state: State, kind: int, arm: int) -> bool:
    """Whether some arm is shown to be better than an arm, in the way of a kind of statement."""
    found = False
    for other in range(state.pulls.shape[0]):
        found = found or (other != arm and is_shown(state, kind, other, arm))
    return found


@kernel
def is_good(problem: Arrays, params: SettleParams, state: State, arm: int) -> bool:
    """Whether an arm is shown to be within epsilon of the best; those that cannot be the best are marked."""
    for other in range(state.pulls.shape[0]):
        if other == arm or state.own.marks[other] == 1 or is_shown(state, _NEAR, arm, other):
            continue
        if not is_certain(problem, state, arm, other, params.shifts[_NEAR]):
            return False
    return True


@kernel
def settle_cheapest(problem: Arrays, params: SettleParams, state: State) -> bool:
    """Note which arm is the answer, and who needs to be measured no longer; whether there is an answer."""
    own, arms, price = state.own, state.pulls.shape[0], params.use_costs
    chosen = -1
    for arm in range(arms):
        own.marks[arm] = 1 if is_outdone(state, _BETTER, arm) else 0
        own.sides[arm] = 2 if is_outdone(state, _FAR, arm) else 0
    for arm in range(arms):
        if is_good(problem, params, state, arm) and (chosen < 0 or price[arm] < price[chosen]):
            chosen = arm
    for arm in range(arms):
        # Who may be the best stays, since others are compared with it.
        replaced = chosen >= 0 and price[chosen] <= price[arm] and own.marks[arm] == 1
        if own.sides[arm] == 2 or replaced:
            drop(state, arm)
    if chosen < 0:
        return False
    own.sides[chosen] = 1
    done = True
    for arm in range(arms):
        done = done and (price[arm] >= price[chosen] or own.sides[arm] == 2)
    return done


@kernel
def closest_to_first(params: SettleParams, state: State, arm: int) -> int:
    """The arm by which an arm is settled soonest: who has the highest mean of the others."""
    found = -1
    for other in range(state.pulls.shape[0]):
        if other == arm or state.own.beaten[other] == 1 or state.own.gone[other] == 1:
            continue
        if found < 0 or state.own.scores[other] > state.own.scores[found]:
            found = other
    return found
