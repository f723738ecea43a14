"""MultiFidelitySearchCV beside what else picks one of 24 candidates, on bundled and made data.

    python benchmarks/search.py                          # six tasks; half an hour on one core
    python benchmarks/search.py --tasks digits --searches 40 --json search.json
    python benchmarks/search.py --times                  # with 2 workers: samples, seconds, and how busy they were
    python benchmarks/search.py --times --widths 2 3 4 6 --tasks digits diabetes friedman

The true score of a candidate is its mean score over many random splits (four fifths for training), measured
exhaustively first. Every search is then run with many seeds: how many samples it fitted, how many times those of
GridSearchCV(cv=5) that is, how often it picked the best candidate, how often one that is within epsilon of the best,
and how often it claims to know with confidence 0.95. GridSearchCV, halving and Optuna never claim anything. Their
share of right answers is known here only because the truth was measured, at hundreds of times their cost.

MultiFidelitySearchCV runs as it is (the difference of two candidates on a split is taken to be normal, with caution
1), with ``caution=0``, and with the range of scores as all that is assumed. A grid search on repeated folds claims an
answer where a paired t test (Nadeau and Bengio's, which allows for training sets that overlap; Holm's correction for
many rivals) says that it is better than each other candidate.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest, t
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV

import mfbandit as mf
from mfbandit.sklearn import MultiFidelitySearchCV
from search_tasks import FOLDS, Task, Truth, measure_truth, tasks

DELTA = 0.05
#: Where a search ends without being sure, in fits per candidate.
MOST = 100
#: How often the folds of the grid search with a test are drawn.
REPEATS = 4


@dataclass(frozen=True)
class Found:
    """What one search answered."""

    best: int
    samples: int
    confidence: float | None = None
    """How sure it claims to be; None if it never claims anything."""

    @property
    def claims(self) -> bool:
        """Whether it claims to be right with confidence 0.95."""
        return self.confidence is not None and self.confidence >= 1 - DELTA


Method = Callable[[Task, int], Found]


class Fits:
    """Counts the samples that a method fits on folds."""

    def __init__(self, task: Task, seed: int) -> None:
        self.task, self.seed, self.samples = task, seed, 0

    def score(self, candidate: int, fold: int, share: float = 1.0) -> float:
        """The score of a candidate on a fold."""
        score, samples = self.task.on_fold(candidate, self.seed, fold, share)
        self.samples += samples
        return score

    def table(self, folds: int) -> Any:
        """The scores of all candidates on folds, (candidates, folds)."""
        count = len(self.task.candidates)
        return np.array([[self.score(k, fold) for fold in range(folds)] for k in range(count)])


def grid_search(task: Task, seed: int) -> Found:
    """GridSearchCV: every candidate on five folds."""
    fits = Fits(task, seed)
    return Found(int(fits.table(FOLDS).mean(axis=1).argmax()), fits.samples)


def halving(task: Task, seed: int) -> Found:
    """Scikit-learn's successive halving over the number of samples."""
    search = HalvingGridSearchCV(task.estimator, task.grid, cv=task.folds(seed), refit=False, random_state=seed).fit(
        task.X, task.y
    )
    rungs = zip(search.n_candidates_, search.n_resources_, strict=True)
    samples = sum(count * (FOLDS - 1) * resources for count, resources in rungs)
    return Found(task.candidates.index(search.best_params_), int(samples))


def repeated_and_tested(task: Task, seed: int) -> Found:
    """A grid search on folds drawn four times, and a paired test of the winner against each other candidate."""
    fits = Fits(task, seed)
    scores = fits.table(FOLDS * REPEATS)
    best = int(scores.mean(axis=1).argmax())
    ahead = scores[best] - np.delete(scores, best, axis=0)
    count = ahead.shape[1]
    spread = np.sqrt((1 / count + 1 / (FOLDS - 1)) * ahead.var(axis=1, ddof=1))
    with np.errstate(divide="ignore", invalid="ignore"):
        levels = np.sort(t.sf(ahead.mean(axis=1) / spread, count - 1))
    holm = DELTA / np.arange(levels.size, 0, -1)
    return Found(best, fits.samples, 1 - DELTA if (levels <= holm).all() else 0.0)


