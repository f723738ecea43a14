"""One simulated trial, and many: the loop around `plan` that every simulation runs.

These are kernels like the algorithms themselves, so the same text runs as plain Python, on CPU threads
and on a GPU. A round whose next pull would exceed the limits is cut there. A run that identifies then
ends without an answer; a run that spends a budget plans again, since its plan knows what is left.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from mfbandit.core import PULLS, ROUNDS, Arrays, Floats, Ints, State, afford, settle
from mfbandit.kernel import kernel, product, slot
from mfbandit.rewards import Law, trial_key

__all__ = ["Limits", "play", "play_many"]


class Limits(NamedTuple):
    """Where a run ends, answered or not."""

    cost: float
    pulls: int
    spends: bool
    """Whether the cost limit is a budget to be used up."""
    halt: Ints
    """Set to another number than 0 from outside, it ends all runs at once."""


@slot
def plan(problem: Arrays, params: Any, state: State, out: Ints) -> int:
    """Play one round of an algorithm."""


@slot
def recommend(problem: Arrays, params: Any, state: State) -> int:
    """The arm an algorithm would answer with."""


@slot
def draw(law: Law, key: int, stream: int, arm: int, fidelity: int, n: int) -> float:
    """The n-th reward of a stream."""


@slot
def tally(state: State, arm: int, fidelity: int, reward: float) -> None:
    """Count one reward in the statistics that the algorithm reads."""


# What problems with blocks have otherwise is bound in place of the following: see `mfbandit.block_play`.


@kernel
def begin(problem: Arrays, state: State, key: int) -> None:
    """Prepare a trial."""


@kernel
def block_of(law: Law, state: State, key: int, stream: int, fidelity: int, n: int) -> int:
    """Where the n-th reward of a stream is drawn."""
    return n


@kernel
def price(problem: Arrays, state: State, arm: int, fidelity: int) -> float:
    """What each pull of a row costs."""
    return float(problem.cost[arm, fidelity])


@kernel
def possible(state: State, arm: int, fidelity: int, count: int) -> int:
    """How many of some pulls there is room for."""
    return count


@kernel
def outcome(state: State, ended: bool) -> int:
    """How a trial came to its end: 1 by itself, 0 at a limit."""
    return 1 if ended else 0


@kernel
def pull(
    problem: Arrays, law: Law, state: State, key: int, streams: int, arm: int, fidelity: int, count: int, cost: float
) -> None:
    """Make some pulls of one arm at one fidelity."""
    column = problem.columns[fidelity]
    stream = int(arm) * streams + int(column)
    start = int(state.pulls[arm, fidelity])
    for n in range(start, start + count):
        tally(state, arm, fidelity, draw(law, key, stream, arm, column, block_of(law, state, key, stream, fidelity, n)))
    settle(state, arm, fidelity)
    state.clock[PULLS] += count
    state.spent[0] += product(count, cost)


@kernel
def mark(problem: Arrays, params: Any, state: State, place: int, pulls: Ints, best: Ints) -> None:
    """Note where a run stands when its cost reaches a mark."""
    best[place] = recommend(problem, params, state)
    for k in range(problem.cost.shape[0]):
        for m in range(problem.cost.shape[1]):
            pulls[place, k, problem.columns[m]] = state.pulls[k, m]


@kernel
def play(
    problem: Arrays,
    params: Any,
    law: Law,
    limits: Limits,
    state: State,
    out: Ints,
    key: int,
    streams: int,
    marks: Floats,
    mark_pulls: Ints,
    mark_best: Ints,
    trace: Ints,
) -> bool:
    """Play one trial to its end; tell whether it ended by itself.

    `marks` are costs at which the run is noted in `mark_pulls` and `mark_best`; `trace` receives the
    first rows (arm, fidelity, count) that were played.
    """
    traced, reached, rows = 0, 0, 1
    while limits.halt[0] == 0:
        rows = plan(problem, params, state, out)
        if rows == 0:
            break
        played = 0
        cut = False
        for row in range(rows):
            arm, fidelity, wanted = out[row, 0], out[row, 1], out[row, 2]
            cost = price(problem, state, arm, fidelity)
            paid = min(afford(limits.cost - state.spent[0], cost, wanted), limits.pulls - state.clock[PULLS])
            count = possible(state, arm, fidelity, paid)
            cut = count < wanted
            left = count
            while left > 0:
                due = left
                if reached < marks.shape[0]:
                    due = afford(marks[reached] - state.spent[0], cost, left)
                if due > 0:
                    pull(problem, law, state, key, streams, arm, fidelity, due, cost)
                    left -= due
                if left > 0:
                    mark(problem, params, state, reached, mark_pulls, mark_best)
                    reached += 1
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
        mark(problem, params, state, reached, mark_pulls, mark_best)
        reached += 1
    return rows == 0 or (limits.spends and state.clock[PULLS] < limits.pulls)


@kernel
def reset(state: State, numbers: Floats, wholes: Ints) -> None:
    """Empty a state for the next trial, with the blocks that the algorithm's memory lies in."""
    arms, fidelities = state.pulls.shape
    for k in range(arms):
        state.notes[k] = 0
        for m in range(fidelities):
            state.pulls[k, m] = 0
            state.sums[k, m] = 0.0
            state.roots[k, m] = math.inf
    for k in range(state.carries.shape[0]):
        for m in range(state.carries.shape[1]):
            state.carries[k, m] = 0.0
    for k in range(state.squares.shape[0]):
        for m in range(state.squares.shape[1]):
            state.squares[k, m] = 0.0
            state.deviations[k, m] = 0.0
    for i in range(state.clock.shape[0]):
        state.clock[i] = 0
    for i in range(numbers.shape[0]):
        numbers[i] = 0.0
    for i in range(wholes.shape[0]):
        wholes[i] = 0
    state.spent[0] = 0.0


