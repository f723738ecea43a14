"""How often studies are wrong whose arms come and go, or whose delta changes, as somebody wants who sees the data.

    python benchmarks/changes.py [--runs 4000] [--studies 300] [--seed 1] [--parts fitted joining] [--json FILE]

The first parts look at the evidence itself, on unlimited blocks of 0/1 rewards: the best arm of those there must not
ever be beaten. Each is counted by the rule of studies that are made with `most_arms`, and by a simple, wrong one.

- arrivals: 20 arms join 2, one after another, each ahead of all before it by next to nothing, so that it is the best.
  The simple rule beats each arm at delta.
- fitted: an arm joins that was made to be right on all blocks seen so far, and is no better than others on the next
  ones. The simple rule lets these blocks count.
- leader: the best arm by far is taken out; the best of those left must not be beaten. The simple rule lets stay beaten
  whom the leader has beaten.
- chosen: of 10 equal arms, all are taken out that are better than one who has just been beaten by a worse one. The
  simple rule beats each arm at delta.

The last parts are whole studies on finite sets, to their certificates; an answer is wrong if another arm that is there
is better on the set.

- joining: arms that fit the blocks seen join, and leaders are taken out, whenever the study has its answer.
- stricter: the study begins with delta 0.5, and is asked for 0.2 when it has its answer.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.stats import binomtest

import mfbandit as mf
from mfbandit.confidence.race import Lane, pair_paths

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

DELTA = 0.2
#: Arms at first, arms that join, and blocks between two of them.
FIRST, ARRIVALS, BETWEEN = 2, 20, 40
#: Blocks of the set of a whole study, its arms at first and at most, and how many changes it sees.
ITEMS, ARMS, MOST, CHANGES = 60, 3, 8, 6


@dataclass(frozen=True)
class Count:
    """How many of some runs were wrong, by the rule of studies and by a simple one."""

    part: str
    runs: int
    wrong: int
    simple: int | None = None

    def __str__(self) -> str:
        high = binomtest(self.wrong, self.runs).proportion_ci(0.95, "exact").high
        said = f"{self.part:10} {self.runs:6} runs, wrong {self.wrong / self.runs:.4f} (at most {high:.4f} with 95%)"
        return said if self.simple is None else f"{said}, by the simple rule {self.simple / self.runs:.4f}"


def is_beaten(table: Floats, joined: Ints, loser: int, winners: list[int], weight: float, level: float) -> bool:
    """Whether some arms together ever beat another at a level, where each has a weight."""
    arms, blocks = table.shape
    nobody, free = np.full((blocks, 2), -1), np.zeros(arms)
    lane = Lane(table, np.full(arms, blocks), nobody, free, math.inf, 0, 0.0, joined)
    pairs = np.array(winners), np.full(len(winners), loser)
    total = np.logaddexp.reduce(pair_paths(lane, *pairs, np.zeros(len(winners))), axis=0) + math.log(weight)
    return bool(total.max() >= -math.log(level))


def arrivals(chance: np.random.Generator) -> tuple[bool, bool]:
    """One run of arrivals: wrong by the rule, and by the simple one."""
    most = FIRST + ARRIVALS
    wrong = simple = False
    for best in range(FIRST - 1, most):
        # Only the blocks since it joined count against it.
        table = (chance.random((best + 1, BETWEEN)) < 0.5).astype(float)
        joined, others = np.zeros(best + 1, dtype=np.int64), list(range(best))
        wrong |= is_beaten(table, joined, best, others, 1 / (most - 1), DELTA / most)
        simple |= is_beaten(table, joined, best, others, 1 / best, DELTA)
    return wrong, simple


def fitted(chance: np.random.Generator) -> tuple[bool, bool]:
    """One run of an arm that was made to fit what was seen."""
    seen, blocks, most = 30, 250, 4
    table = (chance.random((most, blocks)) < 0.5).astype(float)
    table[3, :seen] = 1.0
    joined = np.array([0, 0, 0, seen])
    wrong = is_beaten(table, joined, 0, [1, 2, 3], 1 / (most - 1), DELTA / most)
    return wrong, is_beaten(table, np.zeros(most, dtype=np.int64), 0, [1, 2, 3], 1 / (most - 1), DELTA / most)


def leader(chance: np.random.Generator) -> tuple[bool, bool]:
    """One run of a leader that is taken out."""
    most, blocks = 5, 200
    table = (chance.random((most, blocks)) < np.array([[0.9], [0.5], [0.5], [0.5], [0.5]])).astype(float)
    joined = np.zeros(most, dtype=np.int64)
    wrong = is_beaten(table, joined, 1, [2, 3, 4], 1 / (most - 1), DELTA / most)
    return wrong, is_beaten(table, joined, 1, [0, 2, 3, 4], 1 / (most - 1), DELTA)


def chosen(chance: np.random.Generator) -> tuple[bool, bool]:
    """One run in which everybody is taken out who is better than an arm that was beaten by a worse one."""
    most, blocks = 10, 250
    table = (chance.random((most, blocks)) < 0.5).astype(float)
    joined, wrong, simple = np.zeros(most, dtype=np.int64), False, False
    for best in range(most - 1):
        worse = list(range(best + 1, most))
        wrong |= is_beaten(table, joined, best, worse, 1 / (most - 1), DELTA / most)
        simple |= is_beaten(table, joined, best, worse, 1 / (most - 1), DELTA)
    return wrong, simple


class Rewards:
    """The rewards of arms on a finite set, to which arms are added that fit what was seen."""

    def __init__(self, chance: np.random.Generator, study: mf.Study) -> None:
        self.chance, self.study = chance, study
        self.seen: set[int] = set()
        self.table = {arm: self._drawn() for arm in study.settings.problem.arms[:ARMS]}

    def _drawn(self) -> Floats:
        return (self.chance.random(ITEMS) < self.chance.choice([0.45, 0.5, 0.55])).astype(float)

    def play(self) -> None:
        """Evaluate all that the study asks for."""
        while pulls := self.study.ask(8):
            for pull in pulls:
                assert pull.block is not None
                self.seen.add(pull.block)
                self.study.tell(pull, float(self.table[pull.arm][pull.block]))

    def add(self) -> None:
        """Let an arm join that was made by what was seen: right there, or wrong, and anything elsewhere."""
        name, row = f"new {len(self.table)}", self._drawn()
        row[list(self.seen)] = self.chance.integers(2)
        self.table[name] = row
        self.study.add_arm(name)

    def is_wrong(self) -> bool:
        """Whether the answer of a study that is certain is not the best of those there."""
        result, settings = self.study.result(), self.study.settings
        there = [arm for arm in self.table if arm not in settings.arms_gone]
        best = max(self.table[arm].mean() for arm in there)
        return result.status == "certified" and self.table[str(result.best)].mean() < best - settings.epsilon - 1e-12


def joining(chance: np.random.Generator) -> bool:
    """One whole study whose arms come and go; whether any of its certificates was wrong."""
    problem = mf.Problem(ARMS, [("only", 1.0)], "bernoulli", blocks=ITEMS)
    study = mf.create_study(problem, delta=DELTA, most_arms=MOST, seed=int(chance.integers(2**31)))
    rewards, wrong = Rewards(chance, study), False
    rewards.play()
    for _ in range(CHANGES):
        wrong |= rewards.is_wrong()
        present = sum(study.settings.present or ())
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


PATHS: dict[str, Callable[[np.random.Generator], tuple[bool, bool]]] = {
    "arrivals": arrivals,
    "fitted": fitted,
    "leader": leader,
    "chosen": chosen,
}
STUDIES: dict[str, Callable[[np.random.Generator], bool]] = {"joining": joining, "stricter": stricter}


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