def optuna_study(task: Task, seed: int, pruner: Any) -> Any:
    """A study of Optuna that tries every candidate once."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    indices = {"candidate": list(range(len(task.candidates)))}
    sampler = optuna.samplers.GridSampler(indices, seed=seed)
    return optuna.create_study(direction="maximize", sampler=sampler, pruner=pruner, study_name=f"{task.name} {seed}")


def optuna_hyperband(task: Task, seed: int) -> Found:
    """Optuna with its Hyperband pruner: mean score on five folds, from a ninth to all training samples."""
    import optuna

    fits = Fits(task, seed)

    def objective(trial: Any) -> float:
        k = trial.suggest_int("candidate", 0, len(task.candidates) - 1)
        score = 0.0
        for share in (1 / 9, 1 / 3, 1.0):
            score = float(np.mean([fits.score(k, fold, share) for fold in range(FOLDS)]))
            trial.report(score, step=round(9 * share))
            if trial.should_prune():
                raise optuna.TrialPruned
        return score

    study = optuna_study(task, seed, optuna.pruners.HyperbandPruner(min_resource=1, max_resource=9, reduction_factor=3))
    study.optimize(objective, n_trials=len(task.candidates))
    return Found(int(study.best_params["candidate"]), fits.samples)


def optuna_wilcoxon(task: Task, seed: int) -> Found:
    """Optuna with its Wilcoxon pruner: fold after fold, compared with the best so far on the same folds."""
    import optuna

    fits = Fits(task, seed)

    def objective(trial: Any) -> float:
        k = trial.suggest_int("candidate", 0, len(task.candidates) - 1)
        scores = []
        for fold in range(FOLDS):
            scores.append(fits.score(k, fold))
            trial.report(scores[-1], step=fold)
            if trial.should_prune():
                break
        # As its documentation says: the mean so far, and no exception.
        return float(np.mean(scores))

    study = optuna_study(task, seed, optuna.pruners.WilcoxonPruner(p_threshold=0.1))
    study.optimize(objective, n_trials=len(task.candidates))
    return Found(int(study.best_params["candidate"]), fits.samples)


def racing(
    task: Task,
    seed: int,
    *,
    caution: float = 1.0,
    ranged: bool = False,
    jobs: int | None = None,
    width: int | None = None,
) -> Any:
    """A MultiFidelitySearchCV, fitted."""
    return MultiFidelitySearchCV(
        task.estimator,
        task.grid,
        cv=FOLDS,
        delta=DELTA,
        epsilon=task.epsilon,
        max_cost=MOST * len(task.candidates),
        score_range=task.score_range if ranged else mf.Gaussian(caution=caution),
        clip=ranged,
        refit=False,
        n_jobs=jobs,
        width=width,
        random_state=seed,
    ).fit(task.X, task.y)


def multi_fidelity(task: Task, seed: int, **settings: Any) -> Found:
    """MultiFidelitySearchCV, until it is sure."""
    search = racing(task, seed, **settings)
    return Found(int(search.best_index_), int(search.samples_fitted_), float(search.best_confidence_))


#: Methods, and which part of all seeds they are run with: proofs take many fits.
METHODS: dict[str, tuple[Method, float]] = {
    "GridSearchCV": (grid_search, 1.0),
    "HalvingGridSearchCV": (halving, 1.0),
    "Optuna, HyperbandPruner": (optuna_hyperband, 1.0),
    "Optuna, WilcoxonPruner": (optuna_wilcoxon, 1.0),
    "repeated folds and test": (repeated_and_tested, 0.5),
    "MultiFidelitySearchCV": (multi_fidelity, 1.0),
    "  n_jobs=2": (partial(multi_fidelity, jobs=2), 1.0),
    "  caution=0": (partial(multi_fidelity, caution=0.0), 1.0),
    "  range alone": (partial(multi_fidelity, ranged=True), 0.1),
}


@dataclass
class Row:
    """One method on one task."""

    task: str
    method: str
    found: list[Found] = field(default_factory=list)
    best: int = 0
    """How often the best candidate was picked."""
    within: int = 0
    """How often it, or one within epsilon of it, was picked."""
    wrong: int = 0
    """How often an answer was claimed that is not within epsilon of the best."""


def run(task: Task, truth: Truth, method: str, searches: int) -> Row:
    """Run a method with many seeds."""
    search, part = METHODS[method]
    row = Row(task.name, method)
    for seed in range(max(2, round(part * searches))):
        found = search(task, seed)
        good = truth.within(found.best, task.epsilon)
        row.found.append(found)
        row.best += found.best == truth.best
        row.within += good
        row.wrong += found.claims and not good
    return row


def print_task(task: Task, truth: Truth) -> None:
    """Say what is searched, and what the truth is."""
    count = len(task.candidates)
    good = sum(truth.within(k, task.epsilon) for k in range(count))
    print(
        f"\n{task.name}: {len(task.X)} samples, {count} candidates, epsilon {task.epsilon:g}; the best, "
        f"{truth.scores[truth.best]:.4f}, is {truth.gap:.4f} +- {truth.error:.4f} ahead of the second, with a "
        f"standard deviation of {truth.noise:.4f} on one split; {good} within epsilon"
    )
    print(
        f"  {'method':<24} {'searches':>8} {'samples':>9} {'x grid':>6} {'best':>5} {'within':>6} {'95% interval':>13} "
        f"{'claims':>6} {'wrong':>5}"
    )


def print_row(task: Task, row: Row) -> None:
    """Print what one method did."""
    count = len(row.found)
    samples = float(np.mean([found.samples for found in row.found]))
    claims = np.mean([found.claims for found in row.found])
    never = all(found.confidence is None for found in row.found)
    claimed = f"{'never':>6} {'-':>5}" if never else f"{claims:>6.2f} {row.wrong:>5}"
    low, high = binomtest(row.within, count).proportion_ci(0.95, "exact")
    print(
        f"  {row.method:<24} {count:>8} {samples:>9,.0f} {samples / task.grid_samples:>6.2f} {row.best / count:>5.2f} "
        f"{row.within / count:>6.2f} {low:>6.2f} - {high:.2f} {claimed}",
        flush=True,
    )


@dataclass(frozen=True)
class Timed:
    """A search with 2 workers, beside a grid search with 2 workers that was run just before it."""

    samples: float
    """In samples of the grid search."""
    time: float
    """In seconds of the grid search."""
    busy: float
    """The share of the workers' time that was spent on fits."""


