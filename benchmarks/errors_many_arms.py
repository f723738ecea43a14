"""How often the default policy errs among many arms that nearly tie, with exact intervals.

    python benchmarks/errors_many_arms.py                       # 5 and 30 arms, delta 0.5, 0.2 and 0.05
    python benchmarks/errors_many_arms.py --arms 300 --trials 200

Leaders change often there, and the evidence against the best arm rests on all of them. "Near ties" has one fidelity and
one arm that is a little better than the others. In "saturated" a cheap fidelity is off as far as it may be: downwards
for the best arm, upwards for all others. A run that costs more than --most times the cost of one pull of every arm ends
without an answer, and is not wrong.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable

import numpy as np
from scipy.stats import binomtest

# numba-cuda may be older than NumPy, which dropped these names; a measuring script may give them back.
for _old, _new in (("row_stack", "vstack"), ("in1d", "isin"), ("trapz", "trapezoid")):
    if not hasattr(np, _old):
        setattr(np, _old, getattr(np, _new))

import mfbandit as mf  # noqa: E402  (after the names above)

GAP = 0.1


def near_ties(arms: int, gaussian: bool) -> mf.Instance:
    """One fidelity; the last arm is better by a little."""
    problem = mf.Problem(arms, [("only", 1.0)], reward=mf.Gaussian(0.5) if gaussian else "bernoulli")
    means = [[0.5 + (GAP if arm == arms - 1 else 0.0)] for arm in range(arms)]
    return mf.Instance(problem, means, name="near ties, " + ("Gaussian" if gaussian else "0/1"))


def saturated(arms: int, gaussian: bool) -> mf.Instance:
    """A cheap fidelity whose biases speak against the best arm as loudly as they may."""
    reward = mf.Gaussian(0.5) if gaussian else "bernoulli"
    problem = mf.Problem(arms, [("cheap", 0.2, 0.1), ("exact", 1.0, 0.0)], reward=reward)
    means = [[0.6, 0.5] if arm < arms - 1 else [0.4 + GAP, 0.5 + GAP] for arm in range(arms)]
    return mf.Instance(problem, means, name="saturated, " + ("Gaussian" if gaussian else "0/1"))


CASES: tuple[Callable[[int, bool], mf.Instance], ...] = (near_ties, saturated)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", type=int, nargs="+", default=(5, 30))
    parser.add_argument("--deltas", type=float, nargs="+", default=(0.5, 0.2, 0.05))
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--most", type=float, default=2000.0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        "| arms | instance | delta | wrong | share (95% interval) | unfinished |\n|---|---|---|---|---|---|", flush=True
    )
    for arms in given.arms:
        for case in CASES:
            for gaussian in (False, True):
                for delta in given.deltas:
                    instance, most = case(arms, gaussian), given.most * arms
                    options = {"trials": given.trials, "seed": given.seed, "device": given.device}
                    runs = mf.simulate(instance, delta=delta, max_cost=most, **options)
                    wrong = int(np.sum(runs.wrong))
                    found = binomtest(wrong, given.trials, delta).proportion_ci()
                    share = f"{wrong / given.trials:.4f} ({found.low:.4f} to {found.high:.4f})"
                    left = int(np.sum(~runs.stopped))
                    print(f"| {arms} | {instance.name} | {delta} | {wrong} | {share} | {left} |", flush=True)
                    if binomtest(wrong, given.trials, delta, alternative="greater").pvalue < 1e-4:
                        raise SystemExit("more errors than delta allows")


if __name__ == "__main__":
    main()
