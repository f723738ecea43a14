"""Opening a study: its log becomes a course again, without planning anything a second time.

Rounds that are over are folded all at once, with NumPy, in the order of asking. Sums are taken one after
the other as a running study takes them, so the statistics are the same to the last bit.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from mfbandit.core import PULLS, ROUNDS, observe
from mfbandit.errors import StorageError
from mfbandit.storage.records import FAILURE, RESULT, RETRY, ROUND, Log, Record
from mfbandit.study.course import Course
from mfbandit.study.noted import apply_last_notes, read_round
from mfbandit.study.round import Round
from mfbandit.study.settings import Settings

__all__ = ["resume"]


def resume(settings: Settings, log: Log) -> tuple[int, Course]:
    """Read a log: how many records it has, and the course they amount to."""
    with _without_collector():
        length, settled, current = log.past()
        course = Course(settings)
        if settled:
            _settle(course, settled, current[0])
    course.apply([Record(*record) for record in current])
    return length, course


@contextmanager
def _without_collector() -> Iterator[None]:
    """Millions of records make Python's cycle collector search them over and over, in vain."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _settle(course: Course, settled: Sequence[Record], next_round: Record) -> None:
    """Bring a new course to where the records of all finished rounds lead."""
    numbers = [record[1] for record in settled if record[0] == ROUND]
    bodies = _read_rounds([record[3] for record in settled if record[0] == ROUND])
    _retire(course, settled, numbers, bodies)
    asked = next_round.pull
    start = 0
    if "state" in read_round(next_round.text):
        # The next record brings all statistics with it.
        start = len(bodies)
    else:
        for place in range(len(bodies) - 1, -1, -1):
            if "state" in bodies[place]:
                course.round = Round(numbers[place], (), False)
                course.enter(bodies[place])
                start = place
                break
        _fold(course, settled, bodies[start:], numbers[start], asked)
        apply_last_notes(course.state, [body for body in bodies[start:] if "state" not in body])
    course.rounds = len(bodies)
    course.round = Round(asked, (), False)


def _read_rounds(texts: list[Any]) -> list[dict[str, Any]]:
    """Read the records of many rounds at once."""
    try:
        return json.loads(f"[{','.join(texts)}]")  # type: ignore[no-any-return]
    except (ValueError, TypeError):
        return [read_round(text) for text in texts]


def _fold(
    course: Course, settled: Sequence[Record], bodies: list[dict[str, Any]], first: int, asked: int
) -> None:
    """Enter the results of finished rounds into the statistics."""
    rows = np.array([row for body in bodies for row in body["rows"]], dtype=np.int64).reshape(-1, 3)
    results = [record for record in settled if record[0] == RESULT and record[1] >= first]
    pulls = np.array([record[1] for record in results], dtype=np.int64)
    rewards = np.array([record[2] for record in results], dtype=np.float64)
    order = np.argsort(pulls, kind="stable")
    counts = rows[:, 2]
    if int(counts.sum()) != asked - first or not np.array_equal(pulls[order], np.arange(first, asked)):
        raise StorageError("the log does not hold exactly one result for every pull before the last round")
    units = course.settings.problem.reward.to_unit(rewards[order])
    streams = np.repeat(rows[:, 0] * course.settings.problem.n_fidelities + rows[:, 1], counts)
    for (arm, fidelity), cell in course.lineup.cells.items():
        mine = units[streams == arm * course.settings.problem.n_fidelities + fidelity]
        if mine.size:
            _observe_all(course, cell, mine)
    costs = course.settings.problem.costs[rows[:, 0], rows[:, 1]]
    state = course.state
    state.clock[PULLS] += asked - first
    state.clock[ROUNDS] += len(bodies)
    state.spent[0] = _running(state.spent[0], counts * costs)[-1]


def _observe_all(course: Course, cell: tuple[int, int], rewards: Any) -> None:
    """Enter many rewards of one arm at one fidelity, with the arithmetic of `mfbandit.core.tally`."""
    state = course.state
    n, most = int(state.pulls[cell]), rewards[:-1]
    totals = _running(state.sums[cell], most)
    surprise = most - (0.5 + totals[:-1]) / (np.arange(n, n + most.size) + 1)
    state.pulls[cell] = n + most.size
    state.sums[cell] = totals[-1]
    state.squares[cell] = _running(state.squares[cell], most * most)[-1]
    state.deviations[cell] = _running(state.deviations[cell], surprise * surprise)[-1]
    # The last one enters as in a running study, which also brings up to date what is derived from these.
    observe(state, cell[0], cell[1], float(rewards[-1]))


def _running(start: float, terms: Any) -> Any:
    """All partial sums from `start` on, added one after the other (`sum` would add in pairs)."""
    return np.add.accumulate(np.concatenate(([start], terms)))


def _retire(
    course: Course, settled: Sequence[Record], numbers: list[int], bodies: list[dict[str, Any]]
) -> None:
    """Find the arms that were given up in finished rounds."""
    if course.settings.on_failure != "retire":
        return
    for record in settled:
        if record[0] not in (FAILURE, RETRY):
            continue
        if record[0] == RETRY:
            course.retry(record[1])
            continue
        place = int(np.searchsorted(numbers, record[1], side="right")) - 1
        course.round = Round(numbers[place], course.listed(bodies[place]["rows"]), False)
        course.failure(record[1], record[3] or "")
    course.failures.clear()
    course.round = Round(0, (), False)
