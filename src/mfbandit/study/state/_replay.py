"""Opening a study: its log becomes a state again, without planning anything a second time.

Rounds that are over are folded all at once, in the order of asking. Each reward enters as in a running study, so
the statistics are the same to the last bit.
"""

from __future__ import annotations

import gc
import math
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from typing import Any

import numpy as np

from mfbandit._checks import is_whole
from mfbandit.core import (
    ROUNDS,
    Floats,
    Ints,
    State,
    clear_rest,
    compiled_or_plain,
    derive,
    kernel,
    observe_block,
    tally_all,
)
from mfbandit.model import Gaussian
from mfbandit.storage import CHANGES, FAILURE, LEASE, RESULT, RETRY, ROUND, SETTING, Log, Record
from mfbandit.study._settings import Settings, read_changes
from mfbandit.study.state._study_blocks import RaceLog, missing_cells
from mfbandit.study.state._study_state import StudyState
from mfbandit.study.state._wide_state import WideStudyState, study_state_of
from mfbandit.study.state.rounds._many_rows import (
    cells_of,
    costs_of,
    enter_costs,
    observe_streams,
    rewards_in_order,
)
from mfbandit.study.state.rounds._round import Round
from mfbandit.study.state.rounds._round_record import (
    apply_diff,
    apply_latest_diffs,
    check_layout,
    is_checkpoint,
    noted_in,
    read_round,
)
from mfbandit.study.state.rounds._round_rows import read_rows
from mfbandit.study.state.rounds._window import MARKS, Window, read_marks

__all__ = ["replay"]

#: From so many rewards on blocks it pays to load compiled code.
_MANY = 20_000
_MARKS = tuple(f'"{name}":' for name in MARKS)


def replay(settings: Settings, log: Log) -> tuple[int, StudyState]:
    """Read a log: how many records it has, and the state of the study they amount to."""
    study_state = study_state_of(settings)
    with _without_collector():
        if isinstance(study_state, WideStudyState):
            return _replay_wide(study_state, log), study_state
        length, finished, current = log.past()
        continues = any(fidelity.continues for fidelity in settings.seen.fidelities)
        if continues or any(map(_tells_costs, finished)):
            # What was expected at any time decided what came next: it is followed step by step.
            study_state.apply([Record(*record) for record in finished])
        elif finished:
            _replay_finished(study_state, finished, current[0])
    study_state.apply([Record(*record) for record in current])
    return length, study_state


def _replay_wide(study_state: WideStudyState, log: Log) -> int:
    """Read the log of a study whose rounds are planned while others are out; returns how many records it has."""
    if study_state.book is None:
        length, finished, current = _past_from(log)
        last = max((index for index, record in enumerate(current) if record[0] == ROUND), default=0)
        past = [*finished, *(record for record in current[:last] if record[0] != LEASE)]
        if all(map(_is_plain, past)):
            if past:
                _replay_counted(study_state, past, current[: last + 1])
            study_state.apply(current[last:])
            return length
        records = log.read(0)[:length]  # others may have gone on meanwhile
    else:
        records = log.read(0)
    # What failed or was changed decided what came next: it is followed step by step, and leases before count, too.
    study_state.apply(records)
    return len(records)


def _past_from(log: Log) -> tuple[int, Sequence[Record], Sequence[Record]]:
    """All of a log, without leases before the round that has the first pull that may be out."""
    if hasattr(log, "past_from"):
        found: tuple[int, Sequence[Record], Sequence[Record]] = log.past_from(_counted)
        return found
    records = log.read(0)
    rounds = [(index, record) for index, record in enumerate(records) if record.kind == ROUND]
    first = _counted(rounds[-1][1].text) if rounds else 0
    start = max((index for index, record in rounds if record.pull <= first), default=0)
    return len(records), [record for record in records[:start] if record.kind != LEASE], records[start:]


def _counted(text: str | None) -> int:
    """How many pulls had counted when a round was planned, by its record."""
    counted = read_round(text).get("counted", 0)
    return int(counted) if is_whole(counted) else 0


