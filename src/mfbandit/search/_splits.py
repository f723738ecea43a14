"""Splits of the samples: fresh random ones without end, one per seed, or a given list of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.utils import _safe_indexing
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _num_samples

from mfbandit._checks import is_number, is_whole
from mfbandit.errors import InvalidInput

__all__ = ["Split", "Splits", "Splitter", "make_splits", "subset"]

Indices = npt.NDArray[np.int64]
#: The indices for training and for testing.
Split = tuple[Any, Any]
#: (X, y, groups, seed) to the indices for training and for testing.
Splitter = Callable[[Any, Any, Any, int], Split]
#: The share for scoring where nothing is said.
_TEST_SIZE = 0.25


@dataclass(frozen=True)
class Splits:
    """Where the samples are split: a split for every seed, or a list that is all there is."""

    splitter: Splitter | None
    """Makes a split from a seed; None if there is a list."""
    listed: tuple[Split, ...] = ()

    @property
    def blocks(self) -> int | str:
        """How many splits there are."""
        return len(self.listed) if self.splitter is None else "unlimited"

    def first(self, X: Any, y: Any, groups: Any) -> Split:
        """A split by which to know how many samples there are on each side."""
        train, test = self.listed[0] if self.splitter is None else self.splitter(X, y, groups, 0)
        check_split(train, test)
        return train, test


def make_splits(chosen: Any, X: Any, y: Any, groups: Any) -> Splits:
    """The splits that the settings of a search ask for."""
    cv, size = chosen.cv, chosen.test_size
    if groups is not None and chosen.splitter is None and (cv is None or is_whole(cv)):
        _refuse_groups(cv, size)
    if cv is None:
        return Splits(make_splitter(chosen.splitter, _TEST_SIZE if size is None else size, chosen.estimator, y))
    for name, other in (("splitter", chosen.splitter), ("test_size", size)):
        if other is not None:
            raise InvalidInput(f"cv={cv!r} and {name}={other!r} both say how to split: give one of them")
    if is_whole(cv) or isinstance(cv, bool):
        if isinstance(cv, bool) or cv < 2:
            raise InvalidInput(
                f"cv must be a whole number >= 2, since a split leaves one part in so many for scoring; got {cv!r}"
            )
        return Splits(make_splitter(None, 1.0 / int(cv), chosen.estimator, y))
    return Splits(None, _listed(cv, X, y, groups))


def _refuse_groups(cv: Any, size: float | None) -> None:
    """Random splits would tear groups apart, and candidates that know them by heart would win."""
    share = 1.0 / cv if cv else _TEST_SIZE if size is None else size
    said = f"cv={cv}" if cv else "a random split"
    raise InvalidInput(
        f"groups are given, but {said} draws samples without them: use splitter=GroupShuffleSplit(test_size="
        f"{share:.3g}), or a list of splits such as cv=GroupKFold({cv or 5})"
    )


def _listed(cv: Any, X: Any, y: Any, groups: Any) -> tuple[Split, ...]:
    """All splits of a splitter, or those given."""
    if isinstance(cv, str | bytes) or not (hasattr(cv, "split") or isinstance(cv, Iterable)):
        share = f" (test_size={cv!r} leaves a share for scoring)" if is_number(cv) and 0 < cv < 1 else ""
        raise InvalidInput(
            f"cv must be a whole number, a splitter of scikit-learn or pairs of indices, got {cv!r}{share}"
        )
    try:
        found = [(train, test) for train, test in (cv.split(X, y, groups) if hasattr(cv, "split") else cv)]
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"cv={cv!r} gives no splits of these data: {error}") from error
    if not found:
        raise InvalidInput(f"cv={cv!r} gives no splits; a search needs at least one")
    for train, test in found:
        for part in (train, test):
            _check_indices(part, _num_samples(X))
        check_split(train, test)
    return tuple(found)


def _check_indices(part: Any, count: int) -> None:
    """Refuse what names no samples: fits would end with an error that does not tell why."""
    rows = np.asarray(part)
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iub"):
        raise InvalidInput(
            f"cv must have pairs of lists of whole numbers, one for training and one for testing: {part!r}"
        )
    if rows.dtype.kind == "b" and rows.size != count:
        raise InvalidInput(
            f"cv has a split that says of {rows.size} samples whether to take them, and there are {count}"
        )
    if rows.dtype.kind != "b" and rows.size and not -count <= rows.min() <= rows.max() < count:
        raise InvalidInput(f"cv has a split with sample {rows[np.abs(rows).argmax()]}, and there are {count} samples")


class SeededSplit:
    """The first split of a scikit-learn splitter whose `random_state` is the seed."""

    def __init__(self, splitter: Any) -> None:
        self.splitter = splitter

    def __call__(self, X: Any, y: Any, groups: Any, seed: int) -> tuple[Any, Any]:
        """Split once."""
        fresh = copy(self.splitter)
        fresh.random_state = seed
        train, test = next(iter(fresh.split(X, y, groups)))
        return train, test


def make_splitter(splitter: Any, test_size: float, estimator: Any, y: Any) -> Splitter:
    """What the user chose, or shuffled splits that keep the shares of classes where there are any."""
    if splitter is None:
        kind = StratifiedShuffleSplit if stratified(estimator, y, test_size) else ShuffleSplit
        return SeededSplit(kind(n_splits=1, test_size=test_size))
    if hasattr(splitter, "split"):
        if not hasattr(splitter, "random_state") or getattr(splitter, "shuffle", True) is False:
            raise InvalidInput(
                f"splitter {splitter!r} splits the same way each time; every pull needs a fresh split, so it "
                "must shuffle and have a random_state, as ShuffleSplit or KFold(shuffle=True) do"
            )
        return SeededSplit(splitter)
    if callable(splitter):
        return splitter  # type: ignore[no-any-return]
    raise InvalidInput(
        f"splitter must be None, a scikit-learn splitter or a function of X, y, groups and a seed, got {splitter!r}"
    )


def classes_of(estimator: Any, y: Any) -> Any:
    """The classes of a classifier's targets; None where there are none to keep the shares of."""
    if y is None or not is_classifier(estimator):
        return None
    if type_of_target(y) not in ("binary", "multiclass"):
        return None
    return np.unique(np.asarray(y))


