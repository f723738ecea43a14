"""How often races on blocks are wrong where it is hardest to be right: equal arms, permuted sets, chased evidence.

    python benchmarks/blocks_guarantee.py [--runs 10000] [--json FILE]     # about half an hour on two cores
    python benchmarks/blocks_guarantee.py --parts null --only "normal, K = 50, rho = -0.5, ahead by 0.01"

- null: parametric races, all arms equal but for a best one that is ahead by next to nothing, up to block 300 (100
  with 50 arms). Counted is not only a wrong answer: the best arm must not ever be beaten.
- near: 60 arms and an epsilon; the best is ahead of all others by 1.001 times epsilon, or of every third while the rest
  lie behind by up to three times that. Counted are answers that are claimed to be within epsilon and are not. With more
  than 50 arms, races with normal differences have a process of the leader, too.
- permuted: recorded test sets, a few arms and items at a time, with arms permuted at random within each item; the
  truth is that of the permuted table. Counted are wrong answers.
- centred: recorded scores that are taken for normal, on at least 100 blocks, each arm shifted to the same mean;
  counted is how often the arm that was best is beaten by block 300. Normality is an assumption: some may exceed delta.
- chased: a sampler that sees every cell, follows whoever is ahead of the best arm, leaves the best arm far behind, goes
  on with it only where that promises evidence against it, and looks after every cell.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.stats import binomtest

import mfbandit as mf
from mfbandit.confidence.race import Lane, contradicts_range, leader_paths, pair_paths, weights

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

DELTAS = (0.2, 0.05)
CORRELATIONS = (0.0, 0.5, 0.95, -0.5)
GAPS = (1e-6, 0.01)
KINDS = ("0/1", "normal")
#: By how many blocks a null race ends, by the number of arms.
LAST = {2: 300, 5: 300, 50: 100}
#: Arms of races with an epsilon, which are more than 50, and epsilon for each kind.
MANY, NEAR = 60, {"0/1": 0.2, "normal": 0.7}
#: Arms and items of a permuted part of a test set, and how many such parts are raced on.
PART, PARTS = (8, 150), 20
#: Blocks of a race that is chased cell by cell.
CHASED = 40
#: Recorded scores on at least 100 blocks: with fewer, centred differences tell little of rare errors.
CENTRED = ("cv_breast_cancer", "lcdb_letter", "lcdb_mfeat-morphological", "simopt_inventory_crn")
GRADED = ("realsumm_abs", "wmt21_ted_ende")
#: The default race with all arms left on every block: who is measured no more was then beaten.
TOGETHER = "mf-race:pauses=false"


@dataclass(frozen=True)
class Count:
    """How many of some runs were wrong."""

    part: str
    what: str
    delta: float
    wrong: int
    runs: int

    @property
    def rate(self) -> float:
        """The share of wrong runs."""
        return self.wrong / self.runs

    @property
    def chance(self) -> float:
        """The probability of so many or more if errors had probability delta."""
        return float(binomtest(self.wrong, self.runs, self.delta, alternative="greater").pvalue)


def null(kind: str, arms: int, rho: float, gap: float) -> mf.Instance:
    """Arms of the same mean, but for the second, which is ahead by a gap."""
    normal = kind == "normal"
    problem = mf.Problem(arms, [("only", 1.0)], mf.Gaussian() if normal else "bernoulli", blocks="unlimited")
    means = np.full((arms, 1), 0.5)
    means[1] += gap
    return mf.Instance(problem, means, mf.BlockEffectLaw(rho, 1.0 if normal else None))


def beaten(runs: mf.Runs, arm: int) -> Flags:
    """In which runs of a race in one lane, in which nobody pauses, an arm was beaten."""
    pulls = runs.pulls[:, :, 0]
    most = pulls.max(axis=1)
    # A run that was cut off may have been in the midst of a round, which opens up to one block in fifty.
    behind = pulls[:, arm] + np.maximum(1, most // 50) < most
    return np.asarray((runs.stopped & (runs.best != arm)) | behind)


def null_words(kind: str, arms: int, rho: float, gap: float) -> str:
    """What a parametric race is called."""
    return f"{kind}, K = {arms}, rho = {rho:g}, ahead by {gap:g}"


def null_count(kind: str, arms: int, rho: float, *, gap: float, delta: float, runs: int, last: int = 0) -> Count:
    """How often the best of nearly equal arms is beaten."""
    limit = arms * (last or LAST[arms])
    done = mf.simulate(null(kind, arms, rho, gap), delta=delta, trials=runs, seed=2, max_pulls=limit, policy=TOGETHER)
    return Count("null", null_words(kind, arms, rho, gap), delta, int(beaten(done, 1).sum()), runs)


def nulls(runs: int, only: str) -> Iterator[Count]:
    """All parametric races."""
    for kind, arms, rho, gap in itertools.product(KINDS, LAST, CORRELATIONS, GAPS):
        if only in null_words(kind, arms, rho, gap):
            for delta in DELTAS:
                yield null_count(kind, arms, rho, gap=gap, delta=delta, runs=runs)


def near_count(kind: str, rho: float, ties: str, *, delta: float, runs: int) -> Count:
    """How often an answer is claimed to be within epsilon of the best of many arms, and is not."""
    epsilon = NEAR[kind]
    flat = null(kind, MANY, rho, 0.0)
    means = np.full((MANY, 1), 0.5)
    if ties == "a third":
        means -= epsilon * 2.0 * (np.arange(MANY) % 3 > 0)[:, None] * np.linspace(0.0, 1.0, MANY)[:, None]
    means[1] = 0.5 + 1.001 * epsilon
    # The likeliest answers are wrong by a thousandth of epsilon, which is more than any rounding.
    instance = mf.Instance(flat.problem, means, flat.law)
    done = mf.simulate(instance, delta=delta, epsilon=epsilon, trials=runs, seed=6, max_pulls=MANY * 300)
    what = f"{kind}, K = {MANY}, rho = {rho:g}, epsilon {epsilon:g}, ties: {ties}"
    return Count("near", what, delta, int(done.wrong.sum()), runs)


def nears(runs: int, only: str) -> Iterator[Count]:
    """All races of many arms with an epsilon."""
    for kind, rho, ties in itertools.product(KINDS, (0.0, 0.5), ("all", "a third")):
        if only in f"{kind}, rho = {rho:g}, ties: {ties}":
            for delta in DELTAS:
                yield near_count(kind, rho, ties, delta=delta, runs=runs)


def permuted(instance: mf.Instance, seed: int) -> mf.Instance:
    """A few arms and items of a set, the arms permuted within each item."""
    assert isinstance(instance.law, mf.BlockTableLaw)
    random = np.random.default_rng([seed, zlib.crc32(instance.name.encode())])
    values = instance.law.values[:, 0]
    arms = random.permutation(len(values))[: PART[0]]
    items = random.permutation(values.shape[1])[: PART[1]]
    mixed = random.permuted(values[np.ix_(arms, items)], axis=0)
    problem = mf.Problem(len(arms), [("only", 1.0)], instance.problem.reward, blocks=len(items))
    return mf.Instance(problem, law=mf.BlockTableLaw(mixed[:, None]), name=instance.name)


def permuted_count(instance: mf.Instance, *, epsilon: float, delta: float, runs: int) -> Count:
    """How often races on permuted parts of a set have a wrong answer."""
    each = runs // PARTS
    wrong = sum(
        int(mf.simulate(permuted(instance, part), delta=delta, epsilon=epsilon, trials=each, seed=3).wrong.sum())
        for part in range(PARTS)
    )
    return Count("permuted", f"{instance.name}, within {epsilon:g}", delta, wrong, each * PARTS)


def permutations(runs: int, only: str) -> Iterator[Count]:
    """All recorded test sets."""
    from blocks_data import RESAMPLED, load, names

    for name in names():
        if not name.startswith(RESAMPLED) and only in name:
            instance = load(name)
            for epsilon in (0.0, 0.01):
                for delta in DELTAS:
                    yield permuted_count(instance, epsilon=epsilon, delta=delta, runs=runs)


def centred(instance: mf.Instance, caution: float) -> mf.Instance:
    """Recorded scores with each arm shifted to the mean 1/2, blocks drawn from them without end."""
    assert isinstance(instance.law, mf.BlockTableLaw)
    values = instance.law.values[:, -1:]
    shifted = values - values.mean(axis=2, keepdims=True) + 0.5
    problem = mf.Problem(len(values), [("only", 1.0)], mf.Gaussian(caution=caution), blocks="unlimited")
    return mf.Instance(problem, law=mf.BlockTableLaw(shifted), name=instance.name)


def centred_count(instance: mf.Instance, *, caution: float, delta: float, runs: int) -> Count:
    """How often the arm that was best is beaten once it is no better than the others."""
    equal = centred(instance, caution)
    limit = 300 * equal.problem.n_arms
    done = mf.simulate(equal, delta=delta, trials=runs, seed=4, max_pulls=limit, policy=TOGETHER)
    what = f"{instance.name}, caution {caution:g}"
    return Count("centred", what, delta, int(beaten(done, instance.best).sum()), runs)


def centrings(runs: int, only: str) -> Iterator[Count]:
    """All recorded scores on enough blocks, and graded texts as if their grades were normal."""
    from blocks import SEARCH, searches
    from blocks_data import load, names

    there = [load(name) for name in names() if name in CENTRED and only in name]
    graded = [load(name) for name in names() if name in GRADED and only in name]
    # Their scores are worked out anew, which takes a while.
    searched = [one for one, _ in searches() if only in one.name] if any(only in name for name in SEARCH) else []
    for instance in [*there, *searched, *graded]:
        for caution in (1.0, 0.0):
            for delta in DELTAS:
                yield centred_count(instance, caution=caution, delta=delta, runs=runs)


class Chase:
    """Many races of three arms at once, sampled cell by cell against the first arm, which is among the best.

    Parameters
    ----------
    tables : array (runs, 3, n)
        What each arm gives on each block of each race, known to nobody before it is measured.
    size : int
        n if these are all blocks there are, 0 if they are independent.
    cheats : bool
        Whether the leader of a block is declared by somebody who knows its cells, which is not allowed.
    """

    def __init__(self, tables: Floats, size: int, cheats: bool = False) -> None:
        self.tables, self.size, self.cheats = tables, size, cheats
        self.runs, self.arms, self.blocks = tables.shape
        self.known = np.zeros((self.runs, self.arms), dtype=np.int64)
        self.declared = np.full((self.runs, self.blocks, 2), -1, dtype=np.int64)
        self.least = np.zeros(self.runs)

    def lead(self) -> Floats:
        """By how much each rival is ahead of the first arm, on the blocks where both are known, (runs, 2)."""
        common = np.minimum(self.known[:, :1], self.known[:, 1:])
        inside = np.arange(self.blocks) < common[:, :, None]
        return np.asarray(((self.tables[:, 1:] - self.tables[:, :1]) * inside).sum(axis=2))

    def choose(self) -> Ints:
        """The arm to measure next in each race: -1 if none."""
        rows = np.arange(self.runs)
        mine, ahead = self.known[:, 0], self.known[:, 1:]
        rival = 1 + self.lead().argmax(axis=1)
        seen = self.known[rows, rival] > mine
        at = np.minimum(mine, self.blocks - 1)
        # With the first arm where the one ahead is known to have done well, else with whoever is least far.
        promising = seen & (self.tables[rows, rival, at] >= 0.5)
        behind = 1 + ahead.argmin(axis=1)
        chosen = np.where(promising | (ahead.min(axis=1) >= self.blocks), 0, behind)
        return np.where((chosen == 0) & (mine >= self.blocks), -1, chosen)

    def step(self) -> bool:
        """Measure one more cell of every race and look at all evidence; False when all is measured."""
        chosen = self.choose()
        rows = np.flatnonzero(chosen >= 0)
        if not rows.size:
            return False
        arms = chosen[rows]
        places = self.known[rows, arms]
        first = places >= self.known[rows].max(axis=1)
        lead = self.tables[rows, 1:, places] if self.cheats else self.lead()[rows]
        order = 1 + np.argsort(-lead, axis=1, kind="stable")
        self.declared[rows[first], places[first]] = order[first]
        self.known[rows, arms] += 1
        self.least = np.minimum(self.least, self.log_p())
        return True

    def log_p(self) -> Floats:
        """Log p of the first arm of each race, all races in one lane of as many arms."""
        losers = np.arange(self.runs) * self.arms
        declared = np.where(self.declared >= 0, self.declared + losers[:, None, None], -1)
        rows = self.tables.reshape(-1, self.blocks)
        known = self.known.reshape(-1)
        rows = np.where(np.arange(self.blocks) < known[:, None], rows, math.nan)
        lane = Lane(rows, known, declared, np.zeros(len(rows)), math.inf, self.size, 0.0)
        lead, pair = weights(self.arms, False, True)
        if not self.known[:, 0].any():
            return np.zeros(self.runs)
        total = leader_paths(lane, losers) + math.log(lead)
        for step in range(1, self.arms):
            none = np.zeros(self.runs)
            paths = pair_paths(lane, losers + step, losers, none) + math.log(pair)
            total[:, : paths.shape[1]] = np.logaddexp(total[:, : paths.shape[1]], paths)
            if contradicts_range(lane, losers + step, losers, none).any():
                raise AssertionError("the best arm is called impossible")
        return np.minimum(0.0, -total.max(axis=1))


def chase(rho: float, runs: int, *, finite: bool, seed: int = 0, cheats: bool = False) -> Floats:
    """The least log p of the best of three arms that are right half of the time, chased cell by cell."""
    random, blocks = np.random.default_rng([5, seed, int(100 * rho) + 100, finite]), CHASED
    values, vectors = np.linalg.eigh(np.full((3, 3), rho) + (1.0 - rho) * np.eye(3))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    tables = (np.einsum("ij,rjn->rin", root, random.standard_normal((runs, 3, blocks))) > 0.0).astype(float)
    if finite:
        # The best of each table comes first, and its items in a new order.
        order = np.argsort(-tables.sum(axis=2), axis=1, kind="stable")
        tables = np.take_along_axis(tables, order[:, :, None], axis=1)
        tables = np.take_along_axis(tables, random.random((runs, 1, blocks)).argsort(axis=2), axis=2)
    race = Chase(tables, blocks if finite else 0, cheats)
    while race.step():
        pass
    return race.least


def chases(runs: int, only: str) -> Iterator[Count]:
    """All chased races."""
    for finite, rho in itertools.product((False, True), CORRELATIONS):
        what = f"{'finite' if finite else 'unlimited'}, rho = {rho:g}"
        if only not in what:
            continue
        sizes = [min(1_000, runs - start) for start in range(0, runs, 1_000)]
        parts = [chase(rho, size, finite=finite, seed=seed) for seed, size in enumerate(sizes)]
        found = np.concatenate(parts)
        for delta in DELTAS:
            yield Count("chased", what, delta, int((found <= math.log(delta)).sum()), len(found))


def main() -> None:
    """Print all counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000, help="runs of every race (10000)")
    parser.add_argument("--parts", nargs="+", default=list(PLACES), choices=list(PLACES), help="only these")
    parser.add_argument("--only", default="", help="only rows whose second column, or set, contains this text")
    parser.add_argument("--json", type=Path, help="write all counts to this file, too")
    arguments = parser.parse_args()
    kept = []
    print(f"{'part':10} {'what':56} {'delta':>6} {'wrong':>7} {'rate':>8} {'chance':>9}")
    for part in arguments.parts:
        for count in PLACES[part](arguments.runs, arguments.only):
            kept.append({**asdict(count), "rate": count.rate, "chance": count.chance})
            more = "  more than delta" if count.chance < 1e-4 else ""
            numbers = f"{count.delta:6} {count.wrong:7} {count.rate:8.4f} {count.chance:9.3g}"
            print(f"{part:10} {count.what:56} {numbers}{more}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(kept, indent=1) + "\n")


PLACES = {"null": nulls, "near": nears, "permuted": permutations, "centred": centrings, "chased": chases}

if __name__ == "__main__":
    main()
