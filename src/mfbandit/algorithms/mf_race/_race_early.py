"""The order of a race whose money may end before the certificate: whom to measure for a good answer at any cost.

An arm that is r-th of those left is measured on about a part 1/r of the leader's blocks, like in successive rejects,
which needs to know the budget for that. It is measured on less if it is clearly behind: by the square root of the
likelihood ratio against it, from its differences to the leader. So the next to be measured is whoever has the least
product of blocks, rank and root. None of it bears on what is proven.
"""

from __future__ import annotations

import math

from mfbandit.algorithms.mf_race._race_lanes import first_of, planned, racing, worth
from mfbandit.algorithms.mf_race._race_memory import RaceParams, gap_bound
from mfbandit.confidence.race import ascending
from mfbandit.core import Arrays, Floats, State, kernel

__all__ = ["at_once", "farther", "fewest", "first_blocks", "is_out_of_reach", "note_behind"]

#: Whoever is within that part of the least product is measured in the same round.
_TOGETHER = 0.05
#: So many more blocks than an arm has are measured at once, as a part of them.
_AT_ONCE = 0.05
#: Everybody is measured on so many blocks first; on no fewer than the second number if little may be spent.
_FIRST, _FEWEST = 4, 2
#: Larger likelihood ratios than exp of that are not told apart.
_MOST = 40.0
#: A certificate is out of reach if it will cost so many times what is left: forecasts are rough, and mostly too high.
_BEYOND = 1.5


def first_blocks(limit: float, costs: Floats) -> int:
    """On how many blocks to measure everybody first, where arms cost so much each and so much may be spent.

    With little money it is as many as successive rejects would take in its first phase.

    Examples
    --------
    >>> import numpy as np
    >>> [first_blocks(limit, np.ones(14)) for limit in (30.0, 70.0, 140.0, math.inf)]
    [2, 2, 4, 4]
    """
    harmonic = 0.5 + sum(1.0 / i for i in range(2, costs.size + 1))
    phase = (limit / float(costs.sum()) - 1.0) / harmonic
    return int(math.ceil(min(max(phase, _FEWEST), _FIRST)))


@kernel
def take_differences(state: State, lane: int, leader: int) -> None:
    """Bring the sums of the leader's differences to all arms up to date; for a new leader they are made again."""
    memory, rewards = state.own.early, state.blocks.rewards
    if memory.leader[lane] != leader + 1:
        memory.leader[lane] = leader + 1
        for arm in range(state.pulls.shape[0]):
            memory.upto[lane, arm] = 0
            memory.sums[lane, arm] = 0.0
            memory.squares[lane, arm] = 0.0
    for arm in range(state.pulls.shape[0]):
        if not racing(state, arm):
            continue
        for position in range(memory.upto[lane, arm], min(state.pulls[arm, lane], state.pulls[leader, lane])):
            gained = rewards[lane, leader, position] - rewards[lane, arm, position]
            if gained == gained:
                memory.sums[lane, arm] += gained
                memory.squares[lane, arm] += gained * gained
            memory.upto[lane, arm] = position + 1


@kernel
def better_ones(values: Floats, size: int, value: float) -> int:
    """How many of the first numbers, in order, are below a value."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def spread_of(state: State, lane: int, arm: int) -> float:
    """The standard deviation of an arm's differences to the leader."""
    memory, n = state.own.early, state.own.early.upto[lane, arm]
    mean = memory.sums[lane, arm] / n
    # A few blocks on which all is equal do not mean that there is no spread.
    return math.sqrt(max(0.0, memory.squares[lane, arm] / n - mean * mean) + 0.25 / n)


