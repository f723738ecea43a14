"""What several workers cost and save: pulls, cost and time of studies of a width, beside those of one worker.

    python benchmarks/width.py                            # as many trials as tell costs to 1 percent
    python benchmarks/width.py --trials 200 --only judges poiani-5x2 --widths 8
    python benchmarks/width.py --fresh 20 --seed 3        # twenty other random instances, drawn from the seed

Every built-in instance, some random ones, two races on blocks, and two other policies. Runs of all widths have the same
rewards, so that costs are compared run by run: "cost" is the ratio to one worker, with its standard error. Durations
are 1, or lognormal with mean 1 (sigma 1). "busy" is busy worker time / (workers x time until the answer), "faster"
the time of one worker over that of all. A bound is marked "ok" or "NOT KEPT":

- runs of more than 20 pulls per worker: busy and cost as in `BUSY` and `COST`;
- shorter ones: the cost of one worker, and what 2 pulls per worker cost at most, at the price of its mean pull:
  "worth/W" is how many such pulls the extra cost would pay per worker ("at top": pulls at the truest fidelity);
- poiani-5x2 with 8 workers: 4 times faster at delta 0.01, 3 times at 0.05.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import mfbandit as mf

#: Least share of busy worker time, by workers: with equal durations, and with lognormal ones.
BUSY = {8: (0.9, 0.75), 64: (0.8, 0.65)}
#: Most cost, as a multiple of that of one worker.
COST = {8: 1.03, 64: 1.10}
#: How many times faster than one worker 8 of them must be on poiani-5x2, by delta.
FASTER = {0.01: 4.0, 0.05: 3.0}
#: Runs of more pulls per worker than this are long, and others may make so many more pulls per worker.
LONG, MORE = 20, 2
#: The standard error, as a share of the cost, that is enough, and the trials that tell how many are needed for it.
ENOUGH, FIRST, MOST = 0.01, 100, 20_000


@dataclass(frozen=True)
class Case:
    """What is simulated."""

    name: str
    instance: mf.Instance
    policy: str | None
    delta: float
    budget: float | None = None

    def runs(self, trials: int, width: int = 1, spread: float | None = None) -> mf.Runs:
        """Simulate it."""
        given = None if spread is None else mf.Durations(1.0, spread)
        settings = {"delta": self.delta, "budget": self.budget, "trials": trials, "width": width, "durations": given}
        return mf.simulate(self.instance, self.policy, **settings)


@dataclass(frozen=True)
class Row:
    """One case with some workers."""

    case: str
    delta: float
    workers: int
    spread: float
    trials: int
    pulls: float
    pulls_of_one: float
    cost: float
    standard_error: float
    extra_pulls_per_worker: float
    extra_cost_in_pulls_per_worker: float
    extra_cost_in_truest_pulls_per_worker: float
    busy: float
    faster: float
    wrong: float
    stopped: float
    broken: tuple[str, ...]
    kept: tuple[str, ...]


def builtin(deltas: list[float]) -> Iterator[Case]:
    """Yield every built-in instance."""
    for name in mf.builtin_instances():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mf.errors.ModelWarning)
            instance = mf.load_instance(name)
        for delta in deltas:
            yield Case(name, instance, None, delta)


def fresh(count: int, seed: int) -> Iterator[Case]:
    """Yield random instances: 2 to 12 arms, 1 to 4 fidelities, hits or normal rewards."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        arms, fidelities = int(rng.integers(2, 13)), int(rng.integers(1, 5))
        costs = np.sort(10.0 ** rng.uniform(-2, 1, fidelities))
        biases = np.append(np.sort(rng.uniform(0, 0.2, fidelities - 1))[::-1], 0.0)
        truth = rng.uniform(0.2, 0.8, arms)
        truth[rng.integers(arms)] = truth.max() + 10 ** rng.uniform(-1.5, -0.7)
        means = np.clip(truth[:, None] + rng.uniform(-1, 1, (arms, fidelities)) * biases, 0.02, 0.98)
        hits = bool(rng.integers(2))
        sigma = float(rng.uniform(0.1, 0.5))
        reward, law = ("bernoulli", mf.BernoulliLaw()) if hits else (mf.Gaussian(sigma), mf.GaussianLaw(sigma))
        problem = mf.Problem.from_arrays(costs, biases, arms=arms, reward=reward)
        kind = "hits" if hits else "normal"
        yield Case(f"fresh {seed}/{number}, {arms}x{fidelities} {kind}", mf.Instance(problem, means, law), None, 0.05)


def others(seed: int) -> Iterator[Case]:
    """Yield two races on blocks, and policies beside the default."""
    table = np.random.default_rng(seed).random((6, 1, 2000)) * 0.9 + 0.02 * np.arange(6)[:, None, None] / 5
    table[0] += 0.05
    few = mf.Problem(6, [("test", 1.0)], "bounded", blocks=2000)
    yield Case("race on 2,000 items", mf.Instance(few, None, mf.BlockTableLaw(np.clip(table, 0, 1))), None, 0.05)
    endless = mf.Problem(8, [("run", 1.0)], "bernoulli", blocks="unlimited")
    means = np.linspace(0.4, 0.6, 8)[:, None]
    yield Case("race on endless blocks", mf.Instance(endless, means, mf.BlockEffectLaw(0.6)), None, 0.05)
    figure = mf.load_instance("figure-1a")
    yield Case("figure-1a, lucb-c", figure, "lucb-c", 0.05)
    yield Case("figure-1a, mf-commit", figure, "mf-commit", 0.05, budget=5000.0)


