"""Many arms: pulls per second, cost, memory and studies, from 10 arms to 100,000.

    python benchmarks/scale.py                     # all but the study: about ten minutes
    python benchmarks/scale.py --quick             # up to 10,000 arms and without the limit
    python benchmarks/scale.py --study             # a whole study of 10,000 arms, ask by ask
    python benchmarks/scale.py --picture cost.png

Random instances: the best arm has mean 0.9, the others are uniform between 0.1 and 0.7; three fidelities of cost
1, 4 and 16 with bias bounds 0.1, 0.03 and 0, biases uniform within them; rewards are 0 or 1. Everything runs on
one thread. Rivals in the same run: mabwiser's UCB1 and single-fidelity LUCB as one would write it with NumPy
(both on the truest fidelity alone; they keep no certificate).
"""

from __future__ import annotations

import argparse
import math
import resource
import subprocess
import sys
import time

import numpy as np

import mfbandit as mf
from mfbandit.instances import BernoulliLaw, Instance
from mfbandit.theory import limit

POLICIES = {
    "lucb-a": "lucb-a:top=0.9,second=0.7",
    "lucb-b": "lucb-b:top=0.9,second=0.7",
    "lucb-top": "lucb-top",
    "mf-toptwo": "mf-toptwo",
}
SIZES = (10, 100, 1_000, 10_000, 100_000)


def crowd(arms: int, seed: int = 0) -> Instance:
    """A random instance of so many arms."""
    rng = np.random.default_rng(seed)
    truth = rng.uniform(0.1, 0.7, arms)
    truth[rng.integers(arms)] = 0.9
    means = truth[:, None] + np.array([0.1, 0.03, 0.0]) * rng.uniform(-1.0, 1.0, (arms, 3))
    problem = mf.Problem(arms, [("cheap", 1.0, 0.1), ("fair", 4.0, 0.03), ("true", 16.0, 0.0)], reward="bernoulli")
    return Instance(problem, np.clip(means, 0.0, 1.0), BernoulliLaw(), name=f"{arms:,} arms")


