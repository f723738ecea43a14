"""Rows (arm, fidelity, reward) from CSV and Parquet files, data frames and plain iterables.

Every row comes with the words that find it again in its source ("line 7 of judges.csv"), so that what is
wrong with it can be said in one sentence.
"""

from __future__ import annotations

import csv
import gzip
import io
import math
import os
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from mfbandit._checks import as_name, closest
from mfbandit.errors import InstanceError, MissingExtra
from mfbandit.model import Bounded, RewardKind

__all__ = [
    "TableRow",
    "TableSource",
    "block_name",
    "check_range",
    "column_names",
    "header_of",
    "kept",
    "number",
    "read_block_rows",
    "read_csv",
    "read_rows",
    "records",
]

TableSource: TypeAlias = str | os.PathLike[str] | Iterable[Any]
"""A file, a data frame, or rows: anything that holds (arm, fidelity, reward)."""

#: What a row without names is.
_ROW = ("arm", "fidelity", "reward")
_MISSING = ("", "na", "n/a", "nan", "null", "none")


class TableRow(NamedTuple):
    """One recorded reward and where it stands."""

    arm: str
    fidelity: str
    reward: float
    where: str


def read_rows(source: TableSource, columns: Sequence[str] = ("arm", "fidelity", "reward")) -> Iterator[TableRow]:
    """Read the rows of a table one by one.

    Parameters
    ----------
    source
        Path of a CSV file (``.csv``, ``.csv.gz``) or of a Parquet file (``.parquet``, with the pandas
        extra); a pandas DataFrame; or an iterable of (arm, fidelity, reward) rows, as tuples or as
        mappings with the names of the columns.
    columns
        Names of the columns of the arm, the fidelity and the reward; others are ignored.

    Yields
    ------
    Row

    Examples
    --------
    >>> next(read_rows([("gpt", "human", 1.0)]))
    TableRow(arm='gpt', fidelity='human', reward=1.0, where='row 0')
    """
    for where, (arm, fidelity, reward) in records(source, column_names(columns), _ROW):
        yield _row(arm, fidelity, reward, where, columns[2])


def read_block_rows(source: TableSource, block: str, columns: Sequence[str]) -> Iterator[tuple[str, TableRow]]:
    """Read the rows of a table with blocks one by one, each with the name of its block.

    Parameters
    ----------
    source, columns
        As for `read_rows`; rows without names are (block, arm, fidelity, reward).
    block
        Name of the column of the block.

    Yields
    ------
    block, row

    Examples
    --------
    >>> next(read_block_rows([(7, "gpt", "human", 1.0)], "question", ("arm", "fidelity", "reward")))
    ('7', TableRow(arm='gpt', fidelity='human', reward=1.0, where='row 0'))
    """
    named = column_names(columns)
    if not isinstance(block, str) or block in named:
        raise InstanceError(f"block must be the name of another column than {', '.join(named)}, got {block!r}")
    for where, (item, arm, fidelity, reward) in records(source, (block, *named), ("block", *_ROW)):
        yield block_name(item, where), _row(arm, fidelity, reward, where, named[2])


def block_name(item: Any, where: str) -> str:
    """The name of a block, as it stands in a table."""
    return as_name(_plain(item), f"{where}: the name of the block", InstanceError)


def _row(arm: Any, fidelity: Any, reward: Any, where: str, column: str) -> TableRow:
    return TableRow(
        as_name(_plain(arm), f"{where}: the name of the arm", InstanceError),
        as_name(_plain(fidelity), f"{where}: the name of the fidelity", InstanceError),
        number(reward, column, where),
        where,
    )


def check_range(row: TableRow, kind: RewardKind | None) -> None:
    """Refuse a reward outside the range of its kind."""
    if kind is None or kind.low is None or kind.high is None or kind.low <= row.reward <= kind.high:
        return
    hint = "; pass reward=Bounded(low, high) if that is its range" if kind == Bounded() else ""
    raise InstanceError(
        f"{row.where}: the reward of arm {row.arm!r} at fidelity {row.fidelity!r} is {row.reward:g}, outside "
        f"[{kind.low:g}, {kind.high:g}]{hint}"
    )


def kept(wanted: tuple[str, ...] | None, seen: Iterable[str], what: str) -> tuple[str, ...]:
    """The names that were wanted, by default all that were seen; refuse what was not seen."""
    present = tuple(seen)
    for name in wanted or ():
        if name not in present:
            raise InstanceError(f"the table has no rows of {what} {name!r}{closest(name, present)}")
    return present if wanted is None else wanted


