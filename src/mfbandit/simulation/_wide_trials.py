"""Trials with several pulls out at once, on a virtual clock.

Which pulls are made depends on rewards in the order of asking alone (`mfbandit.core._ahead`), so that a trial can be
played in that order: pulls are given to workers one after the other, each to the one that is free first, and a round
counts when the last of its pulls, and of those before, has come back. At the end all pulls that were begun are paid.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from mfbandit.core import (
    ROUNDS,
    WAIT,
    Arrays,
    Copy,
    Floats,
    InFlight,
    Ints,
    State,
    afford,
    kernel,
    lag,
    layout,
    new_state,
    normal,
    product,
    slot,
    trial_key,
    uniform,
)
from mfbandit.simulation._trial_loop import (
    Noted,
    Results,
    Row,
    Setting,
    begin,
    note_pulls,
    outcome,
    play_row,
    possible,
    price,
    recommend,
    reset,
    snapshot,
)

__all__ = ["Queue", "Timing", "Workers", "make_trial", "run_wide_trials"]

#: Places in `Queue.at`.
_COUNTED_ROWS, _ROWS, _COUNTED, _ASKED, _REACHED = range(5)
#: Tells the draw of a duration apart from the draws of rewards.
_DURATION = -1_000_003


class Workers(NamedTuple):
    """Who evaluates pulls, and how long that takes."""

    width: int
    """How many pulls may be out at once."""
    most: Ints
    """How many of them at each fidelity of the user's problem, (M,)."""
    mean: Floats
    """What a pull takes on average at each of these, (M,)."""
    spread: float
    """The standard deviation of the logarithm of what a pull takes."""
    row_limit: int
    """A row of a plan has at most so many pulls."""
    held: int
    """There is room for so many pulls that have not counted yet."""


class Timing(NamedTuple):
    """When trials ended, and how long their workers were busy until then: arrays with one entry per trial."""

    time: Floats
    busy: Floats

    def part(self, first: int, last: int) -> Timing:
        """The entries of some trials, as views."""
        return Timing(self.time[first:last], self.busy[first:last])


class Queue(NamedTuple):
    """The rows that were planned and have not counted yet, and when each of their pulls begins and ends: rings."""

    arm: Ints
    fidelity: Ints
    size: Ints
    marked: Ints
    last: Ints
    """Whether a row is the last of its round."""
    cost: Floats
    start: Floats
    finish: Floats
    at: Ints
    """How many rows have counted, rows were planned, pulls have counted, pulls were planned, marks were reached."""
    now: Floats
    """When the last of all pulls that have counted came back, and how long workers were busy with them."""
    free: Floats
    """When each worker is free, (W,)."""
    slots: Floats
    """When each place at a fidelity is free, (M, W)."""


@slot
def take_marked(state: State, arm: int, fidelity: int, pulls: float, sums: float, squares: float) -> None:
    """Enter marked rewards."""


@slot
def look_ahead(problem: Arrays, params: Any, state: State, copied: Copy, flying: InFlight, out: Ints) -> int:
    """Plan with pulls out: `plan_on_copy` or `plan_in_place`."""


class Trial(NamedTuple):
    """All that a trial works with."""

    state: State
    copied: Copy
    queue: Queue
    flying: InFlight
    planned: Ints
    """Pulls that have counted and those that are out, (K, M)."""
    out: Ints
    """Rows of a plan, (rows, 4): arm, fidelity, count, whether marked."""


@kernel
def duration(workers: Workers, key: int, number: int, column: int) -> float:
    """How long a pull takes."""
    mean, spread = float(workers.mean[column]), workers.spread
    if spread == 0.0:
        return mean
    return mean * math.exp(spread * normal(uniform(key, _DURATION, number, 0)) - 0.5 * spread * spread)


@kernel
def employ(workers: Workers, queue: Queue, now: float, column: int, lasts: float) -> float:
    """Give a pull to a worker, from `now` on; returns when it begins."""
    slots, first = queue.slots[column], 0
    for i in range(1, workers.most[column]):
        if slots[i] < slots[first]:
            first = i
    at = max(now, slots[first])
    # Whoever is free just before that, so that others who are free earlier can begin something else.
    chosen = 0
    for i in range(1, workers.width):
        free, so_far = queue.free[i], queue.free[chosen]
        if (free <= at and (so_far > at or free > so_far)) or (free > at and free < so_far):
            chosen = i
    at = max(at, queue.free[chosen])
    queue.free[chosen] = slots[first] = at + lasts
    return float(at)


