"""What races on blocks cost, and how often they are wrong, on random problems that no constant was chosen by.

    python benchmarks/blocks_fresh.py [--problems 120] [--trials 4] [--families ...] [--change bets leader ...]

The constants of `mf-race` were chosen on recorded sets. Here they run on problems drawn from a seed, beside the
constants of a prototype, on the same rewards. Families: right or wrong answers and grades on finite sets, normal
scores without end, and the same with one or two cheap fidelities whose pair biases are those that the table shows.

- cost: share of all cells of a finite set, evaluations per candidate where blocks have no end; a median over problems.
- oracle, prototype: the cost as a multiple of `mf.theory.oracle_race`'s and of the prototype's; a mean over problems.
- wrong: wrong answers of all runs, and the probability of so many or more if each had probability delta.

`--change` gives only some of the prototype's constants to the prototype, to see what one of them does.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from scipy.stats import binomtest

import mfbandit as mf
from mfbandit.algorithms.mf_race import _mf_race as mf_race
from mfbandit.algorithms.mf_race import _race_memory as race_memory
from mfbandit.confidence.race import _bets as bets
from mfbandit.confidence.race import _rules as race_rules
from mfbandit.confidence.race import _student as student

Floats = npt.NDArray[np.float64]
Random = np.random.Generator

DELTAS = (0.05, 0.2)
#: Draws that a problem with blocks without end is a table of.
DRAWS = 4_000
#: Most evaluations per candidate where blocks have no end.
CUT = 3_000


@dataclass(frozen=True)
class Drawn:
    """A random problem, and how far from the best its answer may be."""

    instance: mf.Instance
    epsilon: float = 0.0


# Random problems


def size(random: Random) -> tuple[int, int]:
    """A number of arms and one of blocks, all sizes alike."""
    arms, blocks = (np.exp(random.uniform(math.log(low), math.log(high))) for low, high in ((2, 60), (50, 3_000)))
    return round(arms), round(blocks)


def latent(random: Random, arms: int, blocks: int) -> Floats:
    """How far each arm is above what each item asks for: skill x slope - difficulty, with slopes of their own."""
    skill = random.normal(0.0, random.uniform(0.1, 1.0), arms) + random.normal(0.0, 0.7)
    slope = np.exp(random.normal(0.0, 0.3, arms))
    difficulty = random.normal(0.0, random.uniform(0.3, 3.0), blocks)
    return np.asarray(slope[:, None] * (skill[:, None] - difficulty))


def answers(random: Random, arms: int, blocks: int) -> Floats:
    """Right or wrong answers."""
    return (random.random((arms, blocks)) < expit(latent(random, arms, blocks))).astype(float)


def grades(random: Random, arms: int, blocks: int) -> Floats:
    """Grades in [0, 1], some of them in a few steps."""
    noise = random.normal(0.0, random.uniform(0.2, 1.5), (arms, blocks))
    found = expit(latent(random, arms, blocks) + noise)
    steps = int(random.choice([0, 4, 10, 100]))
    return np.asarray(np.round(found * steps) / steps if steps else found)


def scores(random: Random, arms: int, _: int) -> Floats:
    """Normal scores: arms of different noise, correlated at random, the best ahead by part of that noise."""
    factors = int(random.integers(1, 4))
    loads = random.normal(0.0, 1.0, (arms, factors)) + random.normal(0.0, 3.0, factors)
    own = np.exp(random.normal(0.0, 0.5, arms))
    noise = loads @ random.normal(size=(factors, DRAWS)) + own[:, None] * random.normal(size=(arms, DRAWS))
    noise -= noise.mean(axis=1, keepdims=True)
    means = random.normal(0.0, np.exp(random.uniform(math.log(0.5), math.log(8.0))), arms)
    best = int(means.argmax())
    means[best] += np.exp(random.uniform(math.log(0.3), math.log(3.0)))
    return np.asarray(means[:, None] + noise)


def cheaper(random: Random, truth: Floats, binary: bool) -> Floats:
    """What a cheap fidelity says: often the truth, with errors that are not the same for all arms."""
    arms, blocks = truth.shape
    if binary:
        flips = np.clip(random.uniform(0.02, 0.3) + random.normal(0.0, 0.02, arms), 0.0, 0.5)
        return np.where(random.random((arms, blocks)) < flips[:, None], 1.0 - truth, truth)
    spread = truth.std(axis=1).mean()
    off = random.normal(0.0, random.uniform(0.0, 0.2) * spread, arms) + random.normal(0.0, spread)
    return np.asarray(truth + off[:, None] + random.normal(0.0, random.uniform(0.2, 1.0) * spread, (arms, blocks)))


def with_lanes(random: Random, truth: Floats, lanes: int, reward: str | mf.Gaussian) -> mf.Instance:
    """A problem with so many cheap fidelities before the true one, their pair biases as the table shows them."""
    binary = isinstance(reward, str)
    tables = [*(cheaper(random, truth, binary) for _ in range(lanes)), truth]
    costs = [*sorted(np.exp(random.uniform(math.log(0.005), math.log(0.3), lanes)).tolist()), 1.0]
    values = np.stack(tables, axis=1)
    off = values.mean(axis=2) - truth.mean(axis=1)[:, None]
    fidelities = [
        mf.Fidelity(f"lane {m}", cost, (np.abs(off[:, m]) * (1.0 + 1e-9)).tolist(), pair_bias=float(np.ptp(off[:, m])))
        for m, cost in enumerate(costs)
    ]
    blocks: int | str = truth.shape[1] if binary else "unlimited"
    order = "shared" if random.random() < 0.5 else "own"
    return mf.Instance(
        mf.Problem(len(truth), fidelities, reward, blocks=blocks, order=order), law=mf.BlockTableLaw(values)
    )


def one_lane(truth: Floats, reward: str | mf.Bounded | mf.Gaussian, blocks: int | str) -> mf.Instance:
    """A problem with the true fidelity only."""
    return mf.Instance(
        mf.Problem(len(truth), [("true", 1.0)], reward, blocks=blocks), law=mf.BlockTableLaw(truth[:, None])
    )


def drawn_finite(random: Random, table: Callable[[Random, int, int], Floats]) -> Drawn:
    """A finite set, in half of all cases within 0.01."""
    truth = table(random, *size(random))
    reward: str | mf.Bounded = "bernoulli" if table is answers else mf.Bounded(0.0, 1.0)
    return Drawn(one_lane(truth, reward, truth.shape[1]), float(random.choice([0.0, 0.01])))


def drawn_normal(random: Random, caution: float) -> Drawn:
    """Normal scores."""
    return Drawn(one_lane(scores(random, *size(random)), mf.Gaussian(caution=caution), "unlimited"))


def drawn_lanes(random: Random, lanes: int, reward: str | mf.Gaussian) -> Drawn:
    """Answers or scores with cheap fidelities."""
    table = answers if isinstance(reward, str) else scores
    return Drawn(with_lanes(random, table(random, *size(random)), lanes, reward))


FAMILIES: dict[str, Callable[[Random], Drawn]] = {
    "right or wrong": lambda random: drawn_finite(random, answers),
    "grades": lambda random: drawn_finite(random, grades),
    "normal, caution 1": lambda random: drawn_normal(random, 1.0),
    "normal, caution 0": lambda random: drawn_normal(random, 0.0),
    "right or wrong, 1 cheap lane": lambda random: drawn_lanes(random, 1, "bernoulli"),
    "right or wrong, 2 cheap lanes": lambda random: drawn_lanes(random, 2, "bernoulli"),
    "normal, 1 cheap lane": lambda random: drawn_lanes(random, 1, mf.Gaussian()),
    "normal, 2 cheap lanes": lambda random: drawn_lanes(random, 2, mf.Gaussian()),
}


# The prototype's constants


def prototype_weights(arms: int, student: bool, led: bool) -> race_rules.Weights:
    """Leaders half of the weight, or a tenth of it; two arms have none."""
    leader = (0.1 if student else 0.5) if led and arms > 2 else 0.0
    return race_rules.Weights(leader, (1.0 - leader) / max(1, arms - 1))


#: By the name of a constant, where it is read, and the prototype's.
PROTOTYPE: dict[str, list[tuple[Any, str, Any]]] = {
    "bets": [
        (bets, "BETS", np.array([0.9 * 2.0 ** (-0.5 * j) for j in range(12)])),
        (race_memory, "bet_count", lambda size: 12),
    ],
    "leader": [(mf_race, "weights", prototype_weights)],
    "effects": [(student, "EFFECTS", np.array([4.0 * 2.0 ** (-0.5 * i) for i in range(16)]))],
    "start": [(mf_race, "_FIRST", 4)],
    "least": [(mf_race, "blocks_at_least", lambda caution: 5)],
    "shares": [(mf_race, "lane_shares", lambda lanes, truest: np.full(lanes, 1.0 / lanes))],
}


@contextlib.contextmanager
def prototype(constants: Sequence[str]) -> Iterator[None]:
    """Give some constants the prototype's values; machine code is kept by a digest that knows them."""
    changed = [one for name in constants for one in PROTOTYPE[name]]
    before = [getattr(module, name) for module, name, _ in changed]
    for module, name, value in changed:
        setattr(module, name, value)
    try:
        yield
    finally:
        for (module, name, _), value in zip(changed, before, strict=True):
            setattr(module, name, value)


