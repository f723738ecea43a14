"""The race of `mf-toptwo`: who is in it, who leads, and which rivals are closest to the leader."""

from __future__ import annotations

import math

from mfbandit.algorithms.toptwo import (
    CENTRE,
    DUE,
    GAIN,
    INDEX,
    LEADER_GAIN,
    NOISE,
    PER_ARM,
    RESPITE,
    SPENT,
    VALUE,
    WEIGHT,
    TopTwoParams,
)
from mfbandit.algorithms.toptwo_memory import (
    PER_ROW,
    ROW_ARM,
    ROW_INDEX,
    quiet_at,
    race_at,
    rows_at,
    rows_for,
)
from mfbandit.core import Arrays, State
from mfbandit.kernel import kernel

__all__ = ["caution", "challengers", "give_second_chance", "lead", "line_up", "out_of_race", "racers", "resting"]

#: Beaten arms return when the cost has grown by this factor since the race last changed.
_PATIENCE = 4.0
#: An arm that returns is pulled until this part of an equal share of the cost was spent on it.
_SHARE = 1.0 / 16.0
#: A pair whose index is further than this from the least does not count in full when the leader's turn comes.
_NEARBY = 3.0
#: Estimated evidence counts for this many times the threshold at most: a rival that is not beaten yet has less.
_MOST = 2.0
#: Information per cost below which a pull tells nothing.
_TINY = 1e-100
#: The index of a challenger that has returned and is still to be pulled: before all others.
_FIRST = -1e300


@kernel
def out_of_race(params: TopTwoParams, state: State, arm: int, leader: int) -> bool:
    """Whether an arm needs no more comparison with the leader.

    "Beaten within epsilon" is not transitive: with epsilon > 0 only the leader's own victories count.
    """
    return state.notes[arm] == leader + 1 or (params.epsilon == 0.0 and state.notes[arm] > 0)


@kernel
def line_up(problem: Arrays, state: State) -> None:
    """Put all arms into the race."""
    at = race_at(problem)
    state.memory[at] = float(problem.cost.shape[0])
    for k in range(problem.cost.shape[0]):
        state.memory[at + 1 + k] = float(k)


@kernel
def racers(problem: Arrays, state: State) -> int:
    """How many arms are in the race."""
    return int(state.memory[race_at(problem)])


@kernel
def resting(state: State, arm: int) -> bool:
    """Whether an arm has returned to the race and cannot be beaten before it was pulled more."""
    return bool(state.memory[arm * PER_ARM + SPENT] < state.memory[arm * PER_ARM + RESPITE])


@kernel
def give_second_chance(problem: Arrays, params: TopTwoParams, state: State) -> bool:
    """Put beaten arms back into the race if nobody was beaten while the cost grew fourfold.

    With probability delta the best arm was beaten wrongly; if the others tie, the race would then never
    end. Returning is always safe: a wrong answer still needs that the best arm was beaten once. The rewards
    that beat an arm would beat it again, so it first gets new ones at the truest fidelity, until a small part
    of an equal share of all that was spent is spent on it. Most arms have had that much before.
    """
    quiet = quiet_at(problem)
    if params.epsilon > 0.0 or not 0.0 < _PATIENCE * state.memory[quiet] <= state.spent[0]:
        return False
    state.memory[quiet] = state.spent[0]
    for k in range(problem.cost.shape[0]):
        if state.notes[k] > 0:
            state.notes[k] = 0
            state.memory[k * PER_ARM + RESPITE] = _SHARE * state.spent[0] / problem.cost.shape[0]
        state.memory[k * PER_ARM + DUE] = 0.0
    line_up(problem, state)
    return True


@kernel
def caution(rivals: int) -> float:
    """By how many of its standard errors an estimate is lowered before it is compared with so many others.

    The largest of very many estimates is large by luck; that of a few is taken as it is.
    """
    return math.sqrt(2.0 * math.log(float(rows_for(rivals))))


