"""What the default policy pays on random instances, beside the limit that nobody can go below.

    python benchmarks/random_instances.py                        # 36 instances, a table by number of arms
    python benchmarks/random_instances.py --trials 400 --seed 5 --arms 3 30
    python benchmarks/random_instances.py --truest               # and what the truest fidelity alone would cost

Every instance has its own number of fidelities (2 to 5), costs, bias bounds, kind of rewards and means; biases are
anywhere within their bounds. Nothing was tuned on these: another `--seed` makes others.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

import mfbandit as mf

ARMS = (2, 3, 5, 8, 15, 30)
DELTA = 0.05
#: A run ends without an answer at so many times the limit.
MOST = 200.0


def random_instance(arms: int, number: int, seed: int) -> mf.Instance:
    """One of the instances with so many arms: 0/1 rewards, then Gaussian ones, in turn."""
    rng = np.random.default_rng([seed, arms, number])
    fidelities = int(rng.integers(2, 6))
    costs = np.sort(10.0 ** rng.uniform(-2.5, 0.0, fidelities))
    costs /= costs[-1]
    bounds = np.sort(10.0 ** rng.uniform(-2.0, -0.5, fidelities))[::-1]
    bounds[-1] = 0.0
    top = float(rng.uniform(0.5, 0.8))
    gap = float(rng.uniform(0.08, 0.2))
    truth = np.append(top - gap - rng.uniform(0.0, 0.3, arms - 1), top)
    truth[0] = top - gap
    rng.shuffle(truth)
    means = np.clip(truth[:, None] + bounds * rng.uniform(-1.0, 1.0, (arms, fidelities)), 0.01, 0.99)
    means[:, -1] = truth
    reward = "bernoulli" if number % 2 == 0 else mf.Gaussian(0.5)
    listed = [(f"fidelity {m}", float(costs[m]), float(bounds[m])) for m in range(fidelities)]
    problem = mf.Problem(arms, listed, reward=reward)
    return mf.Instance(problem, means.tolist(), name=f"random-{arms}-{number}")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="of the instances and of their trials")
    parser.add_argument("--arms", type=int, nargs="+", default=ARMS)
    parser.add_argument("--each", type=int, default=6, help="instances for each number of arms")
    parser.add_argument("--delta", type=float, default=DELTA)
    parser.add_argument("--policy", default="mf-toptwo")
    parser.add_argument("--truest", action="store_true", help="compare with the truest fidelity alone")
    parser.add_argument("--verbose", action="store_true", help="a line for every instance")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| arms | cost over limit (geometric mean) | least | most | most over truest only | wrong | not stopped |")
    print("|---|---|---|---|---|---|---|", flush=True)
    every: list[float] = []
    for arms in given.arms:
        ratios, beside, wrong, open_runs = list[float](), list[float](), 0, 0
        for number in range(given.each):
            instance = random_instance(arms, number, given.seed)
            limit, began = mf.theory.limit(instance, given.delta), time.perf_counter()
            options = {"delta": given.delta, "trials": given.trials, "seed": given.seed, "max_cost": MOST * limit}
            runs = mf.simulate(instance, given.policy, **options)
            ratios.append(float(np.mean(runs.cost)) / limit)
            wrong += int(np.sum(runs.wrong))
            open_runs += int(np.sum(~runs.stopped.astype(bool)))
            if given.truest:
                alone = mf.simulate(instance, f"{given.policy}:fidelities=top", **options)
                beside.append(float(np.mean(runs.cost)) / float(np.mean(alone.cost)))
            if given.verbose:
                spent = time.perf_counter() - began
                print(f"  {instance.name}: {ratios[-1]:.3f} ({np.mean(runs.cost):.5g}, {spent:.1f} s)", flush=True)
        every += ratios
        mean = np.exp(np.mean(np.log(ratios)))
        other = f"{max(beside):.2f}" if beside else "-"
        shown = f"{mean:.2f} | {min(ratios):.2f} | {max(ratios):.2f} | {other}"
        print(f"| {arms} | {shown} | {wrong}/{given.trials * given.each} | {open_runs} |", flush=True)
    print(f"\nAll {len(every)} instances: {np.exp(np.mean(np.log(every))):.2f} times the limit (geometric mean).")


if __name__ == "__main__":
    main()
