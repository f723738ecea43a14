"""Rows of Inspect's logs, read by Inspect itself."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mfbandit._optional import optional
from mfbandit.errors import InvalidInput
from mfbandit.logs._rows import LogRow

__all__ = ["has_ended_well", "inspect_rows", "inspect_scores"]


def inspect_rows(path: Path) -> Iterator[LogRow]:
    """The rows of a log: one per sample and epoch."""
    reader = optional("inspect_ai.log", f"reading {path.name} needs Inspect", extra="inspect")
    try:
        log = reader.read_eval_log(str(path), header_only=True)
        # Without messages and events, which are most of a log.
        samples = reader.read_eval_log_sample_summaries(str(path))
    except Exception as error:  # whatever a broken file makes the reader raise
        raise InvalidInput(f"{path} cannot be read as a log of Inspect: {error}") from None
    if not samples:
        raise InvalidInput(f"{path} holds no samples; its status is {log.status!r}")
    stopped = getattr(log.results, "early_stopping", None) if log.results else None
    if stopped is not None and stopped.early_stops:
        raise InvalidInput(
            f"{path} was stopped early by {stopped.manager!r} after looking at results: which items it holds depends "
            "on their scores, and it can no longer be compared here"
        )
    for sample in samples:
        where = f"sample {sample.id!r} (epoch {sample.epoch}) of {path.name}"
        content = hashlib.sha256(repr((_text(sample.input), sample.target)).encode()).hexdigest()
        scores = inspect_scores(sample.scores or {}, where)
        yield LogRow(str(log.eval.model), str(sample.id), scores, where, str(log.eval.task), content)


def _text(given: Any) -> Any:
    """What a sample asks; messages have ids that are others in every run."""
    return given if isinstance(given, str) else [(message.role, message.text) for message in given]


def has_ended_well(path: Path) -> bool:
    """Whether a log is of an evaluation that came to its end."""
    reader = optional("inspect_ai.log", f"reading {path.name} needs Inspect", extra="inspect")
    try:
        return bool(reader.read_eval_log(str(path), header_only=True).status == "success")
    except Exception:  # whoever reads it will say what is wrong with it
        return True


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
