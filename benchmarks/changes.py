"""How often studies are wrong whose arms come and go, or whose delta changes, as somebody wants who sees the data.

    python benchmarks/changes.py [--runs 4000] [--studies 300] [--seed 1] [--parts fitted joining] [--json FILE]

The first parts look at the evidence itself, on unlimited blocks: the best arm of those there must not ever be beaten.
Each is counted by the rule of studies that are made with `most_arms`, and by a simple, wrong one; with 0/1 rewards, and
as `normal-...` with normal ones of unknown variance, without any caution.

- arrivals: 20 arms join 2, one after another, each ahead of all before it by next to nothing, so that it is the best.
  The simple rule beats each arm at delta.
- fitted: an arm joins that was made to be right on all blocks seen so far, and is no better than others on the next
  ones. The simple rule lets these blocks count.
- leader: the best arm by far is taken out; the best of those left must not be beaten. The simple rule lets stay beaten
  whom the leader has beaten.
- chosen: of 10 equal arms, all are taken out that are better than one who has just been beaten by a worse one. The
  simple rule beats each arm at delta.

The last parts are whole studies, to their certificates; an answer is wrong if another arm that is there is better.

- joining: arms that fit the blocks seen join, and leaders are taken out, whenever the study has its answer. On a finite
  set of 0/1 rewards, and as normal-joining on unlimited blocks of normal rewards, without any caution.
- stricter: the study begins with delta 0.5, and is asked for 0.2 when it has its answer.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.stats import binomtest

import mfbandit as mf
from mfbandit.confidence.race import Guards, Lane, pair_paths, student_peaks

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

DELTA = 0.2
#: Arms at first, arms that join, and blocks between two of them.
FIRST, ARRIVALS, BETWEEN = 2, 20, 40
#: Blocks of the set of a whole study, its arms at first and at most, and how many changes it sees.
ITEMS, ARMS, MOST, CHANGES = 60, 3, 8, 6
#: Blocks of a study on normal rewards that are drawn beforehand.
MANY = 2000


@dataclass(frozen=True)
class Count:
    """How many of some runs were wrong, by the rule of studies and by a simple one."""

    part: str
    runs: int
    wrong: int
    simple: int | None = None

    def __str__(self) -> str:
        high = binomtest(self.wrong, self.runs).proportion_ci(0.95, "exact").high
        said = f"{self.part:15} {self.runs:6} runs, wrong {self.wrong / self.runs:.4f} (at most {high:.4f} with 95%)"
        return said if self.simple is None else f"{said}, by the simple rule {self.simple / self.runs:.4f}"


@dataclass(frozen=True)
class Kind:
    """Rewards of one kind: how they are drawn, what those on fitted blocks are, and the most that some pairs prove."""

    draw: Callable[[np.random.Generator, int, int], Floats]
    most_proven: Callable[[Lane, Ints, Ints, float], float]
    fitted: float
    lead: float

    def is_beaten(self, table: Floats, joined: Ints, loser: int, winners: Ints, weight: float, level: float) -> bool:
        """Whether some arms together ever beat another at a level, where each has a weight."""
        arms, blocks = table.shape
        nobody, free = np.full((blocks, 2), -1), np.zeros(arms)
        lane = Lane(table, np.full(arms, blocks), nobody, free, math.inf, 0, 0.0, joined)
        losers = np.full(winners.size, loser)
        return self.most_proven(lane, winners, losers, -math.log(level) - math.log(weight)) >= 0.0


def averaged(lane: Lane, winners: Ints, losers: Ints, need: float) -> float:
    """The largest log of the sum of all evidence, less what is needed: bets are summed."""
    paths = pair_paths(lane, winners, losers, np.zeros(winners.size))
    return float(np.logaddexp.reduce(paths, axis=0).max() - need)


def alone(lane: Lane, winners: Ints, losers: Ints, need: float) -> float:
    """The largest log of the evidence of one pair, less what is needed: Student's evidence is never summed."""
    least = np.full(winners.size, need)
    return float(student_peaks(Guards(lane, 0.0, 0.0), winners, losers, np.zeros(winners.size), least).max() - need)


def coins(chance: np.random.Generator, arms: int, blocks: int) -> Floats:
    """0/1 rewards of equal arms."""
    return (chance.random((arms, blocks)) < 0.5).astype(float)