def rate(instance: Instance, policy: str) -> float:
    """Pulls per second over whole runs, or over the first pulls of one that is long."""
    arms = len(instance.means)
    limits = {"max_pulls": 40_000_000, "threads": 1}
    mf.simulate(instance, policy, trials=1, seed=1, max_pulls=2, threads=1)
    runs = mf.simulate(instance, policy, trials=max(1, 2_000 // arms), seed=1, **limits)  # type: ignore[arg-type]
    return float(runs.pulls.sum() / runs.seconds)


def numpy_loop(instance: Instance, seconds: float = 2.0) -> float:
    """Pulls per second of LUCB on the truest fidelity, written by hand with NumPy."""
    rng, means = np.random.default_rng(0), instance.truth
    n, s = np.ones(len(means)), (rng.random(len(means)) < means).astype(float)
    started, pulls, t = time.perf_counter(), 0, len(means)
    while time.perf_counter() - started < seconds:
        upper = s / n + np.sqrt(math.log(4 * len(means) * t**4 / 0.05) / n)
        for k in np.argpartition(-upper, 1)[:2]:
            s[k] += rng.random() < means[k]
            n[k] += 1
        pulls, t = pulls + 2, t + 2
    return pulls / (time.perf_counter() - started)


def mabwiser_loop(instance: Instance, seconds: float = 2.0) -> float:
    """Pulls per second of mabwiser's UCB1 on the truest fidelity; nan where it is not installed."""
    try:
        from mabwiser.mab import MAB, LearningPolicy
    except ImportError:
        return math.nan
    rng, means = np.random.default_rng(0), instance.truth
    arms = list(range(len(means)))
    policy = MAB(arms=arms, learning_policy=LearningPolicy.UCB1(alpha=1.0))
    policy.fit(decisions=arms, rewards=(rng.random(len(means)) < means).astype(float).tolist())
    started, pulls = time.perf_counter(), 0
    while time.perf_counter() - started < seconds or pulls == 0:
        arm = policy.predict()
        policy.partial_fit([arm], [float(rng.random() < means[arm])])
        pulls += 1
    return pulls / (time.perf_counter() - started)


def speed(sizes: tuple[int, ...]) -> None:
    """Pulls per second by the number of arms."""
    print("Pulls per second, one thread (in brackets: as a part of those at 10 arms)\n")
    names = [*POLICIES, "NumPy loop", "mabwiser"]
    print(f"{'arms':>9}" + "".join(f"{name:>21}" for name in names), flush=True)
    first: dict[str, float] = {}
    for arms in sizes:
        instance = crowd(arms)
        line = f"{arms:>9,}"
        for name in names:
            if name in POLICIES:
                found = rate(instance, POLICIES[name])
            else:
                found = (numpy_loop if name == "NumPy loop" else mabwiser_loop)(instance)
            line += f"{found:>13,.0f} ({found / first.setdefault(name, found):.2f})".rjust(21)
        print(line, flush=True)


def cost(sizes: tuple[int, ...], instances: int, with_limit: bool) -> list[tuple[int, float, float]]:
    """What the default policy pays by the number of arms, beside the limit; means over instances."""
    print("\nCost of the default policy, delta 0.05 (limit: C* kl(delta, 1 - delta), to 0.1%)\n")
    print(
        f"{'arms':>9}{'cost':>13}{'per arm':>9}{'pulls':>12}{'wrong':>7}{'limit':>11}{'cost/limit':>12}"
        f"{'cheap':>8}{'fair':>7}{'true':>7}{'arms never pulled at the truest':>33}"
    )
    found = []
    for arms in sizes:
        count = instances if arms <= 1_000 else 1
        paid, least, pulls, wrong, shares, spared = [], [], [], 0, [], []
        for seed in range(count):
            instance = crowd(arms, seed)
            runs = mf.simulate(instance, "mf-toptwo", trials=1, seed=seed)
            spending = (runs.pulls[0] * instance.problem.costs).sum(axis=0)
            paid.append(runs.cost[0])
            pulls.append(runs.pulls.sum())
            wrong += int(runs.best[0] != instance.best)
            shares.append(spending / spending.sum())
            spared.append((runs.pulls[0, :, 2] == 0).mean())
            if with_limit and arms <= 10_000:
                least.append(limit(instance, 0.05, tolerance=1e-3))
        bound = float(np.mean(least)) if least else math.nan
        parts = np.mean(shares, axis=0)
        print(
            f"{arms:>9,}{np.mean(paid):>13,.0f}{np.mean(paid) / arms:>9.0f}{np.mean(pulls):>12,.0f}"
            f"{wrong:>4}/{count:<2}{bound:>11,.0f}{np.mean(paid) / bound:>12.1f}"
            f"{parts[0]:>8.0%}{parts[1]:>7.0%}{parts[2]:>7.0%}{np.mean(spared):>33.1%}",
            flush=True,
        )
        found.append((arms, float(np.mean(paid)), bound))
    return found


def draw(found: list[tuple[int, float, float]], path: str) -> None:
    """Draw cost against the number of arms."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    arms, paid, least = (np.array(column) for column in zip(*found, strict=True))
    figure, axes = plt.subplots(figsize=(5.2, 3.6), layout="constrained")
    axes.loglog(arms, paid, "o-", color="#0072B2", label="mf-toptwo, until certified")
    axes.loglog(arms, least, "s--", color="black", label="limit at delta = 0.05")
    axes.loglog(arms, 21.0 * arms, ":", color="#999999", label="every arm once at every fidelity")
    axes.set_xlabel("arms")
    axes.set_ylabel("mean cost")
    axes.legend(frameon=False, fontsize=10)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(path, dpi=130)


def study(arms: int, most: int) -> None:
    """A whole study of the default policy: what an ask and a tell take."""
    instance = crowd(arms)
    evaluate = instance.evaluator(seed=1)
    running = mf.create_study(instance.problem, delta=0.05)
    asked = told = 0.0
    pulls = 0
    while pulls < most:
        started = time.perf_counter()
        batch = running.ask(1)
        asked += time.perf_counter() - started
        if not batch:
            break
        reward = evaluate(batch[0])
        started = time.perf_counter()
        running.tell(batch[0], reward)
        told += time.perf_counter() - started
        pulls += 1
    right = running.best == instance.problem.arms[instance.best]
    print(
        f"\nStudy of {arms:,} arms: {pulls:,} pulls, {1e3 * asked / pulls:.3f} ms per ask, {1e3 * told / pulls:.3f} ms "
        f"per tell, planning included; {'certified' if running.done else 'stopped here'}, "
        f"{'right' if right else 'wrong'}"
    )


def largest(arms: int) -> None:
    """Identify the best of very many arms in a process of its own; its memory and time."""
    text = f"import scale; scale.identify_alone({arms})"
    subprocess.run([sys.executable, "-c", text], check=True, cwd=__file__.rpartition("/")[0] or ".")


def identify_alone(arms: int) -> None:
    """What `largest` runs."""
    instance = crowd(arms)
    started = time.perf_counter()
    runs = mf.simulate(instance, "mf-toptwo", trials=1, seed=1, threads=1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    seconds = time.perf_counter() - started
    answer = "right" if runs.best[0] == instance.best else "wrong"
    print(
        f"\n{arms:,} arms: {answer}, {'certified' if runs.stopped[0] else 'not certified'}, "
        f"{runs.pulls.sum():,} pulls in {seconds:.0f} s, peak memory {peak:.2f} GiB",
        flush=True,
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--study", action="store_true")
    parser.add_argument("--instances", type=int, default=5)
    parser.add_argument("--picture")
    chosen = parser.parse_args()
    sizes = SIZES[:-1] if chosen.quick else SIZES
    if chosen.study:
        study(10_000, 10**9)
        return
    speed(sizes)
    found = cost(SIZES[:-1], chosen.instances, not chosen.quick)
    if chosen.picture:
        draw(found, chosen.picture)
    if not chosen.quick:
        largest(SIZES[-1])


if __name__ == "__main__":
    main()
