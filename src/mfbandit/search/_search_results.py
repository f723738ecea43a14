"""What a search found, as the columns of ``cv_results_``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mfbandit.search._candidates import Candidate, result_columns
from mfbandit.search._rungs import Rung
from mfbandit.study import ArmResult, Result

__all__ = ["Scores", "best_score", "results_table"]

#: Single scores by block, of each candidate at each fidelity.
Scores = dict[tuple[str, str], dict[int, float]]


def best_score(name: str, rungs: Sequence[Rung], scores: Scores) -> float:
    """The mean score of a candidate at the truest fidelity at which it was measured; NaN if there is none."""
    for rung in reversed(rungs):
        if scores.get((name, rung.name)):
            return float(np.mean(list(scores[name, rung.name].values())))
    return math.nan


def results_table(candidates: list[Candidate], result: Result, rungs: Sequence[Rung], scores: Scores) -> dict[str, Any]:
    """One entry per candidate in every column."""
    arms, truth = result.arms, rungs[-1].name
    single = [scores.get((arm.arm, truth), {}) for arm in arms]
    table: dict[str, Any] = dict(result_columns(candidates))
    table["params"] = candidates
    table["mean_test_score"] = np.array([_of(np.mean, one) for one in single])
    table["std_test_score"] = np.array([_of(np.std, one) for one in single])
    table["rank_test_score"] = _ranks(result, rungs, table["mean_test_score"])
    ahead = np.array([_ahead(result, arm, truth, scores) for arm in arms])
    table["difference"], table["difference_low"], table["difference_high"] = ahead.T
    table["n_fits"] = np.array([sum(arm.pulls.values()) for arm in arms])
    table["cost"] = np.array([arm.cost for arm in arms])
    for rung in rungs:
        table[f"n_fits at {rung.name}"] = np.array([arm.pulls[rung.name] for arm in arms])
        means = [arm.means[rung.name] for arm in arms]
        table[f"mean_score at {rung.name}"] = np.array([math.nan if mean is None else mean for mean in means])
    return table


def _of(function: Any, scores: dict[int, float]) -> float:
    return float(function(list(scores.values()))) if scores else math.nan


def _ahead(result: Result, arm: ArmResult, truth: str, scores: Scores) -> tuple[float, float, float]:
    """By how much the answer is better than a candidate: as measured, at least and at most."""
    if result.best is None:
        return math.nan, math.nan, math.nan
    if arm.arm == result.best:
        return 0.0, 0.0, 0.0
    best, other = (scores.get((name, truth), {}) for name in (result.best, arm.arm))
    if result.on_blocks:
        # What a split does to both of them cancels.
        both = {block: best[block] - score for block, score in other.items() if block in best}
        return _of(np.mean, both), *result.differences[arm.arm]
    # All intervals hold at once, so this holds for all candidates, too.
    low, high = result.intervals[result.best]
    return _of(np.mean, best) - _of(np.mean, other), low - arm.high, high - arm.low


def _ranks(result: Result, rungs: Sequence[Rung], means: npt.NDArray[np.float64]) -> npt.NDArray[np.int32]:
    """The answer is first. In a race the others follow by how long they stayed in it, then by their mean.

    A mean over a few splits says little beside one over many, on which worse candidates had left already.
    """
    if result.on_blocks:
        stayed = [tuple(-arm.pulls[rung.name] for rung in reversed(rungs)) for arm in result.arms]
        known = np.where(np.isnan(means), -math.inf, means)
        keys: list[Any] = [(fits, -mean) for fits, mean in zip(stayed, known, strict=True)]
    else:
        keys = [-(arm.low + arm.high) / 2 for arm in result.arms]
    order = sorted(range(len(keys)), key=lambda k: (result.arms[k].arm != result.best, keys[k]))
    ranks = np.empty(len(order), dtype=np.int32)
    ranks[order] = np.arange(1, len(order) + 1)
    return ranks