def read_csv(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Read some columns of a CSV file, which may be compressed by gzip.

    Parameters
    ----------
    path
        The file; its first line names the columns.
    columns
        The columns to return, in this order.

    Yields
    ------
    where, values
        The words that name the line, and its texts.
    """
    lines = csv.reader(io.StringIO(_text(path), newline=""), strict=True)
    try:
        header = [name.strip() for name in next(lines, [])]
        if not header:
            raise InstanceError(f"the table {str(path)!r} is empty; its first line must name the columns")
        positions = [_position(header, column, str(path)) for column in columns]
        for values in lines:
            where = f"line {lines.line_num} of {path.name}"
            if not values:
                continue
            if len(values) != len(header):
                raise InstanceError(
                    f"{where} has {len(values)} value{'s'[: len(values) != 1]}; "
                    f"the first line names {len(header)} columns"
                )
            yield where, [values[position].strip() for position in positions]
    except csv.Error as error:
        raise InstanceError(f"line {lines.line_num} of {path.name} is not valid CSV: {error}") from None


def records(source: TableSource, columns: Sequence[str], words: Sequence[str]) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield the place of each row and its values in these columns, as they stand in the source.

    `words` say what the columns are, for rows that have no names.
    """
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if path.suffix.lower() in (".parquet", ".pq"):
            yield from _frame_records(_parquet(path), columns, path.name)
        else:
            yield from read_csv(path, columns)
    elif hasattr(source, "columns") and hasattr(source, "itertuples"):
        yield from _frame_records(source, columns, "the data frame")
    elif isinstance(source, Iterable) and not isinstance(source, Mapping | bytes):
        for index, row in enumerate(source):
            yield f"row {index}", _values(row, columns, f"row {index}", words)
    else:
        raise InstanceError(
            f"a table is a CSV or Parquet file, a data frame or rows of ({', '.join(words)}), got "
            f"{reprlib.repr(source)}"
        )


def header_of(source: TableSource) -> list[str]:
    """The names of all columns of a table."""
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if path.suffix.lower() in (".parquet", ".pq"):
            return [str(name) for name in _parquet(path).columns]
        return [name.strip() for name in next(csv.reader(io.StringIO(_text(path), newline="")), [])]
    if hasattr(source, "columns"):
        return [str(name) for name in source.columns]
    if isinstance(source, Sequence) and source and isinstance(source[0], Mapping):
        return [str(name) for name in source[0]]
    raise InstanceError(
        "a wide table is a CSV or Parquet file, a data frame or a list of mappings from column names, got "
        f"{reprlib.repr(source)}"
    )


def _values(row: Any, columns: Sequence[str], where: str, words: Sequence[str]) -> list[Any]:
    if isinstance(row, Mapping):
        for column in columns:
            if column not in row:
                raise InstanceError(f"{where} lacks the key {column!r}")
        return [row[column] for column in columns]
    if isinstance(row, str | bytes) or not isinstance(row, Iterable):
        raise InstanceError(f"{where} is {reprlib.repr(row)}; a row is ({', '.join(words)})")
    values = list(row)
    if len(values) != len(words):
        raise InstanceError(f"{where} has {len(values)} value{'s'[: len(values) != 1]}; a row is ({', '.join(words)})")
    return values


def _frame_records(frame: Any, columns: Sequence[str], what: str) -> Iterator[tuple[str, Sequence[Any]]]:
    header = [str(name) for name in frame.columns]
    series = [frame.iloc[:, _position(header, column, what)].tolist() for column in columns]
    for index, values in enumerate(zip(*series, strict=True)):
        yield f"row {index} of {what}", values


def column_names(columns: object) -> tuple[str, str, str]:
    """Check the names of the columns of the arm, the fidelity and the reward."""
    named = [columns] if isinstance(columns, str) else list(columns) if isinstance(columns, Iterable) else []
    if len(named) != 3 or len(set(named)) != 3 or not all(isinstance(name, str) for name in named):
        raise InstanceError(
            "columns must be three different names, of the arm, the fidelity and the reward, got "
            f"{reprlib.repr(columns)}"
        )
    return named[0], named[1], named[2]


def _position(header: Sequence[str], column: str, what: str) -> int:
    if column not in header:
        shown = ", ".join(map(repr, header[:12]))
        if len(header) == 1 and any(mark in header[0] for mark in ";\t|"):
            raise InstanceError(f"{what} must have its columns separated by commas, but its first line is {shown}")
        raise InstanceError(f"{what} has no column {column!r}{closest(column, header)} (its columns are {shown})")
    if header.count(column) > 1:
        raise InstanceError(f"{what} has {header.count(column)} columns called {column!r}")
    return header.index(column)


def _plain(value: Any) -> Any:
    """Turn a NumPy scalar into a Python one, whose text is the number itself."""
    return value.item() if hasattr(value, "item") else value


def number(value: Any, column: str, where: str) -> float:
    """Return a reward as a finite float, or say what it is instead."""
    if value is None or (isinstance(value, str) and value.strip().lower() in _MISSING):
        raise InstanceError(f"{where}: the {column} is missing")
    try:
        if isinstance(value, bytes) or (isinstance(value, str) and "_" in value):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError):
        raise InstanceError(f"{where}: the {column} is {reprlib.repr(value)}, which is not a number") from None
    if math.isnan(number):
        raise InstanceError(f"{where}: the {column} is missing (NaN)")
    if math.isinf(number):
        raise InstanceError(f"{where}: the {column} is {number}; it must be finite")
    return number + 0.0


def _text(path: Path) -> str:
    """Read a text file, unpacking it if its name or its first bytes say that it is packed."""
    try:
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        return data.decode("utf-8-sig")
    except FileNotFoundError:
        raise InstanceError(f"there is no table {str(path)!r}") from None
    except UnicodeDecodeError:
        raise InstanceError(f"the table {str(path)!r} is not UTF-8 text") from None
    except (OSError, EOFError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InstanceError(f"the table {str(path)!r} cannot be read: {reason}") from None


def _parquet(path: Path) -> Any:
    if not path.is_file():
        raise InstanceError(f"there is no table {str(path)!r}")
    try:
        import pandas as pd

        return pd.read_parquet(path)
    except ImportError as error:
        raise MissingExtra(
            f"reading the Parquet file {path.name!r} needs pandas and pyarrow: pip install 'mfbandit[pandas]' pyarrow"
        ) from error
    except Exception as error:  # whatever the Parquet engine raises for a broken file
        raise InstanceError(f"the table {str(path)!r} cannot be read as Parquet: {error}") from None
