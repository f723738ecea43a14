"""Reading a study from a file of JSON lines, which `Study.export` wrote; nothing in the file is believed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from mfbandit.errors import MfbanditError, RewardError, StorageError, StudyError
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
    open_storage,
)
from mfbandit.study._reward_check import RewardCheck, as_cost, plain_text, work_text
from mfbandit.study._settings import Settings, read_header, write_header
from mfbandit.study._study import Study, open_study
from mfbandit.study.api._open_study import check_name
from mfbandit.study.report._export import WORK
from mfbandit.study.state._study_state import StudyState
from mfbandit.study.state._wide_state import study_state_of
from mfbandit.study.state.rounds._costs import outcome_text
from mfbandit.study.state.rounds._round_record import RoundRecord, extent_of

__all__ = ["import_study"]


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
    kind, pull = LEASE if line["kind"] == WORK else KINDS.index(line["kind"]), line["pull"]
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
        if line["kind"] != WORK or work is None:
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