@kernel
def root_against(problem: Arrays, state: State, lane: int, arm: int) -> float:
    """The root of the likelihood ratio of an arm that is as far behind the leader as it seems, and one that is not."""
    memory, n, left = state.own.early, state.own.early.upto[lane, arm], 1.0
    if n < 2 or memory.sums[lane, arm] <= 0.0:
        return 1.0
    if problem.blocks.size > 0:
        # What is left of a finite set can change the mean by less.
        left -= (n - 1.0) / problem.blocks.size
    evidence = n * worth(memory.sums[lane, arm] / n, math.sqrt(left) * spread_of(state, lane, arm))
    return math.exp(0.5 * min(_MOST, evidence))


@kernel
def note_behind(problem: Arrays, params: RaceParams, state: State, lane: int) -> None:
    """Note how many times as far as each arm others are measured first."""
    memory, size = state.own.early, 0
    leader = first_of(problem, state, lane, -1)
    for arm in range(state.pulls.shape[0]):
        memory.times[arm] = 1.0
    if leader < 0:
        return
    take_differences(state, lane, leader)
    for arm in range(state.pulls.shape[0]):
        if arm != leader and racing(state, arm):
            memory.sorted[size] = memory.sums[lane, arm] / max(1, memory.upto[lane, arm])
            size += 1
    ascending(memory.sorted, size)
    for arm in range(state.pulls.shape[0]):
        if arm != leader and racing(state, arm) and planned(state, arm, lane) >= params.first:
            rank = 1 + better_ones(memory.sorted, size, memory.sums[lane, arm] / max(1, memory.upto[lane, arm]))
            memory.times[arm] = rank * root_against(problem, state, lane, arm)


@kernel
def blocks_to_beat(problem: Arrays, params: RaceParams, state: State, lane: int, arm: int) -> float:
    """After how many blocks the leader will have beaten an arm, if its differences to it stay as they are."""
    memory, n = state.own.early, state.own.early.upto[lane, arm]
    most = float(problem.blocks.size) if problem.blocks.size > 0 else math.inf
    if n < params.first:
        return min(most, float(params.first))
    spread = spread_of(state, lane, arm)
    gained = worth(memory.sums[lane, arm] / n - gap_bound(problem, lane, memory.leader[lane] - 1, arm), spread)
    need = params.log_level - math.log(params.shares[lane] * max(params.leader_weight, params.pair_weight))
    return min(most, need / gained) if gained > 0.0 else most


@kernel
def is_out_of_reach(problem: Arrays, params: RaceParams, state: State, lane: int) -> bool:
    """Whether the certificate will cost more than may be spent, by what differences to the leader say so far."""
    if params.limit == math.inf or state.own.early.leader[lane] == 0:
        return False
    leader = state.own.early.leader[lane] - 1
    total = most = 0.0
    for arm in range(state.pulls.shape[0]):
        if arm != leader and racing(state, arm):
            blocks = blocks_to_beat(problem, params, state, lane, arm)
            total += problem.cost[arm, lane] * max(0.0, blocks - planned(state, arm, lane))
            most = max(most, blocks)
    total += problem.cost[leader, lane] * max(0.0, most - planned(state, leader, lane))
    return bool(total > _BEYOND * (params.limit - state.spent[0]))


@kernel
def farther(state: State, lane: int, arm: int) -> float:
    """How far the others are when it is an arm's turn."""
    return float(planned(state, arm, lane) * state.own.early.times[arm])


@kernel
def fewest(state: State, lane: int) -> float:
    """How far those may be, by `farther`, who are measured next; -1 if all who race are known on all blocks."""
    least, most = math.inf, state.blocks.rewards.shape[2]
    for arm in range(state.pulls.shape[0]):
        if racing(state, arm) and planned(state, arm, lane) < most:
            least = min(least, farther(state, lane, arm))
    return (1.0 + _TOGETHER) * least if least < math.inf else -1.0


@kernel
def at_once(state: State, lane: int, arm: int, batch: int) -> int:
    """On how many more blocks to measure an arm at once."""
    return int(max(batch, 2, int(_AT_ONCE * planned(state, arm, lane))))
