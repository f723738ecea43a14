"""MultiFidelitySearchCV beside GridSearchCV, HalvingGridSearchCV and Optuna's Hyperband, on bundled data.

    python benchmarks/search.py                          # three tasks; some minutes on one core
    python benchmarks/search.py --tasks digits --searches 40 --json search.json

The true score of a candidate is its mean score over many random splits (four fifths for training), measured
exhaustively first. Every search is then run with many seeds: how many samples it fitted in all, how often it
picked the best candidate, how often one that is within epsilon of the best, and what confidence it claims.
GridSearchCV and the halvings claim none. Their share of right answers is known here only because the truth
was measured, at hundreds of times their cost.

MultiFidelitySearchCV runs as it is (the difference of two candidates on a split is taken to be normal, with caution
1), with ``caution=0``, and with the range of scores as all that is assumed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV

import mfbandit as mf
from mfbandit.search import subset
from mfbandit.sklearn import MultiFidelitySearchCV
from search_tasks import FOLDS, SHARES, Task, Truth, measure_truth, tasks

DELTA = 0.05
#: Where a search ends without being sure, in fits on all training samples.
MOST = 2000


@dataclass(frozen=True)
class Found:
    """What one search answered."""

    best: int
    samples: int
    confidence: float | None = None


Method = Callable[[Task, Truth, int], Found]


def grid_search(task: Task, truth: Truth, seed: int) -> Found:
    """Every candidate on five folds."""
    search = GridSearchCV(task.estimator, task.grid, cv=task.folds(seed), refit=False).fit(task.X, task.y)
    return Found(int(search.best_index_), len(task.candidates) * (FOLDS - 1) * len(task.X))


def halving(task: Task, truth: Truth, seed: int) -> Found:
    """Scikit-learn's successive halving over the number of samples."""
    search = HalvingGridSearchCV(task.estimator, task.grid, cv=task.folds(seed), refit=False, random_state=seed).fit(
        task.X, task.y
    )
    rungs = zip(search.n_candidates_, search.n_resources_, strict=True)
    samples = sum(count * (FOLDS - 1) * resources for count, resources in rungs)
    return Found(task.candidates.index(search.best_params_), int(samples))


def optuna_hyperband(task: Task, truth: Truth, seed: int) -> Found:
    """Optuna with its Hyperband pruner: mean score on five folds, from a ninth to all training samples."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    samples = 0

    def objective(trial: Any) -> float:
        nonlocal samples
        candidate = task.candidates[trial.suggest_int("candidate", 0, len(task.candidates) - 1)]
        score = 0.0
        for share in SHARES:
            scores = []
            for train, test in task.folds(seed).split(task.X, task.y):
                rows = subset(train, task.y, int(share * len(train)), seed, task.classes)
                samples += len(rows)
                scores.append(task.fit_and_score(candidate, rows, test))
            score = float(np.mean(scores))
            trial.report(score, step=round(9 * share))
            if trial.should_prune():
                raise optuna.TrialPruned
        return score

    indices = {"candidate": list(range(len(task.candidates)))}
    study = optuna.create_study(
        direction="maximize",
        sampler=optuna.samplers.GridSampler(indices, seed=seed),
        pruner=optuna.pruners.HyperbandPruner(min_resource=1, max_resource=9, reduction_factor=3),
        study_name=f"{task.name} {seed}",
    )
    study.optimize(objective, n_trials=len(task.candidates))
    return Found(int(study.best_params["candidate"]), samples)


def multi_fidelity(task: Task, truth: Truth, seed: int, *, caution: float = 1.0, ranged: bool = False) -> Found:
    """MultiFidelitySearchCV, until it is sure."""
    search = MultiFidelitySearchCV(
        task.estimator,
        task.grid,
        fidelities=list(SHARES),
        delta=DELTA,
        epsilon=task.epsilon,
        max_cost=MOST,
        score_range=task.score_range if ranged else mf.Gaussian(caution=caution),
        clip=ranged,
        test_size=1 / FOLDS,
        refit=False,
        random_state=seed,
    ).fit(task.X, task.y)
    return Found(int(search.best_index_), int(search.n_samples_fitted_), float(search.best_confidence_))


#: Methods, and which part of all seeds they are run with: proofs take many fits.
METHODS: dict[str, tuple[Method, float]] = {
    "GridSearchCV": (grid_search, 1.0),
    "HalvingGridSearchCV": (halving, 1.0),
    "Optuna, HyperbandPruner": (optuna_hyperband, 1.0),
    "MultiFidelitySearchCV": (multi_fidelity, 1.0),
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
    seconds: float = 0.0


def run(task: Task, truth: Truth, method: str, searches: int) -> Row:
    """Run a method with many seeds."""
    search, part = METHODS[method]
    row = Row(task.name, method)
    started = time.perf_counter()
    for seed in range(max(2, round(part * searches))):
        found = search(task, truth, seed)
        row.found.append(found)
        row.best += found.best == truth.best
        row.within += truth.within(found.best, task.epsilon)
    row.seconds = (time.perf_counter() - started) / len(row.found)
    return row


def print_task(task: Task, truth: Truth) -> None:
    """Say what is searched, and what the truth is."""
    print(f"\n{task.name}: {len(task.X)} samples, {type(task.estimator).__name__}, epsilon {task.epsilon:g}")
    for k, candidate in enumerate(task.candidates):
        setting = ", ".join(f"{key}={value:g}" for key, value in candidate.items())
        good = "best" if k == truth.best else "within epsilon" if truth.within(k, task.epsilon) else ""
        print(f"  {truth.scores[k]:.4f}  {setting:<44} {good}")
    first, second = sorted(truth.scores)[:-3:-1]
    print(
        f"  a single score of the best varies by {truth.noise:.3f}; the gap to the second is "
        f"{first - second:.4f} +- {truth.error:.4f}; biases {', '.join(f'{x:.3f}' for x in truth.biases)}"
    )
    print(
        f"  {'method':<26} {'searches':>8} {'samples fitted':>14} {'fits each':>9} {'best':>6} {'95% interval':>13} "
        f"{'within':>6} {'95% interval':>13} {'claimed':>8} {'s each':>7}"
    )


def print_row(task: Task, row: Row) -> None:
    """Print what one method did; fits are counted as if all were on all training samples of a split."""
    count = len(row.found)
    samples = np.mean([found.samples for found in row.found])
    claims = [found.confidence for found in row.found if found.confidence is not None]
    claimed = f"{np.mean(claims):.3f}" if claims else "none"
    fits = samples / task.training_samples / len(task.candidates)
    print(
        f"  {row.method:<26} {count:>8} {samples:>14,.0f} {fits:>9.1f} {share(row.best, count)} "
        f"{share(row.within, count)} {claimed:>8} {row.seconds:>7.2f}",
        flush=True,
    )


def share(hits: int, count: int) -> str:
    """A share with its exact interval."""
    low, high = binomtest(hits, count).proportion_ci(0.95, "exact")
    return f"{hits / count:>6.2f} {low:>6.2f} - {high:.2f}"


def main() -> None:
    """Print a table per task."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    everything = {task.name: task for task in tasks()}
    parser.add_argument("--tasks", nargs="*", choices=list(everything), default=list(everything))
    parser.add_argument("--methods", nargs="*", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--searches", type=int, default=20, help="seeds per method; the slow ones take fewer")
    parser.add_argument("--repeats", type=int, default=200, help="splits by which the truth is measured")
    parser.add_argument("--json", type=Path, help="write all figures there")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning, module="optuna|sklearn")
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
