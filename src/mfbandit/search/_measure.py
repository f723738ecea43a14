"""One pull of a search: fit a candidate on a split at a fidelity, and score it."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from mfbandit.errors import InvalidInput, RewardError
from mfbandit.search._candidates import Candidate
from mfbandit.search._rungs import SAMPLES, Rung
from mfbandit.search._splits import Split, Splitter, check_split, subset

__all__ = ["FitScore", "Job", "Task", "measure"]


@dataclass(frozen=True)
class FitScore:
    """What a pull gave."""

    score: float
    samples: int
    """On how many samples the candidate was fitted."""
    fit_seconds: float = math.nan
    score_seconds: float = math.nan
    """How long fitting and scoring took; NaN if it failed."""
    train_score: float = math.nan
    """The score on the samples that the candidate was fitted on; NaN if nobody asked for it."""


@dataclass(frozen=True)
class Job:
    """A fit to be made."""

    candidate: Candidate
    name: str
    rung: Rung
    seed: int
    """The same for all candidates on a split; makes the split where none is given."""
    split: Split | None = None


@dataclass(frozen=True)
class Task:
    """Everything that all pulls of a search have in common."""

    estimator: Any
    X: Any
    y: Any
    groups: Any
    fit_params: dict[str, Any]
    scorer: Any
    splitter: Splitter | None
    """Makes a split from the seed of a job that has none."""
    resource: str
    keep_classes: bool
    low: float
    high: float
    clip: bool
    error_score: Any
    train_scores: bool = False


def measure(task: Task, job: Job) -> FitScore:
    """Fit a candidate at a rung on a split, and score it on the rest."""
    train, test = _split(task, job)
    params = dict(job.candidate)
    if task.resource == SAMPLES:
        train = subset(train, task.y, job.rung.samples(len(train)), job.seed, task.keep_classes)
    else:
        params[task.resource] = job.rung.amount
    fitted = clone(task.estimator).set_params(**{key: clone(one, safe=False) for key, one in params.items()})
    try:
        found = _fit_and_score(task, fitted, train, test)
    except Exception:
        if task.error_score == "raise":
            raise
        found = FitScore(float(task.error_score), len(train))
    return replace(found, score=_checked(task, found.score, job.name, job.rung))


def _split(task: Task, job: Job) -> Split:
    if job.split is not None:
        return job.split
    if task.splitter is None:
        raise TypeError("a job needs a split where seeds make none")
    train, test = task.splitter(task.X, task.y, task.groups, job.seed)
    check_split(train, test)
    return train, test


def _fit_and_score(task: Task, fitted: Any, train: Any, test: Any) -> FitScore:
    count = _num_samples(task.X)
    fit_params = {key: _sliced(value, train, count) for key, value in task.fit_params.items()}
    X = _rows(task.estimator, task.X, train, train)
    held_out = _rows(task.estimator, task.X, test, train)
    seen = () if task.y is None else (_safe_indexing(task.y, train),)
    unseen = () if task.y is None else (_safe_indexing(task.y, test),)
    started = time.perf_counter()
    fitted.fit(X, *seen, **fit_params)
    ready = time.perf_counter()
    score = _number(task.scorer(fitted, held_out, *unseen))
    done = time.perf_counter()
    trained = _number(task.scorer(fitted, X, *seen)) if task.train_scores else math.nan
    return FitScore(score, len(train), ready - started, done - ready, trained)


def _rows(estimator: Any, X: Any, rows: Any, columns: Any) -> Any:
    """Some samples; of a matrix of pairs (a kernel), some columns as well."""
    from sklearn.utils import get_tags

    if get_tags(estimator).input_tags.pairwise:
        return np.asarray(X)[np.ix_(rows, columns)]
    return _safe_indexing(X, rows)


def _sliced(value: Any, rows: Any, count: int) -> Any:
    """The part of an argument of `fit` that goes with some samples, if it has one entry for each."""
    try:
        matches = not isinstance(value, str | bytes | dict) and _num_samples(value) == count
    except TypeError:
        matches = False
    return _safe_indexing(value, rows) if matches else value


def _number(score: Any) -> float:
    try:
        return float(score)
    except (TypeError, ValueError):
        raise InvalidInput(f"scoring must give one number, got {score!r}") from None


def _checked(task: Task, score: float, name: str, rung: Rung) -> float:
    where = f"the score of candidate {name!r} at {rung.name} is {score:g}"
    if math.isnan(score) or (math.isinf(score) and not task.clip):
        raise RewardError(f"{where}; a score must be a finite number (error_score=0.0 counts a fit that fails as a 0)")
    if task.low <= score <= task.high:
        return score
    if task.clip:
        return min(max(score, task.low), task.high)
    raise RewardError(
        f"{where}, outside score_range ({task.low:g}, {task.high:g}): state the range of the metric with "
        "score_range, or clip=True to count what lies beyond an end as that end"
    )
