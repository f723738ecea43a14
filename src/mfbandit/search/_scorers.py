"""What is known of scores before there are any: their range, their least step, or that they are nearly normal."""

from __future__ import annotations

import math
from typing import Any

from sklearn.base import is_classifier

from mfbandit._checks import is_number
from mfbandit.errors import InvalidInput
from mfbandit.model import Bounded, Gaussian

__all__ = ["EVERYTHING", "error_score", "good_enough", "reward_kind", "score_limits", "score_step"]

#: Stands for a range that nobody knows before everything is measured.
EVERYTHING = Bounded()

#: Which difference of normal scores does not matter; right for metrics of about 0 to 1.
_EPSILON = 0.01
#: Metrics of scikit-learn between 0 and 1, by how their names begin.
_SHARES = (
    "accuracy",
    "average_precision",
    "balanced_accuracy",
    "completeness_score",
    "f1",
    "fowlkes_mallows_score",
    "homogeneity_score",
    "jaccard",
    "normalized_mutual_info_score",
    "precision",
    "rand_score",
    "recall",
    "roc_auc",
    "top_k_accuracy",
    "v_measure_score",
)
_CORRELATIONS = ("adjusted_rand_score", "matthews_corrcoef")


def _metric(scoring: Any, estimator: Any) -> str:
    """The name of a metric; empty if it has none. Classifiers score by their accuracy."""
    if scoring is None:
        return "accuracy" if is_classifier(estimator) else ""
    return scoring if isinstance(scoring, str) else ""


def score_limits(scoring: Any, estimator: Any) -> tuple[float, float] | None:
    """The least and the largest value of a metric; None where it has none, or where nobody knows.

    Examples
    --------
    >>> from sklearn.svm import SVC, SVR
    >>> score_limits(None, SVC()), score_limits("f1_macro", SVC()), score_limits("r2", SVR()), score_limits(None, SVR())
    ((0.0, 1.0), (0.0, 1.0), None, None)
    """
    name = _metric(scoring, estimator)
    if name.startswith(_SHARES):
        return 0.0, 1.0
    return (-1.0, 1.0) if name in _CORRELATIONS else None


def score_step(scoring: Any, estimator: Any, tested: int) -> float | None:
    """The least step between two scores on so many samples; None where nobody knows.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> score_step("accuracy", SVC(), 50), score_step("roc_auc", SVC(), 50)
    (0.02, None)
    """
    return 1.0 / tested if _metric(scoring, estimator) in ("accuracy", "top_k_accuracy") else None


def reward_kind(chosen: Any, blocks: int | str, tested: int) -> Bounded | Gaussian:
    """What a search assumes of scores: what its user states, or what goes with its splits."""
    given, listed = chosen.score_range, blocks != "unlimited"
    if given is None and listed:
        limits = score_limits(chosen.scoring, chosen.estimator)
        return EVERYTHING if limits is None else Bounded(*limits)
    kind = _stated(given)
    if not isinstance(kind, Gaussian):
        return kind
    if listed:
        raise InvalidInput(
            f"score_range={given!r} takes scores for normal, but the {blocks} splits of cv={chosen.cv!r} are a fixed "
            "list, not independent draws: leave score_range out, state (low, high), or give cv as a whole number"
        )
    if kind.sigma is not None:
        raise InvalidInput(
            f"score_range is {kind}, but candidates are compared on the same splits, where the noise of single "
            "scores is not what counts: leave sigma out"
        )
    step = score_step(chosen.scoring, chosen.estimator, tested) if kind.resolution is None else kind.resolution
    return Gaussian(caution=kind.caution, resolution=step)


def _stated(given: Any) -> Bounded | Gaussian:
    if given is None or (isinstance(given, str) and given == "normal"):
        return Gaussian()
    if isinstance(given, Bounded | Gaussian):
        return given
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise InvalidInput(f"score_range must be (low, high), 'normal', Bounded(...) or Gaussian(...), got {given!r}")
    return Bounded(*given)


def good_enough(stated: Any, reward: Bounded | Gaussian) -> float:
    """The epsilon of a search: which difference of scores does not matter.

    Examples
    --------
    >>> good_enough(None, Gaussian()), good_enough(None, Bounded(0, 100)), good_enough(0.5, Gaussian())
    (0.01, 1.0, 0.5)
    """
    if stated is None:
        return _EPSILON if isinstance(reward, Gaussian) else reward.span / 100
    if not is_number(stated) or not 0.0 <= stated < math.inf:
        raise InvalidInput(f"epsilon must be a number >= 0, in units of the score, got {stated!r}")
    return float(stated)


def error_score(value: Any) -> Any:
    """What counts as the score of a fit that fails: "raise" where its error ends the search."""
    if isinstance(value, str) and value == "raise":
        return value
    if not is_number(value) or not math.isfinite(value):
        raise InvalidInput(
            f"error_score must be 'raise' or a finite number, got {value!r}: a fit that fails must have some score, "
            "such as 0 for an accuracy"
        )
    return float(value)
