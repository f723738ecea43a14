"""The race of `mf-toptwo`: who is in it, who leads, and which rivals are closest to the leader."""

from __future__ import annotations

import math

from mfbandit.algorithms.mf_toptwo._memory import rows_for
from mfbandit.algorithms.mf_toptwo._tuning import TopTwoParams
from mfbandit.core import Arrays, State, join_threads, kernel, shared_range

__all__ = [
    "challengers",
    "enter_all_arms",
    "is_beaten",
    "needs_fresh_pulls",
    "pick_leader",
    "readmit_beaten_arms",
    "winner_correction",
]

#: Information per cost below which a pull tells nothing.
_TINY = 1e-100
#: The distance of a challenger that has returned and is still to be pulled: before all others.
_FIRST = -1e300


@kernel
def is_beaten(params: TopTwoParams, state: State, arm: int, leader: int) -> bool:
    """Whether an arm needs no more comparison with the leader.

    "Beaten within epsilon" is not transitive: with epsilon > 0 only the leader's own victories count.
    """
    return state.arm_flags[arm] == leader + 1 or (params.epsilon == 0.0 and state.arm_flags[arm] > 0)


@kernel
def enter_all_arms(problem: Arrays, state: State) -> None:
    """Put all arms into the race."""
    state.own.racers[0] = problem.cost.shape[0]
    for k in range(problem.cost.shape[0]):
        state.own.race[k] = k


@kernel
def needs_fresh_pulls(state: State, arm: int) -> bool:
    """Whether an arm has returned to the race and cannot be beaten before it was pulled more."""
    return bool(state.own.spent[arm] < state.own.respite[arm])


@kernel
def readmit_beaten_arms(problem: Arrays, params: TopTwoParams, state: State) -> bool:
    """Put beaten arms back into the race if nobody was beaten while the cost grew fourfold.

    With probability delta the best arm was beaten wrongly; if the others tie, the race would then never
    end. Returning is always safe: a wrong answer still needs that the best arm was beaten once. The rewards
    that beat an arm would beat it again, so it first gets new ones at the truest fidelity, until a small part
    of an equal share of all that was spent is spent on it. Most arms have had that much before.
    """
    quiet = state.own.quiet
    if params.epsilon > 0.0 or not 0.0 < params.patience * quiet[0] <= state.spent[0]:
        return False
    quiet[0] = state.spent[0]
    for k in range(problem.cost.shape[0]):
        if state.arm_flags[k] > 0:
            state.arm_flags[k] = 0
            state.own.respite[k] = params.respite * state.spent[0] / problem.cost.shape[0]
        state.own.due[k] = 0.0
    enter_all_arms(problem, state)
    return True


@kernel
def winner_correction(rivals: int) -> float:
    """By how many of its standard errors an estimate is lowered before it is compared with so many others.

    The largest of very many estimates is large by luck; that of a few is taken as it is.
    """
    return math.sqrt(2.0 * math.log(float(rows_for(rivals))))


@kernel
def pick_leader(problem: Arrays, params: TopTwoParams, state: State) -> int:
    """The arm with the largest estimated truth, with caution, among those not beaten; these stay in the race."""
    own = state.own
    before = own.racers[0]
    errors = winner_correction(before - 1)
    left, leader, best = 0, 0, -math.inf
    for place in range(before):
        k = own.race[place]
        if params.epsilon > 0.0 or state.arm_flags[k] == 0:
            own.race[left] = k
            left += 1
            centre = own.centre[k] - errors * own.noise[k]
            if centre > best:
                leader, best = k, centre
    own.racers[0] = left
    return int(leader)


@kernel
def keep_closest(state: State, kept: int, most: int, arm: int, distance: float) -> int:
    """Add a rival to the `most` ones with the least distance, a heap whose largest is on top; returns its size."""
    distances = state.own.row_distance
    if kept == most:
        if distance >= distances[0]:
            return kept
        # In place of the largest: move larger ones up until it fits.
        place = 0
        while 2 * place + 1 < kept:
            child = 2 * place + 1
            larger = distances[child]
            if child + 1 < kept and distances[child + 1] > larger:
                child += 1
                larger = distances[child]
            if larger <= distance:
                break
            move_row(state, child, place)
            place = child
    else:
        place = kept
        kept += 1
        while place > 0 and distances[(place - 1) // 2] < distance:
            move_row(state, (place - 1) // 2, place)
            place = (place - 1) // 2
    state.own.row_arm[place] = arm
    distances[place] = distance
    return kept


@kernel
def move_row(state: State, source: int, target: int) -> None:
    """Move an entry of the heap."""
    state.own.row_arm[target] = state.own.row_arm[source]
    state.own.row_distance[target] = state.own.row_distance[source]


@kernel
def challengers(problem: Arrays, params: TopTwoParams, state: State, leader: int) -> tuple[int, int, float]:
    """Note the rivals that are closest to the leader as rows of a round.

    Returned: how many there are, the closest (-1 if no rival is left), and the leader's shares in the best
    ways to raise the evidence against each rival, summed over all that look worse than the leader (a pair
    far from the closest counts little: a former leader that ties needs no more of this one). A rival
    that looks better, by too little to lead, is the closer the better it looks, and to be pulled itself: the
    sum is 0 if such a rival, or one that has returned, is the closest.
    """
    own = state.own
    left = own.racers[0]
    most = rows_for(left - 1)
    centre, noise = own.centre[leader], own.noise[leader]
    kept, closest, least, balance = 0, -1, math.inf, 0.0
    for place in shared_range(left):
        b = own.race[place]
        if b != leader and not is_beaten(params, state, b, leader):
            value = min(own.value[b], params.most_value * params.threshold)
            distance = value + params.log_cost_weight * math.log(own.spent[b])
            ahead = own.centre[b] - centre
            if ahead > 0.0:
                distance -= 0.5 * ahead * ahead / (noise * noise + own.noise[b] ** 2)
            if needs_fresh_pulls(state, b):
                distance = _FIRST
            own.distance[b] = distance
    join_threads()
    for place in range(left):
        b = own.race[place]
        if b != leader and not is_beaten(params, state, b, leader):
            if own.distance[b] < least:
                closest, least = b, own.distance[b]
            kept = keep_closest(state, kept, most, b, own.distance[b])
    for place in shared_range(left):
        b = own.race[place]
        weight = 0.0
        if b != leader and not is_beaten(params, state, b, leader) and own.centre[b] <= centre:
            weight = math.exp(min(0.0, least + params.nearby - own.distance[b]))
            weight /= max(_TINY, own.gain[b])
        own.weight[b] = weight
    join_threads()
    for place in range(left):
        b = own.race[place]
        if own.weight[b] > 0.0:
            balance += own.weight[b] * max(_TINY, own.leader_gain[b])
    if closest >= 0 and (least == _FIRST or own.centre[closest] > centre):
        balance = 0.0
    return kept, closest, balance
