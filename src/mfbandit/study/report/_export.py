"""Studies as files of JSON lines, and as data frames; `mfbandit.study.api` reads such files.

The first line of a file is the header of the study; every other line is one record of its log, in order.
Leases are left out: whoever goes on with an imported study is handed the pulls that were out. How long a pull took and
who did it stands in the log beside leases, and in a line of its own.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from mfbandit._optional import optional
from mfbandit.files import complete_file
from mfbandit.storage import (
    FAILURE,
    LEASE,
    RESULT,
    ROUND,
    SETTING,
    Record,
    kept_records,
    record_line,
)
from mfbandit.study._settings import Header, Settings, read_changes, write_header
from mfbandit.study.state._study_blocks import missing_cells
from mfbandit.study.state.rounds._continuing import Continuing
from mfbandit.study.state.rounds._costs import Costs, read_costs
from mfbandit.study.state.rounds._round_record import read_round

if TYPE_CHECKING:
    from mfbandit.study._study import Study

__all__ = ["WORK", "export_study", "logged_pulls", "study_frame"]

#: What lines are called that say how long a pull took, and who did it.
WORK = "work"


def export_study(study: Study, path: str | os.PathLike[str]) -> None:
    """Write a study to a file of JSON lines; the file appears when it is complete."""
    header = json.loads(write_header(Header(study.made_with, study.identity, study.code.digest)))
    with complete_file(path) as file:
        file.write(json.dumps({"mfbandit": "study", "name": study.name, **header}) + "\n")
        for kind, pull, value, text in study.storage.log(study.name).read(0):
            if kind != LEASE:
                file.write(record_line(kind, pull, value, text))
            elif _is_work(text):
                file.write(json.dumps({"kind": WORK, "pull": pull, **json.loads(text or "{}")}) + "\n")


def study_frame(study: Study) -> Any:
    """One row per pull that has a result, in the order of asking, as a pandas data frame."""
    problem = study.problem
    told = list(logged_pulls(study))
    columns = {
        "pull": [pull.pull for pull, _ in told],
        "round": [pull.in_round for pull, _ in told],
        "arm": [problem.arms[pull.arm] for pull, _ in told],
        "fidelity": [problem.fidelities[pull.fidelity].name for pull, _ in told],
        "block": [pull.block for pull, _ in told],
        "cost": [pull.cost for pull, _ in told],
        "reward": [reward for _, reward in told],
        **_work(study, [pull.pull for pull, _ in told]),
    }
    if problem.blocks is None:
        del columns["block"]
    elif problem.blocks != "unlimited":
        columns["item"] = columns["block"]
    return optional("pandas", "data frames need pandas", "pandas").DataFrame(columns)


def _work(study: Study, pulls: Sequence[int]) -> dict[str, list[Any]]:
    """How long pulls took, who did them, and at which attempt."""
    failed: Counter[int] = Counter()
    work: dict[int, dict[str, Any]] = {}
    for record in study.storage.log(study.name).read(0):
        if record[0] == FAILURE:
            failed[record[1]] += 1
        elif record[0] == LEASE and _is_work(record[3]):
            work[record[1]] = json.loads(record[3] or "{}")
    return {
        "duration": [work.get(pull, {}).get("seconds", math.nan) for pull in pulls],
        "worker": [work.get(pull, {}).get("worker") for pull in pulls],
        "attempt": [failed[pull] + work.get(pull, {}).get("failed", 0) + 1 for pull in pulls],
    }


def _is_work(text: str | None) -> bool:
    """Whether the record of a lease says what was done, and not for how long it lasts."""
    return text is not None and text.startswith("{")


class LoggedPull(NamedTuple):
    """A pull that was asked for, by its position in the log."""

    pull: int
    in_round: int
    arm: int
    fidelity: int
    before: int
    """How many pulls of this arm at this fidelity came before."""
    block: int | None
    cost: float


def logged_pulls(study: Study) -> Iterator[tuple[LoggedPull, float]]:
    """The pulls of a study that have counted or wait to, with their rewards, in the order of asking.

    A cell of a race that could not be had has the reward NaN.
    """
    records = list(kept_records(study.storage.log(study.name)))
    told = {record.pull: read_costs(record.text)[0] for record in records if record.kind == RESULT and record.text}
    rewards = dict.fromkeys(missing_cells(study.settings, records), math.nan)
    rewards.update({record.pull: record.value for record in records if record.kind == RESULT})
    for pull in _pulls_of_rounds(study.made_with, records):
        if pull.pull in rewards:
            cost = told.get(pull.pull)
            yield pull if cost is None else pull._replace(cost=cost), rewards[pull.pull]


def _pulls_of_rounds(settings: Settings, records: Sequence[Record]) -> Iterator[LoggedPull]:
    """All pulls that were asked for, of a study that was made with these settings."""
    costs, racing = settings.price_table().tolist(), settings.seen.blocks is not None
    opening = [fidelity.block_cost for fidelity in settings.problem.fidelities]
    starts: dict[tuple[int, int], int] = {}
    opened = [0] * len(opening)
    before = Continuing(settings.seen, Costs(settings)).before
    number = -1
    for record in records:
        if record.kind == SETTING:
            settings = settings.changed(read_changes(record.text))
            costs = settings.price_table().tolist()
        if record.kind != ROUND:
            continue
        number += 1
        body, pull = read_round(record.text), record.pull
        known = dict(starts) if before else {}
        blocks = body.get("blocks")
        for row, (arm, fidelity, count) in enumerate(body["rows"]):
            start = starts.get((arm, fidelity), 0)
            starts[arm, fidelity] = start + count
            cost = costs[arm][fidelity]
            if racing and start >= opened[fidelity]:
                opened[fidelity] = start + count
                cost += opening[fidelity]
            # All pulls of a row go on from the same fidelity.
            done = next((m for m in before.get(fidelity, ()) if known.get((arm, m), 0) > start), -1)
            cost -= costs[arm][done] if done >= 0 else 0.0
            for i in range(count):
                block = None if blocks is None else blocks[row][i]
                yield LoggedPull(pull + i, number, arm, fidelity, start + i, block, cost)
            pull += count
