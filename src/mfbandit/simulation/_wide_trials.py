"""Trials with several pulls out at once, on a virtual clock.

Which pulls are made depends on rewards in the order of asking alone (`mfbandit.core._ahead`), so that a trial can be
played in that order: pulls are given to workers one after the other, each to the one that is free first, and a row
counts when the last of its pulls, and of those before, has come back. At the end all pulls that were begun are paid.
"""

from __future__ import annotations

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
    by_reference,
    by_value,
    kernel,
    layout,
    most_lag,
    new_state,
    product,
    reset,
    slot,
    trial_key,
)
from mfbandit.simulation._block_trials import OUT_OF_ROOM
from mfbandit.simulation._trial_loop import (
    Noted,
    Results,
    Row,
    Setting,
    begin,
    note_answer,
    note_pulls,
    outcome,
    play_row,
    possible,
    price,
    recommend,
    snapshot,
)
from mfbandit.simulation._virtual_workers import ANY, Timing, Workers, duration, employ

__all__ = ["Queue", "make_trial", "no_lag", "plan_alone", "run_wide_trials"]

#: Places in `Queue.at`.
_COUNTED_ROWS, _ROWS, _COUNTED, _ASKED, _REACHED = range(5)


class Queue(NamedTuple):
    """The rows that were planned and have not counted yet, and when each of their pulls begins and ends: rings.

    What is still out at the end is paid for if it was begun, which is all that the times of single pulls are for.
    """

    arm: Ints
    fidelity: Ints
    size: Ints
    marked: Ints
    last: Ints
    """Whether a row is the last of its round."""
    cost: Floats
    until: Floats
    """When the last pull of a row comes back."""
    busy: Floats
    """How long workers are busy with a row."""
    start: Floats
    """Of each pull."""
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
def take_marked(state: State, arm: int, fidelity: int, mark: int, pulls: float, sums: float, squares: float) -> None:
    """Enter marked rewards."""


@slot
def plan(problem: Arrays, params: Any, state: State, out: Ints) -> int:
    """Play one round of an algorithm."""


@slot
def lag(width: int, asked: int, sharing: int) -> int:
    """How far plans may be ahead of the pulls that have counted: see `mfbandit.core._lag`."""


@kernel
def no_lag(width: int, asked: int, sharing: int) -> int:
    """Every round counts before the next one is planned."""
    return 0


@kernel
def plan_alone(problem: Arrays, params: Any, state: State, copied: Copy, flying: InFlight, out: Ints) -> int:
    """Plan a round when nothing is out."""
    return int(plan(problem, params, state, out))


@slot
def look_ahead(problem: Arrays, params: Any, state: State, copied: Copy, flying: InFlight, out: Ints) -> int:
    """Plan with pulls out: what `mfbandit.core.plan_ahead` makes, or `plan_alone`."""


class Trial(NamedTuple):
    """All that a trial works with."""

    state: State
    copied: Copy
    queue: Queue
    flying: InFlight
    planned: Ints
    """Pulls that have counted and those that are out, (K, M)."""
    out: Ints
    """Rows of a plan, (rows, 4): arm, fidelity, count, mark."""


