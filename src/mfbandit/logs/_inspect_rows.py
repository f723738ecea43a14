"""Rows of Inspect's logs, read by Inspect itself."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mfbandit._optional import optional
from mfbandit.errors import InvalidInput
from mfbandit.logs._rows import LogRow

__all__ = ["inspect_rows", "inspect_scores"]

#: What of a sample is not needed here, and large.
_LARGE = {"messages", "events", "store", "attachments", "output", "model_usage", "timelines"}


def inspect_rows(path: Path) -> Iterator[LogRow]:
    """The rows of a log: one per sample and epoch."""
    reader = optional("inspect_ai.log", f"reading {path.name} needs Inspect", extra="inspect")
    try:
        log = reader.read_eval_log(str(path), exclude_fields=_LARGE)
    except Exception as error:  # whatever a broken file makes the reader raise
        raise InvalidInput(f"{path} cannot be read as a log of Inspect: {error}") from None
    if not log.samples:
        raise InvalidInput(f"{path} holds no samples; its status is {log.status!r}")
    stopped = getattr(log.results, "early_stopping", None) if log.results else None
    if stopped is not None and stopped.early_stops:
        raise InvalidInput(
            f"{path} was stopped early by {stopped.manager!r} after looking at results: which items it holds depends "
            "on their scores, and it can no longer be compared here"
        )
    for sample in log.samples:
        where = f"sample {sample.id!r} (epoch {sample.epoch}) of {path.name}"
        content = hashlib.sha256(repr((sample.input, sample.target)).encode()).hexdigest()
        scores = inspect_scores(sample.scores or {}, where)
        yield LogRow(str(log.eval.model), str(sample.id), scores, where, str(log.eval.task), content)


def inspect_scores(scores: dict[str, Any], where: str) -> dict[str, Any]:
    """Values by the name of the scorer; of a scorer that gives several, by "scorer.name"."""
    found: dict[str, Any] = {}
    for scorer, score in scores.items():
        if isinstance(score.value, dict):
            found |= {f"{scorer}.{name}": value for name, value in score.value.items()}
        elif isinstance(score.value, list):
            raise InvalidInput(f"{where}: the scorer {scorer!r} gives a list; a score must be one value")
        else:
            found[scorer] = score.value
    return found