@kernel
def lead(problem: Arrays, params: TopTwoParams, state: State) -> int:
    """The arm with the largest estimated truth, with caution, among those not beaten; these stay in the race."""
    at = race_at(problem)
    before = racers(problem, state)
    errors = caution(before - 1)
    left, leader, best = 0, 0, -math.inf
    for place in range(before):
        k = int(state.memory[at + 1 + place])
        if params.epsilon > 0.0 or state.notes[k] == 0:
            left += 1
            state.memory[at + left] = float(k)
            centre = state.memory[k * PER_ARM + CENTRE] - errors * state.memory[k * PER_ARM + NOISE]
            if centre > best:
                leader, best = k, centre
    state.memory[at] = float(left)
    return leader


@kernel
def keep_closest(problem: Arrays, state: State, kept: int, most: int, arm: int, index: float) -> int:
    """Add a rival to the `most` ones with the least index, a heap whose largest is on top; returns its size."""
    start = rows_at(problem)
    if kept == most:
        if index >= state.memory[start + ROW_INDEX]:
            return kept
        # In place of the largest: move larger ones up until it fits.
        place = 0
        while 2 * place + 1 < kept:
            child = 2 * place + 1
            larger = state.memory[start + PER_ROW * child + ROW_INDEX]
            if child + 1 < kept and state.memory[start + PER_ROW * (child + 1) + ROW_INDEX] > larger:
                child += 1
                larger = state.memory[start + PER_ROW * child + ROW_INDEX]
            if larger <= index:
                break
            move_row(state, start + PER_ROW * child, start + PER_ROW * place)
            place = child
    else:
        place = kept
        kept += 1
        while place > 0 and state.memory[start + PER_ROW * ((place - 1) // 2) + ROW_INDEX] < index:
            move_row(state, start + PER_ROW * ((place - 1) // 2), start + PER_ROW * place)
            place = (place - 1) // 2
    state.memory[start + PER_ROW * place + ROW_ARM] = float(arm)
    state.memory[start + PER_ROW * place + ROW_INDEX] = index
    return kept


@kernel
def move_row(state: State, source: int, target: int) -> None:
    """Move an entry of the heap."""
    state.memory[target + ROW_ARM] = state.memory[source + ROW_ARM]
    state.memory[target + ROW_INDEX] = state.memory[source + ROW_INDEX]


@kernel
def challengers(problem: Arrays, params: TopTwoParams, state: State, leader: int) -> tuple[int, int, float]:
    """Note the rivals that are closest to the leader as rows of a round.

    Returned: how many there are, the closest (-1 if no rival is left), and the leader's shares in the best
    ways to raise the evidence against each rival, summed over all that look worse than the leader (a pair
    far from the closest counts little: a former leader that ties needs no more of this one). A rival
    that looks better, by too little to lead, is the closer the better it looks, and to be pulled itself: the
    sum is 0 if such a rival, or one that has returned, is the closest.
    """
    at = race_at(problem)
    left = racers(problem, state)
    most = rows_for(left - 1)
    centre, noise = state.memory[leader * PER_ARM + CENTRE], state.memory[leader * PER_ARM + NOISE]
    kept, closest, least, balance = 0, -1, math.inf, 0.0
    for place in range(left):
        b = int(state.memory[at + 1 + place])
        if b != leader and not out_of_race(params, state, b, leader):
            mine = b * PER_ARM
            value = min(state.memory[mine + VALUE], _MOST * params.threshold)
            index = value + params.spread * math.log(state.memory[mine + SPENT])
            ahead = state.memory[mine + CENTRE] - centre
            if ahead > 0.0:
                index -= 0.5 * ahead * ahead / (noise * noise + state.memory[mine + NOISE] ** 2)
            if resting(state, b):
                index = _FIRST
            state.memory[mine + INDEX] = index
            if index < least:
                closest, least = b, index
            kept = keep_closest(problem, state, kept, most, b, index)
    for place in range(left):
        b = int(state.memory[at + 1 + place])
        mine = b * PER_ARM
        weight = 0.0
        if b != leader and not out_of_race(params, state, b, leader) and state.memory[mine + CENTRE] <= centre:
            weight = math.exp(min(0.0, least + _NEARBY - state.memory[mine + INDEX]))
            weight /= max(_TINY, state.memory[mine + GAIN])
            balance += weight * max(_TINY, state.memory[mine + LEADER_GAIN])
        state.memory[mine + WEIGHT] = weight
    if closest >= 0 and (least == _FIRST or state.memory[closest * PER_ARM + CENTRE] > centre):
        balance = 0.0
    return kept, closest, balance
