"""How often the evidence of races on blocks ever speaks against the best arm, looked at after every block.

    python benchmarks/blocks_errors.py [runs]

Three arms that are equal, or nearly so, with rewards on a block that are correlated by rho; leaders are declared by the
sums so far. A run is wrong if the p of the best arm falls to delta at any block. 10,000 runs of each kind by default.

A second table is about differences that are not normal, and how far caution helps: three equal arms, of which the best
always has 0, and each other one is ahead of it by the law that is named, which has mean 0.
"""

from __future__ import annotations

import math
import sys

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr
from scipy.stats import binomtest

import mfbandit as mf
from mfbandit.confidence.race import Lane, Race, contradicts_range, leader_paths, pair_paths, weights

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

ARMS, BLOCKS, NORMAL_BLOCKS = 3, 240, 60
CORRELATIONS = (0.0, 0.5, 0.95, -0.5)
DELTAS = (0.2, 0.05)
KINDS = ("0/1", "bounded", "finite", "finite, tied", "swing", "normal, caution 0", "normal, caution 1")
#: On how many blocks differences that are not normal are looked at, and with which cautions.
UNLIKE_BLOCKS, CAUTIONS = 100, (0.0, 1.0, 2.0, 3.0, 5.0)
#: How many runs are worked out at once.
_BATCH = 1_000


def correlated(rng: np.random.Generator, runs: int, blocks: int, rho: float) -> Floats:
    """Standard normal numbers (runs, arms, blocks), those of two arms on a block correlated by rho."""
    values, vectors = np.linalg.eigh(np.full((ARMS, ARMS), rho) + (1.0 - rho) * np.eye(ARMS))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.einsum("ij,rjn->rin", root, rng.standard_normal((runs, ARMS, blocks)))


def leaders(rewards: Floats) -> Ints:
    """Who has the highest and the second highest sum before each block, nobody before the first four, (runs, n, 2)."""
    before = np.cumsum(rewards, axis=2) - rewards
    ranked = np.argsort(-before, axis=1, kind="stable")[:, :2].transpose(0, 2, 1)
    ranked[:, :4] = -1
    return ranked


def bounded_levels(rewards: Floats, best: Ints, size: int, swing: float) -> Floats:
    """Log p of the best arm of each run, all runs in one lane of as many arms."""
    runs, arms, blocks = rewards.shape
    offset = np.arange(runs) * arms
    declared = leaders(rewards)
    declared = np.where(declared >= 0, declared + offset[:, None, None], -1)
    rows = rewards.reshape(runs * arms, blocks)
    known = np.full(runs * arms, blocks)
    lane = Lane(rows, known, declared, np.zeros(runs * arms), math.inf, size, swing)
    losers = offset + best
    given = weights(arms, False, led=True)
    total = leader_paths(lane, losers) + math.log(given.leader)
    for step in range(1, arms):
        winners, none = offset + (best + step) % arms, np.zeros(runs)
        total = np.logaddexp(total, pair_paths(lane, winners, losers, none) + math.log(given.pair))
        if contradicts_range(lane, winners, losers, none).any():
            raise AssertionError("the best arm is called impossible")
    return np.minimum(0.0, -total.max(axis=1))


def normal_levels(rewards: Floats, best: Ints, caution: float) -> Floats:
    """Log p of the best arm of each run of normal rewards."""
    runs, arms, blocks = rewards.shape
    problem = mf.Problem(arms, [("only", 1.0)], reward=mf.Gaussian(caution=caution), blocks="unlimited")
    declared, known = leaders(rewards), np.full((arms, 1), blocks)
    return np.array(
        [
            Race(problem, [0], 0.05, 0.0, rewards[i : i + 1], known, declared[i : i + 1]).log_p[best[i]]
            for i in range(runs)
        ]
    )


def levels(kind: str, rho: float, gap: float, runs: int, seed: int) -> Floats:
    """Log p of the best arm at its least over all blocks, in each of so many runs.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    rho : float
        How rewards of two arms on a block are correlated.
    gap : float
        How far the best arm is ahead, in standard deviations before they are cut to a range.
    """
    rng = np.random.default_rng([seed, KINDS.index(kind), int(100 * rho) + 100, int(100 * gap)])
    parts = [_levels(kind, rho, gap, min(_BATCH, runs - start), rng) for start in range(0, runs, _BATCH)]
    return np.concatenate(parts)


