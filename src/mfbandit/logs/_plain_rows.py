"""Rows of plain tables: CSV and JSON lines with item, system and score, or CSV with a column for every system."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mfbandit._checks import closest
from mfbandit.errors import InvalidInput
from mfbandit.logs._rows import LogRow

__all__ = ["frame_rows", "json_lines", "log_text", "plain_json_rows", "read_csv_rows"]

#: Names that the columns of the item and of the system go by.
ITEMS = ("item", "item_id", "id", "question", "question_id", "sample", "sample_id", "doc_id", "case", "task_id")
SYSTEMS = ("system", "model", "arm", "candidate", "prompt", "agent", "method", "name")
SCORES = ("score", "reward", "value", "correct", "result")


def log_text(path: Path) -> str:
    """The text of a file."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is not UTF-8 text") from None
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}") from None


def _column(header: Sequence[str], known: Sequence[str]) -> int | None:
    """The first column with one of these names."""
    lower = [name.lower() for name in header]
    return next((lower.index(name) for name in known if name in lower), None)


def read_csv_rows(path: Path, metric: str | None) -> Iterator[LogRow]:
    """The rows of a CSV file whose first line names the columns.

    With columns of an item, a system and a score, in any order, others ignored. Or wide: a column of the item, which
    comes first, and one for every system.
    """
    lines = csv.reader(io.StringIO(log_text(path), newline=""), strict=True)
    try:
        header = [name.strip() for name in next(lines, [])]
        values = ((f"line {lines.line_num} of {path.name}", line) for line in lines if line)
        yield from _table_rows(header, values, str(path), metric)
    except csv.Error as error:
        raise InvalidInput(f"line {lines.line_num} of {path.name} is not valid CSV: {error}") from None


def frame_rows(frame: Any, metric: str | None) -> Iterator[LogRow]:
    """The rows of a data frame, laid out as a CSV file may be."""
    values = ((f"row {number} of the data frame", line) for number, line in enumerate(frame.itertuples(False, None)))
    return _table_rows([str(name) for name in frame.columns], values, "the data frame", metric)


def _table_rows(
    header: Sequence[str], lines: Iterable[tuple[str, Sequence[Any]]], what: str, metric: str | None
) -> Iterator[LogRow]:
    """The rows of a table, by the names of its columns."""
    layout = _layout(header, what, metric)
    for where, values in lines:
        if len(values) != len(header):
            raise InvalidInput(f"{where} has {len(values)} values; the first line names {len(header)} columns")
        item = _name(values[layout.item], where, header[layout.item])
        if layout.system is None:
            for column, name in enumerate(header):
                if column != layout.item:
                    yield LogRow(name, item, {"score": values[column]}, f"{where}, column {name!r}")
        else:
            system = _name(values[layout.system], where, header[layout.system])
            yield LogRow(system, item, {layout.metric: values[layout.score]}, where)


class _TableColumns(NamedTuple):
    """Where things stand in a table; without a system every column but the item's is one."""

    item: int
    system: int | None
    score: int
    metric: str


def _layout(header: Sequence[str], what: str, metric: str | None) -> _TableColumns:
    """Find the columns by their names."""
    if len(header) < 2:
        raise InvalidInput(f"{what}: its first line must name columns, such as item,system,score; got {header}")
    for name in header:
        if header.count(name) > 1:
            raise InvalidInput(f"{what} has {header.count(name)} columns called {name!r}")
    item, system = _column(header, ITEMS), _column(header, SYSTEMS)
    if system is None:
        # A wide table; its items stand in the first column, whatever that is called.
        item = 0 if item is None else item
        if metric is not None:
            raise InvalidInput(
                f"{what} has no column of the system (system, model, ...), so that every column but {header[item]!r} "
                f"is a system, and there is no metric {metric!r} to choose"
            )
        return _TableColumns(item, None, -1, "score")
    if item is None:
        raise InvalidInput(f"{what} has no column of the item; call it one of {', '.join(ITEMS)}; got {header}")
    score = _column(header, SCORES) if metric is None else header.index(metric) if metric in header else None
    if score is None:
        wanted = "score" if metric is None else metric
        raise InvalidInput(
            f"{what} has no column {wanted!r}{closest(wanted, header)}; name one of {header} by --metric"
        )
    return _TableColumns(item, system, score, metric or "score")


def _name(value: Any, where: str, what: str) -> str:
    name = str(value).strip() if value is not None else ""
    if not name:
        raise InvalidInput(f"{where}: the {what} is empty")
    return name


def json_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a file of JSON lines, each with the words that name its line."""
    for number, line in enumerate(log_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        where = f"line {number} of {path.name}"
        try:
            found = json.loads(line)
        except ValueError as error:
            raise InvalidInput(f"{where} is not JSON: {error}") from None
        if not isinstance(found, dict):
            raise InvalidInput(f"{where} is no JSON object")
        yield where, found


def plain_json_rows(rows: Sequence[tuple[str, dict[str, Any]]], path: Path, metric: str | None) -> Iterator[LogRow]:
    """The rows of JSON lines that have an item, a system and a score."""
    for where, row in rows:
        keys = list(row)
        layout = _layout(keys, f"{path} ({where})", metric)
        if layout.system is None:
            raise InvalidInput(f"{where} has no system; call it one of {', '.join(SYSTEMS)}; got {keys}")
        system, item = keys[layout.system], keys[layout.item]
        scores = {layout.metric: row[keys[layout.score]]}
        yield LogRow(_name(row[system], where, system), _name(row[item], where, item), scores, where)
