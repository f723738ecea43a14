"""The evidence of a race on normal rewards of unknown variance, block by block: see docs/certificates.md.

Every comparator has a process against each other arm over all blocks, and one over the blocks from the first for
which it was declared leader. Each has a threshold of its own: Student's evidence must not be averaged. Of an arm that
joined later, only the blocks count that were opened since then.

While pulls are out, an arm may be beaten, or leave a lane, before all its results are in. No block is judged before all
results on it are in, theirs too: they are part of what guards the others, and a certificate counts them.
"""

from __future__ import annotations

import math

from mfbandit.algorithms.mf_race._race_lanes import racing
from mfbandit.algorithms.mf_race._race_memory import RaceParams, beat, gap_bound
from mfbandit.confidence.race import BLOCKS_WITHOUT_NOISE, LEAST_SQUARES, ascending, at_most, log_student, lower_median
from mfbandit.core import Arrays, State, kernel, reward_at

__all__ = ["any_since_joined", "look_sums", "near_sums", "start_sums"]

#: After so many rewards that are all 0 or 1 nothing is concluded: they are not normal.
_MANY = 20
#: What rounding makes of equal rewards is less than this part of the largest difference.
_NOISE = 1e-9
_SLACK = 1e-9
_WITHOUT_NOISE = BLOCKS_WITHOUT_NOISE
_LEAST_SQUARES = LEAST_SQUARES


@kernel
def start_sums(state: State, lane: int, place: int) -> None:
    """Start the sums of a new comparator.

    Blocks are compared again beside, so that each is judged by the least difference up to there.
    """
    memory = state.own.sums
    memory.least[lane] = 0.0
    memory.largest[lane] = 0.0
    memory.compared[lane] = 0
    memory.upto[lane, place] = 0
    for arm in range(state.pulls.shape[0]):
        memory.sums[lane, place, arm] = 0.0
        memory.squares[lane, place, arm] = 0.0
        memory.early_sums[lane, place, arm] = 0.0
        memory.early_squares[lane, place, arm] = 0.0
        memory.halted[lane, place, arm] = 0
        memory.near[lane, place, arm] = 0


@kernel
def binary(state: State) -> bool:
    """Whether there are many rewards, and all of them 0 or 1."""
    total = 0
    for k in range(state.pulls.shape[0]):
        for m in range(state.pulls.shape[1]):
            if state.sums[k, m] != state.squares[k, m]:
                return False
            total += state.pulls[k, m]
    return total >= _MANY


@kernel
def compare(state: State, lane: int, position: int) -> None:
    """Find the least difference of two arms on a block that is more than what rounding does to equal rewards."""
    memory, size = state.own.sums, 0
    for arm in range(state.pulls.shape[0]):
        if state.own.looked[lane, arm] > position >= state.blocks.joined[lane, arm]:
            reward = reward_at(state.blocks, lane, arm, position)
            if reward == reward:
                memory.sorted[size] = reward
                size += 1
    if size > 1:
        ascending(memory.sorted, size)
        memory.largest[lane] = max(memory.largest[lane], memory.sorted[size - 1] - memory.sorted[0])
        for i in range(1, size):
            step = memory.sorted[i] - memory.sorted[i - 1]
            if step > _NOISE * memory.largest[lane] and (memory.least[lane] == 0.0 or step < memory.least[lane]):
                memory.least[lane] = step
    memory.compared[lane] = position + 1


@kernel
def compared_from(state: State, lane: int, comparator: int, arm: int) -> int:
    """From which block on two arms are compared: one that joined later may have been made to fit those before."""
    return int(max(state.blocks.joined[lane, comparator], state.blocks.joined[lane, arm]))


@kernel
def is_whole_from(state: State, lane: int, arm: int, first: int) -> bool:
    """Whether all cells of an arm could be had from a block on."""
    if state.blocks.missing[arm, lane] == 0:
        return True
    for position in range(first, state.pulls[arm, lane]):
        reward = reward_at(state.blocks, lane, arm, position)
        if reward != reward:
            return False
    return True


@kernel
def any_since_joined(state: State, lane: int) -> bool:
    """Whether an arm that joined later can be compared with another one: what could not be had before is no matter."""
    for arm in range(state.pulls.shape[0]):
        if state.own.beaten[arm] == 1 or state.blocks.joined[lane, arm] == 0:
            continue
        for other in range(state.pulls.shape[0]):
            since = compared_from(state, lane, arm, other)
            if other == arm or state.own.beaten[other] == 1 or not is_whole_from(state, lane, arm, since):
                continue
            if is_whole_from(state, lane, other, since):
                return True
    return False


@kernel
def take_block(state: State, lane: int, place: int, comparator: int, led: bool) -> None:
    """Add the next block to the sums of a comparator; `led` is whether leaders have processes of their own."""
    memory = state.own.sums
    position = memory.upto[lane, place]
    first = state.own.first_led[lane, comparator]
    before_leading = led and (first == 0 or position < first - 1)
    mine = reward_at(state.blocks, lane, comparator, position)
    for arm in range(state.pulls.shape[0]):
        if arm == comparator or state.own.looked[lane, arm] <= position:
            continue
        gained = mine - reward_at(state.blocks, lane, arm, position)
        if gained != gained:
            memory.halted[lane, place, arm] = position + 1
            continue
        memory.sums[lane, place, arm] += gained
        memory.squares[lane, place, arm] += gained * gained
        if before_leading or position < compared_from(state, lane, comparator, arm):
            memory.early_sums[lane, place, arm] += gained
            memory.early_squares[lane, place, arm] += gained * gained
    memory.upto[lane, place] = position + 1


