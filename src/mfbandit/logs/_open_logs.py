"""Which file is what: logs of Inspect, lm-evaluation-harness and promptfoo, plain tables, folders of them."""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from mfbandit.errors import InvalidInput, ModelWarning
from mfbandit.logs._harness_rows import is_harness_sample, promptfoo_rows, sample_rows
from mfbandit.logs._inspect_rows import has_ended_well, inspect_rows
from mfbandit.logs._plain_rows import frame_rows, json_lines, log_text, plain_json_rows, read_csv_rows
from mfbandit.logs._rows import LogRow

__all__ = ["LogSources", "read_logs"]

LogSources: TypeAlias = Mapping[str, str | os.PathLike[str]] | Iterable[Any]
"""Files, "NAME=FILE" among them; a mapping from names of systems to files; or a data frame."""

#: What is looked for in a folder.
_IN_FOLDERS = ("*.eval", "samples_*.jsonl")
#: What may stand before "=" in NAME=FILE; a path may hold one, too.
_NAMED = re.compile(r"^([^=/\\]+)=(.+)$")


def read_logs(sources: LogSources, metric: str | None = None) -> list[LogRow]:
    """The rows of all files, with the names that systems were given.

    Parameters
    ----------
    sources
        Files and folders. "NAME=FILE" gives the system of a file a name; files with the same name are
        repeats, or parts, of one system. Or a data frame with the columns of a plain table.
    metric
        The column of the score in plain tables, where it is not called so.
    """
    if hasattr(sources, "columns") and hasattr(sources, "itertuples"):
        return list(frame_rows(sources, metric))
    found: list[LogRow] = []
    givers: dict[tuple[str, str, str], Path] = {}
    for name, path in _files(sources):
        rows = list(_rows(path, metric))
        if not rows:
            raise InvalidInput(f"{path} holds no scores")
        if name is not None:
            systems = sorted({row.system for row in rows})
            if len(systems) > 1:
                raise InvalidInput(
                    f"{path} holds {len(systems)} systems ({', '.join(systems[:5])}); {name}=FILE is for a file of one"
                )
            found += [replace(row, system=name) for row in rows]
            continue
        for row in rows:
            other = givers.setdefault((row.system, row.task, row.item), path)
            if other != path:
                raise InvalidInput(
                    f"{other} and {path} both have scores of {row.system!r} for item {row.item!r}: name them, "
                    "NAME=FILE, with one name if they are repeats and two if they are different systems"
                )
        found += rows
    return found


def _files(sources: LogSources) -> Iterator[tuple[str | None, Path]]:
    """The files that were meant, each with the name it was given, if any."""
    if isinstance(sources, str | os.PathLike):
        sources = [sources]
    pairs: Iterable[tuple[str | None, str | os.PathLike[str]]]
    pairs = sources.items() if isinstance(sources, Mapping) else [_named(source) for source in sources]
    empty = True
    for name, source in pairs:
        empty, path = False, Path(source)
        if path.is_dir():
            yield from ((name, file) for file in _in_folder(path))
        elif path.is_file():
            yield name, path
        else:
            raise InvalidInput(f"there is no file {str(path)!r}")
    if empty:
        raise InvalidInput("name at least one file of scores")


def _in_folder(folder: Path) -> list[Path]:
    """The logs in a folder, but for evaluations of Inspect that were broken off: mostly they were run again."""
    found = sorted(file for pattern in _IN_FOLDERS for file in folder.rglob(pattern))
    ended = [file for file in found if file.suffix != ".eval" or has_ended_well(file)]
    if not ended:
        raise InvalidInput(f"the folder {folder} holds no logs ({' or '.join(_IN_FOLDERS)}); name files instead")
    if len(ended) < len(found):
        lost = ", ".join(file.name for file in found if file not in ended)
        warnings.warn(
            f"left out, since these evaluations did not come to their end: {lost}", ModelWarning, stacklevel=2
        )
    return ended


def _named(source: str | os.PathLike[str]) -> tuple[str | None, str | os.PathLike[str]]:
    """Split NAME=FILE, unless that is the name of a file itself."""
    match = _NAMED.match(source) if isinstance(source, str) and not Path(source).exists() else None
    return (match[1].strip(), match[2]) if match else (None, source)


def _rows(path: Path, metric: str | None) -> Iterator[LogRow]:
    """The rows of one file, by its ending and its content."""
    ending = path.suffix.lower()
    if ending == ".eval":
        return inspect_rows(path)
    if ending == ".csv":
        return read_csv_rows(path, metric)
    if ending in (".jsonl", ".ndjson"):
        rows = list(json_lines(path))
        harness = bool(rows) and is_harness_sample(rows[0][1])
        return sample_rows(rows, path) if harness else plain_json_rows(rows, path, metric)
    if ending == ".json":
        return _json_rows(path)
    raise InvalidInput(f"{path} ends in {ending or 'nothing'!r}; logs are .eval, .json, .jsonl and .csv files")


def _json_rows(path: Path) -> Iterator[LogRow]:
    """Tell what wrote a JSON file."""
    try:
        data = json.loads(log_text(path))
    except ValueError as error:
        raise InvalidInput(f"{path} is not JSON: {error}") from None
    if isinstance(data, dict) and {"eval", "status"} <= data.keys():
        return inspect_rows(path)
    if isinstance(data, dict) and isinstance(data.get("results"), dict) and "results" in data["results"]:
        return promptfoo_rows(data, path)
    hint = ": pass the samples_*.jsonl beside it" if isinstance(data, dict) and "config" in data else ""
    raise InvalidInput(f"{path} is neither a log of Inspect nor an output of promptfoo{hint}")
