"""When a cheap fidelity pays: 200 candidates, a twentieth of the samples beside all of them.

    python benchmarks/search_lanes.py --tables /tmp/lanes       # records all scores first; an hour on one core
    python benchmarks/search_lanes.py --tables /tmp/lanes --real --searches 20 --tasks lasso

Sets of 200 candidates, drawn at random from wide ranges, on 8,000 samples. A lasso and an elastic net were chosen
because a twentieth of the samples misleads about alike for them, and naive Bayes because it does not. Logistic
regression and a decision tree were fixed before anybody had looked at them. All candidates are fitted on 30 random
splits at both fidelities; `--split-seed` records others. Searches then replay these scores: a random split is one of
the recorded ones, drawn with replacement, so that the truth is the mean over these. A search runs on all samples
alone, and with a twentieth as a cheap fidelity whose pair bias a pilot bounds, which is part of the cost. Pilot, bound
and forecast are those of `MultiFidelitySearchCV`; its race is simulated, so that there can be hundreds. `--real` runs
the search itself. An answer is wrong if it is claimed and is not within epsilon of the best.

`--past 9` takes the bound from nine past tasks instead of a pilot: the same model and candidates on other data of the
same kind, six splits each. It is the most that a candidate gained on the best one in any of them. A new task of the
kind exceeds it with probability 1/10 at most.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.stats import binomtest, loguniform, randint, uniform
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification, make_friedman1, make_regression
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression
from sklearn.model_selection import ParameterSampler, ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeRegressor

import mfbandit as mf
from mfbandit.search._lanes import Lanes, choose_lanes
from mfbandit.search._rungs import list_rungs, with_costs
from mfbandit.sklearn import MultiFidelitySearchCV

#: Twentieths of the samples: what the two fidelities take, and so what they cost.
AMOUNTS = (1, 20)
DELTA = 0.05
EPSILON = 0.02
CANDIDATES = 200
#: Past tasks are looked at on so many splits.
PAST_SPLITS = 6


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


#: Finds the best of a table by a seed, with some fidelities.
Way: TypeAlias = Callable[..., Any]


class Task(NamedTuple):
    """Data, a model, and where its settings are drawn from."""

    X: Any
    y: Any
    model: Any
    space: dict[str, Any]


def record(name: str, task: Task, splits: int, seed: int = 1) -> Table:
    """Fit every candidate on every split at both fidelities."""
    candidates = list(ParameterSampler(task.space, CANDIDATES, random_state=0))
    scores = np.zeros((len(AMOUNTS), splits, CANDIDATES))
    for i, (train, test) in enumerate(ShuffleSplit(splits, test_size=0.2, random_state=seed).split(task.X)):
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


def search(table: Table, seed: int | None, fidelities: list[int], pair_bias: float | None = None) -> Any:
    """A search that replays the table, to be fitted."""
    return MultiFidelitySearchCV(
        Recorded(table=table),
        {"candidate": list(range(CANDIDATES))},
        resource="amount",
        fidelities=fidelities,
        biases="calibrate" if pair_bias is None else pair_bias / 2,
        splitter=recorded_split,
        scoring=Recorded.score,
        delta=DELTA,
        epsilon=EPSILON,
        refit=False,
        random_state=seed,
    )


class Found(NamedTuple):
    """What a search found."""

    best: int
    cost: float
    claims: bool
    pair_bias: float | None
    """What the pilot says of the cheap fidelity, if there was one."""
    used: bool
    """Whether the cheap fidelity was used."""


def searched(table: Table, seed: int, fidelities: list[int], pair_bias: float | None = None) -> Found:
    """What `MultiFidelitySearchCV` itself finds."""
    splits = table.scores.shape[1]
    X, y = np.arange(splits, dtype=float)[:, None], np.arange(splits) % 2
    one = search(table, seed, fidelities, pair_bias).fit(X, y)
    bound = pair_bias if one.calibration_ is None else one.calibration_.pair_biases[0]
    return Found(one.best_index_, one.cost_, one.best_confidence_ >= 1 - DELTA, bound, len(one.rungs_) > 1)


class Replay:
    """What the choice of fidelities needs of a search, so that pilot, bounds and forecast are the search's own."""

    def __init__(self, table: Table, seed: int, pair_bias: float | None = None) -> None:
        self.table = table
        self.chosen = search(table, None, list(AMOUNTS), pair_bias)
        self.random = np.random.RandomState(seed)
        self.seed = int(self.random.randint(np.iinfo(np.int32).max))
        self.policy, self.reward = mf.policy("mf-race"), mf.Gaussian()
        self.splits = SimpleNamespace(blocks="unlimited")
        self.candidates = self.names = [str(k) for k in range(CANDIDATES)]
        rungs = list_rungs("amount", list(AMOUNTS), 3, AMOUNTS[-1], 1)
        self.lanes = Lanes(rungs, with_costs(rungs, None), [0.0] * len(rungs))

    def say(self, sentence: str) -> None:
        """Nobody listens."""

    def job(self, name: str, rung: Any, seed: int, block: int | None) -> Any:
        """The score of a candidate on the split of a seed."""
        place = int(np.random.default_rng(seed).integers(self.table.scores.shape[1]))
        return SimpleNamespace(score=self.table.scores[AMOUNTS.index(rung.amount), place, int(name)])

    def fit_all(self, jobs: list[Any]) -> list[Any]:
        """Known already."""
        return jobs