@kernel
def typical_spread(state: State, lane: int, place: int, comparator: int) -> float:
    """The median of the standard deviations of the comparator's differences so far."""
    memory, size = state.own.sums, 0
    for arm in range(state.pulls.shape[0]):
        since = compared_from(state, lane, comparator, arm)
        n = min(state.own.looked[lane, arm], memory.upto[lane, place]) - since
        if arm == comparator or n < 2 or memory.halted[lane, place, arm] > 0:
            continue
        total, squares = memory.sums[lane, place, arm], memory.squares[lane, place, arm]
        if since > 0:
            total -= memory.early_sums[lane, place, arm]
            squares -= memory.early_squares[lane, place, arm]
        left = squares - total * total / n
        memory.sorted[size] = math.sqrt(max(0.0, left) / (n - 1))
        size += 1
    return lower_median(memory.sorted, size) if size > 0 else 0.0


@kernel
def shows(n: int, total: float, squares: float, bound: float, margin: float, floor: float, need: float) -> bool:
    """Whether n differences show that their mean is above a bound; `margin` is one bad block that was not seen."""
    gained = total - n * bound - margin
    if gained <= 0.0:
        return False
    spread = squares - 2.0 * bound * total + n * bound * bound + margin * margin + n * floor
    # By Cauchy and Schwarz it is no less than that; rounding can make it so where all differences are nearly the bound.
    spread = max(spread, gained * gained / n)
    if spread <= _LEAST_SQUARES:
        return False
    t = gained / math.sqrt(spread)
    return at_most(n, t) >= need and log_student(n, t) >= need


@kernel
def judge(
    problem: Arrays, params: RaceParams, state: State, lane: int, place: int, comparator: int, is_new: bool
) -> None:
    """Note whom a comparator is within epsilon of after the blocks in its sums, and whom it beats if they are new."""
    memory, own, rules = state.own.sums, state.own, problem.blocks
    n, first = memory.upto[lane, place], own.first_led[lane, comparator]
    step = rules.resolution if rules.resolution > 0.0 else memory.least[lane]
    least = params.at_least if step > 0.0 else max(params.at_least, _WITHOUT_NOISE)
    if n < least:
        return
    margin = 0.0
    if rules.caution > 0.0:
        margin = rules.caution * typical_spread(state, lane, place, comparator)
    floor = step * step / 12.0
    level = params.log_level - math.log(params.shares[lane]) + _SLACK
    pair = level - math.log(params.pair_weight)
    # As a leader, it has a process of its own from the first block that it was declared for.
    later, rank = n - first + 1, own.led_as[lane, comparator]
    led = params.leader_weight > 0.0 and first > 0 and later >= params.at_least
    leading = level - math.log(params.leader_weight / (rank * (rank + 1.0))) if led else 0.0
    for arm in range(state.pulls.shape[0]):
        if arm == comparator or own.beaten[arm] == 1 or own.looked[lane, arm] < n:
            continue
        total, squares = memory.sums[lane, place, arm], memory.squares[lane, place, arm]
        bound, halted = gap_bound(problem, lane, comparator, arm), memory.halted[lane, place, arm]
        within = params.epsilon > 0.0 and memory.near[lane, place, arm] == 0
        beaten = near = False
        since = compared_from(state, lane, comparator, arm)
        if since > 0:
            total -= memory.early_sums[lane, place, arm]
            squares -= memory.early_squares[lane, place, arm]
        if halted <= since and n - since >= least:
            beaten = is_new and shows(n - since, total, squares, bound, margin, floor, pair)
            near = within and shows(n - since, total, squares, bound - params.epsilon, margin, floor, pair)
        if led and halted < first:
            total -= memory.early_sums[lane, place, arm]
            squares -= memory.early_squares[lane, place, arm]
            beaten = beaten or (is_new and shows(later, total, squares, bound, margin, floor, leading))
            near = near or (within and shows(later, total, squares, bound - params.epsilon, margin, floor, leading))
        if beaten:
            beat(state, arm)
        if near:
            memory.near[lane, place, arm] = 1


@kernel
def look_sums(problem: Arrays, params: RaceParams, state: State, lane: int) -> None:
    """Look at all evidence in a lane that is new, and note who is beaten."""
    if binary(state):
        return
    own, measured, known = state.own, state.blocks.opened[lane], 0
    for arm in range(state.pulls.shape[0]):
        known = max(known, own.looked[lane, arm])
        # While pulls are out, arms need not have come equally far, and the last results of who is beaten may be out.
        if racing(state, arm) or own.flying[arm, lane] > 0:
            measured = min(measured, state.pulls[arm, lane])
    for arm in range(state.pulls.shape[0]):
        own.looked[lane, arm] = min(measured, state.pulls[arm, lane])
    for blocks in range(1, measured + 1):
        if blocks > own.sums.compared[lane]:
            compare(state, lane, blocks - 1)
        for place in range(own.held.shape[1]):
            comparator = own.held[lane, place] - 1
            if comparator < 0 or own.looked[lane, comparator] < blocks or own.sums.upto[lane, place] >= blocks:
                continue
            take_block(state, lane, place, comparator, params.led)
            # Who is within epsilon is not kept, and is found again where sums are made again.
            if blocks > known or params.epsilon > 0.0:
                judge(problem, params, state, lane, place, comparator, blocks > known)


@kernel
def near_sums(problem: Arrays, params: RaceParams, state: State, lane: int, answer: int, arm: int) -> bool:
    """Whether the answer was shown to be within epsilon of an arm."""
    own = state.own
    for place in range(own.held.shape[1]):
        if own.held[lane, place] == answer + 1:
            return bool(own.sums.near[lane, place, arm] == 1)
    return False