def normals(chance: np.random.Generator, arms: int, blocks: int) -> Floats:
    """Normal rewards of equal arms, with what a block does to all of them."""
    return np.asarray(chance.normal(size=(arms, blocks)) + 3.0 * chance.normal(size=blocks))


COIN, NORMAL = Kind(coins, averaged, 1.0, 0.4), Kind(normals, alone, 9.0, 2.0)


def arrivals(kind: Kind, chance: np.random.Generator) -> tuple[bool, bool]:
    """One run of arrivals: wrong by the rule, and by the simple one."""
    most = FIRST + ARRIVALS
    wrong = simple = False
    for best in range(FIRST - 1, most):
        # Only the blocks since it joined count against it.
        table = kind.draw(chance, best + 1, BETWEEN)
        joined, others = np.zeros(best + 1, dtype=np.int64), np.arange(best)
        wrong |= kind.is_beaten(table, joined, best, others, 1 / (most - 1), DELTA / most)
        simple |= kind.is_beaten(table, joined, best, others, 1 / best, DELTA)
    return wrong, simple


def fitted(kind: Kind, chance: np.random.Generator) -> tuple[bool, bool]:
    """One run of an arm that was made to fit what was seen."""
    seen, blocks, most = 30, 250, 4
    table = kind.draw(chance, most, blocks)
    table[3, :seen] = kind.fitted
    joined, others = np.array([0, 0, 0, seen]), np.array([1, 2, 3])
    wrong = kind.is_beaten(table, joined, 0, others, 1 / (most - 1), DELTA / most)
    return wrong, kind.is_beaten(table, np.zeros(most, dtype=np.int64), 0, others, 1 / (most - 1), DELTA / most)


def leader(kind: Kind, chance: np.random.Generator) -> tuple[bool, bool]:
    """One run of a leader that is taken out."""
    most, blocks = 5, 200
    table = kind.draw(chance, most, blocks)
    # A coin shows 1 more often, and not more than 1.
    table[0] = np.maximum(table[0], chance.random(blocks) < 2 * kind.lead) if kind is COIN else table[0] + kind.lead
    joined = np.zeros(most, dtype=np.int64)
    wrong = kind.is_beaten(table, joined, 1, np.array([2, 3, 4]), 1 / (most - 1), DELTA / most)
    return wrong, kind.is_beaten(table, joined, 1, np.array([0, 2, 3, 4]), 1 / (most - 1), DELTA)


def chosen(kind: Kind, chance: np.random.Generator) -> tuple[bool, bool]:
    """One run in which everybody is taken out who is better than an arm that was beaten by a worse one."""
    most, blocks = 10, 250
    table = kind.draw(chance, most, blocks)
    joined, wrong, simple = np.zeros(most, dtype=np.int64), False, False
    for best in range(most - 1):
        worse = np.arange(best + 1, most)
        wrong |= kind.is_beaten(table, joined, best, worse, 1 / (most - 1), DELTA / most)
        simple |= kind.is_beaten(table, joined, best, worse, 1 / (most - 1), DELTA)
    return wrong, simple


class Rewards:
    """The rewards of arms on a finite set, to which arms are added that fit what was seen."""

    def __init__(self, chance: np.random.Generator, study: mf.Study) -> None:
        self.chance, self.study = chance, study
        self.seen: set[int] = set()
        self.means: dict[str, float] = {}
        self.table: dict[str, Floats] = {}
        for arm in study.settings.problem.arms[:ARMS]:
            self.draw(arm)

    def draw(self, arm: str) -> None:
        """Draw the rewards of an arm."""
        self.table[arm] = (self.chance.random(ITEMS) < self.chance.choice([0.45, 0.5, 0.55])).astype(float)
        self.means[arm] = float(self.table[arm].mean())

    def reward(self, pull: mf.Pull) -> float:
        """What a pull gives."""
        assert pull.block is not None
        return float(self.table[pull.arm][pull.block])

    def play(self) -> None:
        """Evaluate all that the study asks for."""
        while not self.study.done and (pulls := self.study.ask(8)):
            for pull in pulls:
                assert pull.block is not None
                self.seen.add(pull.block)
                self.study.tell(pull, self.reward(pull))

    def add(self) -> None:
        """Let an arm join that was made by what was seen: right there, or wrong, and anything elsewhere."""
        name = f"new {len(self.table)}"
        self.draw(name)
        self.table[name][list(self.seen)] = self.chance.integers(2)
        if isinstance(self, NormalRewards):
            self.table[name][list(self.seen)] *= 9.0
        else:
            self.means[name] = float(self.table[name].mean())
        self.study.add_arm(name)

    def is_wrong(self) -> bool:
        """Whether the answer of a study that is certain is not the best of those there."""
        result, settings = self.study.result(), self.study.settings
        best = max(self.means[arm] for arm in self.table if arm not in settings.arms_gone)
        return result.status == "certified" and self.means[str(result.best)] < best - settings.epsilon - 1e-12