# Runs


@dataclass(frozen=True)
class Outcome:
    """What the runs on one problem gave."""

    cost: float
    wrong: int
    unfinished: int


def everything(instance: mf.Instance) -> float:
    """The cost of all cells at the truest fidelity; of one block where there is no end of them."""
    blocks = instance.problem.blocks
    count = 1 if blocks == "unlimited" else int(blocks or 0)
    return float(count * instance.problem.costs[:, instance.problem.truest].sum())


def race(drawn: Drawn, delta: float, trials: int, seed: int) -> Outcome:
    """Run races on one core."""
    endless = drawn.instance.problem.blocks == "unlimited"
    limit = CUT * everything(drawn.instance) if endless else None
    runs = mf.simulate(
        drawn.instance, delta=delta, epsilon=drawn.epsilon, trials=trials, seed=seed, max_cost=limit, threads=1
    )
    return Outcome(float(runs.cost.mean()), int(runs.wrong.sum()), int((~runs.stopped).sum()))


def measure(family: str, delta: float, problems: int, trials: int, constants: Sequence[str]) -> dict[str, Any]:
    """One line: a family at a delta."""
    shares, oracles, ratios, wrong, unfinished = [], [], [], 0, 0
    for number in range(problems):
        drawn = FAMILIES[family](np.random.default_rng([7, list(FAMILIES).index(family), number]))
        ours = race(drawn, delta, trials, seed=number)
        with prototype(constants):
            theirs = race(drawn, delta, trials, seed=number)
        shares.append(ours.cost / everything(drawn.instance))
        oracles.append(ours.cost / mf.theory.oracle_race(drawn.instance, delta, epsilon=drawn.epsilon).cost)
        ratios.append(ours.cost / theirs.cost)
        wrong, unfinished = wrong + ours.wrong, unfinished + ours.unfinished
    runs = problems * trials
    return {
        "family": family,
        "delta": delta,
        "cost": float(np.median(shares)),
        "most": float(np.max(shares)),
        "oracle": float(np.mean(oracles)),
        "prototype": float(np.mean(ratios)),
        "error": float(np.std(ratios, ddof=1) / math.sqrt(problems)),
        "wrong": wrong,
        "runs": runs,
        "chance": float(binomtest(wrong, runs, delta, alternative="greater").pvalue),
        "cut off": unfinished,
    }