@kernel
def play_many(
    problem: Arrays,
    params: Any,
    law: Law,
    limits: Limits,
    streams: int,
    rows: int,
    own: Any,
    numbers: Floats,
    wholes: Ints,
    blocks: Any,
    seed: int,
    first: int,
    cost: Floats,
    best: Ints,
    stopped: Ints,
    pulls: Ints,
    marks: Floats,
    mark_pulls: Ints,
    mark_best: Ints,
    trace: Ints,
) -> None:
    """Play the trials `first`, `first` + 1, ... one after the other, one per entry of `cost`.

    `streams` are the fidelities of the user's problem, which number the reward streams; a round has `rows` at
    most; `own` is the algorithm's memory, which lies in two pieces; `blocks` are those of the problem, if it has any.
    """
    # Allocated here, arrays are known to have the same shape, which makes compiled code a few percent faster.
    arms, fidelities = problem.cost.shape
    state = State(
        np.zeros((arms, fidelities), np.int64),
        np.zeros((arms, fidelities), np.float64),
        np.zeros((arms, fidelities), np.float64),
        np.zeros((arms, fidelities), np.float64),
        np.zeros(arms, np.int64),
        np.zeros(2, np.int64),
        np.zeros(1, np.float64),
        own,
        np.zeros((arms, fidelities), np.float64),
        np.zeros((arms, fidelities), np.float64),
        np.full(1, problem.rounder),
        np.zeros((arms, 3 * fidelities), np.float64),
        blocks,
    )
    out = np.zeros((rows, 3), np.int64)
    for i in range(cost.shape[0]):
        key = trial_key(seed, first + i)
        reset(state, numbers, wholes)
        begin(problem, state, key)
        ended = play(
            problem,
            params,
            law,
            limits,
            state,
            out,
            key,
            streams,
            marks,
            mark_pulls[i],
            mark_best[i],
            trace[i],
        )
        cost[i] = state.spent[0]
        best[i] = recommend(problem, params, state)
        stopped[i] = outcome(state, ended)
        for k in range(arms):
            for m in range(fidelities):
                pulls[i, k, problem.columns[m]] = state.pulls[k, m]