@kernel
def count_row(setting: Setting, state: State, queue: Queue, flying: InFlight, key: int, noted: Noted) -> bool:
    """Let the first row count that is out; tell whether it was the last of its round."""
    at, i = queue.at, queue.at[_COUNTED_ROWS] % queue.arm.shape[0]
    arm, fidelity, count = int(queue.arm[i]), int(queue.fidelity[i]), int(queue.size[i])
    n, total, squared = state.pulls[arm, fidelity], state.sums[arm, fidelity], state.squares[arm, fidelity]
    at[_REACHED] = play_row(setting, state, key, Row(arm, fidelity, count, queue.cost[i]), at[_REACHED], noted)
    flying.pulls[arm, fidelity] -= count
    if queue.marked[i] == 1:
        flying.marked[arm, fidelity] -= count
        more, gained = float(state.pulls[arm, fidelity] - n), state.sums[arm, fidelity] - total
        take_marked(state, arm, fidelity, more, gained, state.squares[arm, fidelity] - squared)
    for number in range(at[_COUNTED], at[_COUNTED] + count):
        start, finish = queue.start[number % queue.start.shape[0]], queue.finish[number % queue.start.shape[0]]
        queue.now[0] = max(queue.now[0], finish)
        queue.now[1] += finish - start
    at[_COUNTED] += count
    at[_COUNTED_ROWS] += 1
    return bool(queue.last[i] == 1)


@kernel
def count_round(setting: Setting, state: State, queue: Queue, flying: InFlight, key: int, noted: Noted) -> None:
    """Let the first round count that is out."""
    while not count_row(setting, state, queue, flying, key, noted):
        pass
    state.clock[ROUNDS] += 1


@kernel
def size_of_round(queue: Queue) -> int:
    """How many pulls the first round has that is out; 0 if none is."""
    pulls, row = 0, queue.at[_COUNTED_ROWS]
    while row < queue.at[_ROWS]:
        i = row % queue.arm.shape[0]
        pulls += queue.size[i]
        if queue.last[i] == 1:
            return int(pulls)
        row += 1
    return int(pulls)


@kernel
def ask(setting: Setting, workers: Workers, queue: Queue, flying: InFlight, key: int, row: Row) -> None:
    """Put a row into the queue, and its pulls on the workers."""
    at, held = queue.at, queue.start.shape[0]
    i, column = at[_ROWS] % queue.arm.shape[0], setting.problem.columns[row.fidelity]
    queue.arm[i] = row.arm
    queue.fidelity[i] = row.fidelity
    queue.size[i] = row.size
    queue.cost[i] = row.cost
    queue.marked[i] = 0
    queue.last[i] = 0
    for number in range(at[_ASKED], at[_ASKED] + row.size):
        lasts = duration(workers, key, number, column)
        began = employ(workers, queue, queue.now[0], column, lasts)
        queue.start[number % held] = began
        queue.finish[number % held] = began + lasts
    flying.pulls[row.arm, row.fidelity] += row.size
    at[_ROWS] += 1
    at[_ASKED] += row.size


@kernel
def pay_begun(queue: Queue, columns: Ints, pulls: Ints, state: State) -> None:
    """Count pulls that were begun and are not needed any more."""
    now, number, held = queue.now[0], queue.at[_COUNTED], queue.start.shape[0]
    for row in range(queue.at[_COUNTED_ROWS], queue.at[_ROWS]):
        i = row % queue.arm.shape[0]
        for _ in range(queue.size[i]):
            start = queue.start[number % held]
            if start < now:
                pulls[queue.arm[i], columns[queue.fidelity[i]]] += 1
                state.spent[0] += queue.cost[i]
                queue.now[1] += min(now, queue.finish[number % held]) - start
            number += 1


