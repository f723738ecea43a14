"""What a search found, as the columns of ``cv_results_`` and in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mfbandit.search._candidates import Candidate, result_columns
from mfbandit.search._measure import FitScore
from mfbandit.search._rungs import Rung
from mfbandit.study import ArmResult, Result, View

__all__ = ["Fits", "best_score", "how_it_ended", "results_table", "spread", "standing"]

#: What single fits gave, by split, of each candidate at each fidelity.
Fits = dict[tuple[str, str], dict[int, FitScore]]


def best_score(name: str, rungs: Sequence[Rung], fits: Fits) -> float:
    """The mean score of a candidate at the truest fidelity at which it was measured; NaN if there is none."""
    for rung in reversed(rungs):
        if fits.get((name, rung.name)):
            return _of(np.mean, [one.score for one in fits[name, rung.name].values()])
    return math.nan


def results_table(
    candidates: list[Candidate], view: View, result: Result, rungs: Sequence[Rung], fits: Fits, span: float
) -> dict[str, Any]:
    """One entry per candidate in every column: those of GridSearchCV, and what a race knows beside them.

    No two true scores are farther apart than the span of the metric.
    """
    arms, truth = result.arms, rungs[-1].name
    single = [fits.get((arm.arm, truth), {}) for arm in arms]
    table = _columns("fit_time", single, lambda one: one.fit_seconds)
    table |= _columns("score_time", single, lambda one: one.score_seconds)
    table |= result_columns(candidates)
    table["params"] = candidates
    table |= _scores("test_score", single, result.on_blocks, lambda one: one.score)
    table["rank_test_score"] = _ranks(result, rungs, table["mean_test_score"])
    if any(not math.isnan(one.train_score) for scores in single for one in scores.values()):
        table |= _scores("train_score", single, result.on_blocks, lambda one: one.train_score)
    scores = {name: {split: one.score for split, one in known.items()} for name, known in fits.items()}
    ahead = np.array([_ahead(result, arm, truth, scores) for arm in arms])
    table["difference"] = ahead[:, 0]
    table["difference_low"], table["difference_high"] = np.clip(ahead[:, 1:], -span, span).T
    table["confidence"] = _confidences(view, result)
    table["n_fits"] = np.array([sum(arm.pulls.values()) for arm in arms])
    table["cost"] = np.array([arm.cost for arm in arms])
    # Of the truest alone they are there already.
    for rung in rungs if len(rungs) > 1 else ():
        table[f"n_fits at {rung.name}"] = np.array([arm.pulls[rung.name] for arm in arms])
        means = [arm.means[rung.name] for arm in arms]
        table[f"mean_score at {rung.name}"] = np.array([math.nan if mean is None else mean for mean in means])
    return table


def _columns(name: str, single: list[dict[int, FitScore]], value: Callable[[FitScore], float]) -> dict[str, Any]:
    """Mean and standard deviation of something over the splits on which each candidate was fitted."""
    known = [[value(one) for one in fits.values()] for fits in single]
    return {
        f"mean_{name}": np.array([_of(np.mean, one) for one in known]),
        f"std_{name}": np.array([_of(np.std, one) for one in known]),
    }


def _scores(
    name: str, single: list[dict[int, FitScore]], shared: bool, value: Callable[[FitScore], float]
) -> dict[str, Any]:
    """Scores by split, NaN where a candidate was not fitted, and their mean and standard deviation."""
    found: dict[str, Any] = {}
    if shared:
        for split in sorted({split for fits in single for split in fits}):
            column = [value(fits[split]) if split in fits else math.nan for fits in single]
            found[f"split{split}_{name}"] = np.array(column)
    return found | _columns(name, single, value)


def _confidences(view: View, result: Result) -> npt.NDArray[np.float64]:
    """How sure it is of each candidate that it is not better than the answer by more than epsilon."""
    if len(result.arms) == 1:
        return np.ones(1)
    answer = next((k for k, arm in enumerate(result.arms) if arm.arm == result.best), None)
    if answer is None or not result.on_blocks:
        # Of all of them at once.
        return np.full(len(result.arms), result.confidence)
    found = -np.expm1(np.minimum(0.0, view.race.log_wrong(answer)))
    # Of the answer, that nobody is better.
    found[answer] = result.confidence
    return np.asarray(found)


def _of(function: Any, values: Sequence[float]) -> float:
    return float(function(values)) if len(values) else math.nan


def _ahead(
    result: Result, arm: ArmResult, truth: str, scores: dict[tuple[str, str], dict[int, float]]
) -> tuple[float, float, float]:
    """By how much the answer is better than a candidate: as measured, at least and at most."""
    if result.best is None:
        return math.nan, math.nan, math.nan
    if arm.arm == result.best:
        return 0.0, 0.0, 0.0
    best, other = (scores.get((name, truth), {}) for name in (result.best, arm.arm))
    if result.on_blocks:
        # What a split does to both of them cancels.
        both = [best[split] - score for split, score in other.items() if split in best]
        mean = _of(np.mean, both)
        # Sums of equal scores may differ in their last digits.
        noise = 1e-12 * max((abs(score) for score in best.values()), default=0.0)
        return (0.0 if abs(mean) < noise else mean), *result.differences[arm.arm]
    # All intervals hold at once, so this holds for all candidates, too.
    low, high = result.intervals[result.best]
    means = [_of(np.mean, list(known.values())) for known in (best, other)]
    return means[0] - means[1], low - arm.high, high - arm.low


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


def standing(view: View, fits: int, span: float) -> str:
    """Where a search stands, in one line."""
    bound, names = view.regret_bound, view.settings.problem.arms
    known = bound is not None and bound < span
    others = f"none better by more than {bound:.3g}" if known else "how much better another is, is not known yet"
    sure = f", confidence {view.confidence:.3g}" if view.confidence >= 0.005 else ""
    leads = "" if view.best is None else f"{view.best} leads, "
    made = "1 fit" if fits == 1 else f"{fits} fits"
    return f"{made}, cost {view.cost:g}: {leads}{len(view.left)} of {len(names)} still in, {others}{sure}"


def how_it_ended(result: Result, max_cost: float | None, span: float) -> str | None:
    """Why an answer is not certified, and what is shown all the same; None if it is, or if nothing more is promised."""
    why = {
        "max_cost": f"ended by max_cost={max_cost:g}" if max_cost is not None else "ended by max_cost",
        "cancelled": "ended by an interrupt, and a search cannot be gone on with",
        "violation": "; ".join(result.violations),
    }.get(result.status)
    if why is None:
        return None
    shown = "by how much another candidate is better is not known"
    if result.regret_bound is not None and result.regret_bound < span:
        sure = f"with confidence {1.0 - result.delta:g}"
        shown = f"no candidate is better than {result.best!r} by more than {result.regret_bound:.3g}, {sure}"
    return f"the answer is not certified: {why}; {shown}"


def spread(fits: Fits, truth: str) -> float:
    """By how much the scores of a typical candidate differ from split to split; NaN if nobody has two."""
    known = [[one.score for one in scores.values()] for (_, rung), scores in fits.items() if rung == truth]
    spreads = [float(np.std(scores, ddof=1)) for scores in known if len(scores) > 1]
    return _of(np.median, spreads)