def main() -> None:
    """Print one line for each family and delta."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=120, help="random problems of each family (120)")
    parser.add_argument("--trials", type=int, default=4, help="runs on each problem (4)")
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=list(FAMILIES), help="only these")
    parser.add_argument("--deltas", nargs="+", type=float, default=list(DELTAS), help="errors allowed (0.05 0.2)")
    parser.add_argument("--change", nargs="+", default=list(PROTOTYPE), choices=list(PROTOTYPE), help="only these")
    parser.add_argument("--json", type=Path, help="write all figures to this file, too")
    given = parser.parse_args()
    kept = []
    print(
        f"{'family':30} {'delta':>5} {'cost':>7} {'most':>7} {'oracle':>7} {'prototype':>15} {'wrong':>9} {'chance':>7}"
    )
    for family in given.families:
        for delta in given.deltas:
            row = measure(family, delta, given.problems, given.trials, given.change)
            kept.append(row)
            figures = f"{row['cost']:7.3f} {row['most']:7.2f} {row['oracle']:7.2f}"
            beside = f"{row['prototype']:7.3f} ±{row['error']:6.3f}"
            counts = f"{row['wrong']:4}/{row['runs']:4} {row['chance']:7.3f}"
            cut = f"  {row['cut off']} cut off" if row["cut off"] else ""
            print(f"{family:30} {delta:5} {figures} {beside} {counts}{cut}", flush=True)
    if given.json:
        given.json.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
