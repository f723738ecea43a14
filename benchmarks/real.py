"""What it costs to find the best arm on recorded data: learning curves, agents, judges, ads, simulators.

    python benchmarks/real.py                       # all data sets; ten minutes on one core
    python benchmarks/real.py --sets pandalm_judges mtbench_judges --seconds 60
    python benchmarks/real.py --json real.json
    python benchmarks/real.py --sets prompts_sentiment lcdb_letter --only blocks

The data sets lie beside the repository, in ``../shared/data``. A pull draws one row of its cell with
replacement. Three things are added to the data, and said at each set:

- Arms are shuffled: all sets list the best arm first, which would flatter whoever breaks ties by order.
- Where the truth is a near tie (the gap of the top two is under two standard errors of it) any arm within
  a stated epsilon of the best is a right answer.
- Where there is one row per cell, rewards get a stated noise around it.

Bounds that Explore-A and -B of the paper need to know are given to them: the two best means, off by a
twentieth of the distance between the best and the worst. Runs end at 20 times what the default, or the
truest fidelity alone, pays, or after a million pulls (the paper's explorers may never stop); what they had
spent counts and is marked ">", being too low.

Sets whose arms were measured on the same blocks come last (``real_blocks.py``): there a race compares arms on the same
questions, splits or random numbers, and the other policies draw a block of their own for every pull.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest

import mfbandit as mf
from real_blocks import block_names, print_block_sets
from real_data import DATA, Task, load

DEFAULT = "mf-toptwo"
TRUEST = "mf-toptwo:fidelities=top"

#: The most that the default may pay, as a multiple of any other policy that keeps its word.
TOO_EXPENSIVE = 1.25
#: How many times cheaper than the truest fidelity alone it must be.
CHEAPER = {"pandalm_judges": 50.0, "mtbench_judges": 1.6}
#: Errors are too many if so few fair coins of chance delta would show as many.
SIGNIFICANT = 0.01

_MOST_TRIALS, _PATIENCE = 10_000, 20.0
#: IISE, which is fast, may spend as many on cheap fidelities before it comes to the truest one.
_MOST_PULLS, _MOST_PULLS_OF_IISE = 1_000_000, 100_000_000


@dataclass(frozen=True)
class Row:
    """One policy on one data set."""

    set: str
    policy: str
    correct: bool
    """Whether it promises to be right with probability 1 - delta."""
    trials: int
    mean_cost: float
    standard_error: float
    stopped: float
    wrong: int
    wrong_low: float
    wrong_high: float
    spent: list[float]
    """Share of the cost by fidelity."""
    seconds_per_trial: float

    @property
    def cost(self) -> str:
        """The mean cost, marked where runs were cut short."""
        return ("" if self.stopped == 1.0 else ">") + format(self.mean_cost, ",.4g")


@dataclass(frozen=True)
class Verdict:
    """Whether the default reached its goals on one data set."""

    set: str
    arms: int
    fidelities: int
    delta: float
    epsilon: float
    limit: float | None
    errors: bool
    over_truest: float
    over_rivals: float
    rival: str
    cheaper: bool | None

    @property
    def missed(self) -> list[str]:
        """The goals that were not reached."""
        return [
            *([] if self.errors else ["errors"]),
            *([] if self.over_truest <= TOO_EXPENSIVE else ["more expensive than the truest only"]),
            *([] if self.over_rivals <= TOO_EXPENSIVE else ["more expensive than a rival"]),
            *(["not cheap enough"] if self.cheaper is False else []),
        ]

    @property
    def passed(self) -> bool:
        """Whether all goals are reached."""
        return not self.missed


def rivals(instance: mf.Instance) -> Iterator[tuple[str, bool]]:
    """Policies beside the default, and whether they promise to be right with probability 1 - delta."""
    worst, second, best = (float(x) for x in np.sort(instance.truth)[[0, -2, -1]])
    off = 0.05 * (best - worst)
    known = f"top={best + off:.6g},second={second - off:.6g}"
    paper = [f"lucb-a:{known}", f"lucb-b:{known}", "lucb-c"]
    yield from ((name, True) for name in paper)
    for bound in bounds_for(instance):
        for name in (*paper, f"lucb-a-stop:{known}", f"lucb-b-stop:{known}", "lucb-top"):
            yield f"{name}{',' if ':' in name else ':'}bound={bound}", True
    yield "iise", True
    yield "hyperband", False
    yield "successive-halving", False


def bounds_for(instance: mf.Instance) -> tuple[str, ...]:
    """The tightest confidence bounds for a kind of rewards."""
    if isinstance(instance.problem.reward, mf.Gaussian):
        return ("gaussian",)
    return ("kl",) if isinstance(instance.problem.reward, mf.Bernoulli) else ("mixed", "bernstein")


class Bench:
    """Simulations of one data set within a time."""

    def __init__(self, task: Task, delta: float, threads: int | None, seed: int) -> None:
        self.task = task
        self.delta = delta
        self.threads = threads
        self.seed = seed

    def play(self, policy: str, trials: int, most: float | None) -> mf.Runs:
        """Run a policy so many times."""
        pulls = _MOST_PULLS_OF_IISE if policy == "iise" else _MOST_PULLS
        return mf.simulate(
            self.task.instance,
            policy,
            delta=self.delta,
            epsilon=self.task.epsilon,
            trials=trials,
            seed=self.seed,
            threads=self.threads,
            max_cost=most,
            max_pulls=None if most is None else pulls,
        )

    def measure(self, policy: str, seconds: float, least: int, most: float | None = None, correct: bool = True) -> Row:
        """Run a policy as often as a time allows, by how long the first few runs took."""
        runs = self.play(policy, least, most)
        trials = int(least * seconds / max(runs.seconds, 1e-6))
        if trials >= 2 * least:
            runs = self.play(policy, min(trials, _MOST_TRIALS), most)
        wrong = int(runs.wrong.sum())
        low, high = binomtest(wrong, runs.trials).proportion_ci(0.95, "exact")
        spent = (runs.pulls * self.task.instance.problem.costs).sum(axis=(0, 1))
        return Row(
            set=self.task.name,
            policy=policy,
            correct=correct,
            trials=runs.trials,
            mean_cost=float(runs.cost.mean()),
            standard_error=float(runs.cost.std() / runs.trials**0.5),
            stopped=float(runs.stopped.mean()),
            wrong=wrong,
            wrong_low=float(low),
            wrong_high=float(high),
            spent=[float(x) for x in spent / spent.sum()],
            seconds_per_trial=runs.seconds / runs.trials,
        )

    def rows(self, seconds: float) -> list[Row]:
        """All policies; the first two are the default and the truest fidelity only."""
        rows = [self.measure(DEFAULT, 0.4 * seconds, 100), self.measure(TRUEST, 0.2 * seconds, 20)]
        default, most = rows[0].mean_cost, _PATIENCE * max(row.mean_cost for row in rows)
        others = list(rivals(self.task.instance))
        for name, correct in others:
            rows.append(self.measure(name, 0.4 * seconds / len(others), 5, most, correct))
        repeats = round(default / rows[-1].mean_cost)
        if repeats > 1:
            matched = f"successive-halving:repeats={repeats}"
            rows.append(self.measure(matched, 0.4 * seconds / len(others), 5, most, False))
        return rows


def verdict(task: Task, rows: list[Row], delta: float) -> Verdict:
    """Hold the default against its goals."""
    default, truest, *others = rows
    # Runs that were cut short, and before they had spent what the default does, decide nothing.
    promised = [row for row in others if row.correct and (row.stopped == 1.0 or row.mean_cost > default.mean_cost)]
    cheapest = min(promised, key=lambda row: row.mean_cost)
    wanted = CHEAPER.get(task.name)
    return Verdict(
        set=task.name,
        arms=task.instance.problem.n_arms,
        fidelities=task.instance.problem.n_fidelities,
        delta=delta,
        epsilon=task.epsilon,
        limit=None if task.epsilon else mf.theory.limit(task.instance, delta),
        errors=bool(binomtest(default.wrong, default.trials, delta, "greater").pvalue >= SIGNIFICANT),
        over_truest=default.mean_cost / truest.mean_cost,
        over_rivals=default.mean_cost / cheapest.mean_cost,
        rival=("" if cheapest.stopped == 1.0 else ">") + cheapest.policy,
        cheaper=None if wanted is None else truest.mean_cost >= wanted * default.mean_cost,
    )


def print_rows(task: Task, rows: list[Row], found: Verdict, delta: float) -> None:
    """Print what all policies paid on one data set."""
    problem = task.instance.problem
    limit = "" if found.limit is None else f", limit {found.limit:,.4g}"
    print(f"\n{task.name}: {problem.n_arms} arms, {problem.n_fidelities} fidelities, delta {delta:g}{limit}")
    print(f"  {task.words}")
    print(
        f"  {'policy':<32} {'trials':>6} {'mean cost':>11} {'+-':>8} {'x ours':>7} {'wrong':>6} "
        f"{'95% interval':>15}  spent by fidelity, %"
    )
    for row in rows:
        spent = " ".join(f"{100 * share:.0f}" for share in row.spent)
        print(
            f"  {short(row.policy):<32} {row.trials:>6} {row.cost:>11} {row.standard_error:>8.2g} "
            f"{row.mean_cost / rows[0].mean_cost:>7.2f} {errors(row)}  {spent}"
            f"{'' if row.correct else '  (promises nothing)'}"
        )
    sys.stdout.flush()


def errors(row: Row) -> str:
    """The rate of wrong answers with its exact interval."""
    return f"{row.wrong / row.trials:>6.3f} {row.wrong_low:.4f} - {row.wrong_high:.4f}"


def print_verdicts(everything: list[list[Row]], verdicts: list[Verdict]) -> None:
    """Print one line per data set: the default, the truest only, the paper, halving, and the goals."""
    print(
        f"\n{'data set':<23} {'trials':>6} {'default':>10} {'wrong':>6} {'95% interval':>15} "
        f"{'truest only':>11} {'ratio':>6} {'paper A':>10} {'B':>10} {'C':>10} {'halving':>9}  "
        f"{'cheapest rival':<28} {'ratio':>6}  goals"
    )
    for rows, found in zip(everything, verdicts, strict=True):
        default, truest, a, b, c, *others = rows
        halving = [1 - row.wrong / row.trials for row in others if row.policy.startswith("successive")]
        print(
            f"{found.set[:22] + ('*' if found.epsilon else ''):<23} {default.trials:>6} {default.cost:>10} "
            f"{errors(default)} {truest.cost:>11} {found.over_truest:>6.3f} {a.cost:>10} {b.cost:>10} "
            f"{c.cost:>10} {' '.join(f'{right:.2f}' for right in halving):>9}  {short(found.rival):<28} "
            f"{found.over_rivals:>6.3f}  {'PASS' if found.passed else 'MISS: ' + ', '.join(found.missed)}"
        )
    print("* a near tie: answers within epsilon are right. Halving: share of right answers as it is, and")
    print("repeated until it costs what the default does. Ratios: the default's cost over the other's.")
    print(f"{sum(found.passed for found in verdicts)} of {len(verdicts)} sets pass.")


def short(policy: str) -> str:
    """A policy's name without the means it was told."""
    name, _, options = policy.partition(":")
    kept = [part for part in options.split(",") if part and not part.startswith(("top=", "second="))]
    return f"{name}:{','.join(kept)}" if kept else name


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", help="names of data sets, instead of all")
    parser.add_argument("--seconds", type=float, default=15.0, help="for each set, about; without compiling")
    parser.add_argument("--delta", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, help="all cores by default")
    parser.add_argument("--bernoulli", action="store_true", help="0/1 noise where there is one row per cell")
    parser.add_argument("--only", choices=["independent", "blocks"], help="sets of one kind")
    parser.add_argument("--runs", type=int, default=200, help="races on every set with blocks")
    parser.add_argument("--json", type=Path, help="write all figures there")
    arguments = parser.parse_args()
    folders = {path.name: path for path in sorted(DATA.glob("*")) if (path / "meta.json").is_file()}
    if not folders:
        sys.exit("The data sets are not there: this benchmark reads ../shared/data beside the repository.")
    unknown = [name for name in arguments.sets or () if name not in (*folders, *block_names())]
    if unknown:
        sys.exit(f"No data set is called {unknown[0]!r}; there are {', '.join([*folders, *block_names()])}.")
    warnings.simplefilter("ignore", mf.errors.ModelWarning)
    figures: dict[str, Any] = {"sets": [], "blocks": []}

    def keep(part: str, rows: list[dict[str, Any]]) -> None:
        figures[part] = rows
        if arguments.json:
            arguments.json.write_text(json.dumps(figures, indent=1))

    if arguments.only != "blocks":
        independent_sets([name for name in arguments.sets or folders if name in folders], folders, arguments, keep)
    if arguments.only != "independent":
        chosen = [name for name in arguments.sets or block_names() if name in block_names()]
        keep("blocks", print_block_sets(chosen, arguments.runs) if chosen else [])


def independent_sets(
    chosen: list[str],
    folders: dict[str, Path],
    arguments: argparse.Namespace,
    keep: Callable[[str, list[dict[str, Any]]], None],
) -> None:
    """Measure and print the sets whose rewards are drawn independently."""
    everything: list[list[Row]] = []
    verdicts: list[Verdict] = []
    for name in chosen:
        started = time.perf_counter()
        task = load(folders[name], arguments.bernoulli)
        rows = Bench(task, arguments.delta, arguments.threads, arguments.seed).rows(arguments.seconds)
        found = verdict(task, rows, arguments.delta)
        print_rows(task, rows, found, arguments.delta)
        print(f"{name} {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
        everything.append(rows)
        verdicts.append(found)
        keep("sets", as_json(everything, verdicts))
    print_verdicts(everything, verdicts)


def as_json(everything: list[list[Row]], verdicts: list[Verdict]) -> list[dict[str, Any]]:
    """All figures as plain objects."""
    return [
        {**asdict(found), "passed": found.passed, "rows": [asdict(row) for row in rows]}
        for rows, found in zip(everything, verdicts, strict=True)
    ]


if __name__ == "__main__":
    main()
