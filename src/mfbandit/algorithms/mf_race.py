"""mf-race: all arms that are left go from block to block together, and whoever is shown not to be the best leaves.

For problems with blocks. Arms are compared on the same blocks, so what a block does to all of them cancels. The
race is run in one lane after the other, from cheap to expensive. In a lane, every block is opened with
a declared leader, and all arms left are measured on it. An arm leaves a lane when the next ones are worth more for
their price; it does not come back. The truest lane comes last, and ends with the exact answer where the blocks
are a finite set.

What it stops by is in `race_bets` for rewards with a range and in `race_sums` for normal ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from mfbandit.algorithms.policy import Policy
from mfbandit.algorithms.race_bets import look_bets, near_bets, seat_bets
from mfbandit.algorithms.race_memory import RaceMemory, RaceParams, gap_bound, seat
from mfbandit.algorithms.race_sums import look_sums, near_sums, seat_sums
from mfbandit.blocks import is_led, open_block
from mfbandit.confidence.race_rules import blocks_at_least, lane_shares, weights
from mfbandit.core import STUDENT, Algorithm, Arrays, Goal, Ints, State
from mfbandit.kernel import bind, kernel, slot

__all__ = ["TRIED", "MFRace"]

#: Nobody leads for the first blocks, on which whoever seems best changes too often.
_FIRST = 2
#: So many more blocks than are open are opened at once, as a part of them.
_GROWTH = 0.02
#: A lane is tried if a pull costs at most this part of one in the truest lane: trying it then costs next to nothing.
TRIED = 0.05
#: Nobody leaves it before that much of a pull in the truest lane is spent.
_PATIENCE = 0.25


@slot
def look(problem: Arrays, params: RaceParams, state: State, lane: int) -> None:
    """Look at all evidence in a lane that is new, and note who is beaten."""


@slot
def near(problem: Arrays, params: RaceParams, state: State, lane: int, answer: int, arm: int) -> bool:
    """Whether the answer was shown to be within epsilon of an arm."""


@slot
def settle_in(state: State, lane: int, place: int) -> None:
    """Start the processes of a new comparator."""


@kernel
def lane_mean(problem: Arrays, state: State, arm: int, lane: int) -> float:
    """The mean reward of an arm in a lane; with a range, cells that could not be had count as the low end."""
    counted = state.pulls[arm, lane]
    if problem.kind == 3:
        counted -= state.blocks.missing[arm, lane]
    return float(state.sums[arm, lane] / max(1, counted))


@kernel
def racing(state: State, arm: int) -> bool:
    """Whether an arm is still in the lane that is raced in."""
    return bool(state.own.beaten[arm] == 0 and state.own.gone[arm] == 0)


@kernel
def first_of(problem: Arrays, state: State, lane: int, but: int) -> int:
    """The arm with the highest mean of those racing in a lane, but one; of equal ones who led last. -1 if none is."""
    found, best = -1, 0.0
    opened = state.blocks.opened[lane]
    before = state.blocks.declared[lane, opened - 1, 0] if opened > 0 else -1
    for arm in range(state.pulls.shape[0]):
        if arm == but or not racing(state, arm) or state.pulls[arm, lane] == 0:
            continue
        mean = lane_mean(problem, state, arm, lane)
        if found < 0 or mean > best or (mean == best and arm == before):
            found, best = arm, mean
    return found


@kernel
def recommend(problem: Arrays, params: RaceParams, state: State) -> int:
    """The arm with the highest mean of those not beaten, in the truest lane if there is any reward."""
    found, best = -1, 0.0
    lane = problem.truest if state.blocks.opened[problem.truest] > 0 else problem.order[state.own.lane[0]]
    for arm in range(state.pulls.shape[0]):
        if state.own.beaten[arm] == 1:
            continue
        # A round that is not over has arms without any reward, which no sum of 0 may put first.
        mean = lane_mean(problem, state, arm, lane) if state.pulls[arm, lane] > 0 else -math.inf
        if found < 0 or mean > best:
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
    telling = problem.kind == 3 or gap_bound(problem, lane, 0, arms - 1) < 1.0
    cheap = price + opening[lane] <= params.tried * (truest + opening[problem.truest])
    return bool(telling and cheap)


@kernel
def worth(difference: float, spread: float) -> float:
    """Evidence that a block may bring, in nats."""
    if difference <= 0.0:
        return 0.0
    return 0.5 * math.log1p(difference * difference / max(spread * spread, 1e-300))


@kernel
def is_done_here(problem: Arrays, state: State, lane: int, leader: int, arm: int) -> bool:
    """Whether the truest lane is worth more for an arm than this one, by what its blocks so far say."""
    n = min(state.pulls[leader, lane], state.pulls[arm, lane])
    halted = problem.kind == 3 and (state.blocks.missing[leader, lane] > 0 or state.blocks.missing[arm, lane] > 0)
    if halted:
        # Normal differences are looked at up to a cell that could not be had, and no farther.
        return True
    if n * problem.cost[arm, lane] < _PATIENCE * problem.cost[arm, problem.truest]:
        return False
    total = squares = 0.0
    for i in range(n):
        gained = state.blocks.rewards[lane, leader, i] - state.blocks.rewards[lane, arm, i]
        if gained == gained:
            total += gained
            squares += gained * gained
    mean = total / n
    variance = max(0.0, squares / n - mean * mean)
    if problem.kind != 3:
        # A few blocks on which all is equal do not mean that there is no spread.
        variance += 0.25 / n
    spread = math.sqrt(variance)
    hoped = mean - gap_bound(problem, lane, leader, arm) + spread / math.sqrt(n)
    here = worth(hoped, spread)
    there = worth(abs(mean), spread)
    return bool(here * problem.cost[arm, problem.truest] <= there * problem.cost[arm, lane])


@kernel
def left_in(state: State) -> int:
    """How many arms race in the lane."""
    count = 0
    for arm in range(state.pulls.shape[0]):
        if racing(state, arm):
            count += 1
    return count


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
            leader = first_of(problem, state, lane, -1)
            for arm in range(state.pulls.shape[0]):
                if arm != leader and racing(state, arm) and is_done_here(problem, state, lane, leader, arm):
                    own.gone[arm] = 1
            stays = left_in(state) > 1 and opened != problem.blocks.size
        if stays:
            return int(lane)
        own.lane[0] += 1
        for arm in range(state.pulls.shape[0]):
            own.gone[arm] = 0


@kernel
def all_near(problem: Arrays, params: RaceParams, state: State) -> bool:
    """Whether the answer was shown to be within epsilon of every arm left."""
    answer = recommend(problem, params, state)
    for arm in range(state.pulls.shape[0]):
        if arm == answer or state.own.beaten[arm] == 1:
            continue
        shown = False
        for lane in range(problem.cost.shape[1]):
            if not shown and near(problem, params, state, lane, answer, arm):
                shown = True
        if not shown:
            return False
    return True


@kernel
def is_stuck(problem: Arrays, params: RaceParams, state: State, lane: int) -> bool:
    """Whether no two arms left can be compared any more: normal differences end where a cell could not be had."""
    if problem.kind != 3 or lane != problem.truest or params.leader_weight > 0.0:
        return False
    comparable = 0
    for arm in range(state.pulls.shape[0]):
        if state.own.beaten[arm] == 0 and state.blocks.missing[arm, lane] == 0:
            comparable += 1
    return comparable < 2


@kernel
def declare(problem: Arrays, params: RaceParams, state: State, lane: int, blocks: int) -> None:
    """Open blocks of a lane, with whoever leads it and comes second so far."""
    own, opened = state.own, state.blocks.opened[lane]
    leader = runner_up = -1
    if params.led and opened >= _FIRST:
        leader = first_of(problem, state, lane, -1)
        runner_up = first_of(problem, state, lane, leader)
        if own.first_led[lane, leader] == 0:
            own.first_led[lane, leader] = opened + 1
            own.leaders[lane] += 1
            own.led_as[lane, leader] = own.leaders[lane]
    for _ in range(blocks):
        open_block(state.blocks, lane, leader, runner_up)


@kernel
def enough(problem: Arrays, state: State, lane: int, wanted: int) -> int:
    """How many blocks to open next: a few at first, on which nobody can be beaten, then about one in fifty."""
    opened = state.blocks.opened[lane]
    more = _FIRST if opened == 0 else max(1, int(_GROWTH * opened))
    return int(min(max(more, wanted), state.blocks.rewards.shape[2] - opened))


@kernel
def plan(problem: Arrays, params: RaceParams, state: State, out: Ints) -> int:
    """Measure all arms left on the next blocks."""
    arms = state.pulls.shape[0]
    lane = problem.order[state.own.lane[0]]
    if state.blocks.opened[lane] > 0:
        place = seat(state, lane, first_of(problem, state, lane, -1))
        if place < 0:
            settle_in(state, lane, -1 - place)
        look(problem, params, state, lane)
    alive = 0
    for arm in range(arms):
        if state.own.beaten[arm] == 0:
            alive += 1
    if alive <= 1 or (params.epsilon > 0.0 and all_near(problem, params, state)):
        return 0
    lane = leave_lane(problem, params, state)
    blocks = enough(problem, state, lane, params.batch)
    if blocks == 0 or is_stuck(problem, params, state, lane):
        return 0
    declare(problem, params, state, lane, blocks)
    leader = max(0, first_of(problem, state, lane, -1))
    rows = 0
    for step in range(arms):
        arm = (leader + step) % arms
        if racing(state, arm):
            out[rows, 0], out[rows, 1], out[rows, 2] = arm, lane, blocks
            rows += 1
    return rows


@dataclass(frozen=True)
class MFRace(Policy):
    """Race on shared blocks; the default for problems that have them.

    Parameters
    ----------
    batch : int
        The least number of blocks that are opened at once.

    Examples
    --------
    >>> import mfbandit as mf
    >>> mf.policy("mf-race:batch=4")
    MFRace(fidelities='all', batch=4, independent=False)
    """

    guarantee: ClassVar[bool] = True
    on_blocks: ClassVar[bool] = True
    summary: ClassVar[str] = "Race on shared blocks"

    @property
    def name(self) -> str:
        """The registered name."""
        return "mf-race"

    def algorithm(self, problem: Arrays, goal: Goal, unit: Callable[[float], float]) -> Algorithm:
        """Make the kernels and parameters for one problem."""
        arms, lanes = problem.cost.shape
        normal = problem.kind == STUDENT
        given = weights(arms, normal, is_led(problem))
        params = RaceParams(
            log_level=-math.log(goal.delta),
            epsilon=float(goal.epsilon),
            shares=lane_shares(lanes, problem.truest),
            leader_weight=given.leader,
            pair_weight=given.pair,
            led=is_led(problem),
            at_least=blocks_at_least(problem.blocks.caution),
            batch=self.batch,
            tried=TRIED,
        )
        parts = (look_sums, near_sums, seat_sums) if normal else (look_bets, near_bets, seat_bets)
        return Algorithm(
            plan=bind(plan, look=parts[0], near=parts[1], settle_in=parts[2]),
            recommend=recommend,
            params=params,
            rows=arms,
            memory=RaceMemory,
            evidence="blocks",
        )
