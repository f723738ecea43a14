"""The tasks of ``search.py``: data, what to choose from, and the truth as exhaustive repeats measure it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, ParameterGrid, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mfbandit.search import subset

#: A ninth, a third and all of the training samples.
SHARES = (1 / 9, 1 / 3, 1.0)
FOLDS = 5


@dataclass(frozen=True)
class Task:
    """Data, an estimator, and what to choose from."""

    name: str
    X: Any
    y: Any
    estimator: Any
    grid: dict[str, list[Any]]
    epsilon: float
    classes: bool = True
    score_range: tuple[float, float] = (0.0, 1.0)

    @property
    def candidates(self) -> list[dict[str, Any]]:
        """All settings of the grid."""
        return list(ParameterGrid(self.grid))

    @property
    def training_samples(self) -> int:
        """How many samples a split leaves for training."""
        return len(self.splits(1, 0)[0][0])

    def splits(self, count: int, seed: int) -> list[Any]:
        """Random splits as MultiFidelitySearchCV makes them."""
        kind = StratifiedShuffleSplit if self.classes else ShuffleSplit
        return list(kind(count, test_size=1 / FOLDS, random_state=seed).split(self.X, self.y))

    def folds(self, seed: int) -> Any:
        """Shuffled folds."""
        kind = StratifiedKFold if self.classes else KFold
        return kind(FOLDS, shuffle=True, random_state=seed)

    def fit_and_score(self, candidate: dict[str, Any], rows: Any, test: Any) -> float:
        """Fit a candidate on some rows and score it on others."""
        fitted = clone(self.estimator).set_params(**candidate).fit(self.X[rows], self.y[rows])
        return float(check_scoring(fitted)(fitted, self.X[test], self.y[test]))


def tasks() -> list[Task]:
    """Three classic data sets; on two of them one candidate is best by far, on one many are nearly as good."""
    digits, cancer, diabetes = (load(return_X_y=True) for load in (load_digits, load_breast_cancer, load_diabetes))
    smoothing = [1e-9, 1e-6, 1e-4, 1e-3, 0.03, 1.0]
    shrinkages = [0.0, 0.01, 0.03, 0.1, 0.3, 0.6, 1.0]
    strengths = [0.1, 1.0, 3.0, 10.0, 30.0, 100.0]
    linear = make_pipeline(StandardScaler(), LinearDiscriminantAnalysis(solver="lsqr"))
    grid = {"lineardiscriminantanalysis__shrinkage": shrinkages}
    return [
        Task("digits", *digits, GaussianNB(), {"var_smoothing": smoothing}, epsilon=0.01),
        Task("breast_cancer", *cancer, linear, grid, epsilon=0.01),
        Task("diabetes", *diabetes, Ridge(), {"alpha": strengths}, 0.03, classes=False, score_range=(-1.0, 1.0)),
    ]


@dataclass(frozen=True)
class Truth:
    """What exhaustive repeats say."""

    scores: list[float]
    """True score of each candidate."""
    noise: float
    """Standard deviation of a single score of the best."""
    error: float
    """Standard error of the gap between the two best."""
    biases: list[float]
    """The largest distance from the true score, by fidelity."""
    samples: int

    @property
    def best(self) -> int:
        """The best candidate."""
        return int(np.argmax(self.scores))

    def within(self, candidate: int, epsilon: float) -> bool:
        """Whether a candidate is good enough."""
        return self.scores[candidate] >= self.scores[self.best] - epsilon


def measure_truth(task: Task, repeats: int) -> Truth:
    """Measure all candidates at all fidelities on the same many splits."""
    scores = np.zeros((repeats, len(task.candidates), len(SHARES)))
    samples = 0
    for turn, (train, test) in enumerate(task.splits(repeats, seed=987_654)):
        for m, share in enumerate(SHARES):
            rows = subset(train, task.y, int(share * len(train)), turn, task.classes)
            samples += len(rows) * len(task.candidates)
            for k, candidate in enumerate(task.candidates):
                scores[turn, k, m] = task.fit_and_score(candidate, rows, test)
    clipped = np.clip(scores, *task.score_range)
    means = clipped.mean(axis=0)
    second, best = np.argsort(means[:, -1])[-2:]
    gaps = clipped[:, best, -1] - clipped[:, second, -1]
    return Truth(
        scores=[float(x) for x in means[:, -1]],
        noise=float(clipped[:, best, -1].std(ddof=1)),
        error=float(gaps.std(ddof=1) / repeats**0.5),
        biases=[float(x) for x in np.abs(means - means[:, [-1]]).max(axis=0)[:-1]],
        samples=samples,
    )