class NormalRewards(Rewards):
    """The same with normal rewards on blocks without end, of arms that are nearly equal."""

    def draw(self, arm: str) -> None:
        """Draw the rewards of an arm."""
        self.means[arm] = 0.001 * len(self.means)
        self.table[arm] = self.chance.normal(self.means[arm], 1.0, MANY)


def joining(kind: Kind, chance: np.random.Generator) -> bool:
    """One whole study whose arms come and go; whether any of its certificates was wrong."""
    seed = int(chance.integers(2**31))
    problem, most = mf.Problem(ARMS, [("only", 1.0)], "bernoulli", blocks=ITEMS), math.inf
    if kind is NORMAL:
        # Those that are nearly equal are told apart by a mistake only: a study has to end without one.
        problem, most = mf.Problem(ARMS, [("only", 1.0)], mf.Gaussian(caution=0.0), blocks="unlimited"), 150.0 * ARMS
    study = mf.create_study(problem, delta=DELTA, most_arms=MOST, seed=seed, max_cost=most)
    rewards, wrong = (NormalRewards if kind is NORMAL else Rewards)(chance, study), False
    rewards.play()
    for _ in range(CHANGES):
        wrong |= rewards.is_wrong()
        present = sum(study.settings.present or ())
        if kind is NORMAL:
            study.extend(max_cost=study.cost + most)
        if study.settings.arms_there < MOST and (present == 1 or chance.random() < 0.6):
            rewards.add()
        elif present > 1:
            study.retire(str(study.best))
        rewards.play()
    return wrong or rewards.is_wrong()


def stricter(chance: np.random.Generator) -> bool:
    """One whole study that is asked for a surer answer."""
    problem = mf.Problem(ARMS, [("only", 1.0)], "bernoulli", blocks=ITEMS)
    study = mf.create_study(problem, delta=0.5, seed=int(chance.integers(2**31)))
    rewards = Rewards(chance, study)
    rewards.play()
    study.extend(delta=DELTA)
    rewards.play()
    return rewards.is_wrong()


_PATHS = {"arrivals": arrivals, "fitted": fitted, "leader": leader, "chosen": chosen}
PATHS: dict[str, Callable[[np.random.Generator], tuple[bool, bool]]] = {
    **{name: partial(path, COIN) for name, path in _PATHS.items()},
    **{f"normal-{name}": partial(path, NORMAL) for name, path in _PATHS.items()},
}
STUDIES: dict[str, Callable[[np.random.Generator], bool]] = {
    "joining": partial(joining, COIN),
    "normal-joining": partial(joining, NORMAL),
    "stricter": stricter,
}


def count(part: str, runs: int, seed: int) -> Count:
    """Count wrong runs of a part."""
    chances = np.random.default_rng([seed, *part.encode()]).spawn(runs)
    if part in STUDIES:
        return Count(part, runs, sum(map(STUDIES[part], chances)))
    both = np.array([PATHS[part](chance) for chance in chances]).sum(axis=0)
    return Count(part, runs, int(both[0]), int(both[1]))


def main() -> None:
    """Count all parts, and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=4000)
    parser.add_argument("--studies", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--parts", nargs="+", choices=[*PATHS, *STUDIES], default=[*PATHS, *STUDIES])
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    counts = []
    for part in given.parts:
        counts.append(count(part, given.studies if part in STUDIES else given.runs, given.seed))
        print(counts[-1], flush=True)
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(one) for one in counts], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
