"""What every algorithm sees: the problem as arrays, the state of one run, and how a reward enters it.

An algorithm is a pair of kernels (see `mfbandit.kernel`) that play one round of a bandit loop::

    plan(problem, params, state, out) -> rows   # fills rows (arm, fidelity, count); 0 rows = stop
    recommend(problem, params, state) -> arm

`plan` is deterministic and may keep notes in the state, in fields that the algorithm declares
(`mfbandit.layout`); rewards enter only through `observe`. The same
text is run step by step by a study, compiled over thousands of simulated trials, and on a GPU.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mfbandit.blocks import block_rules, new_blocks, tally_block
from mfbandit.errors import PolicyError
from mfbandit.kernel import kernel
from mfbandit.layout import NoMemory, layout
from mfbandit.problem import Bernoulli, Gaussian, Problem

__all__ = [
    "PULLS",
    "ROUNDS",
    "Algorithm",
    "Arrays",
    "Goal",
    "State",
    "afford",
    "arrays",
    "keep_arms",
    "mean_of",
    "new_state",
    "observe",
    "observe_block",
    "pulled",
    "root_of",
    "settle",
    "tally",
    "tally_all",
    "tally_for",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

BERNOULLI, BOUNDED, GAUSSIAN, STUDENT = 0, 1, 2, 3
#: Adding and subtracting it rounds a number below 2^11 in size to a multiple of its last place, 2^-40.
_ROUNDER = 1.5 * 2.0**12
#: Places in `State.clock`.
PULLS, ROUNDS = 0, 1


class Arrays(NamedTuple):
    """A problem as a kernel sees it, in unit scale (K arms, M fidelities in use)."""

    cost: Floats
    """Cost lambda of a pull, (K, M)."""
    bias: Floats
    """Bound zeta on the bias, (K, M), in unit scale."""
    rate: Floats
    """1 / sqrt(cost), (K, M)."""
    order: Ints
    """Fidelities from cheap to dear, (M,)."""
    columns: Ints
    """Which fidelity of the user's problem each column is, (M,)."""
    truest: int
    """The column whose mean is the truth."""
    kind: int
    """0 for 0/1 rewards, 1 for rewards in [0, 1], 2 for Gaussian rewards, 3 for those of unknown variance."""
    sigma: float
    """Standard deviation of a Gaussian reward (1 if unknown); 1/2, its bound, for rewards in [0, 1]."""
    spread: float
    """Twice the variance proxy in the paper's radius: 1 for [0, 1], 2 sigma^2 for Gaussian."""
    rounder: float
    """Adding and subtracting it rounds a mean to a grid, on which biases lie too: see `settle`."""
    blocks: Any
    """What is said of blocks, a `BlockRules`; a `NoBlocks` for problems without."""


class State(NamedTuple):
    """What one run remembers: statistics per (arm, fidelity), a clock, and what the algorithm declared."""

    pulls: Ints
    """Pulls N, (K, M)."""
    sums: Floats
    """Sums of rewards S, (K, M)."""
    squares: Floats
    """Sums of squared rewards Q, (K, M)."""
    deviations: Floats
    """Sums of squared distances V of each reward from the mean forecast before it, (K, M)."""
    notes: Ints
    """One integer per arm that belongs to the algorithm, (K,)."""
    clock: Ints
    """Pulls so far, rounds so far."""
    spent: Floats
    """Total cost so far, (1,)."""
    own: Any
    """What the algorithm remembers, by name: an `Algorithm.memory` of arrays."""
    means: Floats
    """S / N, (K, M), on a grid, brought up to date by `settle` when the rewards of a row are in."""
    roots: Floats
    """1 / sqrt(N), (K, M), likewise: most confidence radii are a multiple of it; +inf before the first pull."""
    rounder: Floats
    """`Arrays.rounder`, (1,)."""
    carries: Floats
    """What rounding has added to sums, squares and deviations, (K, 3 M): see `add`."""
    blocks: Any
    """All rewards by block, a `Blocks`; a `NoBlocks` for problems without."""


