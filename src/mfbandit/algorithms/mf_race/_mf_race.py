"""mf-race: all arms that are left go from block to block together, and whoever is shown not to be the best leaves.

For problems with blocks. Arms are compared on the same blocks, so what a block does to all of them cancels. The
race is run in one lane after the other, from cheap to expensive. In a lane, every block is opened with
a declared leader, and all arms left are measured on it, in turn: an arm with evidence against it pauses until the
others have gone some way, so the answer before the end rests on more blocks of the few that may be it. The truest
lane comes last, and ends with the exact answer where the blocks are a finite set.

What it stops by is in `race_bets` for rewards with a range and in `race_sums` for normal ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from mfbandit.algorithms._policy import Policy
from mfbandit.algorithms.mf_race._race_answer import recommend
from mfbandit.algorithms.mf_race._race_bets import look_bets, near_bets, start_bets
from mfbandit.algorithms.mf_race._race_early import at_once, farther, fewest, first_blocks, is_out_of_reach, note_behind
from mfbandit.algorithms.mf_race._race_lanes import (
    TRIED,
    first_of,
    leave_lane,
    most_planned,
    planned,
    racing,
)
from mfbandit.algorithms.mf_race._race_memory import RaceMemory, RaceParams, comparator_slot
from mfbandit.algorithms.mf_race._race_sums import any_since_joined, look_sums, near_sums, start_sums
from mfbandit.algorithms.settle import settling_algorithm
from mfbandit.confidence.race import blocks_at_least, lane_shares, weights
from mfbandit.core import (
    STUDENT,
    WAIT,
    Ahead,
    Algorithm,
    Arrays,
    Goal,
    InFlight,
    Ints,
    State,
    any_out,
    bind,
    block_room,
    is_led,
    kernel,
    open_block,
    slot,
)
from mfbandit.errors import PolicyError
from mfbandit.model import BetterThan, Problem

__all__ = ["MFRace"]

#: Nobody leads for the first blocks, on which whoever seems best changes too often.
_FIRST = 2
#: So many more blocks than are open are opened at once, as a part of them.
_GROWTH = 0.02
#: An arm that pauses goes on when others were measured on so many times its blocks.
_FARTHER = 8
#: Who no longer pauses catches up by so many blocks at once, as a part of those it has.
_CATCH_UP = 0.3


@slot
def look(problem: Arrays, params: RaceParams, state: State, lane: int) -> None:
    """Look at all evidence in a lane that is new, and note who is beaten."""


@slot
def near(problem: Arrays, params: RaceParams, state: State, lane: int, answer: int, arm: int) -> bool:
    """Whether the answer was shown to be within epsilon of an arm."""


@slot
def start_comparator(state: State, lane: int, place: int) -> None:
    """Start the processes of a new comparator."""


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
    if problem.reward_code != 3 or lane != problem.truest or params.leader_weight > 0.0:
        return False
    comparable = 0
    for arm in range(state.pulls.shape[0]):
        if state.own.beaten[arm] == 0 and state.blocks.missing[arm, lane] == 0:
            comparable += 1
    return comparable < 2 and not any_since_joined(state, lane)


@kernel
def declare(problem: Arrays, params: RaceParams, state: State, lane: int, blocks: int) -> None:
    """Open blocks of a lane, with whoever leads it and comes second so far."""
    own, opened = state.own, state.blocks.opened[lane]
    leader = runner_up = -1
    if params.led and opened >= _FIRST:
        leader = first_of(problem, state, lane, -1)
        runner_up = first_of(problem, state, lane, leader) if leader >= 0 else -1
        if leader >= 0 and own.first_led[lane, leader] == 0:
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
    return int(min(max(more, wanted), block_room(state.blocks) - opened))


@kernel
def rivals_going(state: State, leader: int) -> int:
    """How many rivals of the leader race and do not pause."""
    going = 0
    for arm in range(state.pulls.shape[0]):
        if arm != leader and racing(state, arm) and state.own.paused[arm] == 0:
            going += 1
    return going


@kernel
def note_flying(state: State, flying: InFlight) -> None:
    """Note which pulls are out. They are on blocks that are open, so that nothing need be expected of them."""
    for arm in range(state.pulls.shape[0]):
        for lane in range(state.pulls.shape[1]):
            state.own.flying[arm, lane] = flying.pulls[arm, lane]


@kernel
def any_behind(state: State, lane: int) -> bool:
    """Whether pulls are out, and somebody who does not pause is still to be measured on blocks where others are."""
    most = most_planned(state, lane)
    if not any_out(state.own.flying):
        return False
    for arm in range(state.pulls.shape[0]):
        if racing(state, arm) and state.own.paused[arm] == 0 and planned(state, arm, lane) < most:
            return True
    return False


@kernel
def all_caught_up(state: State, lane: int) -> bool:
    """Whether all who race were measured on all blocks that are open."""
    for arm in range(state.pulls.shape[0]):
        if racing(state, arm) and planned(state, arm, lane) < state.blocks.opened[lane]:
            return False
    return True


@kernel
def next_blocks(params: RaceParams, state: State, lane: int, arm: int, others_first: bool) -> int:
    """On how many blocks to measure an arm next; none if it pauses and others go first."""
    n, opened = planned(state, arm, lane), state.blocks.opened[lane]
    paused = state.own.paused[arm] == 1
    if paused and others_first and n * _FARTHER > opened:
        return 0
    most = max(params.batch, 1 if paused else _FIRST, int((_GROWTH if paused else _CATCH_UP) * n))
    return int(min(opened - n, most))


@kernel
def early_rows(problem: Arrays, params: RaceParams, state: State, lane: int, out: Ints) -> int:
    """Measure whoever matters most for the answer so far."""
    arms, rows = state.pulls.shape[0], 0
    upto = fewest(state, lane)
    leader = max(0, first_of(problem, state, lane, -1))
    if farther(state, lane, leader) <= upto:
        declare(problem, params, state, lane, enough(problem, state, lane, at_once(state, lane, leader, params.batch)))
    for each in range(arms):
        arm = (leader + each) % arms
        if not racing(state, arm):
            continue
        blocks = state.blocks.opened[lane] - planned(state, arm, lane)
        if arm != leader:
            blocks = min(blocks, at_once(state, lane, arm, params.batch)) if farther(state, lane, arm) <= upto else 0
        if blocks > 0:
            out[rows, 0], out[rows, 1], out[rows, 2] = arm, lane, blocks
            rows += 1
    return rows if rows > 0 or not any_out(state.own.flying) else WAIT


@kernel
def plan(problem: Arrays, params: RaceParams, state: State, out: Ints) -> int:
    """Measure the arms left on the next blocks, those that pause later than others."""
    arms = state.pulls.shape[0]
    lane = problem.order[state.own.lane[0]]
    comparator = first_of(problem, state, lane, -1) if state.blocks.opened[lane] > 0 else -1
    if comparator >= 0:
        place = comparator_slot(state, lane, comparator)
        if place < 0:
            start_comparator(state, lane, -1 - place)
        look(problem, params, state, lane)
    alive = 0
    for arm in range(arms):
        if state.own.beaten[arm] == 0:
            alive += 1
    if alive <= 1 or (params.epsilon > 0.0 and all_near(problem, params, state)):
        return 0
    lane = leave_lane(problem, params, state)
    if is_stuck(problem, params, state, lane):
        return 0
    if params.early or params.limit < math.inf:
        note_behind(problem, params, state, lane)
    if params.early or is_out_of_reach(problem, params, state, lane):
        return early_rows(problem, params, state, lane, out)
    leader = max(0, first_of(problem, state, lane, -1))
    going = rivals_going(state, leader) > 0
    if (going or all_caught_up(state, lane)) and not any_behind(state, lane):
        blocks = enough(problem, state, lane, params.batch)
        if blocks == 0 and problem.blocks.size == 0:
            return 0
        declare(problem, params, state, lane, blocks)
        going = going and blocks > 0
    rows = 0
    for step in range(arms):
        arm = (leader + step) % arms
        if not racing(state, arm):
            continue
        blocks = next_blocks(params, state, lane, arm, going)
        if arm == leader:
            blocks = state.blocks.opened[lane] - planned(state, arm, lane)
        if blocks > 0:
            out[rows, 0], out[rows, 1], out[rows, 2] = arm, lane, blocks
            rows += 1
    return rows if rows > 0 or not any_out(state.own.flying) else WAIT


@dataclass(frozen=True)
class MFRace(Policy):
    """Race on shared blocks; the default for problems that have them.

    Parameters
    ----------
    batch : int
        The least number of blocks that are opened at once.
    pauses : bool
        Whether arms with evidence against them are measured later than others, for a better answer before the
        certificate. Without it, all arms left are measured on every block that is opened.
    early : bool
        Whether to measure for a good answer before the certificate all the time, at the price of a certificate that
        costs some percent more. Without it, that is done while the certificate is out of reach of `max_cost`. Races
        with normal differences have no use for it: their arms go from block to block together.

    Examples
    --------
    >>> import mfbandit as mf
    >>> mf.policy("mf-race:batch=4")
    MFRace(fidelities='all', batch=4, independent=False, pauses=True, early=False)
    """

    pauses: bool = True
    early: bool = False

    guarantee: ClassVar[bool] = True
    on_blocks: ClassVar[bool] = True
    follows_costs: ClassVar[bool] = True
    answers_questions: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the options."""
        super().__post_init__()
        for name in ("pauses", "early"):
            if not isinstance(getattr(self, name), bool):
                raise PolicyError(f"{name} must be True or False, got {getattr(self, name)!r}")

    @property
    def name(self) -> str:
        """The registered name."""
        return "mf-race"

    def check(self, problem: Problem, goal: Goal) -> None:
        """Refuse a problem or a goal that this policy is not made for."""
        super().check(problem, goal)
        if self.early and goal.question is not None:
            raise PolicyError(f"early=True is for the best arm, not for goal={goal.question.name!r}: leave it out")

    def ready(self, problem: Problem, seen: Arrays, goal: Goal) -> Algorithm:
        """Make the algorithm for a problem; other goals than the best arm have one of their own."""
        if goal.question is None:
            return super().ready(problem, seen, goal)
        asked = goal.question
        control = problem.arms.index(asked.control) if isinstance(asked, BetterThan) else -1
        return settling_algorithm(seen, self.in_units(problem, goal), control, self.batch)

    def algorithm(self, problem: Arrays, goal: Goal, unit: Callable[[float], float]) -> Algorithm:
        """Make the kernels and parameters for one problem."""
        arms, lanes = problem.cost.shape
        normal = problem.reward_code == STUDENT
        led = is_led(problem) and not goal.open_arms
        given = weights(arms, normal, led)
        params = RaceParams(
            log_level=-math.log(goal.delta),
            epsilon=float(goal.epsilon),
            shares=lane_shares(lanes, problem.truest),
            leader_weight=given.leader,
            pair_weight=given.pair,
            led=led,
            at_least=blocks_at_least(problem.blocks.caution),
            batch=self.batch,
            pauses=self.pauses,
            early=self.early and not normal,
            limit=math.inf if normal else goal.max_cost,
            first=first_blocks(goal.max_cost, problem.cost[:, problem.truest]),
            # What is spent in a lane is not lost where the truest goes on from there.
            tried=1.0 if problem.blocks.continues else TRIED,
        )
        parts = (look_sums, near_sums, start_sums) if normal else (look_bets, near_bets, start_bets)
        return Algorithm(
            plan=bind(plan, look=parts[0], near=parts[1], start_comparator=parts[2]),
            recommend=recommend,
            params=params,
            rows=arms,
            memory=RaceMemory,
            evidence="blocks",
            # Normal races end after a few blocks, on which plans must not be far ahead.
            ahead=Ahead(prepare=note_flying, on_copy=False, shared=normal),
        )
