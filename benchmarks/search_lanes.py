"""When a cheap fidelity pays: 200 candidates, a twentieth of the samples beside all of them.

    python benchmarks/search_lanes.py                 # records all scores first; some minutes on one core
    python benchmarks/search_lanes.py --searches 100

Three sets of candidates, drawn at random from wide ranges, on 8,000 samples: a lasso and an elastic net, for which a
twentieth of them misleads about alike, and naive Bayes, for which it does not. All candidates are fitted on some random
splits at both fidelities. Searches then replay these scores: a random split is one of the recorded ones, drawn with
replacement, so that the truth is the mean over these. `MultiFidelitySearchCV` runs on all samples alone, and with a
twentieth as a cheap fidelity whose pair bias a pilot bounds, which is part of the cost.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import loguniform, randint, uniform
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification, make_friedman1, make_regression
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.linear_model import ElasticNet, Lasso
from sklearn.model_selection import ParameterSampler, ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from mfbandit.sklearn import MultiFidelitySearchCV

#: Twentieths of the samples: what the two fidelities take, and so what they cost.
AMOUNTS = (1, 20)
DELTA = 0.05
EPSILON = 0.02
CANDIDATES = 200


@dataclass(frozen=True)
class Table:
    """The scores of all candidates on all recorded splits, (fidelities, splits, candidates)."""

    name: str
    scores: Any

    @property
    def truth(self) -> Any:
        """The mean of each candidate at the truest fidelity."""
        return self.scores[-1].mean(axis=0)

    @property
    def gains(self) -> Any:
        """By how much each candidate gains at the cheap one, beside what the best gains."""
        gained = self.scores[0].mean(axis=0) - self.truth
        return gained - gained[self.truth.argmax()]


class Task(NamedTuple):
    """Data, a model, and where its settings are drawn from."""

    X: Any
    y: Any
    model: Any
    space: dict[str, Any]


def record(name: str, task: Task, splits: int) -> Table:
    """Fit every candidate on every split at both fidelities."""
    candidates = list(ParameterSampler(task.space, CANDIDATES, random_state=0))
    scores = np.zeros((len(AMOUNTS), splits, CANDIDATES))
    for i, (train, test) in enumerate(ShuffleSplit(splits, test_size=0.2, random_state=1).split(task.X)):
        for k, candidate in enumerate(candidates):
            for m, amount in enumerate(AMOUNTS):
                rows = train[: len(train) * amount // AMOUNTS[-1]]
                fitted = clone(task.model).set_params(**candidate).fit(task.X[rows], task.y[rows])
                scores[m, i, k] = fitted.score(task.X[test], task.y[test])
    return Table(name, scores)


class Recorded(ClassifierMixin, BaseEstimator):
    """An estimator whose scores were recorded: which split it is, the first test sample says."""

    def __init__(self, candidate: int = 0, amount: int = AMOUNTS[-1], table: Any = None) -> None:
        self.candidate = candidate
        self.amount = amount
        self.table = table

    def fit(self, X: Any, y: Any) -> Recorded:
        """Nothing is to be learned."""
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        """Never asked for."""
        return np.zeros(len(X))

    def score(self, X: Any, y: Any) -> float:
        """Look the score up."""
        return float(self.table.scores[AMOUNTS.index(self.amount), int(X[0, 0]), self.candidate])


def recorded_split(X: Any, y: Any, groups: Any, seed: int) -> tuple[Any, Any]:
    """One of the recorded splits, by a seed."""
    place = int(np.random.default_rng(seed).integers(len(X)))
    return np.delete(np.arange(len(X)), place), np.array([place])


def search(table: Table, seed: int, fidelities: list[int]) -> Any:
    """A search that replays the table."""
    splits = table.scores.shape[1]
    X, y = np.arange(splits, dtype=float)[:, None], np.arange(splits) % 2
    return MultiFidelitySearchCV(
        Recorded(table=table),
        {"candidate": list(range(CANDIDATES))},
        resource="amount",
        fidelities=fidelities,
        splitter=recorded_split,
        scoring=Recorded.score,
        delta=DELTA,
        epsilon=EPSILON,
        refit=False,
        random_state=seed,
    ).fit(X, y)


def compare(table: Table, searches: int) -> None:
    """Print what searches cost with and without the cheap fidelity, and how often they were wrong."""
    truth = table.truth
    good = truth >= truth.max() - EPSILON
    far = np.quantile(truth.max() - truth, [0.25, 0.5, 0.75])
    gains = np.quantile(table.gains, [0.0, 0.5, 0.95, 1.0])
    print(
        f"\n{table.name}: {good.sum()} of {CANDIDATES} within {EPSILON} of the best, quarters {far.round(2)} behind; "
        f"at the cheap one a candidate gains on the best {gains.round(3)} (least, median, 95%, most)"
    )
    costs = {}
    for label, fidelities in (("truest alone", [AMOUNTS[-1]]), ("and a cheap one, after a pilot", list(AMOUNTS))):
        found = [search(table, seed, fidelities) for seed in range(searches)]
        costs[label] = np.array([one.cost_ for one in found])
        wrong = sum(not good[one.best_index_] for one in found)
        sure = sum(one.best_confidence_ >= 1 - DELTA for one in found)
        used = sum(len(one.rungs_) > 1 for one in found)
        bounds = [2 * one.calibration_.biases[0] for one in found if one.calibration_ is not None]
        bound = f"   pair bias {np.mean(bounds):.3f}, used in {used}" if bounds else ""
        print(
            f"  {label:<28} {costs[label].mean():>7.0f} fits ({costs[label].mean() / CANDIDATES:.1f} a candidate)"
            f"   claimed {sure} of {searches}, wrong {wrong}{bound}",
            flush=True,
        )
    alone, both = (costs[label].mean() for label in costs)
    print(f"  {alone / both:.2f} times cheaper")


def tasks() -> dict[str, Task]:
    """Two tasks on which few samples mislead about alike, and one on which they do not."""
    friedman = make_friedman1(8000, 10, noise=1.0, random_state=0)
    linear = make_regression(8000, 20, n_informative=6, noise=60.0, random_state=3)
    classes = make_classification(8000, 12, n_informative=6, n_classes=4, class_sep=1.5, random_state=2)
    return {
        "lasso": Task(
            *friedman,
            make_pipeline(SelectKBest(f_regression), Lasso()),
            {"selectkbest__k": randint(1, 11), "lasso__alpha": loguniform(1e-4, 1e2)},
        ),
        "elastic net": Task(*linear, ElasticNet(), {"alpha": loguniform(1e-4, 1e3), "l1_ratio": uniform(0.0, 1.0)}),
        "naive Bayes": Task(
            *classes,
            make_pipeline(SelectKBest(), GaussianNB()),
            {"selectkbest__k": randint(1, 13), "gaussiannb__var_smoothing": loguniform(1e-9, 1e5)},
        ),
    }


def main() -> None:
    """Record the tasks, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--searches", type=int, default=20)
    parser.add_argument("--splits", type=int, default=15)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    for name, task in tasks().items():
        compare(record(name, task, arguments.splits), arguments.searches)


if __name__ == "__main__":
    main()
