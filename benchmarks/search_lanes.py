"""When a cheap fidelity pays: 200 candidates, one epoch of training beside twenty.

    python benchmarks/search_lanes.py                 # records all scores first; about five minutes on one core
    python benchmarks/search_lanes.py --searches 100

A linear classifier on random Fourier features is trained by stochastic gradients. Candidates differ in the width of the
kernel, the strength of the penalty and the loss, drawn at random from wide ranges, so that most are far off. All of
them are fitted on some random splits, with one epoch and with twenty. Searches then replay these scores: a random
split is one of the recorded ones, drawn with replacement, so that the truth is the mean over these.
`MultiFidelitySearchCV` runs with twenty epochs alone, and with one epoch as a cheap fidelity whose pair bias a pilot
bounds, which is part of the cost.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import loguniform
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_digits, make_gaussian_quantiles
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import ParameterSampler, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import scale

from mfbandit.sklearn import MultiFidelitySearchCV

EPOCHS = (1, 20)
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
        """By how much each candidate gains with one epoch, beside what the best gains."""
        gained = self.scores[0].mean(axis=0) - self.truth
        return gained - gained[self.truth.argmax()]


def record(name: str, X: Any, y: Any, splits: int) -> Table:
    """Fit every candidate on every split, with few and with all epochs."""
    space = {
        "rbfsampler__gamma": loguniform(1e-5, 1e3),
        "sgdclassifier__alpha": loguniform(1e-6, 1e3),
        "sgdclassifier__loss": ["hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron"],
    }
    candidates = list(ParameterSampler(space, CANDIDATES, random_state=0))
    model = make_pipeline(RBFSampler(random_state=0), SGDClassifier(tol=None, random_state=0))
    scores = np.zeros((len(EPOCHS), splits, CANDIDATES))
    pairs = StratifiedShuffleSplit(splits, test_size=0.2, random_state=1).split(X, y)
    for i, (train, test) in enumerate(pairs):
        for k, candidate in enumerate(candidates):
            for m, epochs in enumerate(EPOCHS):
                fitted = clone(model).set_params(sgdclassifier__max_iter=epochs, **candidate).fit(X[train], y[train])
                scores[m, i, k] = fitted.score(X[test], y[test])
    return Table(name, scores)


class Recorded(ClassifierMixin, BaseEstimator):
    """An estimator whose scores were recorded: which split it is, the first test sample says."""

    def __init__(self, candidate: int = 0, epochs: int = EPOCHS[-1], table: Any = None) -> None:
        self.candidate = candidate
        self.epochs = epochs
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
        return float(self.table.scores[EPOCHS.index(self.epochs), int(X[0, 0]), self.candidate])


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
        resource="epochs",
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
        f"with one epoch a candidate gains on the best {gains.round(3)} (least, median, 95%, most)"
    )
    costs = {}
    for label, fidelities in (("20 epochs alone", [EPOCHS[-1]]), ("and 1 epoch, after a pilot", list(EPOCHS))):
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


def data() -> dict[str, tuple[Any, Any]]:
    """A made set with rings of classes, and some of the digits."""
    rings = make_gaussian_quantiles(n_samples=500, n_features=4, n_classes=3, random_state=1)
    digits = load_digits(return_X_y=True)
    return {"rings": (scale(rings[0]), rings[1]), "digits, 350 samples": (digits[0][:350] / 16, digits[1][:350])}


def main() -> None:
    """Record two tasks, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--searches", type=int, default=20)
    parser.add_argument("--splits", type=int, default=20)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    for name, (X, y) in data().items():
        compare(record(name, X, y, arguments.splits), arguments.searches)


if __name__ == "__main__":
    main()