def stratified(estimator: Any, y: Any, test_size: float) -> bool:
    """Whether every class can be in both parts of a split."""
    if classes_of(estimator, y) is None:
        return False
    counts = np.unique(np.asarray(y), return_counts=True)[1]
    total = int(counts.sum())
    tested = test_size * total if isinstance(test_size, float) else test_size
    return bool(counts.min() >= 2 and tested >= len(counts) and total - tested >= len(counts))


def subset(train: Any, y: Any, size: int, seed: int, keep_classes: bool) -> Any:
    """Some of the training samples, picked at random; with every class in its share where there are any.

    Examples
    --------
    >>> y = np.array([0] * 90 + [1] * 10)
    >>> picked = subset(np.arange(100), y, 10, 0, True)
    >>> int(y[picked].sum()), len(picked)
    (1, 10)
    """
    train = np.asarray(train)
    if size >= len(train):
        return train
    shuffled = np.random.RandomState(seed).permutation(train)
    if not keep_classes:
        return shuffled[:size]
    labels = np.asarray(_safe_indexing(y, shuffled)).ravel()
    order = np.empty(len(shuffled))
    for label in np.unique(labels):
        mine = np.flatnonzero(labels == label)
        order[mine] = np.arange(len(mine)) / len(mine)
    # The first of every class comes first; the others in steps that keep the shares.
    return shuffled[np.argsort(order, kind="stable")[:size]]


def check_split(train: Any, test: Any) -> None:
    """Refuse a split that leaves nothing on one side."""
    if len(train) < 1 or len(test) < 1:
        raise InvalidInput(
            f"a split gives {len(train)} samples for training and {len(test)} for testing; both need some"
        )
