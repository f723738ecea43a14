"""A table of scores, systems by items, from rows: repeats are averaged, items that not all have are left out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mfbandit._checks import closest, is_number, one_of
from mfbandit.errors import InvalidInput
from mfbandit.logs._rows import LogRow, as_score

__all__ = ["MISSING", "Reading", "ScoreTable", "metric_of", "score_table"]

Floats = npt.NDArray[np.float64]

#: What may be done with scores that could not be had: leave their items out, or count the worst score.
MISSING = ("out", "worst")
#: Metrics that are taken if none is named, where there are several.
_USUAL = ("score",)

_Item = tuple[str, str]
_Cells = dict[_Item, dict[str, list[float | None]]]


@dataclass(frozen=True)
class Reading:
    """How scores are read."""

    metric: str | None = None
    """The metric; needed where there are several."""
    range: tuple[float, float] | None = None
    """The least and the most that a score can be; 0 and 1 by default, if all are within."""
    lower_is_better: bool = False
    missing: str = "out"
    """"out" leaves out items of which a score is missing, "worst" counts the worst score."""

    def __post_init__(self) -> None:
        one_of("missing", self.missing, MISSING)
        if self.range is not None:
            ends = [float(end) for end in self.range if is_number(end)]
            if len(ends) != 2 or not (math.isfinite(ends[0]) and math.isfinite(ends[1]) and ends[0] < ends[1]):
                raise InvalidInput(f"the range must be two numbers, the least and the most, got {self.range!r}")


@dataclass(frozen=True)
class ScoreTable:
    """Scores of K systems on the n items that all of them have."""

    systems: tuple[str, ...]
    items: tuple[str, ...]
    values: Floats
    """Means over repeats, (K, n)."""
    metric: str
    range: tuple[float, float]
    notes: tuple[str, ...]
    """What was left out, averaged or assumed, a sentence each."""

    def in_units(self, lower_is_better: bool) -> Floats:
        """The scores as parts of their range, the better the higher."""
        low, high = self.range
        return (high - self.values if lower_is_better else self.values - low) / (high - low)


def score_table(rows: Sequence[LogRow], reading: Reading | None = None) -> ScoreTable:
    """Make the table of a metric.

    Examples
    --------
    >>> rows = [LogRow("a", "1", {"score": "C"}, "line 2"), LogRow("a", "2", {"score": 0}, "line 3")]
    >>> rows += [LogRow("b", "1", {"score": "I"}, "line 4")]
    >>> table = score_table(rows)
    >>> table.values.tolist(), table.notes
    ([[1.0], [0.0]], ("1 of 2 items is left out: not all systems have it ('b' lacks 1).",))
    """
    reading = reading or Reading()
    metric = metric_of(rows, reading.metric)
    systems = list(dict.fromkeys(row.system for row in rows))
    if len(systems) < 2:
        raise InvalidInput(f"the logs hold one system only, {systems[0]!r}; name files, NAME=FILE, to tell them apart")
    cells = _cells(rows, metric)
    notes: list[str] = []
    common = _common(cells, systems, metric, notes)
    seen = [score for held in common.values() for scores in held.values() for score in scores if score is not None]
    low, high = _range(seen, reading, metric)
    common = _filled(common, reading, high if reading.lower_is_better else low, notes)
    if not common:
        raise InvalidInput(f"no item has a {metric} of all {len(systems)} systems: of each one is missing")
    repeats = max(len(scores) for held in common.values() for scores in held.values())
    if repeats > 1:
        notes.append(f"Items that a system answered several times (up to {repeats}) count their mean.")
    tasks = {task for task, _ in common}
    if len(tasks) > 1:
        notes.append(f"Items are of {len(tasks)} tasks; each item counts the same.")
    values = np.array([[_mean(held[name]) for held in common.values()] for name in systems])
    names = tuple(item if len(tasks) == 1 else f"{task}/{item}" for task, item in common)
    return ScoreTable(tuple(systems), names, values, metric, (low, high), tuple(notes))


def metric_of(rows: Sequence[LogRow], wanted: str | None) -> str:
    """The full name of the metric that is meant."""
    known = list(dict.fromkeys(name for row in rows for name in row.scores))
    if not known:
        raise InvalidInput("the logs hold no scores at all")
    if wanted is None:
        usual = known if len(known) == 1 else [name for name in _USUAL if name in known]
        if usual:
            return usual[0]
        raise InvalidInput(f"the logs hold several metrics; choose one by --metric: {', '.join(known)}")
    if wanted in known:
        return wanted
    # The harness names a metric with the filter of the answers: "acc,none".
    filtered = [name for name in known if name.split(",")[0] == wanted]
    if len(filtered) == 1:
        return filtered[0]
    if filtered:
        raise InvalidInput(f"metric {wanted!r} is there for several filters; choose one of {' or '.join(filtered)}")
    raise InvalidInput(f"the logs have no metric {wanted!r}{closest(wanted, known)}; they have {', '.join(known)}")


def _cells(rows: Sequence[LogRow], metric: str) -> _Cells:
    """The scores of a metric by item and system, repeats in a list; None for those that could not be had."""
    by_task = _tasks_matter(rows)
    cells: _Cells = {}
    contents: dict[_Item, tuple[str, str]] = {}
    for row in rows:
        if row.scores and metric not in row.scores:
            continue
        key = (row.task if by_task else "", row.item)
        content, first = contents.setdefault(key, (row.content, row.where))
        if content != row.content:
            raise InvalidInput(f"{first} and {row.where} have one name and different texts: they cannot be compared")
        value = as_score(row.scores.get(metric), row.where, metric)
        cells.setdefault(key, {}).setdefault(row.system, []).append(value)
    return cells


def _tasks_matter(rows: Sequence[LogRow]) -> bool:
    """Whether items are told apart by their tasks: not if no two systems share one, since tasks are then variants."""
    tasks: dict[str, set[str]] = {}
    for row in rows:
        tasks.setdefault(row.task, set()).add(row.system)
    return any(len(systems) > 1 for systems in tasks.values())


def _common(cells: _Cells, systems: Sequence[str], metric: str, notes: list[str]) -> _Cells:
    """The items that all systems have."""
    common = {item: held for item, held in cells.items() if len(held) == len(systems)}
    if not common:
        raise InvalidInput(f"no item has a {metric} of all {len(systems)} systems: {', '.join(systems[:5])}")
    if len(common) < len(cells):
        lacking = {name: sum(name not in held for held in cells.values()) for name in systems}
        most = max(lacking, key=lambda name: lacking[name])
        left = len(cells) - len(common)
        notes.append(
            f"{_are(left, len(cells), 'items')} left out: not all systems have {'it' if left == 1 else 'them'} "
            f"({most!r} lacks {lacking[most]:,})."
        )
    return common


def _range(seen: Sequence[float], reading: Reading, metric: str) -> tuple[float, float]:
    """The range of scores, as declared or [0, 1]."""
    low, high = (0.0, 1.0) if reading.range is None else map(float, reading.range)
    least, most = min(seen, default=low), max(seen, default=high)
    if low <= least and most <= high:
        return low, high
    if reading.range is None:
        raise InvalidInput(
            f"the {metric} goes from {least:g} to {most:g}; say what it can be at least and at most, beyond what was "
            "seen: --range LOW,HIGH"
        )
    raise InvalidInput(f"the {metric} goes from {least:g} to {most:g}, outside the range {low:g} to {high:g}")


def _filled(common: _Cells, reading: Reading, worst: float, notes: list[str]) -> _Cells:
    """Items with all their scores: those with missing ones are left out, or count the worst."""
    broken = {item for item, held in common.items() if any(None in scores for scores in held.values())}
    if not broken:
        return common
    counts: dict[str, int] = {}
    for item in broken:
        for name, scores in common[item].items():
            counts[name] = counts.get(name, 0) + scores.count(None)
    failed = ", ".join(f"{count:,} of {name!r}" for name, count in sorted(counts.items()) if count)
    if reading.missing == "worst":
        notes.append(f"Scores that are missing count as the worst, {worst:g}: {failed}.")
        return {
            item: {name: [worst if score is None else score for score in scores] for name, scores in held.items()}
            for item, held in common.items()
        }
    notes.append(
        f"{_are(len(broken), len(common), 'common items')} left out: a score is missing ({failed}). So all is about "
        "items that nobody fails on; --missing worst counts the worst score instead."
    )
    return {item: held for item, held in common.items() if item not in broken}


def _mean(scores: Sequence[float | None]) -> float:
    return math.fsum(score for score in scores if score is not None) / len(scores)


def _are(count: int, of: int, what: str) -> str:
    return f"{count:,} of {of:,} {what} {'is' if count == 1 else 'are'}"
