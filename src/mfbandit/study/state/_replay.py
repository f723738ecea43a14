"""Opening a study: its log becomes a state again, without planning anything a second time.

Rounds that are over are folded all at once, in the order of asking. Each reward enters as in a running study, so
the statistics are the same to the last bit.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from typing import Any

import numpy as np

from mfbandit.core import (
    PULLS,
    ROUNDS,
    Floats,
    Ints,
    State,
    compiled_or_plain,
    derive,
    kernel,
    observe_block,
    tally_all,
)
from mfbandit.errors import StorageError
from mfbandit.model import Gaussian
from mfbandit.storage import CHANGES, FAILURE, RESULT, RETRY, ROUND, SETTING, Log, Record
from mfbandit.study._settings import Settings, read_changes
from mfbandit.study.state._study_blocks import RaceLog, missing_cells
from mfbandit.study.state._study_state import StudyState
from mfbandit.study.state._wide_state import WideStudyState, study_state_of
from mfbandit.study.state.rounds._round import Round
from mfbandit.study.state.rounds._round_record import (
    apply_latest_diffs,
    check_layout,
    is_checkpoint,
    noted_in,
    read_round,
)
from mfbandit.study.state.rounds._round_rows import read_rows

__all__ = ["replay"]

#: From so many rewards on it pays to load compiled code: on blocks, and where streams are entered one by one.
_MANY, _MANY_OF_STREAMS = 20_000, 1_000_000


def replay(settings: Settings, log: Log) -> tuple[int, StudyState]:
    """Read a log: how many records it has, and the state of the study they amount to."""
    study_state = study_state_of(settings)
    with _without_collector():
        if isinstance(study_state, WideStudyState):
            # Rounds are planned while others are out: leases before the last one count, too.
            records = log.read(0)
            study_state.apply(records)
            return len(records), study_state
        length, settled, current = log.past()
        continues = any(fidelity.continues for fidelity in settings.seen.fidelities)
        if continues or any(map(_tells_costs, settled)):
            # What was expected at any time decided what came next: it is followed step by step.
            study_state.apply([Record(*record) for record in settled])
        elif settled:
            _replay_finished(study_state, settled, current[0])
    study_state.apply([Record(*record) for record in current])
    return length, study_state


def _tells_costs(record: Sequence[Any]) -> bool:
    """Whether a record says what a pull has cost, or another price."""
    kind, _, value, text = record
    if kind == SETTING:
        return "prices" in read_changes(text)
    return bool(kind == RESULT and text is not None) or bool(kind == FAILURE and value)


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


def _replay_finished(study_state: StudyState, settled: Sequence[Record], next_round: Record) -> None:
    """Bring a new state to where the records of all finished rounds lead."""
    rounds = [record for record in settled if record[0] == ROUND]
    numbers = [record[1] for record in rounds]
    texts = [record[3] or "" for record in rounds]
    counted = [record for record in settled if record[0] == RESULT]
    if counted and isinstance(study_state.problem.reward, Gaussian):
        study_state.centre(min(counted, key=itemgetter(1))[2])
    check_layout(study_state.state, read_round(texts[0]))
    _retire(study_state, settled, numbers, texts)
    # The rounds before are read as they were planned; what was changed decides only what comes next.
    changes = [record for record in settled if record[0] == SETTING]
    for record in changes:
        study_state.follow(read_changes(record[3]))
    asked = next_round.pull
    if not is_checkpoint(next_round):
        # Most rounds say only what has changed.
        others = [place for place, record in enumerate(rounds) if record[2] != CHANGES]
        start = max((place for place in others if is_checkpoint(rounds[place])), default=-1)
        if start >= 0:
            study_state.round = Round(numbers[start], (), False)
            body = read_round(texts[start])
            study_state.apply_round_record(body)
            if study_state.ended:  # by a limit that was raised since, or an answer that was not sure enough
                study_state.ended = ""
                study_state.state.clock[ROUNDS] -= bool(body.get("cut", False))
        first = numbers[max(0, start)]
        results = [record for record in counted if record[1] >= first] if first else counted
        results += [Record(RESULT, pull, math.nan) for pull in missing_cells(study_state.settings, settled)]
        left_out = [record[1] for record in changes if record[2] and record[1] >= first]
        awaited = np.setdiff1d(np.arange(first, asked), left_out, assume_unique=True)
        _fold(study_state, results, texts[max(0, start) :], awaited)
        apply_latest_diffs(study_state.state, noted_in(reversed(rounds[start + 1 :])))
    study_state.rounds = len(rounds)
    study_state.round = Round(asked, (), False)


def _fold(study_state: StudyState, results: Sequence[Record], texts: list[str], awaited: Ints) -> None:
    """Enter the results of finished rounds, which has all pulls that are awaited, into the statistics."""
    rows = read_rows(texts)
    pulls = np.array([record[1] for record in results], dtype=np.int64)
    rewards = np.array([record[2] for record in results], dtype=np.float64)
    order = np.argsort(pulls, kind="stable")
    counts = rows[:, 2]
    if int(counts.sum()) != awaited.size or not np.array_equal(pulls[order], awaited):
        raise StorageError("the log does not hold exactly one result for every pull before the last round")
    rewards = rewards[order]
    costs = (
        _costs(study_state, rows) if study_state.race is None else _race(study_state, study_state.race, texts, rewards)
    )
    units = study_state.problem.reward.to_unit(rewards)
    places = _places(study_state, rows)
    state, places = study_state.state, np.repeat(places, counts, axis=0)
    if study_state.race is None:
        _observe_streams(state, places, units)
    else:
        enter = compiled_or_plain(_observe_blocks) if awaited.size > _MANY else _observe_blocks
        enter(state, places, units)
    state.clock[PULLS] += awaited.size
    state.clock[ROUNDS] += len(texts)
    state.spent[0] = _running(state.spent[0], counts * costs)[-1]


def _costs(study_state: StudyState, rows: Ints) -> Floats:
    """What a pull of each row costs."""
    costs: Floats = study_state.settings.seen.costs[rows[:, 0], rows[:, 1]]
    return costs


def _race(study_state: StudyState, race: RaceLog, texts: Sequence[str], rewards: Floats) -> Floats:
    """Enter what the rounds of a race have opened and seen; what a pull of each of their rows costs."""
    book, state, told, first = race.book, study_state.state, rewards.tolist(), 0
    # Where a row begins depends on the pulls before it, which count later, all at once.
    state = state._replace(pulls=state.pulls.copy())
    costs: list[float] = []
    for text in texts:
        body = read_round(text)
        opened = body.get("opened", [])
        state = race.follow(state, opened)
        rows = book.rows_with_starts(study_state.planner, state, body["rows"])
        book.check(rows, body.get("blocks"))
        race.enter(opened, rows)
        state = race.with_rows(state, rows)
        for row in rows:
            state.pulls[row.cell] += row.size
            costs.append(row.cost)
            for reward in told[first : first + row.size]:
                race.count(row, reward)
            first += row.size
    study_state.state = study_state.state._replace(blocks=state.blocks)
    return np.array(costs)


def _places(study_state: StudyState, rows: Ints) -> Ints:
    """Where the statistics of the arm and the fidelity of each row are."""
    problem, planner = study_state.settings.problem, study_state.planner
    arms, columns = np.full(problem.n_arms, -1), np.full(problem.n_fidelities, -1)
    arms[planner.arms] = np.arange(len(planner.arms))
    columns[planner.columns] = np.arange(len(planner.columns))
    places: Ints = np.stack([arms[rows[:, 0]], columns[rows[:, 1]]], axis=1)
    if (places < 0).any():
        raise StorageError("the log holds results of an arm or a fidelity that was not in play")
    return places


def _observe_streams(state: State, places: Ints, rewards: Floats) -> None:
    """Enter many rewards in the order of asking, stream by stream; each has the place of its statistics."""
    arms, columns = state.pulls.shape
    streams = places[:, 0] * columns + places[:, 1]
    order = np.argsort(streams, kind="stable")
    ends = np.cumsum(np.bincount(streams, minlength=arms * columns)).tolist()
    rewards, start = rewards[order], 0
    enter = compiled_or_plain(tally_all) if rewards.size > _MANY_OF_STREAMS else tally_all
    for stream, end in enumerate(ends):
        if end > start:
            enter(state, stream // columns, stream % columns, rewards[start:end])
            derive(state, stream // columns, stream % columns)
        start = end


@kernel
def _observe_blocks(state: State, places: Ints, rewards: Floats) -> None:
    """Enter many rewards of a race on blocks, in the order of asking."""
    for i in range(rewards.shape[0]):
        observe_block(state, places[i, 0], places[i, 1], float(rewards[i]))


def _running(start: float, terms: Any) -> Any:
    """All partial sums from `start` on, added one after the other (`sum` would add in pairs)."""
    return np.add.accumulate(np.concatenate(([start], terms)))


def _retire(study_state: StudyState, settled: Sequence[Record], numbers: list[int], texts: list[str]) -> None:
    """Find the arms that were given up in finished rounds."""
    if study_state.settings.on_failure != "retire":
        return
    for record in settled:
        if record[0] not in (FAILURE, RETRY):
            continue
        if record[0] == RETRY:
            study_state.retry(record[1])
            continue
        place = int(np.searchsorted(numbers, record[1], side="right")) - 1
        study_state.round = Round(numbers[place], study_state.rows_with_starts(read_round(texts[place])["rows"]), False)
        study_state.failure(record[1], record[3] or "")
    study_state.failures.clear()
    study_state.round = Round(0, (), False)