@dataclass(frozen=True)
class Goal:
    """What a run is for: the best arm with confidence 1 - delta, or the most from a budget."""

    delta: float = 0.05
    epsilon: float = 0.0
    budget: float = math.inf

    def __post_init__(self) -> None:
        if not 0.0 < self.delta < 1.0:
            raise PolicyError(f"delta must lie strictly between 0 and 1, got {self.delta!r}")
        if not 0.0 <= self.epsilon < math.inf:
            raise PolicyError(f"epsilon must be a number >= 0, got {self.epsilon!r}")
        if not self.budget > 0.0:
            raise PolicyError(f"budget must be a number > 0, got {self.budget!r}")


@dataclass(frozen=True)
class Algorithm:
    """A policy made ready to run on one problem: its two kernels and what they need."""

    plan: Callable[..., Any]
    recommend: Callable[..., Any]
    params: Any
    """A flat NamedTuple of numbers."""
    rows: int
    """The most rows that one round can have."""
    memory: type = NoMemory
    """What it remembers, declared by name and shape: see `mfbandit.layout`."""
    sums_only: bool = False
    """Whether counts, sums and what is derived from them are all the statistics it reads."""
    evidence: str = "arms"
    """What it stops by: "pairs" if by `mfbandit.confidence.pair`, with a record of every victory."""
    take_in: Callable[..., Any] | None = None
    """Enters the rewards of the last round into the active statistics of `pairs`, where `plan` does so later."""


def arrays(problem: Problem, columns: list[int] | None = None) -> Arrays:
    """Turn a problem into what kernels see, on all fidelities or on some columns of them.

    Examples
    --------
    >>> import mfbandit as mf
    >>> small = mf.Problem(2, [("quick", 1.0, 0.2), ("slow", 9.0, 0.0)])
    >>> arrays(small).truest, arrays(small, [1]).truest
    (1, 0)
    """
    used = list(range(problem.n_fidelities)) if columns is None else columns
    if problem.truest not in used:
        name = problem.fidelities[problem.truest].name
        raise PolicyError(f"fidelities must include the truest one, {name!r}, got columns {used}")
    cost = np.ascontiguousarray(problem.costs[:, used])
    reward = problem.reward
    if isinstance(reward, Gaussian):
        kind = STUDENT if reward.sigma is None else GAUSSIAN
        sigma, spread = reward.scale, 2.0 * reward.scale**2
    else:
        kind = BERNOULLI if isinstance(reward, Bernoulli) else BOUNDED
        sigma, spread = 0.5, 1.0
    rounder = math.ldexp(_ROUNDER, max(-900, min(900, math.frexp(sigma)[1])))
    grid = math.ulp(rounder)
    return Arrays(
        cost=cost,
        # Upwards, so that the bounds hold.
        bias=np.ceil(np.ascontiguousarray(problem.biases[:, used]) / reward.span / grid) * grid,
        rate=1.0 / np.sqrt(cost),
        order=np.argsort(cost.mean(axis=0), kind="stable").astype(np.int64),
        columns=np.array(used, dtype=np.int64),
        truest=used.index(problem.truest),
        kind=kind,
        sigma=float(sigma),
        spread=float(spread),
        rounder=float(rounder),
        blocks=block_rules(problem, used),
    )


def keep_arms(problem: Arrays, arms: Sequence[int]) -> Arrays:
    """What kernels see of some arms. Which fidelity is the truth stays as it is."""
    kept = list(arms)
    return problem._replace(
        cost=np.ascontiguousarray(problem.cost[kept]),
        bias=np.ascontiguousarray(problem.bias[kept]),
        rate=np.ascontiguousarray(problem.rate[kept]),
    )


def new_state(problem: Arrays, memory: type = NoMemory) -> State:
    """Make the empty state of a run, with room for what an algorithm remembers, and for rewards by block."""
    shape = problem.cost.shape
    laid = layout(memory, problem)
    return State(
        pulls=np.zeros(shape, dtype=np.int64),
        sums=np.zeros(shape),
        squares=np.zeros(shape),
        deviations=np.zeros(shape),
        notes=np.zeros(shape[0], dtype=np.int64),
        clock=np.zeros(ROUNDS + 1, dtype=np.int64),
        spent=np.zeros(1),
        own=laid.of(*laid.blocks()),
        means=np.zeros(shape),
        roots=np.full(shape, math.inf),
        rounder=np.full(1, problem.rounder),
        carries=np.zeros((shape[0], 3 * shape[1])),
        blocks=new_blocks(problem),
    )


