"""The lanes of a race: who races in one, who leads it, and when an arm leaves it for a more expensive one.

The race is run in one lane after the other, from cheap to expensive. An arm leaves a lane when the truest is worth
more for its price, and does not come back.
"""

from __future__ import annotations

import math

from mfbandit.algorithms.mf_race._race_memory import RaceParams, gap_bound
from mfbandit.confidence.race import STUDENT_LED
from mfbandit.core import Arrays, State, kernel, reward_at

__all__ = [
    "TRIED",
    "first_of",
    "lane_mean",
    "leader_at_first",
    "leave_lane",
    "mean_on_first",
    "most_planned",
    "planned",
    "racing",
    "worth",
]

#: A lane is tried if a pull costs at most this part of one in the truest lane: trying it then costs next to nothing.
TRIED = 0.05
#: Nobody leaves it before that much of a pull in the truest lane is spent.
_PATIENCE = 0.25
#: Among more arms than the first, whoever led a lane leads the next one on its first blocks, fewer than the second.
_LED_FROM, _AT_FIRST = STUDENT_LED, 12


@kernel
def lane_mean(problem: Arrays, state: State, arm: int, lane: int) -> float:
    """The mean reward of an arm in a lane; with a range, cells that could not be had count as the low end."""
    counted = state.pulls[arm, lane]
    if problem.reward_code == 3:
        counted -= state.blocks.missing[arm, lane]
    return float(state.sums[arm, lane] / max(1, counted))


@kernel
def racing(state: State, arm: int) -> bool:
    """Whether an arm is still in the lane that is raced in."""
    return bool(state.own.beaten[arm] == 0 and state.own.gone[arm] == 0)


@kernel
def planned(state: State, arm: int, lane: int) -> int:
    """On how many blocks of a lane an arm was measured or is being measured."""
    return int(state.pulls[arm, lane] + state.own.flying[arm, lane])


@kernel
def most_planned(state: State, lane: int) -> int:
    """On how many blocks of a lane those racing were measured, or are, who come farthest."""
    most = 1
    for arm in range(state.pulls.shape[0]):
        if racing(state, arm):
            most = max(most, planned(state, arm, lane))
    return int(most)


@kernel
def common_blocks(state: State, lane: int, most: int) -> int:
    """On how many blocks of a lane all were measured who race and come as far as `most`."""
    common = most
    for arm in range(state.pulls.shape[0]):
        if racing(state, arm) and planned(state, arm, lane) >= most:
            common = min(common, state.pulls[arm, lane])
    return int(common)


@kernel
def mean_on_first(problem: Arrays, state: State, arm: int, lane: int, blocks: int) -> float:
    """The mean reward of an arm on the first blocks of a lane, as `lane_mean` has it on all."""
    n = state.pulls[arm, lane]
    if n == blocks:
        return lane_mean(problem, state, arm, lane)
    total, missing = float(state.sums[arm, lane]), state.blocks.missing[arm, lane]
    for position in range(blocks, n):
        reward = reward_at(state.blocks, lane, arm, position)
        if reward == reward:
            total -= reward
        else:
            missing -= 1
    return total / max(1, blocks - missing if problem.reward_code == 3 else blocks)


@kernel
def leader_at_first(problem: Arrays, state: State, lane: int) -> int:
    """Who leads a lane on its first blocks, among many arms with normal rewards: who led the lane before; -1 if nobody.

    On few blocks somebody else is ahead by chance after each of them, and every new leader's process weighs less.
    """
    opened, place = state.blocks.opened[lane], state.own.lane[0] - 1
    few = problem.reward_code == 3 and state.pulls.shape[0] > _LED_FROM and opened < _AT_FIRST
    if not few or place < 0 or problem.order[place + 1] != lane:
        return -1
    cheaper = problem.order[place]
    blocks = state.blocks.opened[cheaper]
    led = state.blocks.declared[cheaper, blocks - 1, 0] if blocks > 0 else -1
    behind = led < 0 or not racing(state, led) or planned(state, led, lane) < most_planned(state, lane)
    return -1 if behind or state.pulls[led, lane] == 0 else int(led)