def race(table: Table, lanes: Lanes, seed: int) -> tuple[int, float, bool]:
    """A race on fidelities: its answer, its cost, and whether it claims the answer; compiled, unlike a search."""
    fidelities = [
        mf.Fidelity(rung.name, cost, bias, pair_bias=pair)
        for rung, cost, bias, pair in zip(lanes.rungs, lanes.costs, lanes.biases, lanes.pair_biases, strict=True)
    ]
    problem = mf.Problem(CANDIDATES, fidelities, mf.Gaussian(), blocks="unlimited")
    columns = [AMOUNTS.index(rung.amount) for rung in lanes.rungs]
    law = mf.BlockTableLaw(np.ascontiguousarray(table.scores[columns].transpose(2, 0, 1)))
    # A bound that holds with probability 0.9 for a pair does not hold for all pairs.
    instance = mf.Instance(problem, law=law, strict=False)
    runs = mf.simulate(instance, "mf-race", delta=DELTA, epsilon=EPSILON, trials=1, seed=seed, threads=1)
    return int(runs.best[0]), float(runs.cost[0]), bool(runs.stopped[0])


def replayed(table: Table, seed: int, fidelities: list[int], pair_bias: float | None = None) -> Found:
    """What a search would find: its own pilot, bounds and forecast, and then a simulated race."""
    replay: Any = Replay(table, seed, pair_bias)
    lanes = choose_lanes(replay) if len(fidelities) > 1 else replay.lanes.truest
    best, cost, claims = race(table, lanes, seed)
    bound = pair_bias if lanes.calibration is None else lanes.calibration.pair_biases[0]
    return Found(best, cost + lanes.pilot_cost, claims, bound, len(lanes.rungs) > 1)


def share(count: int, runs: int) -> str:
    """A share, with its exact binomial interval at 95%."""
    low, high = binomtest(count, runs).proportion_ci(0.95, "exact")
    return f"{count} of {runs} (95%: {low:.3f} to {high:.3f})"


