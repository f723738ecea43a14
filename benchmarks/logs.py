"""How often `mfbandit compare` is wrong, and how good its number of items is that would settle it.

    python benchmarks/logs.py [--runs 500] [--seed 1]

Errors: the best of K systems is ahead by next to nothing, so that nearly every claim of another one is wrong. A log
grows from 50 items to 1,600 and is looked at six times; a run is wrong if it ever claims that a system is the best
which is not. Beside it the claims of a single look at 400 items, those of six "single" looks, and of the paired z-test
without a correction at one look. Coverage: a run in which an interval ever misses is counted.

Control: verdicts beside a control, of systems that are as good as it or better by epsilon.

Items needed: fresh random problems, logs of 150 items that settle nothing; then as many items as were foretold.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np
from scipy.special import ndtr

from mfbandit.logs import ModelRace, ScoreTable, compare_table, control_table

LOOKS = (50, 100, 200, 400, 800, 1600)


def draw(rng: np.random.Generator, law: str, means: np.ndarray, items: int, rho: float) -> np.ndarray:
    """Scores of K systems on some items; rho is the share of noise that all have in common on an item."""
    noise = math.sqrt(rho) * rng.normal(size=items) + math.sqrt(1 - rho) * rng.normal(size=(means.size, items))
    uniform = ndtr(noise)
    if law == "right or wrong":
        return (uniform < means[:, None]).astype(float)
    # Grades in steps of .1, skewed: a power of a uniform number has the mean 1 / (1 + power).
    return np.round(uniform ** (1 / means[:, None] - 1), 1)


def table(values: np.ndarray) -> ScoreTable:
    names = tuple(f"s{k}" for k in range(values.shape[0]))
    return ScoreTable(names, tuple(map(str, range(values.shape[1]))), values, "score", (0.0, 1.0), ())


def z_test(values: np.ndarray) -> bool:
    """Whether the best mean passes a paired z-test at 5% against the second, as is often done."""
    order = np.argsort(-values.mean(axis=1))
    apart = values[order[0]] - values[order[1]]
    return bool(apart.mean() > 1.645 * max(apart.std(), 1e-9) / math.sqrt(apart.size))


def errors(law: str, systems: int, rho: float, delta: float, runs: int, seed: int) -> dict[str, float]:
    """Shares of runs that are wrong."""
    rng = np.random.default_rng([seed, systems, int(100 * rho), len(law)])
    means = np.full(systems, 0.7)
    means[0] += 1e-6
    wrong = dict.fromkeys(("any time", "once", "once, six looks", "z-test", "interval"), 0)
    for _ in range(runs):
        values = draw(rng, law, means, LOOKS[-1], rho)
        ever = dict.fromkeys(wrong, False)
        for items in LOOKS:
            part = table(values[:, :items])
            found = compare_table(part, delta)
            ever["any time"] |= found.settled and found.best != "s0"
            truth = 1e-6 * ((found.best == "s0") - np.array([rival.system == "s0" for rival in found.rivals], float))
            ever["interval"] |= any(
                not rival.at_least <= true <= rival.at_most for rival, true in zip(found.rivals, truth, strict=True)
            )
            single = compare_table(part, delta, once=True)
            missed = single.settled and single.best != "s0"
            ever["once, six looks"] |= missed
            if items == 400:
                ever["once"] = missed
                ever["z-test"] = single.best != "s0" and z_test(part.values)
        wrong = {key: wrong[key] + ever[key] for key in wrong}
    return {key: count / runs for key, count in wrong.items()}


def control_errors(law: str, rho: float, delta: float, runs: int, seed: int) -> dict[str, float]:
    """Shares of runs in which a verdict beside a control is wrong: two are as good as it, two better by epsilon."""
    rng = np.random.default_rng([seed, 3, int(100 * rho), len(law)])
    means, epsilon = np.array([0.6, 0.6, 0.6, 0.65, 0.65]), 0.05
    wrong = dict.fromkeys(("any time", "once", "once, six looks"), 0)
    for _ in range(runs):
        values = draw(rng, law, means, LOOKS[-1], rho)
        ever = dict.fromkeys(wrong, False)
        for items in LOOKS:
            for once in (False, True):
                found = control_table(table(values[:, :items]), "s0", delta, epsilon, once)
                missed = bool({"s1", "s2"} & set(found.better) or {"s3", "s4"} & set(found.not_better))
                ever["once, six looks" if once else "any time"] |= missed
                ever["once"] |= once and items == 400 and missed
        wrong = {key: wrong[key] + ever[key] for key in wrong}
    return {key: count / runs for key, count in wrong.items()}


def settling(law: str, once: bool, runs: int, seed: int) -> dict[str, float]:
    """Of logs that settle nothing: how often as many items as were foretold do."""
    rng = np.random.default_rng([seed, 7, once, len(law)])
    asked, even, likely, untold = 0, [], [], 0
    while asked < runs:
        systems = int(rng.integers(2, 7))
        means = np.sort(0.7 - np.concatenate([[0.0], 0.03 + 0.1 * rng.random(systems - 1)]))[::-1]
        rho = float(rng.choice([0.0, 0.5, 0.8]))
        first = draw(rng, law, means, 150, rho)
        found = compare_table(table(first), 0.05, once=once)
        if found.settled:
            continue
        asked += 1
        for foretold, kept in ((found.needed.even, even), (found.needed.likely, likely)):
            if foretold is None or foretold > 100_000:
                untold += kept is likely
                continue
            new = foretold if once else foretold - 150
            more = draw(rng, law, means, new, rho)
            values = more if once else np.concatenate([first, more], axis=1)
            kept.append((compare_table(table(values), 0.05, once=once).settled, foretold))
    return {
        "even": float(np.mean([one for one, _ in even])),
        "likely": float(np.mean([one for one, _ in likely])),
        "items, even": float(np.median([items for _, items in even])),
        "items, likely": float(np.median([items for _, items in likely])),
        "untold": untold / asked,
    }


class Scored:
    """What Inspect hands out of a sample."""

    def __init__(self, value: float) -> None:
        self.score, self.value = self, value


def model_race(rng: np.random.Generator, means: np.ndarray, samples: int) -> tuple[bool, float]:
    """Whether a race of models on one dataset ends its best one, and which share of all samples is answered."""
    chance = rng.beta(1.0, 1.0, size=samples)
    values = (0.5 * chance + 0.5 * rng.random((means.size, samples)) < means[:, None]).astype(float)
    race = ModelRace([f"m{k}" for k in range(means.size)])
    for model in race.models:
        race.enter(model, range(samples), 1, True)
    answered = 0
    for sample in range(samples):
        for k, model in enumerate(race.models):
            if not race.is_beaten(model):
                race.tell(model, sample, {"match": Scored(values[k, sample])})
                answered += 1
    sums = values.sum(axis=1)
    ended = [sums[k] for k, model in enumerate(race.models) if race.is_beaten(model)]
    # Of several that are equally good, all must be left.
    return max(ended, default=-1.0) >= sums.max(), answered / values.size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    start = time.perf_counter()
    for delta in (0.05, 0.2):
        for law in ("right or wrong", "grades"):
            for systems in (2, 5):
                for rho in (0.0, 0.8):
                    found = errors(law, systems, rho, delta, options.runs, options.seed)
                    shown = "  ".join(f"{key} {share:.4f}" for key, share in found.items())
                    print(f"delta {delta}, {law}, K = {systems}, rho = {rho}: {shown}", flush=True)
            for rho in (0.0, 0.8):
                found = control_errors(law, rho, delta, options.runs, options.seed)
                shown = "  ".join(f"{key} {share:.4f}" for key, share in found.items())
                print(f"control, delta {delta}, {law}, rho = {rho}: {shown}", flush=True)
    for law in ("right or wrong", "grades"):
        for once in (False, True):
            found = settling(law, once, options.runs // 4, options.seed)
            shown = "  ".join(f"{key} {value:.4g}" for key, value in found.items())
            print(f"settled, {law}, {'once' if once else 'any time'}: {shown}", flush=True)
    rng = np.random.default_rng([options.seed, 9])
    for what, spread in (("equally good", 0.0), ("up to 0.1 apart", 0.1), ("up to 0.3 apart", 0.3)):
        races = [model_race(rng, 0.6 + spread * rng.random(4), 300) for _ in range(max(20, options.runs // 5))]
        wrong, share = np.mean([one for one, _ in races]), np.mean([share for _, share in races])
        print(f"race of 4 models, 300 samples, {what}: best ended {wrong:.4f}, answered {share:.3f}", flush=True)
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
