"""The tasks of ``search.py``: data, what to choose from, and the truth as exhaustive repeats measure it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_wine,
    make_friedman1,
    make_moons,
)
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, ParameterGrid, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mfbandit.search import subset

FOLDS = 5


@dataclass(frozen=True)
class Task:
    """Data, an estimator, and what to choose from."""

    name: str
    data: tuple[Any, Any]
    estimator: Any
    grid: dict[str, list[Any]]
    epsilon: float
    score_range: tuple[float, float] = (0.0, 1.0)
    _known: dict[Any, float] = field(default_factory=dict, repr=False, compare=False)

    @property
    def X(self) -> Any:
        """The samples."""
        return self.data[0]

    @property
    def y(self) -> Any:
        """The targets."""
        return self.data[1]

    @property
    def classes(self) -> bool:
        """Whether there are classes to tell apart."""
        return bool(is_classifier(self.estimator))

    @property
    def candidates(self) -> list[dict[str, Any]]:
        """All settings of the grid."""
        return list(ParameterGrid(self.grid))

    @property
    def training_samples(self) -> int:
        """How many samples a split leaves for training."""
        return len(self.splits(1, 0)[0][0])

    @property
    def grid_samples(self) -> int:
        """How many samples GridSearchCV(cv=5) fits."""
        return len(self.candidates) * (FOLDS - 1) * len(self.X)

    def splits(self, count: int, seed: int) -> list[Any]:
        """Random splits as MultiFidelitySearchCV makes them."""
        kind = StratifiedShuffleSplit if self.classes else ShuffleSplit
        return list(kind(count, test_size=1 / FOLDS, random_state=seed).split(self.X, self.y))

    def folds(self, seed: int, repeat: int = 0) -> Any:
        """Shuffled folds."""
        kind = StratifiedKFold if self.classes else KFold
        return kind(FOLDS, shuffle=True, random_state=1000 * repeat + seed)

    def on_fold(self, candidate: int, seed: int, fold: int, share: float = 1.0) -> tuple[float, int]:
        """The score of a candidate on a fold, of as many repeats as it takes, and the samples it was fitted on.

        Several methods see the same folds: a score is worked out once.
        """
        repeat, place = divmod(fold, FOLDS)
        train, test = list(self.folds(seed, repeat).split(self.X, self.y))[place]
        rows = train if share == 1.0 else subset(train, self.y, int(share * len(train)), seed, self.classes)
        key = (candidate, seed, fold, share)
        if key not in self._known:
            try:
                self._known[key] = self.fit_and_score(self.candidates[candidate], rows, test)
            except ValueError:  # 80 neighbours of 26 samples: as bad as can be
                self._known[key] = self.score_range[0]
        return self._known[key], len(rows)

    def fit_and_score(self, candidate: dict[str, Any], rows: Any, test: Any) -> float:
        """Fit a candidate on some rows and score it on others."""
        fitted = clone(self.estimator).set_params(**candidate).fit(self.X[rows], self.y[rows])
        return float(check_scoring(fitted)(fitted, self.X[test], self.y[test]))


def tasks() -> list[Task]:
    """Four classic data sets and two made ones.

    On three of them the best candidate is ahead by more than epsilon; on the others many are nearly as good.
    """
    digits, cancer, diabetes, wine = (
        load(return_X_y=True) for load in (load_digits, load_breast_cancer, load_diabetes, load_wine)
    )
    bayes = make_pipeline(SelectKBest(), GaussianNB())
    linear = make_pipeline(StandardScaler(), LinearDiscriminantAnalysis(solver="lsqr"))
    ridge = make_pipeline(SelectKBest(f_regression), Ridge())
    kernel = KernelRidge(kernel="rbf")
    friedman = make_friedman1(300, 10, noise=0.2, random_state=0)
    moons = make_moons(300, noise=0.25, random_state=0)
    smoothing = [1e-9, 1e-6, 1e-4, 1e-3, 0.03, 1.0]
    shrinkages = [float(x) for x in np.linspace(0, 1, 24).round(3)]
    neighbors = [1, 2, 3, 5, 7, 10, 14, 20, 28, 40, 56, 80]
    few = {"selectkbest__k": [4, 8, 16, 64], "gaussiannb__var_smoothing": smoothing}
    fewer = {"selectkbest__k": [1, 2, 4, 13], "gaussiannb__var_smoothing": [1e-9, 1e-6, 1e-4, 0.01, 0.1, 1.0]}
    strengths = {"selectkbest__k": [1, 2, 3, 10], "ridge__alpha": [0.1, 1.0, 3.0, 10.0, 30.0, 100.0]}
    smooth = {"alpha": [1e-4, 0.01, 1.0, 10.0, 100.0], "gamma": [0.001, 0.01, 0.1, 1.0, 10.0]}
    near = {"n_neighbors": neighbors, "weights": ["uniform", "distance"]}
    return [
        Task("digits", digits, bayes, few, 0.01),
        Task("diabetes", diabetes, ridge, strengths, 0.02, (-1.0, 1.0)),
        Task("friedman", friedman, kernel, smooth, 0.01, (-10.0, 1.0)),
        Task("breast_cancer", cancer, linear, {"lineardiscriminantanalysis__shrinkage": shrinkages}, 0.01),
        Task("wine", wine, bayes, fewer, 0.01),
        Task("moons", moons, KNeighborsClassifier(), near, 0.02),
    ]


@dataclass(frozen=True)
class Truth:
    """What exhaustive repeats say."""

    scores: list[float]
    """True score of each candidate."""
    noise: float
    """Standard deviation of the difference of the two best on a split."""
    error: float
    """Standard error of the gap between the two best."""

    @property
    def best(self) -> int:
        """The best candidate."""
        return int(np.argmax(self.scores))

    @property
    def gap(self) -> float:
        """By how much the best is ahead of the second."""
        first, second = sorted(self.scores)[:-3:-1]
        return first - second

    def within(self, candidate: int, epsilon: float) -> bool:
        """Whether a candidate is good enough."""
        return self.scores[candidate] >= self.scores[self.best] - epsilon


def measure_truth(task: Task, repeats: int) -> Truth:
    """Measure all candidates on the same many splits."""
    splits = task.splits(repeats, seed=987_654)
    scores = np.array([[task.fit_and_score(one, *split) for one in task.candidates] for split in splits])
    means = scores.mean(axis=0)
    second, best = np.argsort(means)[-2:]
    gaps = scores[:, best] - scores[:, second]
    spread = float(gaps.std(ddof=1))
    return Truth(scores=[float(x) for x in means], noise=spread, error=spread / repeats**0.5)