@kernel
def run_wide_trial(setting: Setting, workers: Workers, trial: Trial, key: int, noted: Noted) -> bool:
    """Play one trial to its end; tell whether it ended by itself."""
    problem, limits, trace = setting.problem, setting.limits, noted.trace
    state, queue, flying, planned, out = trial.state, trial.queue, trial.flying, trial.planned, trial.out
    at, traced, spent, cut, rows = queue.at, 0, 0.0, False, 1
    while limits.stop_flag[0] == 0:
        size, settled = size_of_round(queue), at[_ASKED] - lag(workers.width, at[_ASKED])
        if size > 0 and (cut or at[_COUNTED] + size <= settled or rows == WAIT):
            count_round(setting, state, queue, flying, key, noted)
            rows = 1
            continue
        if cut:
            break
        rows = look_ahead(problem, setting.params, state, trial.copied, flying, out)
        if rows == 0:
            break
        before = at[_ASKED]
        for row in range(rows):
            arm, fidelity, wanted = out[row, 0], out[row, 1], min(out[row, 2], workers.row_limit)
            cost = price(problem, planned, arm, fidelity)
            paid = min(afford(limits.cost - spent, cost, wanted), limits.pulls - at[_ASKED])
            count = possible(state, planned, arm, fidelity, paid)
            cut = count < wanted
            if count > 0:
                i = at[_ROWS] % queue.arm.shape[0]
                ask(setting, workers, queue, flying, key, Row(arm, fidelity, count, cost))
                queue.marked[i] = out[row, 3]
                flying.marked[arm, fidelity] += count * out[row, 3]
                planned[arm, fidelity] += count
                spent += product(count, cost)
                queue.last[i] = 1 if cut or row == rows - 1 else 0
                if traced < trace.shape[0]:
                    trace[traced, 0] = arm
                    trace[traced, 1] = problem.columns[fidelity]
                    trace[traced, 2] = count
                    traced += 1
            elif row > 0:
                queue.last[(at[_ROWS] - 1) % queue.arm.shape[0]] = 1
            if cut:
                break
        # A run that spends a budget plans again: something cheaper may still be paid for.
        cut = cut and (not limits.spends or at[_ASKED] == before or at[_ASKED] >= limits.pulls)
    while at[_REACHED] < setting.marks.shape[0]:
        snapshot(setting, state, at[_REACHED], noted)
        at[_REACHED] += 1
    return rows == 0 or (limits.spends and at[_ASKED] < limits.pulls)


@kernel
def clear_queue(queue: Queue, flying: InFlight, planned: Ints) -> None:
    """Empty what is out for the next trial."""
    for i in range(queue.at.shape[0]):
        queue.at[i] = 0
    queue.now[0] = 0.0
    queue.now[1] = 0.0
    for i in range(queue.free.shape[0]):
        queue.free[i] = 0.0
    for m in range(queue.slots.shape[0]):
        for i in range(queue.slots.shape[1]):
            queue.slots[m, i] = 0.0
    for k in range(planned.shape[0]):
        for m in range(planned.shape[1]):
            planned[k, m] = 0
            flying.pulls[k, m] = 0
            flying.marked[k, m] = 0


@kernel
def run_wide_trials(
    setting: Setting, workers: Workers, trial: Trial, first: int, results: Results, timing: Timing
) -> None:
    """Play the trials `first`, `first` + 1, ... one after the other, one per entry of the results."""
    problem, state, queue = setting.problem, trial.state, trial.queue
    for i in range(results.cost.shape[0]):
        reset(state, trial.copied.from_numbers, trial.copied.from_wholes)
        clear_queue(queue, trial.flying, trial.planned)
        key = trial_key(setting.seed, first + i)
        begin(problem, state, key)
        noted = Noted(results.mark_pulls[i], results.mark_best[i], results.trace[i])
        ended = run_wide_trial(setting, workers, trial, key, noted)
        results.best[i] = recommend(problem, setting.params, state)
        results.stopped[i] = outcome(state, ended)
        note_pulls(problem, state, results.pulls[i])
        pay_begun(queue, problem.columns, results.pulls[i], state)
        results.cost[i] = state.spent[0]
        timing.time[i] = queue.now[0]
        timing.busy[i] = queue.now[1]


def make_trial(setting: Setting, workers: Workers, memory: type, blocks: Any) -> Trial:
    """Room for one trial at a time; `blocks` is room for rewards by block, if the problem has blocks."""
    laid, shape = layout(memory, setting.problem), setting.problem.cost.shape
    rooms = [laid.blocks(), laid.blocks()]
    states = [new_state(setting.problem)._replace(own=laid.of(*room), blocks=blocks) for room in rooms]
    held, columns = workers.held, len(workers.most)
    queue = Queue(
        arm=np.zeros(held, dtype=np.int64),
        fidelity=np.zeros(held, dtype=np.int64),
        size=np.zeros(held, dtype=np.int64),
        marked=np.zeros(held, dtype=np.int64),
        last=np.zeros(held, dtype=np.int64),
        cost=np.zeros(held),
        start=np.zeros(held),
        finish=np.zeros(held),
        at=np.zeros(_REACHED + 1, dtype=np.int64),
        now=np.zeros(2),
        free=np.zeros(workers.width),
        slots=np.zeros((columns, workers.width)),
    )
    tables = [np.zeros(shape, dtype=np.int64) for _ in range(3)]
    return Trial(
        state=states[0],
        copied=Copy(states[1], *rooms[1], *rooms[0]),
        queue=queue,
        flying=InFlight(tables[0], tables[1]),
        planned=tables[2],
        out=np.zeros((setting.rows, 4), dtype=np.int64),
    )
