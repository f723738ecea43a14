"""One simulated trial, and many: the loop around `plan` that every simulation runs.

A round is cut where its next pull would pass a limit: a run that identifies ends there without an answer, one that
spends a budget plans again, since it knows what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mfbandit.core import (
    PULLS,
    ROUNDS,
    Algorithm,
    Arrays,
    Floats,
    Ints,
    State,
    afford,
    by_reference,
    by_value,
    derive,
    keep_alive,
    kernel,
    product,
    reset,
    slot,
    trial_key,
)
from mfbandit.instances import Law

__all__ = [
    "Limits",
    "Noted",
    "Prepared",
    "Results",
    "Room",
    "Row",
    "Setting",
    "begin",
    "note_answer",
    "note_pulls",
    "outcome",
    "plan",
    "play_one",
    "play_row",
    "possible",
    "price",
    "recommend",
    "run_trial",
    "run_trials",
    "snapshot",
]


class Limits(NamedTuple):
    """Where a run ends, answered or not."""

    cost: float
    pulls: int
    spends: bool
    """Whether the cost limit is a budget to be used up."""
    stop_flag: Ints
    """Set to another number than 0 from outside, it ends all runs at once."""


class Setting(NamedTuple):
    """What all trials of a simulation have in common, as kernels see it."""

    problem: Arrays
    params: Any
    """What the algorithm is told: `Algorithm.params`."""
    law: Any
    """What rewards are drawn by: a `Law`, with blocks a `BlockLaw`."""
    limits: Limits
    marks: Floats
    """Costs at which each run is noted."""
    rows: int
    """The most rows that one round can have."""
    seed: int


class Results(NamedTuple):
    """What trials leave behind: arrays with one entry per trial, described in `Runs`."""

    cost: Floats
    best: Ints
    stopped: Ints
    pulls: Ints
    mark_pulls: Ints
    mark_best: Ints
    trace: Ints
    sides: Ints

    def part(self, first: int, last: int) -> Results:
        """The entries of some trials, as views."""
        return Results._make(array[first:last] for array in self)


class Noted(NamedTuple):
    """What one trial leaves behind of its way."""

    pulls: Ints
    """At each mark."""
    best: Ints
    trace: Ints
    """The first rows (arm, fidelity, count)."""


class Row(NamedTuple):
    """Some pulls of one arm at one fidelity."""

    arm: int
    fidelity: int
    size: int
    cost: float
    """Of each pull."""


class Room(NamedTuple):
    """Memory for one trial at a time, beside the statistics."""

    own: Any
    """The algorithm's memory, by name, which lies in the next two."""
    numbers: Floats
    wholes: Ints
    blocks: Any
    """Room for rewards by block, if the problem has blocks."""


@dataclass(frozen=True)
class Prepared:
    """A simulation made ready to be played, on a CPU or a GPU."""

    setting: Setting
    algorithm: Algorithm
    parts: Mapping[str, Callable[..., Any]]
    """What fills the slots below."""
    swaps: Mapping[Callable[..., Any], Callable[..., Any]]
    """What is called in place of other parts below, for problems with blocks."""
    whole_rewards: bool
    """Whether all rewards are 0 or 1."""


@slot
def plan(problem: Arrays, params: Any, state: State, out: Ints) -> int:
    """Play one round of an algorithm."""


@slot
def recommend(problem: Arrays, params: Any, state: State) -> int:
    """The arm an algorithm would answer with."""


@slot
def note_answer(problem: Arrays, params: Any, state: State, sides: Ints) -> None:
    """Say where each arm stands."""


@slot
def draw(law: Law, key: int, stream: int, arm: int, fidelity: int, n: int) -> float:
    """The n-th reward of a stream."""


@slot
def tally(state: State, arm: int, fidelity: int, reward: float) -> None:
    """Count one reward in the statistics that the algorithm reads."""


# What problems with blocks have otherwise is bound in place of the following: see `mfbandit.simulation._block_trials`.


@kernel
def begin(problem: Arrays, state: State, key: int) -> None:
    """Prepare a trial."""


@kernel
def block_of(law: Law, state: State, key: int, stream: int, fidelity: int, n: int) -> int:
    """Where the n-th reward of a stream is drawn."""
    return n


@kernel
def price(problem: Arrays, pulls: Ints, arm: int, fidelity: int) -> float:
    """What each pull of a row costs, after so many pulls of each stream."""
    return float(problem.cost[arm, fidelity])


@kernel
def possible(state: State, pulls: Ints, arm: int, fidelity: int, count: int) -> int:
    """How many of some pulls there is room for, after so many pulls of each stream."""
    return count


@kernel
def outcome(state: State, ended: bool) -> int:
    """How a trial came to its end: 1 by itself, 0 at a limit."""
    return 1 if ended else 0


@kernel
def pull_row(setting: Setting, state: State, key: int, arm: int, fidelity: int, count: int, cost: float) -> None:
    """Make some pulls of one arm at one fidelity."""
    law = setting.law
    column = setting.problem.columns[fidelity]
    stream = int(arm) * law.streams + int(column)
    start = int(state.pulls[arm, fidelity])
    for n in range(start, start + count):
        tally(state, arm, fidelity, draw(law, key, stream, arm, column, block_of(law, state, key, stream, fidelity, n)))
    derive(state, arm, fidelity)
    state.clock[PULLS] += count
    state.spent[0] += product(count, cost)