@kernel
def count_row(setting: Setting, state: State, queue: Queue, flying: InFlight, key: int, noted: Noted) -> None:
    """Let the first row count that is out."""
    at, i = queue.at, queue.at[_COUNTED_ROWS] % queue.arm.shape[0]
    arm, fidelity, count = int(queue.arm[i]), int(queue.fidelity[i]), int(queue.size[i])
    n, total, squared = state.pulls[arm, fidelity], state.sums[arm, fidelity], state.squares[arm, fidelity]
    at[_REACHED] = play_row(setting, state, key, Row(arm, fidelity, count, queue.cost[i]), at[_REACHED], noted)
    flying.pulls[arm, fidelity] -= count
    mark = queue.marked[i]
    if mark > 0:
        flying.marked[arm, fidelity] -= count * (mark % 2)
        flying.leading[arm, fidelity] -= count * (mark // 2)
        more, gained = float(state.pulls[arm, fidelity] - n), state.sums[arm, fidelity] - total
        take_marked(state, arm, fidelity, mark, more, gained, state.squares[arm, fidelity] - squared)
    queue.now[0] = max(queue.now[0], queue.until[i])
    queue.now[1] += queue.busy[i]
    at[_COUNTED] += count
    at[_COUNTED_ROWS] += 1
    state.clock[ROUNDS] += queue.last[i]


@kernel
def size_of_row(queue: Queue) -> int:
    """How many pulls the first row has that is out; 0 if none is."""
    row = queue.at[_COUNTED_ROWS]
    return int(queue.size[row % queue.arm.shape[0]]) if row < queue.at[_ROWS] else 0


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
    until, busy, slots = 0.0, 0.0, queue.slots[column, : workers.most[column]]
    for number in range(at[_ASKED], at[_ASKED] + row.size):
        lasts = duration(workers, key, number, column)
        began = employ(workers, queue.free, slots, queue.now[0], lasts)
        queue.start[number % held] = began
        queue.finish[number % held] = began + lasts
        until = max(until, began + lasts)
        busy += lasts
    queue.until[i] = until
    queue.busy[i] = busy
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
def run_wide_trial(setting: Setting, workers: Workers, trial: Trial, key: int, noted: Noted) -> int:
    """Play one trial to its end; tell how it came to it."""
    problem, limits, trace = setting.problem, setting.limits, noted.trace
    state, queue, flying, planned, out = trial.state, trial.queue, trial.flying, trial.planned, trial.out
    at, traced, spent, cut, full, rows = queue.at, 0, 0.0, False, False, 1
    # References of its own, for a plan that is called: nothing else here has to take what it may have changed anew.
    lent_problem, lent_params = by_reference(by_value(problem)), by_reference(by_value(setting.params))
    lent_state = by_reference(by_value(state))
    while limits.stop_flag[0] == 0:
        size, settled = size_of_row(queue), at[_ASKED] - lag(workers.width, at[_ASKED], workers.sharing)
        if size > 0 and (cut or at[_COUNTED] + size <= settled or rows == WAIT):
            count_row(setting, state, queue, flying, key, noted)
            rows = 1
            continue
        if cut:
            break
        rows = look_ahead(lent_problem, lent_params, lent_state, trial.copied, flying, out)
        if rows == 0:
            break
        before, rows = at[_ASKED], min(rows, workers.rows_limit)
        for row in range(rows):
            arm, fidelity, wanted = out[row, 0], out[row, 1], min(out[row, 2], workers.row_limit)
            cost = price(problem, planned, arm, fidelity)
            paid = min(afford(limits.cost - spent, cost, wanted), limits.pulls - at[_ASKED])
            count = possible(state, planned, arm, fidelity, paid)
            free = workers.held - (at[_ASKED] - at[_COUNTED])
            if count > free:
                count, full = free, True
            cut = count < wanted
            if count > 0:
                i = at[_ROWS] % queue.arm.shape[0]
                ask(setting, workers, queue, flying, key, Row(arm, fidelity, count, cost))
                queue.marked[i] = out[row, 3]
                flying.marked[arm, fidelity] += count * (out[row, 3] % 2)
                flying.leading[arm, fidelity] += count * (out[row, 3] // 2)
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
        cut = cut and (not limits.spends or full or at[_ASKED] == before or at[_ASKED] >= limits.pulls)
    while at[_REACHED] < setting.marks.shape[0]:
        snapshot(setting, state, at[_REACHED], noted)
        at[_REACHED] += 1
    if full:
        return OUT_OF_ROOM
    return outcome(state, rows == 0 or (limits.spends and at[_ASKED] < limits.pulls))


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
            flying.leading[k, m] = 0


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
        results.stopped[i] = run_wide_trial(setting, workers, trial, key, noted)
        results.best[i] = recommend(problem, setting.params, state)
        note_answer(problem, setting.params, state, results.sides[i])
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
    # Before a round is planned, fewer pulls than the lag are out beside the first round, and each row has one at least.
    most_rows = most_lag(workers.width) + 2 * setting.rows
    # Where every round counts before the next one is planned, there is no limit, and nobody asks for single pulls.
    most_pulls = 1 if workers.held == ANY else workers.held
    arm, fidelity, size, marked, last = np.zeros((5, most_rows), dtype=np.int64)
    cost, until, busy = np.zeros((3, most_rows))
    start, finish = np.zeros((2, most_pulls))
    queue = Queue(
        *(arm, fidelity, size, marked, last),
        *(cost, until, busy),
        *(start, finish),
        at=np.zeros(_REACHED + 1, dtype=np.int64),
        now=np.zeros(2),
        free=np.zeros(workers.width),
        slots=np.zeros((len(workers.most), workers.width)),
    )
    tables = [np.zeros(shape, dtype=np.int64) for _ in range(4)]
    return Trial(
        state=states[0],
        copied=Copy(states[1], *rooms[1], *rooms[0]),
        queue=queue,
        flying=InFlight(tables[0], tables[1], tables[3]),
        planned=tables[2],
        out=np.zeros((setting.rows, 4), dtype=np.int64),
    )