def _is_plain(record: Sequence[Any]) -> bool:
    """Whether a record says nothing but what is to be pulled, or a reward."""
    kind = record[0]
    return record[3] is None if kind == RESULT else kind == ROUND and not is_checkpoint(record)


def _replay_counted(study_state: WideStudyState, past: Sequence[Record], current: Sequence[Record]) -> None:
    """Bring a new state to where the last round was planned, which is the end of `current`."""
    counted, state = _counted(current[-1][3]), study_state.state
    rounds = [record for record in past if record[0] == ROUND]
    results = [record for record in past if record[0] == RESULT and record[1] < counted]
    texts = [record[3] or "" for record in rounds]
    check_layout(state, read_round(texts[0]))
    if results and isinstance(study_state.problem.reward, Gaussian):
        study_state.centre(min(results, key=itemgetter(1))[2])
    rows = read_rows(texts)
    # Rows count as a whole, and so may be those of a part of a round.
    rows = rows[: int(np.searchsorted(rows[:, 2].cumsum(), counted, side="right"))]
    rewards = rewards_in_order(results, rows, np.arange(counted))
    units, cells = study_state.problem.reward.to_unit(rewards), cells_of(study_state, rows)
    if any(name in text for text in texts for name in _MARKS):
        _observe_marked(study_state, [*texts, current[-1][3] or ""], units)
    else:
        observe_streams(state, np.repeat(cells, rows[:, 2], axis=0), units)
        apply_latest_diffs(state, noted_in(reversed(rounds)))
    study_state.rounds = bisect_right([*(record[1] for record in rounds[1:]), current[-1][1]], counted)
    state.clock[ROUNDS] += study_state.rounds
    enter_costs(state, rows, costs_of(study_state, rows))
    _put_out(study_state, rounds[study_state.rounds :], counted)
    playing = study_state.round
    for kind, pull, value, text in current[:-1]:
        if kind == LEASE:
            playing.lease(pull - counted, value, text)
        elif kind == RESULT and pull >= counted:
            playing.leases.pop(pull - counted, None)
            playing.waiting[pull - counted] = value


def _observe_marked(study_state: WideStudyState, texts: Sequence[str], units: Floats) -> None:
    """Enter rewards row by row: an algorithm remembers the sums of marked ones, beside what its plans have noted."""
    state, cells, queue, position = study_state.state, study_state.planner.cells, deque[tuple[list[int], int]](), 0
    for number, text in enumerate(texts):
        body = read_round(text)
        counted = _counted(text)
        while position < counted:
            (arm, fidelity, size), mark = queue.popleft()
            k, m = cells[arm, fidelity]
            before = state.pulls[k, m], state.sums[k, m], state.squares[k, m]
            tally_all(state, k, m, units[position : position + size])
            derive(state, k, m)
            if mark:
                study_state.take_marked(k, m, mark, before)
            position += size
        if number < len(texts) - 1:  # the last round is yet to come
            apply_diff(state, body)
            clear_rest(state.own)
            queue.extend(zip(body["rows"], read_marks(body, len(body["rows"])), strict=True))


def _put_out(study_state: WideStudyState, rounds: Sequence[Record], counted: int) -> None:
    """Let the rows of rounds be out that have not counted."""
    playing = study_state.round = Window(counted)
    playing.begins = not rounds or rounds[0][1] >= counted
    for record in rounds:
        body, pull = read_round(record[3]), record[1]
        marks = read_marks(body, len(body["rows"]))
        out = []
        for row, mark in zip(body["rows"], marks, strict=True):
            if pull >= counted:
                out.append((row, mark))
            pull += row[2]
        rows = study_state.rows_with_starts([row for row, _ in out])
        playing.add(rows, [mark for _, mark in out], bool(body.get("cut", False)))
        study_state.enter_flying([(row, mark) for row, (_, mark) in zip(rows, out, strict=True)])


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


