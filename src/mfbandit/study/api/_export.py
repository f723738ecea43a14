"""Studies as files of JSON lines, and as data frames.

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
from mfbandit.errors import MfbanditError, RewardError, StorageError, StudyError
from mfbandit.files import complete_file
from mfbandit.storage import (
    FAILURE,
    KINDS,
    LEASE,
    RESULT,
    ROUND,
    SETTING,
    MemoryStorage,
    Record,
    Storage,
    json_text,
    kept_records,
    open_storage,
    record_line,
)
from mfbandit.study._reward_check import RewardCheck, as_cost, plain_text, work_text
from mfbandit.study._settings import Header, Settings, read_changes, read_header, write_header
from mfbandit.study.api._open_study import check_name, open_study
from mfbandit.study.state._study_blocks import missing_cells
from mfbandit.study.state._study_state import StudyState
from mfbandit.study.state._wide_state import study_state_of
from mfbandit.study.state.rounds._continuing import Continuing
from mfbandit.study.state.rounds._costs import Costs, outcome_text, read_costs
from mfbandit.study.state.rounds._round_record import RoundRecord, extent_of, read_round

if TYPE_CHECKING:
    from mfbandit.study._study import Study

__all__ = ["export_study", "import_study", "logged_pulls", "study_frame"]


#: What lines are called that say how long a pull took, and who did it.
_WORK = "work"


def export_study(study: Study, path: str | os.PathLike[str]) -> None:
    """Write a study to a file of JSON lines; the file appears when it is complete."""
    header = json.loads(write_header(Header(study.made_with, study.identity, study.code.digest)))
    with complete_file(path) as file:
        file.write(json.dumps({"mfbandit": "study", "name": study.name, **header}) + "\n")
        for kind, pull, value, text in study.storage.log(study.name).read(0):
            if kind != LEASE:
                file.write(record_line(kind, pull, value, text))
            elif _is_work(text):
                file.write(json.dumps({"kind": _WORK, "pull": pull, **json.loads(text or "{}")}) + "\n")


def import_study(path: str | os.PathLike[str], storage: str | Storage | None = None, name: str | None = None) -> Study:
    """Read a study that `Study.export` wrote into a storage.

    Parameters
    ----------
    path : str or path
        The file.
    storage : str or Storage, optional
        Where to put it; in memory by default.
    name : str, optional
        A new name; the one it had by default.

    Returns
    -------
    Study

    Examples
    --------
    >>> import tempfile, mfbandit as mf
    >>> from mfbandit.study import create_study
    >>> study = create_study(mf.Problem(["a", "b"], [("exact", 1.0, 0.0)]), name="mine")
    >>> study.tell(study.ask()[0], 0.5)
    True
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     study.export(f"{folder}/mine.jsonl")
    ...     import_study(f"{folder}/mine.jsonl")
    <Study 'mine': running, 2 pulls asked, cost 1>
    """
    lines = _lines(path)
    header = next(lines, None)
    if not isinstance(header, dict) or header.get("mfbandit") != "study":
        raise StorageError(f"{os.fspath(path)!r} is not an exported study: its first line is not a header")
    chosen = check_name(header.get("name") if name is None else name)
    known = read_header(json.dumps(header), chosen)
    text = write_header(known)
    records = _checked_records(lines, known.settings, os.fspath(path))
    # What a storage would not be able to open again is found out before anything is stored.
    trial = MemoryStorage()
    trial.create(chosen, text, records)
    open_study(trial, chosen, True)
    store = open_storage(storage)
    if not store.create(chosen, text, records):
        raise StudyError(f"a study named {chosen!r} exists already: import it under another name")
    study = open_study(store, chosen, True)
    study.closes_storage = store is not storage
    return study


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


def _checked_records(lines: Iterator[Any], settings: Settings, path: str) -> list[Record]:
    """The records of a file, each of which could follow those before it in the log of a study."""
    study_state, check = study_state_of(settings), RewardCheck(settings.problem.reward)
    records = []
    for number, line in enumerate(lines, start=2):
        try:
            record = _from_line(line, check)
            _check_awaited(study_state, record)
            study_state.apply([record])
        except RewardError as error:
            raise StorageError(f"line {number} of {path!r} holds no reward of this study: {error}") from None
        except (MfbanditError, ValueError, LookupError, TypeError, OverflowError) as error:
            raise StorageError(f"line {number} of {path!r} is not a record of a study: {error}") from None
        records.append(record)
    return records


def _from_line(line: Any, check: RewardCheck) -> Record:
    """Read one line of a file back into a record."""
    kind, pull = LEASE if line["kind"] == _WORK else KINDS.index(line["kind"]), line["pull"]
    if isinstance(pull, bool) or not isinstance(pull, int) or not 0 <= pull < 2**63:
        raise ValueError(f"pull {pull!r} is not a number of a pull")
    if kind == RESULT:
        cost, note, usual = line.get("cost"), line.get("note"), line.get("usual") is not False
        said = None if cost is None else as_cost(cost, usual=usual), None if note is None else plain_text(note)
        text = outcome_text(*said, as_cost(line.get("lost", 0.0)))
        return Record(kind, pull, check(line["reward"]), text)
    if kind == FAILURE:
        return Record(kind, pull, as_cost(line.get("cost", 0.0)), plain_text(line["reason"]))
    if kind == ROUND:
        body: RoundRecord = {key: value for key, value in line.items() if key not in ("kind", "pull")}  # type: ignore[assignment]
        for arm, fidelity, count in body["rows"]:
            if not all(type(part) is int for part in (arm, fidelity, count)) or not 0 < count < 2**31:
                raise ValueError(f"row {[arm, fidelity, count]} is not an arm, a fidelity and a number of pulls")
        return Record(kind, pull, extent_of(body), json_text(body))
    if kind == LEASE:
        work = work_text(line.get("seconds"), line.get("worker"), line.get("failed"))
        if line["kind"] != _WORK or work is None:
            raise ValueError("files hold no leases")
        return Record(kind, pull, 0.0, work)
    if kind == SETTING:
        changes = {key: value for key, value in line.items() if key not in ("kind", "pull", "skips")}
        return Record(kind, pull, float(bool(line.get("skips", False))), json_text(changes))
    return Record(kind, pull)


def _check_awaited(study_state: StudyState, record: Record) -> None:
    """Refuse news of a pull that was not asked for, or that has its result."""
    if record.kind in (ROUND, SETTING):
        return
    if record.kind == LEASE and record.pull < study_state.asked:
        return
    position = record.pull - study_state.round.first
    if not 0 <= position < study_state.round.size or study_state.round.told(position):
        raise ValueError(f"pull {record.pull} is not awaited there")


def _lines(path: str | os.PathLike[str]) -> Iterator[Any]:
    """The JSON values of a file of JSON lines."""
    try:
        with open(path, encoding="utf-8") as file:
            for number, text in enumerate(file, start=1):
                try:
                    yield json.loads(text)
                except ValueError:
                    raise StorageError(
                        f"line {number} of {os.fspath(path)!r} is not JSON: the file is damaged or cut off"
                    ) from None
    except OSError as error:
        raise StorageError(f"{os.fspath(path)!r} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise StorageError(f"{os.fspath(path)!r} is not a text file of JSON lines") from None