@kernel
def note_pulls(problem: Arrays, state: State, pulls: Ints) -> None:
    """Note the pulls of each arm at each fidelity of the user's problem."""
    for k in range(problem.cost.shape[0]):
        for m in range(problem.cost.shape[1]):
            pulls[k, problem.columns[m]] = state.pulls[k, m]


@kernel
def snapshot(setting: Setting, state: State, reached: int, noted: Noted) -> None:
    """Note where a run stands when its cost reaches a mark."""
    problem = setting.problem
    noted.best[reached] = recommend(problem, setting.params, state)
    note_pulls(problem, state, noted.pulls[reached])


@kernel
def play_row(setting: Setting, state: State, key: int, row: Row, reached: int, noted: Noted) -> int:
    """Make the pulls of a row, and note where the run stands at every mark on the way; how many are reached then."""
    marks, left = setting.marks, row.size
    while left > 0:
        due = left
        if reached < marks.shape[0]:
            due = afford(marks[reached] - state.spent[0], row.cost, left)
        if due > 0:
            pull_row(setting, state, key, row.arm, row.fidelity, due, row.cost)
            left -= due
        if left > 0:
            snapshot(setting, state, reached, noted)
            reached += 1
    return reached


@kernel
def run_trial(setting: Setting, state: State, out: Ints, key: int, noted: Noted) -> bool:
    """Play one trial to its end, which is noted on its way; tell whether it ended by itself."""
    problem, limits, marks, trace = setting.problem, setting.limits, setting.marks, noted.trace
    traced, reached, rows = 0, 0, 1
    # References of its own, for a plan that is called: nothing else here has to take what it may have changed anew.
    lent_problem, lent_params = by_reference(by_value(problem)), by_reference(by_value(setting.params))
    lent_state = by_reference(by_value(state))
    while limits.stop_flag[0] == 0:
        rows = plan(lent_problem, lent_params, lent_state, out)
        if rows == 0:
            break
        played = 0
        cut = False
        for row in range(rows):
            arm, fidelity, wanted = out[row, 0], out[row, 1], out[row, 2]
            cost = price(problem, state.pulls, arm, fidelity)
            paid = min(afford(limits.cost - state.spent[0], cost, wanted), limits.pulls - state.clock[PULLS])
            count = possible(state, state.pulls, arm, fidelity, paid)
            cut = count < wanted
            reached = play_row(setting, state, key, Row(arm, fidelity, count, cost), reached, noted)
            if traced < trace.shape[0] and count > 0:
                trace[traced, 0] = arm
                trace[traced, 1] = problem.columns[fidelity]
                trace[traced, 2] = count
                traced += 1
            played += count
            if cut:
                break
        state.clock[ROUNDS] += 1
        if cut and (played == 0 or not limits.spends or state.clock[PULLS] >= limits.pulls):
            break
    while reached < marks.shape[0]:
        snapshot(setting, state, reached, noted)
        reached += 1
    return rows == 0 or (limits.spends and state.clock[PULLS] < limits.pulls)


@kernel
def play_one(setting: Setting, state: State, out: Ints, key: int, results: Results, i: int) -> None:
    """Play one trial in an empty state, and keep what it leaves behind as entry i."""
    problem = setting.problem
    begin(problem, state, key)
    # Kernels that see one entry only keep fewer numbers at hand.
    noted = Noted(results.mark_pulls[i], results.mark_best[i], results.trace[i])
    ended = run_trial(setting, state, out, key, noted)
    results.cost[i] = state.spent[0]
    results.best[i] = recommend(problem, setting.params, state)
    note_answer(problem, setting.params, state, results.sides[i])
    results.stopped[i] = outcome(state, ended)
    note_pulls(problem, state, results.pulls[i])


@kernel
def run_trials(setting: Setting, room: Room, first: int, results: Results) -> None:
    """Play the trials `first`, `first` + 1, ... one after the other, one per entry of the results."""
    # Allocated here, arrays are known to have the same shape, which makes compiled code a few percent faster.
    arms, fidelities = setting.problem.cost.shape
    made = State(
        pulls=np.zeros((arms, fidelities), np.int64),
        sums=np.zeros((arms, fidelities), np.float64),
        squares=np.zeros((arms, fidelities), np.float64),
        deviations=np.zeros((arms, fidelities), np.float64),
        arm_flags=np.zeros(arms, np.int64),
        clock=np.zeros(2, np.int64),
        spent=np.zeros(1, np.float64),
        own=by_value(room.own),
        means=np.zeros((arms, fidelities), np.float64),
        inv_sqrt_pulls=np.zeros((arms, fidelities), np.float64),
        grid_rounder=np.full(1, setting.problem.grid_rounder),
        carries=np.zeros((arms, 3 * fidelities), np.float64),
        blocks=by_value(room.blocks),
    )
    state = by_reference(made)
    out = np.zeros((setting.rows, 3), np.int64)
    for i in range(results.cost.shape[0]):
        reset(state, room.numbers, room.wholes)
        play_one(setting, state, out, trial_key(setting.seed, first + i), results, i)
    keep_alive(made)
