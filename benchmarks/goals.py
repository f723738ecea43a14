"""How often races with other goals than the best arm are wrong, where it is hardest to be right, and what they cost.

    python benchmarks/goals.py [--runs 10000] [--json FILE]      # about a quarter of an hour on two cores
    python benchmarks/goals.py --only "top-m, 0/1"

Each goal is asked of instances in which as many statements as possible can be wrong by next to nothing:

- better-than: half of the arms are as good as the control (to call one better is wrong), the others are better by
  epsilon and a millionth (to call one not better is wrong). Counted are runs with any wrong verdict.
- top-m: the m best are ahead of all others by epsilon and a millionth, so that m (K - m) statements can be wrong.
- cheapest-within: the best arm is expensive; arms behind it by epsilon and a millionth are cheap, and to choose one is
  wrong; one that is behind by a millionth less is the cheapest of the good ones, and to pass it over is wrong.
- lanes: the same with a cheap fidelity that is off by all that its bias bound allows, in the worst direction.
- finite: test sets of 100 items, in which the arms at the boundary are apart by one item.

Runs end by block 400. `spread` instances have arms that are apart, and show what an answer costs.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

import mfbandit as mf
from mfbandit.model import BetterThan, CheapestWithin, Question, TopM

DELTAS = (0.2, 0.05)
#: A difference that no race can find.
LEAST = 1e-6
#: By how many blocks a run ends.
LAST = 400
#: Epsilon for rewards of 0 or 1, and for normal ones, whose noise is 0.2.
EPSILON = {"0/1": 0.2, "normal": 0.2}
SIGMA = 0.2
#: The cheap fidelity: what it costs, and its bound on biases.
CHEAP = (0.02, 0.05)


@dataclass(frozen=True)
class Case:
    """An instance and what is asked of it."""

    name: str
    instance: mf.Instance
    goal: Question
    epsilon: float
    pulls: int | None
    """Where a run ends without an answer."""


@dataclass(frozen=True)
class Row:
    """What came of it."""

    case: str
    delta: float
    runs: int
    wrong: int
    stopped: float
    """The share of runs that settled everything."""
    cost: float
    """Mean cost of a run."""
    p: float
    """How likely so many wrong ones are at least if delta is the chance of each."""


def _instance(kind: str, means: list[float], rho: float, off: list[float] | None = None) -> mf.Instance:
    reward = "bernoulli" if kind == "0/1" else mf.Gaussian()
    fidelities = [mf.Fidelity("true", 1.0)]
    table = [[mean] for mean in means]
    if off is not None:
        fidelities = [mf.Fidelity("cheap", *CHEAP), *fidelities]
        table = [[mean + bias, mean] for mean, bias in zip(means, off, strict=True)]
    problem = mf.Problem(len(means), fidelities, reward=reward, blocks="unlimited")
    return mf.Instance(problem, table, law=mf.BlockEffectLaw(rho, sigma=None if kind == "0/1" else SIGMA))


def _hard(goal: str, epsilon: float) -> tuple[list[float], list[float], Question]:
    """Means, the worst biases of a cheap fidelity that is off by 1, and the question."""
    far = epsilon + LEAST
    if goal == "better-than":
        means = [0.4, *[0.4] * 4, *[0.4 + far] * 4]
        return means, [0.0, *[1.0] * 4, *[-1.0] * 4], BetterThan("arm 0")
    if goal == "top-m":
        return [*[0.4 + far] * 3, *[0.4] * 3], [*[-1.0] * 3, *[1.0] * 3], TopM(3)
    means = [0.7, *[0.7 - far] * 3, 0.7 - epsilon + LEAST]
    return means, [-1.0, *[1.0] * 3, 1.0], CheapestWithin([9.0, 1.0, 1.5, 2.0, 3.0])


def _finite(goal: str) -> mf.Instance:
    """Questions answered right or wrong; the arms at the boundary are apart by one of a hundred."""
    counts = {
        "better-than": [50, 50, 50, 51, 51, 49, 49],
        "top-m": [51, 51, 51, 50, 50, 50],
        "cheapest-within": [70, 49, 49, 50, 50],
    }[goal]
    rng = np.random.default_rng(5)
    rows = [rng.permutation([1.0] * count + [0.0] * (100 - count)) for count in counts]
    problem = mf.Problem(len(counts), [("true", 1.0)], reward="bernoulli", blocks=100)
    return mf.Instance(problem, law=mf.BlockTableLaw(np.array(rows)[:, None, :]))


def cases() -> Iterator[Case]:
    """All that is run."""
    for goal in ("better-than", "top-m", "cheapest-within"):
        for kind in ("0/1", "normal"):
            for epsilon in (EPSILON[kind], 0.0):
                if goal == "cheapest-within" and epsilon == 0.0:
                    continue
                means, off, question = _hard(goal, epsilon)
                for rho in (0.0, 0.5):
                    name = f"{goal}, {kind}, epsilon = {epsilon:g}, rho = {rho:g}"
                    yield Case(name, _instance(kind, means, rho), question, epsilon, LAST * len(means))
                biases = [CHEAP[1] * bias for bias in off]
                name = f"{goal}, {kind}, epsilon = {epsilon:g}, lanes"
                yield Case(
                    name,
                    _instance(kind, means, 0.5, biases),
                    question,
                    epsilon,
                    (10 if epsilon else 3) * LAST * len(means),
                )
        asked = {
            "better-than": BetterThan("arm 0"),
            "top-m": TopM(3),
            "cheapest-within": CheapestWithin([9.0, 1.0, 2.0, 3.0, 4.0]),
        }[goal]
        yield Case(f"{goal}, finite", _finite(goal), asked, 0.2 if goal == "cheapest-within" else 0.0, None)
    spread = [0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
    for kind in ("0/1", "normal"):
        instance = _instance(kind, spread, 0.5)
        yield Case(f"spread, {kind}, best", instance, TopM(1), 0.0, None)
        yield Case(f"spread, {kind}, top-m m = 3", instance, TopM(3), 0.0, None)
        yield Case(f"spread, {kind}, better-than the third", instance, BetterThan("arm 2"), 0.05, None)
        prices = CheapestWithin([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
        yield Case(f"spread, {kind}, cheapest within 0.15", instance, prices, 0.15, None)


def run(case: Case, delta: float, runs: int, seed: int = 0) -> Row:
    """Run one case."""
    found = mf.simulate(
        case.instance,
        goal=case.goal,
        delta=delta,
        epsilon=case.epsilon,
        trials=runs,
        seed=seed,
        max_pulls=case.pulls,
    )
    wrong = int(found.wrong.sum())
    p = float(binomtest(wrong, runs, delta, alternative="greater").pvalue)
    return Row(case.name, delta, runs, wrong, float(found.stopped.mean()), float(found.cost.mean()), p)


def main() -> None:
    """Run all cases, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=20_261_116)
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    print(f"{'case':48} {'delta':>5} {'wrong':>12} {'settled':>8} {'mean cost':>10}")
    for case in cases():
        if options.only not in case.name:
            continue
        for delta in DELTAS:
            row = run(case, delta, options.runs, options.seed)
            rows.append(row)
            beyond = "" if row.p > 1e-4 else "  MORE THAN DELTA"
            said = f"{row.wrong} of {row.runs}"
            print(f"{row.case:48} {row.delta:5} {said:>12} {row.stopped:8.3f} {row.cost:10.1f}{beyond}", flush=True)
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))


if __name__ == "__main__":
    main()