@kernel
def add(sums: Floats, carries: Floats, arm: int, fidelity: int, place: int, term: float) -> None:
    """Add a term to a running sum, without the rounding errors of all terms before (Kahan's summation).

    A plain sum of n terms may be off by n units of its last place: a billion times 0.1 by more than 1. This
    one is off by two, whatever n. Where all terms are whole numbers, both are exact.
    """
    total = float(sums[arm, fidelity])
    kept = term - float(carries[arm, place])
    larger = total + kept
    carries[arm, place] = (larger - total) - kept
    sums[arm, fidelity] = larger


@kernel
def tally_whole(state: State, arm: int, fidelity: int, reward: float) -> None:
    """Count one reward, 0 or 1, in the pulls and sums alone, for algorithms that need no more in simulations."""
    state.pulls[arm, fidelity] += 1
    state.sums[arm, fidelity] += reward


@kernel
def tally_sums(state: State, arm: int, fidelity: int, reward: float) -> None:
    """Count one reward in the pulls and sums alone, likewise."""
    state.pulls[arm, fidelity] += 1
    add(state.sums, state.carries, arm, fidelity, fidelity, reward)


@kernel
def tally(state: State, arm: int, fidelity: int, reward: float) -> None:
    """Count one reward (unit scale) in all statistics but the derived ones."""
    n, width = state.pulls[arm, fidelity], state.pulls.shape[1]
    surprise = reward - (0.5 + float(state.sums[arm, fidelity])) / (n + 1)
    state.pulls[arm, fidelity] = n + 1
    add(state.sums, state.carries, arm, fidelity, fidelity, reward)
    add(state.squares, state.carries, arm, fidelity, width + fidelity, reward * reward)
    add(state.deviations, state.carries, arm, fidelity, 2 * width + fidelity, surprise * surprise)


@kernel
def tally_all(state: State, arm: int, fidelity: int, rewards: Floats) -> None:
    """Count many rewards of one stream, in their order."""
    for i in range(rewards.shape[0]):
        tally(state, arm, fidelity, float(rewards[i]))


def tally_for(algorithm: Algorithm, whole_rewards: bool) -> Callable[..., None]:
    """How rewards are counted in simulations of an algorithm; `whole_rewards` are all 0 or 1."""
    if not algorithm.sums_only:
        return tally
    return tally_whole if whole_rewards else tally_sums


@kernel
def settle(state: State, arm: int, fidelity: int) -> None:
    """Bring the derived statistics of a stream up to date, after rewards were entered.

    Means are rounded to a grid (2^-40 for rewards in [0, 1]), on which biases lie too, so that their sums
    and differences are exact. Biases and means are often round decimals: 0.1 + 0.2 and 0.3 are then either
    equal or clearly apart, wherever they are computed and in whichever order.
    """
    root = math.sqrt(1.0 / state.pulls[arm, fidelity])
    rounder = state.rounder[0]
    state.means[arm, fidelity] = (state.sums[arm, fidelity] * (root * root) + rounder) - rounder
    state.roots[arm, fidelity] = root


@kernel
def pulled(state: State, arm: int, fidelity: int) -> bool:
    """Whether a stream was pulled; one that was not has infinite bounds."""
    return bool(state.pulls[arm, fidelity] > 0)


@kernel
def mean_of(state: State, arm: int, fidelity: int) -> float:
    """The mean reward of a stream that was pulled."""
    return float(state.means[arm, fidelity])


@kernel
def root_of(state: State, arm: int, fidelity: int) -> float:
    """1 / sqrt(n) of a stream that was pulled."""
    return float(state.roots[arm, fidelity])


@kernel
def observe(state: State, arm: int, fidelity: int, reward: float) -> None:
    """Enter one reward (unit scale) into the state."""
    tally(state, arm, fidelity, reward)
    settle(state, arm, fidelity)


@kernel
def observe_block(state: State, arm: int, lane: int, reward: float) -> None:
    """Enter one reward (unit scale) on the next block of a lane; NaN if it could not be had."""
    tally_block(state, arm, lane, reward)


@kernel
def afford(left: float, cost: float, count: int) -> int:
    """How many of `count` pulls at `cost` the money `left` pays for."""
    if count * cost <= left:
        return count
    # Rounding of the quotient may be one off either way: correct it against the product.
    paid = int(left / cost)
    if (paid + 1) * cost <= left:
        paid += 1
    if paid * cost > left:
        paid -= 1
    return paid