def _replay_finished(study_state: StudyState, finished: Sequence[Record], next_round: Record) -> None:
    """Bring a new state to where the records of all finished rounds lead."""
    rounds = [record for record in finished if record[0] == ROUND]
    numbers = [record[1] for record in rounds]
    texts = [record[3] or "" for record in rounds]
    counted = [record for record in finished if record[0] == RESULT]
    if counted and isinstance(study_state.problem.reward, Gaussian):
        study_state.centre(min(counted, key=itemgetter(1))[2])
    check_layout(study_state.state, read_round(texts[0]))
    _retire(study_state, finished, numbers, texts)
    # The rounds before are read as they were planned; what was changed decides only what comes next.
    changes = [record for record in finished if record[0] == SETTING]
    for record in changes:
        study_state.follow(read_changes(record[3]))
    asked = next_round.pull
    if not is_checkpoint(next_round):
        # Most rounds say only what has changed.
        others = [index for index, record in enumerate(rounds) if record[2] != CHANGES]
        start = max((index for index in others if is_checkpoint(rounds[index])), default=-1)
        if start >= 0:
            study_state.round = Round(numbers[start], (), False)
            body = read_round(texts[start])
            study_state.apply_round_record(body)
            if study_state.ended:  # by a limit that was raised since, or an answer that was not sure enough
                study_state.ended = ""
                study_state.state.clock[ROUNDS] -= bool(body.get("cut", False))
        first = numbers[max(0, start)]
        results = [record for record in counted if record[1] >= first] if first else counted
        results += [Record(RESULT, pull, math.nan) for pull in missing_cells(study_state.settings, finished)]
        left_out = [record[1] for record in changes if record[2] and record[1] >= first]
        awaited = np.setdiff1d(np.arange(first, asked), left_out, assume_unique=True)
        _fold(study_state, results, texts[max(0, start) :], awaited)
        apply_latest_diffs(study_state.state, noted_in(reversed(rounds[start + 1 :])))
    study_state.rounds = len(rounds)
    study_state.round = Round(asked, (), False)


def _fold(study_state: StudyState, results: Sequence[Record], texts: list[str], awaited: Ints) -> None:
    """Enter the results of finished rounds, which has all pulls that are awaited, into the statistics."""
    rows = read_rows(texts)
    rewards = rewards_in_order(results, rows, awaited)
    costs = (
        costs_of(study_state, rows)
        if study_state.race is None
        else _race(study_state, study_state.race, texts, rewards)
    )
    units = study_state.problem.reward.to_unit(rewards)
    state, cells = study_state.state, np.repeat(cells_of(study_state, rows), rows[:, 2], axis=0)
    if study_state.race is None:
        observe_streams(state, cells, units)
    else:
        enter = compiled_or_plain(_observe_blocks) if awaited.size > _MANY else _observe_blocks
        enter(state, cells, units)
    state.clock[ROUNDS] += len(texts)
    enter_costs(state, rows, costs)


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


@kernel
def _observe_blocks(state: State, places: Ints, rewards: Floats) -> None:
    """Enter many rewards of a race on blocks, in the order of asking."""
    for i in range(rewards.shape[0]):
        observe_block(state, places[i, 0], places[i, 1], float(rewards[i]))


def _retire(study_state: StudyState, finished: Sequence[Record], numbers: list[int], texts: list[str]) -> None:
    """Find the arms that were given up in finished rounds."""
    if study_state.settings.on_failure != "retire":
        return
    for record in finished:
        if record[0] not in (FAILURE, RETRY):
            continue
        if record[0] == RETRY:
            study_state.retry(record[1])
            continue
        index = int(np.searchsorted(numbers, record[1], side="right")) - 1
        study_state.round = Round(numbers[index], study_state.rows_with_starts(read_round(texts[index])["rows"]), False)
        study_state.failure(record[1], record[3] or "")
    study_state.failures.clear()
    study_state.round = Round(0, (), False)
