"""The rewards of many rows at once, as whoever opens a study enters them: in the order of asking, to the last bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from mfbandit.core import PULLS, Floats, Ints, State, compiled_or_plain, derive, tally_all
from mfbandit.errors import StorageError
from mfbandit.storage import Record
from mfbandit.study._settings import Settings
from mfbandit.study.state._planner import Planner

__all__ = ["cells_of", "costs_of", "enter_costs", "observe_streams", "rewards_in_order"]

#: From so many rewards on it pays to load compiled code where streams are entered one by one.
_MANY_OF_STREAMS = 1_000_000


class Planned(Protocol):
    """A study, as far as its rows are concerned."""

    settings: Settings
    planner: Planner


def rewards_in_order(results: Sequence[Record], rows: Ints, awaited: Ints) -> Floats:
    """The rewards of all pulls that are awaited, in the order of asking; rows have as many."""
    pulls = np.array([record[1] for record in results], dtype=np.int64)
    rewards = np.array([record[2] for record in results], dtype=np.float64)
    order = np.argsort(pulls, kind="stable")
    if int(rows[:, 2].sum()) != awaited.size or not np.array_equal(pulls[order], awaited):
        raise StorageError("the log does not hold exactly one result for every pull before the last round")
    in_order: Floats = rewards[order]
    return in_order


def enter_costs(state: State, rows: Ints, costs: Floats) -> None:
    """Enter how many pulls rows have, and what they cost."""
    state.clock[PULLS] += int(rows[:, 2].sum())
    state.spent[0] = _running(state.spent[0], rows[:, 2] * costs)[-1]


def costs_of(study_state: Planned, rows: Ints) -> Floats:
    """What a pull of each row costs."""
    costs: Floats = study_state.settings.seen.costs[rows[:, 0], rows[:, 1]]
    return costs


def cells_of(study_state: Planned, rows: Ints) -> Ints:
    """Where the statistics of the arm and the fidelity of each row are."""
    problem, planner = study_state.settings.problem, study_state.planner
    arms, columns = np.full(problem.n_arms, -1), np.full(problem.n_fidelities, -1)
    arms[planner.arms] = np.arange(len(planner.arms))
    columns[planner.columns] = np.arange(len(planner.columns))
    cells: Ints = np.stack([arms[rows[:, 0]], columns[rows[:, 1]]], axis=1)
    if (cells < 0).any():
        raise StorageError("the log holds results of an arm or a fidelity that was not in play")
    return cells


def observe_streams(state: State, cells: Ints, rewards: Floats) -> None:
    """Enter many rewards in the order of asking, stream by stream; each has the cell of its statistics."""
    arms, columns = state.pulls.shape
    streams = cells[:, 0] * columns + cells[:, 1]
    order = np.argsort(streams, kind="stable")
    ends = np.cumsum(np.bincount(streams, minlength=arms * columns)).tolist()
    rewards, start = rewards[order], 0
    enter = compiled_or_plain(tally_all) if rewards.size > _MANY_OF_STREAMS else tally_all
    for stream, end in enumerate(ends):
        if end > start:
            enter(state, stream // columns, stream % columns, rewards[start:end])
            derive(state, stream // columns, stream % columns)
        start = end


def _running(start: float, terms: Any) -> Any:
    """All partial sums from `start` on, added one after the other (`sum` would add in pairs)."""
    return np.add.accumulate(np.concatenate(([start], terms)))