def paired(one: mf.Runs, many: mf.Runs) -> tuple[float, float]:
    """The ratio of the costs, and its standard error; of regrets, where a budget is spent."""
    of_one, of_many = (runs.cost if runs.budget is None else runs.regret for runs in (one, many))
    ratio = float(of_many.mean() / of_one.mean())
    return ratio, float(np.std(of_many - ratio * of_one, ddof=1) / np.sqrt(len(of_one)) / of_one.mean())


def trials_for(case: Case, width: int) -> int:
    """How many trials tell the cost to `ENOUGH`."""
    ratio, error = paired(case.runs(FIRST), case.runs(FIRST, width))
    return int(np.clip(np.ceil(FIRST * (error / ratio / ENOUGH) ** 2), FIRST, MOST))


def judged(case: Case, row: dict[str, float], width: int, spread: float) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The bounds that are not kept, and those that are."""
    checks: dict[str, bool] = {}
    if row["pulls_of_one"] > LONG * width and width in BUSY:
        least = BUSY[width][spread > 0]
        checks[f"busy >= {least:g}"] = row["busy"] >= least
        if case.budget is None:
            checks[f"cost <= {COST[width]:g}"] = row["cost"] <= COST[width]
    elif case.budget is None:
        checks[f"extra cost <= {MORE} pulls per worker"] = row["extra_cost_in_pulls_per_worker"] <= MORE
    if case.name == "poiani-5x2" and width == 8 and case.delta in FASTER:
        checks[f"faster >= {FASTER[case.delta]:g}"] = row["faster"] >= FASTER[case.delta]
    broken = tuple(name for name, kept in checks.items() if not kept)
    return broken, tuple(name for name in checks if name not in broken)


def measure(case: Case, width: int, spread: float, one: mf.Runs) -> Row:
    """Play a case with some workers, and compare it with one."""
    many = case.runs(one.trials, width, spread)
    ratio, error = paired(one, many)
    pulls, of_one = (float(runs.pulls.sum(axis=(1, 2)).mean()) for runs in (many, one))
    price, extra = float(one.cost.mean()) / of_one, float((many.cost - one.cost).mean())
    truest = float(case.instance.problem.costs[:, case.instance.problem.truest].mean())
    found = {
        "pulls": pulls,
        "pulls_of_one": of_one,
        "cost": ratio,
        "standard_error": error,
        "extra_pulls_per_worker": (pulls - of_one) / width,
        "extra_cost_in_pulls_per_worker": extra / price / width,
        "extra_cost_in_truest_pulls_per_worker": extra / truest / width,
        "busy": many.utilisation,
        "faster": of_one / float(many.time.mean()),
        "wrong": float(many.wrong.mean()),
        "stopped": float(many.stopped.mean()),
    }
    broken, kept = judged(case, found, width, spread)
    return Row(case.name, case.delta, width, spread, one.trials, **found, broken=broken, kept=kept)


HEAD = (
    f"{'case':<28} {'delta':>5} {'W':>3} {'sigma':>5} {'trials':>6} {'pulls of 1':>10} {'pulls':>8} {'more/W':>8} "
    f"{'worth/W':>8} {'at top':>6} {'cost':>7} {'+-':>6} {'busy':>5} {'faster':>6} {'wrong':>6}  bounds"
)


def show(row: Row) -> None:
    """Print a row."""
    verdict = "NOT KEPT: " + ", ".join(row.broken) if row.broken else "ok" if row.kept else "-"
    unended = "" if row.stopped == 1.0 else f" ({row.stopped:.1%} stopped)"
    worth, at_top = row.extra_cost_in_pulls_per_worker, row.extra_cost_in_truest_pulls_per_worker
    print(
        f"{row.case:<28} {row.delta:>5g} {row.workers:>3} {row.spread:>5g} {row.trials:>6} {row.pulls_of_one:>10,.0f} "
        f"{row.pulls:>8,.0f} {row.extra_pulls_per_worker:>8.2f} {worth:>8.2f} {at_top:>6.2f} {row.cost:>7.3f} "
        f"{row.standard_error:>6.3f} {row.busy:>5.2f} {row.faster:>6.1f} {row.wrong:>6.3f}  {verdict}{unended}",
        flush=True,
    )


def main() -> int:
    """Measure everything that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, help="trials of each (default: as many as tell the cost to 1 percent)")
    parser.add_argument("--deltas", type=float, nargs="+", default=[0.05, 0.01], help="of the built-in instances")
    parser.add_argument("--widths", type=int, nargs="+", default=[8, 64])
    parser.add_argument("--spreads", type=float, nargs="+", default=[0.0, 1.0], help="sigma of the durations")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="cases whose name begins so")
    parser.add_argument("--fresh", type=int, default=6, metavar="N", help="how many random instances")
    parser.add_argument("--seed", type=int, default=0, help="of the random instances")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    given = parser.parse_args()
    started, rows = time.perf_counter(), []
    print(HEAD)
    for case in [*builtin(given.deltas), *fresh(given.fresh, given.seed), *others(given.seed)]:
        if given.only and not case.name.startswith(tuple(given.only)):
            continue
        for width in given.widths:
            one = case.runs(given.trials or trials_for(case, width))
            for spread in given.spreads:
                rows.append(measure(case, width, spread, one))
                show(rows[-1])
    broken = [(row, bound) for row in rows for bound in row.broken]
    checked = len(broken) + sum(len(row.kept) for row in rows)
    print(f"\n{checked - len(broken)} of {checked} bounds are kept; {time.perf_counter() - started:.0f} s.")
    for row, bound in broken:
        print(f"  {bound}: {row.case}, delta {row.delta:g}, W={row.workers}, sigma {row.spread:g}")
    if given.json:
        given.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