def timed(task: Task, seed: int, width: int | None) -> Timed:
    """Time both, one after the other: what else the machine does is then about the same for both."""
    started = time.perf_counter()
    GridSearchCV(task.estimator, task.grid, cv=task.folds(seed), refit=False, n_jobs=2).fit(task.X, task.y)
    middle = time.perf_counter()
    search = racing(task, seed, jobs=2, width=width)
    taken = time.perf_counter() - middle
    table = search.cv_results_
    fitting = float(np.sum((table["mean_fit_time"] + table["mean_score_time"]) * table["n_fits"]))
    samples = search.samples_fitted_ / task.grid_samples
    return Timed(samples, taken / (middle - started), fitting / (2 * taken))


def print_times(task: Task, searches: int, widths: Sequence[int | None]) -> None:
    """Print what searches take with 2 workers, and how busy these are, for some widths in turn."""
    # Workers start, and the plan is compiled, before anything counts.
    timed(task, 10_000, widths[0])
    found: dict[int | None, list[Timed]] = {width: [] for width in widths}
    for seed in range(searches):
        for width in widths:
            found[width].append(timed(task, seed, width))
    for width, runs in found.items():
        samples, times, busy = (np.array([getattr(one, name) for one in runs]) for name in ("samples", "time", "busy"))
        low, high = np.quantile(times, [0.25, 0.75])
        print(
            f"{task.name:<14} width {width or 'default':>7}   searches {searches}   samples {samples.mean():.3f} (at "
            f"most {samples.max():.2f})   seconds, median {np.median(times):.2f} (half of them {low:.2f} to "
            f"{high:.2f})   busy {np.median(busy):.2f}",
            flush=True,
        )


def main() -> None:
    """Print a table per task."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    everything = {task.name: task for task in tasks()}
    parser.add_argument("--tasks", nargs="*", choices=list(everything), default=list(everything))
    parser.add_argument("--methods", nargs="*", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--searches", type=int, default=20, help="seeds per method; the slow ones take fewer")
    parser.add_argument("--repeats", type=int, default=200, help="splits by which the truth is measured")
    parser.add_argument("--times", action="store_true", help="beside GridSearchCV(n_jobs=2) instead, with 2 workers")
    parser.add_argument("--widths", nargs="*", type=int, help="with --times: widths to try instead of the default")
    parser.add_argument("--json", type=Path, help="write all figures there")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning, module="optuna|sklearn")
    warnings.filterwarnings("ignore", message="WilcoxonPruner is experimental")
    if arguments.times:
        for name in arguments.tasks:
            print_times(everything[name], arguments.searches, arguments.widths or [None])
        return
    methods = [name for name in arguments.methods if not name.startswith("Optuna") or has_optuna()]
    written = []
    for name in arguments.tasks:
        task = everything[name]
        truth = measure_truth(task, arguments.repeats)
        print_task(task, truth)
        rows = []
        for method in methods:
            rows.append(run(task, truth, method, arguments.searches))
            print_row(task, rows[-1])
        written.append(
            {
                "task": name,
                "repeats": arguments.repeats,
                "truth": asdict(truth),
                "rows": [asdict(row) for row in rows],
            }
        )
    if arguments.json:
        arguments.json.write_text(json.dumps(written, indent=1))


def has_optuna() -> bool:
    """Whether Optuna is installed; says so if not."""
    try:
        import optuna  # noqa: F401
    except ImportError:
        print("Optuna is not installed and is left out: pip install optuna.", file=sys.stderr)
        return False
    return True


if __name__ == "__main__":
    main()