def _levels(kind: str, rho: float, gap: float, runs: int, rng: np.random.Generator) -> Floats:
    best = rng.integers(ARMS, size=runs)
    if kind.startswith("normal"):
        rewards = correlated(rng, runs, NORMAL_BLOCKS, rho)
        rewards[np.arange(runs), best] += gap
        return normal_levels(rewards, best, float(kind[-1]))
    noise = correlated(rng, runs, BLOCKS, rho)
    noise[np.arange(runs), best] += gap
    if kind == "0/1":
        return bounded_levels((noise > 1.0).astype(float), best, 0, 0.0)
    if kind == "bounded":
        return bounded_levels(ndtr(noise), best, 0, 0.0)
    if kind == "swing":
        # Uniform on [0, 0.4] above where the arm stands: differences stay within 0.4 of their means.
        plain = correlated(rng, runs, BLOCKS, rho)
        rewards = 0.4 * ndtr(plain)
        rewards[np.arange(runs), best] += 0.1 * gap
        return bounded_levels(rewards, best, 0, 0.4)
    table = (noise > 0.5).astype(float)
    if kind == "finite, tied":
        # Each arm has the answers of all arms, on other blocks: all sums are equal.
        third = table[:, :, : BLOCKS // ARMS]
        table = np.concatenate([np.roll(third, step, axis=1) for step in range(ARMS)], axis=2)
    table = _shuffled(rng, table)
    best = table.sum(axis=2).argmax(axis=1)
    return bounded_levels(table, best, table.shape[2], 0.0)


def _shuffled(rng: np.random.Generator, table: Floats) -> Floats:
    """The blocks of every run in a random order."""
    order = rng.random((table.shape[0], 1, table.shape[2])).argsort(axis=2)
    return np.take_along_axis(table, order, axis=2)


def _skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """A little more than the best mostly, much less now and then: skewness -2."""
    return np.asarray(1.0 - rng.exponential(size=shape))


def _zeros(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """The same as the best in nine cases of ten, skewed in the others."""
    return np.asarray(np.where(rng.random(shape) < 0.9, 0.0, _skewed(rng, shape)))


def _losses(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Ahead of the best by a standard deviation, but for a loss of 33 of them in 3% of all cases."""
    lost = rng.random(shape) < 0.03
    return np.asarray(rng.normal(0.0, 0.3, shape) + np.where(lost, -9.7, 0.3))


UNLIKE = {"normal": np.random.Generator.standard_normal, "skewed": _skewed, "90% zeros": _zeros, "3% losses": _losses}


def unlike(kind: str, cautions: tuple[float, ...], runs: int, seed: int) -> list[Floats]:
    """Log p of the best arm at its least, in each of so many runs, for every caution; one of `UNLIKE`."""
    rng = np.random.default_rng([seed, list(UNLIKE).index(kind)])
    rewards = np.zeros((runs, ARMS, UNLIKE_BLOCKS))
    rewards[:, 1:] = UNLIKE[kind](rng, (runs, ARMS - 1, UNLIKE_BLOCKS))
    best = np.zeros(runs, dtype=np.int64)
    return [normal_levels(rewards, best, caution) for caution in cautions]


def print_unlike(runs: int, delta: float = 0.05) -> None:
    """Print how often the best arm was ever beaten where differences are not normal."""
    print(f"\nat delta {delta:<12} " + " ".join(f"caution {caution:g}" for caution in CAUTIONS))
    for kind in UNLIKE:
        shares = [float(np.mean(found <= math.log(delta))) for found in unlike(kind, CAUTIONS, runs, seed=1)]
        print(f"{kind:20} " + " ".join(f"{share:9.4f}" for share in shares), flush=True)


def main(runs: int) -> None:
    """Print how often the best arm was ever beaten, beside what is allowed."""
    print(f"{'kind':20} {'rho':>5} {'gap':>5}  " + "  ".join(f"delta {delta:<5}" for delta in DELTAS) + "  p")
    for kind in KINDS:
        for rho in CORRELATIONS:
            for gap in (0.0, 0.05):
                found = levels(kind, rho, gap, runs, seed=1)
                wrong = [int((found <= math.log(delta)).sum()) for delta in DELTAS]
                least = min(
                    binomtest(n, runs, delta, alternative="greater").pvalue
                    for n, delta in zip(wrong, DELTAS, strict=True)
                )
                shares = "  ".join(f"{n / runs:<11.4f}" for n in wrong)
                print(f"{kind:20} {rho:5} {gap:5}  {shares}  {least:.3g}", flush=True)
    print_unlike(runs)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
