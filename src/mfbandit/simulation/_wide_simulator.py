"""Simulations with several workers, and with pulls that take their time: on a virtual clock."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mfbandit.core import (
    ROW_LIMIT,
    Ahead,
    Algorithm,
    Floats,
    Ints,
    arms_sharing,
    bind,
    has_blocks,
    lag_kernel,
    most_lag,
    plan_ahead,
    rows_at_once,
)
from mfbandit.simulation._block_trials import room_for_blocks
from mfbandit.simulation._trial_loop import Prepared, Results
from mfbandit.simulation._trials import Advance, Simulation, Simulator, unnoticed
from mfbandit.simulation._virtual_workers import ANY, Durations, Timing, Workers, most_out
from mfbandit.simulation._wide_trials import make_trial, no_lag, plan_alone, run_wide_trials

__all__ = ["TimedResults", "WideSimulator", "simulator_of", "workers_of"]

#: The most pulls of a race that may be out in one thread: with 16 bytes each.
_MOST_HELD = 2**20


class TimedResults(NamedTuple):
    """What trials on a virtual clock leave behind: `Results`, and `Timing`."""

    cost: Floats
    best: Ints
    stopped: Ints
    pulls: Ints
    mark_pulls: Ints
    mark_best: Ints
    trace: Ints
    sides: Ints
    time: Floats
    busy: Floats

    def part(self, first: int, last: int) -> TimedResults:
        """The entries of some trials, as views."""
        return TimedResults._make(array[first:last] for array in self)


def simulator_of(simulation: Simulation, device: str) -> Simulator:
    """What plays a simulation."""
    return (WideSimulator if simulation.on_clock else Simulator)(simulation, device)


def plans_ahead(algorithm: Algorithm, width: int) -> bool:
    """Whether rounds are planned while others are out; a study of this width does the same."""
    return width > 1 and algorithm.ahead is not None


def workers_of(simulation: Simulation, prepared: Prepared) -> Workers:
    """The workers of a simulation, and how many pulls they may be ahead of those that count."""
    problem, width = simulation.instance.problem, simulation.width
    durations = Durations() if simulation.durations is None else simulation.durations
    row_limit = rows_limit = held = ANY
    sharing = 2
    if plans_ahead(prepared.algorithm, width):
        rows, most = prepared.setting.rows, most_lag(width)
        # Before a round is planned, fewer pulls than the lag are out beside the first round.
        if has_blocks(prepared.setting.problem):
            held = most + _MOST_HELD
        else:
            row_limit, held = ROW_LIMIT, most + 2 * rows * ROW_LIMIT
        if prepared.algorithm.ahead is not None:
            rows_limit = rows_at_once(prepared.algorithm.ahead, width, rows)
            sharing = arms_sharing(prepared.algorithm.ahead, problem.n_arms)
    means, limits = durations.means(problem), most_out(problem, width)
    return Workers(width, limits, means, durations.spread, row_limit, rows_limit, sharing, held)


class WideSimulator(Simulator):
    """A simulation on a virtual clock made ready on this machine: plays any piece of its trials."""

    def __init__(self, simulation: Simulation, device: str) -> None:
        super().__init__(simulation, device)
        self.workers = workers_of(simulation, self.prepared)

    def bound(self) -> Any:
        """The text that is played."""
        prepared, algorithm = self.prepared, self.prepared.algorithm
        ahead = algorithm.ahead or Ahead()
        if plans_ahead(algorithm, self.simulation.width):
            look_ahead, lag = plan_ahead(algorithm), lag_kernel(ahead)
        else:
            look_ahead, lag = bind(plan_alone, plan=algorithm.plan), no_lag
        parts: dict[str, Any] = {
            **prepared.parts,
            "look_ahead": look_ahead,
            "lag": lag,
            "take_marked": ahead.take_marked,
        }
        return bind(run_wide_trials, prepared.swaps, **parts)

    def results(self, trials: int) -> Any:
        """Empty arrays for the results of some trials."""
        return TimedResults._make([*super().results(trials), np.zeros(trials), np.zeros(trials)])

    def play(self, first: int, results: Any, advance: Advance = unnoticed) -> None:
        """Play the trials `first`, `first` + 1, ..., one per entry of the results."""
        problem = self.prepared.setting.problem
        # Much room takes time to make, so a thread takes over what another one left.
        if self.rooms:
            trial = self.rooms.pop()
        else:
            blocks = room_for_blocks(problem)
            trial = make_trial(self.prepared.setting, self.workers, self.prepared.algorithm.memory, blocks)
        given = Results(*results[: len(Results._fields)]), Timing(results.time, results.busy)
        self.entry(self.prepared.setting, self.workers, trial, first, *given)
        self.rooms.append(trial)
        advance(len(results.cost), int(results.pulls.sum()))
