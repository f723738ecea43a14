"""What every policy pays on every built-in instance, beside the limit that nobody can go below.

    python benchmarks/cost.py                  # a table per instance; some minutes
    python benchmarks/cost.py --trials 1000 --out results
    python benchmarks/cost.py --errors         # error rates, 10,000 trials each, on instances made to hurt

A policy that needs prior knowledge gets it: bounds 0.05 above the best mean and 0.05 below the second
best. Runs that do not stop within 400 times the limit (mf-grad, which is slow: 30 times) count with what they
spent, marked ">".
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
from scipy.stats import binomtest

import mfbandit as mf
from mfbandit.algorithms import REGISTRY

#: delta of each instance, as in the literature that it comes from.
DELTAS = {
    "figure-1a": 0.05,
    "figure-1b": 0.05,
    "poiani-5x2": 0.01,
    "poiani-4x5": 0.01,
    "poiani-mu2": 0.01,
    "poiani-mu3": 0.01,
    "forever": 0.01,
    "loose-prior": 0.05,
    "judges": 0.05,
}


@dataclass(frozen=True)
class Row:
    """One policy on one instance."""

    instance: str
    policy: str
    delta: float
    trials: int
    mean_cost: float
    standard_error: float
    limit: float
    over_limit: float
    stopped: float
    wrong: int
    wrong_low: float
    wrong_high: float
    pulls_per_second: float


def policies(instance: mf.Instance) -> Iterator[str]:
    """Every registered policy that identifies, with what knowledge it needs, and the bounds of LUCB."""
    best, second = np.sort(instance.truth)[-1], np.sort(instance.truth)[-2]
    known = f"top={best + 0.05:.4g},second={second - 0.05:.4g}"
    bound = "gaussian" if isinstance(instance.problem.reward, mf.Gaussian) else "kl"
    for name, entry in REGISTRY.items():
        if entry.kind.objective != "identify":
            continue
        needs = "top=" in entry.example
        yield f"{name}:{known}" if needs else name
        if name.startswith("lucb-"):
            yield f"{name}:{known},bound={bound}" if needs else f"{name}:bound={bound}"
    yield "mf-toptwo:fidelities=top"


def measure(instance: mf.Instance, policy: str, delta: float, trials: int, seed: int = 0) -> Row:
    """Run one policy on one instance."""
    limit = mf.theory.limit(instance, delta)
    most = (30 if policy.startswith("mf-grad") else 400) * limit
    runs = mf.simulate(instance, policy, delta=delta, trials=trials, seed=seed, max_cost=most)
    wrong = int(runs.wrong.sum())
    interval = binomtest(wrong, trials).proportion_ci(0.95, "exact")
    return Row(
        instance=instance.name,
        policy=policy,
        delta=delta,
        trials=trials,
        mean_cost=float(runs.cost.mean()),
        standard_error=float(runs.cost.std() / trials**0.5),
        limit=limit,
        over_limit=float(runs.cost.mean() / limit),
        stopped=float(runs.stopped.mean()),
        wrong=wrong,
        wrong_low=float(interval.low),
        wrong_high=float(interval.high),
        pulls_per_second=float(runs.pulls.sum() / max(runs.seconds, 1e-9)),
    )


def trials_for(instance: mf.Instance, policy: str, wanted: int) -> int:
    """Fewer trials for what takes long: the paper's radius on the hard instances, and slow rivals."""
    slow = policy.startswith(("mf-grad", "iise", "lucb"))
    return max(20, wanted // (20 if policy.startswith("mf-grad") else 10)) if slow else wanted


def table(rows: list[Row]) -> None:
    """Print the rows of one instance."""
    first = rows[0]
    print(f"\n{first.instance}, delta {first.delta:g}, limit {first.limit:.4g}")
    print(
        f"{'policy':<42} {'trials':>6} {'mean cost':>12} {'+-':>9} {'x limit':>8}"
        f" {'wrong':>6} {'95% interval':>15} {'pulls/s':>9}"
    )
    for row in sorted(rows, key=lambda row: row.mean_cost):
        mark = "" if row.stopped == 1.0 else ">"
        print(
            f"{row.policy:<42} {row.trials:>6} {mark + format(row.mean_cost, ',.5g'):>12} {row.standard_error:>9.3g} "
            f"{row.over_limit:>8.2f} {row.wrong:>6}"
            f" {row.wrong_low:>6.4f} - {row.wrong_high:.4f} {row.pulls_per_second:>9.2g}"
        )


def hurtful() -> Iterator[mf.Instance]:
    """Instances made to hurt: near ties, biases at their bounds, rewards near 0 and 1, low variance, many arms."""
    cheap = [("cheap", 1.0, 0.1), ("true", 5.0, 0.0)]
    bernoulli = {"reward": "bernoulli"}
    yield mf.Instance(mf.Problem(2, cheap, **bernoulli), [[0.45, 0.55], [0.60, 0.50]], name="against the best")
    yield mf.Instance(mf.Problem(2, [("true", 1.0, 0.0)], **bernoulli), [[0.52], [0.5]], name="near tie")
    yield mf.Instance(mf.Problem(3, [("true", 1.0, 0.0)], **bernoulli), [[0.02], [0.001], [0.0]], name="near 0")
    yield mf.Instance(mf.Problem(3, [("true", 1.0, 0.0)], **bernoulli), [[1.0], [0.98], [0.97]], name="near 1")
    two = np.array([0.2, 0.9])
    cells = [[two], [np.array([0.2, 0.2, 0.9, 0.9, 0.2])], [np.array([0.5])]]
    yield mf.Instance(mf.Problem(3, [("true", 1.0, 0.0)]), None, mf.TableLaw(cells), name="two-point and constant")
    yield mf.Instance(
        mf.Problem(3, cheap),
        [[0.80, 0.90], [0.93, 0.88], [0.78, 0.85]],
        mf.BetaLaw(500.0),
        name="low variance",
    )
    many = [[0.6, 0.7]] + [[0.7, 0.6]] * 49
    yield mf.Instance(mf.Problem(50, cheap, **bernoulli), many, name="fifty arms")
    gaussian = mf.Problem(3, [("cheap", 1.0, 0.2), ("true", 9.0, 0.0)], reward=mf.Gaussian(0.5))
    yield mf.Instance(gaussian, [[0.8, 1.0], [1.0, 0.8], [0.9, 0.7]], name="gaussian")


def errors(trials: int) -> None:
    """Error rates of the policies that promise one."""
    print(
        f"{'instance':<24} {'policy':<28} {'delta':>6} {'trials':>7} {'wrong':>6}"
        f" {'rate':>8} {'95% interval':>17} {'p':>7} {'mean cost':>9} {'largest':>9}"
    )
    for instance in hurtful():
        bound = "gaussian" if isinstance(instance.problem.reward, mf.Gaussian) else "mixed"
        for policy in ("mf-toptwo", f"lucb-c:bound={bound}", "lucb-c:bound=hoeffding"):
            for delta in (0.2, 0.05):
                # The rivals need very many pulls where fifty arms nearly tie.
                count = trials if policy == "mf-toptwo" else trials // (10 if instance.problem.n_arms < 50 else 200)
                most = None if policy == "mf-toptwo" else 1e7
                runs = mf.simulate(instance, policy, delta=delta, trials=count, seed=7, max_cost=most)
                wrong = int(runs.wrong.sum())
                test = binomtest(wrong, count, delta, "greater")
                low, high = binomtest(wrong, count).proportion_ci(0.95, "exact")
                print(
                    f"{instance.name:<24} {policy:<28} {delta:>6} {count:>7} {wrong:>6} {wrong / count:>8.5f} "
                    f"{low:.5f} - {high:.5f} {test.pvalue:>7.3f} {runs.cost.mean():>9.4g} {runs.cost.max():>9.4g}"
                    f"{'' if runs.stopped.all() else '  not all stopped'}",
                    flush=True,
                )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--instances", nargs="*", default=list(DELTAS))
    parser.add_argument("--delta", type=float, help="instead of the usual delta of each instance")
    parser.add_argument("--policies", nargs="*", help="instead of all")
    parser.add_argument("--errors", action="store_true", help="error rates on instances made to hurt")
    parser.add_argument("--out", type=Path, help="write cost.json there")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", mf.errors.ModelWarning)
    if arguments.errors:
        errors(max(arguments.trials, 10_000))
        return
    everything: list[Row] = []
    for name in arguments.instances:
        instance = mf.load_instance(name)
        rows = []
        for policy in arguments.policies or policies(instance):
            started = time.perf_counter()
            trials = trials_for(instance, policy, arguments.trials)
            rows.append(measure(instance, policy, arguments.delta or DELTAS.get(name, 0.05), trials, arguments.seed))
            print(f"{name} {policy} {time.perf_counter() - started:.1f} s", file=sys.stderr, flush=True)
        table(rows)
        everything += rows
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / "cost.json").write_text(json.dumps([asdict(row) for row in everything], indent=1))


if __name__ == "__main__":
    main()