def compare(table: Table, seeds: range, way: Way) -> None:
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
    for label, fidelities in (("truest alone", [AMOUNTS[-1]]), ("and a cheap one", list(AMOUNTS))):
        found = [way(table, seed, fidelities) for seed in seeds]
        costs[label] = np.array([one.cost for one in found])
        claimed = [one for one in found if one.claims]
        wrong = sum(not good[one.best] for one in claimed)
        bounds = [one.pair_bias for one in found if one.pair_bias is not None]
        used = sum(one.used for one in found)
        spread = np.quantile(bounds, [0.1, 0.5, 0.9]).round(3) if bounds else ""
        bound = f"   pair bias {spread} (10%, 50%, 90%), used in {used}" if bounds else ""
        print(
            f"  {label:<16} {costs[label].mean():>7.0f} fits ({costs[label].mean() / CANDIDATES:.1f} a candidate)"
            f"   claimed {len(claimed)}, wrong {share(wrong, max(1, len(claimed)))}{bound}",
            flush=True,
        )
    alone, both = costs.values()
    times = np.log(alone / both)
    error = times.std(ddof=1) / len(times) ** 0.5 if len(times) > 1 else 0.0
    print(
        f"  {alone.mean() / both.mean():.2f} times cheaper (in the mean of logarithms {np.exp(times.mean()):.2f}, "
        f"within {100 * error:.1f}%)",
        flush=True,
    )


def tasks(past: int | None = None) -> dict[str, Task]:
    """Three tasks that were chosen for what few samples do to them, and two that were not; or all on other data."""
    seeds = (0, 3, 2, 11, 5) if past is None else (1000 + past,) * 5
    friedman = make_friedman1(8000, 10, noise=1.0, random_state=seeds[0])
    linear = make_regression(8000, 20, n_informative=6, noise=60.0, random_state=seeds[1])
    classes = make_classification(8000, 12, n_informative=6, n_classes=4, class_sep=1.5, random_state=seeds[2])
    three = make_classification(8000, 20, n_informative=8, n_classes=3, class_sep=1.0, random_state=seeds[3])
    curved = make_friedman1(8000, 10, noise=1.0, random_state=seeds[4])
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
        "logistic regression": Task(
            *three,
            make_pipeline(SelectKBest(), LogisticRegression(max_iter=200)),
            {"selectkbest__k": randint(1, 21), "logisticregression__C": loguniform(1e-5, 1e2)},
        ),
        "decision tree": Task(
            *curved,
            DecisionTreeRegressor(random_state=0),
            {"max_depth": randint(1, 21), "min_samples_leaf": randint(1, 301)},
        ),
    }


def kept(folder: Path | None, name: str, task: Task, splits: int, seed: int = 1) -> Table:
    """The scores of a task, from a file of an earlier run if there is one."""
    path = None if folder is None else folder / f"{name} {splits}{'' if seed == 1 else f' seed {seed}'}.npy"
    if path is not None and path.exists():
        return Table(name, np.load(path))
    table = record(name, task, splits, seed)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, table.scores)
    return table


def gain_in_the_past(folder: Path | None, name: str, count: int) -> float:
    """The most that a candidate gained on the best one at the cheap fidelity, in any of some past tasks."""
    inside = [None if folder is None else folder / f"past {one}" for one in range(count)]
    found = [kept(inside[one], name, tasks(one)[name], PAST_SPLITS).gains.max() for one in range(count)]
    print(f"\n{name}: gains on the best in past tasks {np.round(found, 3)}")
    return float(max(found))


def main() -> None:
    """Record the tasks, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    everything = tasks()
    parser.add_argument("--tasks", nargs="*", choices=list(everything), default=list(everything))
    parser.add_argument("--searches", type=int, default=300, help="seeds per task (300)")
    parser.add_argument("--real", action="store_true", help="MultiFidelitySearchCV itself, some seconds each")
    parser.add_argument("--first", type=int, default=1000, help="the first seed (1000)")
    parser.add_argument("--splits", type=int, default=30, help="recorded splits per task (30)")
    parser.add_argument("--split-seed", type=int, default=1, help="of these splits (1)")
    parser.add_argument("--past", type=int, default=0, help="take the bound from so many past tasks, without a pilot")
    parser.add_argument("--tables", type=Path, help="keep recorded scores in this folder")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    for name in arguments.tasks:
        table = kept(arguments.tables, name, everything[name], arguments.splits, arguments.split_seed)
        seeds = range(arguments.first, arguments.first + arguments.searches)
        bound = gain_in_the_past(arguments.tables, name, arguments.past) if arguments.past else None
        way: Way = searched if arguments.real else replayed
        compare(table, seeds, partial(way, pair_bias=bound))


if __name__ == "__main__":
    main()