@kernel
def first_of(problem: Arrays, state: State, lane: int, but: int) -> int:
    """The arm that leads a lane, but one; -1 if nobody does.

    It has the highest mean of those racing that were measured on most blocks, of equal ones who led last. While pulls
    are out, the blocks count on which all of these were measured. Whoever pauses leads only if all others pause, too.
    """
    if but < 0:
        led = leader_at_first(problem, state, lane)
        if led >= 0:
            return led
    most = most_planned(state, lane)
    found, best, blocks = -1, 0.0, common_blocks(state, lane, most)
    opened = state.blocks.opened[lane]
    before = state.blocks.declared[lane, opened - 1, 0] if opened > 0 else -1
    for arm in range(state.pulls.shape[0]):
        if arm == but or not racing(state, arm) or planned(state, arm, lane) < most or blocks == 0:
            continue
        mean = mean_on_first(problem, state, arm, lane, blocks)
        ahead = mean > best or (mean == best and arm == before)
        if found >= 0 and state.own.paused[found] != state.own.paused[arm]:
            ahead = state.own.paused[arm] == 0
        if found < 0 or ahead:
            found, best = arm, mean
    return found


@kernel
def is_tried(problem: Arrays, params: RaceParams, lane: int) -> bool:
    """Whether a lane is worth a try before the truest."""
    arms = problem.cost.shape[0]
    price = truest = 0.0
    for arm in range(arms):
        price += problem.cost[arm, lane]
        truest += problem.cost[arm, problem.truest]
    opening = problem.blocks.opening
    telling = problem.reward_code == 3 or gap_bound(problem, lane, 0, arms - 1) < 1.0
    # A twentieth is one for any number of arms, however their prices add up in floats.
    cheap = price + opening[lane] <= params.tried * (truest + opening[problem.truest]) * (1.0 + 1e-9)
    return bool(telling and cheap)


@kernel
def worth(difference: float, spread: float) -> float:
    """Evidence that a block may bring, in nats."""
    if difference <= 0.0:
        return 0.0
    return 0.5 * math.log1p(difference * difference / max(spread * spread, 1e-300))


@kernel
def left_in(state: State) -> int:
    """How many arms race in the lane."""
    count = 0
    for arm in range(state.pulls.shape[0]):
        if racing(state, arm):
            count += 1
    return count


@kernel
def cell_price(problem: Arrays, arm: int, lane: int, racing_arms: int) -> float:
    """What an arm's next cell in a lane costs, with its part of what it costs to open the block."""
    return float(problem.cost[arm, lane] + problem.blocks.opening[lane] / racing_arms)


@kernel
def is_done_here(problem: Arrays, state: State, lane: int, leader: int, arm: int, racing_arms: int) -> bool:
    """Whether the truest lane is worth more for an arm than this one, by what its blocks so far say."""
    n = min(state.pulls[leader, lane], state.pulls[arm, lane])
    halted = problem.reward_code == 3 and (
        state.blocks.missing[leader, lane] > 0 or state.blocks.missing[arm, lane] > 0
    )
    if halted:
        # Normal differences are looked at up to a cell that could not be had, and no farther.
        return True
    price = cell_price(problem, arm, lane, racing_arms)
    truest = cell_price(problem, arm, problem.truest, racing_arms)
    if n * price < _PATIENCE * truest:
        return False
    total = squares = 0.0
    for i in range(n):
        gained = reward_at(state.blocks, lane, leader, i) - reward_at(state.blocks, lane, arm, i)
        if gained == gained:
            total += gained
            squares += gained * gained
    mean = total / n
    variance = max(0.0, squares / n - mean * mean)
    if problem.reward_code != 3:
        # A few blocks on which all is equal do not mean that there is no spread.
        variance += 0.25 / n
    spread = math.sqrt(variance)
    hoped = mean - gap_bound(problem, lane, leader, arm) + spread / math.sqrt(n)
    here = worth(hoped, spread)
    there = worth(abs(mean), spread)
    return bool(here * truest <= there * price)


@kernel
def leave_lane(problem: Arrays, params: RaceParams, state: State) -> int:
    """Go on to the next lane while nobody has a reason to be in this one; the lane to race in."""
    own = state.own
    while True:
        lane = problem.order[own.lane[0]]
        if lane == problem.truest:
            return int(lane)
        opened = state.blocks.opened[lane]
        stays = is_tried(problem, params, lane)
        if stays and opened > 0:
            leader, left = first_of(problem, state, lane, -1), left_in(state)
            for arm in range(state.pulls.shape[0]):
                rival = leader >= 0 and arm != leader and racing(state, arm)
                if rival and is_done_here(problem, state, lane, leader, arm, left):
                    own.gone[arm] = 1
            stays = left_in(state) > 1 and opened != problem.blocks.size
        if stays:
            return int(lane)
        own.lane[0] += 1
        for arm in range(state.pulls.shape[0]):
            own.gone[arm] = 0
            own.paused[arm] = 0
