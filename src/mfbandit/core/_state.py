"""What every algorithm sees: the problem as arrays, the state of one run, and how a reward enters it.

An algorithm is a pair of kernels (see `mfbandit.core.kernels._kernels`) that play one round of a bandit loop::

    plan(problem, params, state, out) -> rows   # fills rows (arm, fidelity, count); 0 rows = stop
    recommend(problem, params, state) -> arm

`plan` is deterministic and may keep notes in the state, in fields that the algorithm declares
(`mfbandit.core._layouts`); rewards enter only through `observe`. The same
text is run step by step by a study, compiled over thousands of simulated trials, and on a GPU.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from mfbandit.core._blocks import new_blocks, tally_block
from mfbandit.core._layouts import NoMemory, layout
from mfbandit.core._problem_arrays import Arrays, Floats, Ints
from mfbandit.core.kernels._kernels import kernel

__all__ = [
    "PULLS",
    "ROUNDS",
    "State",
    "derive",
    "mean_of",
    "new_state",
    "observe",
    "observe_block",
    "pulled",
    "reset",
    "root_of",
    "tally",
    "tally_all",
]


#: Places in `State.clock`.
PULLS, ROUNDS = 0, 1


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
    arm_flags: Ints
    """One integer per arm that belongs to the algorithm, (K,)."""
    clock: Ints
    """Pulls so far, rounds so far."""
    spent: Floats
    """Total cost so far, (1,)."""
    own: Any
    """What the algorithm remembers, by name: an `Algorithm.memory` of arrays."""
    means: Floats
    """S / N, (K, M), on a grid, brought up to date by `derive` when the rewards of a row are in."""
    inv_sqrt_pulls: Floats
    """1 / sqrt(N), (K, M), likewise: most confidence radii are a multiple of it; +inf before the first pull."""
    grid_rounder: Floats
    """`Arrays.grid_rounder`, (1,)."""
    carries: Floats
    """What rounding has added to sums, squares and deviations, (K, 3 M): see `add`."""
    blocks: Any
    """All rewards by block, a `Blocks`; a `NoBlocks` for problems without."""


def new_state(problem: Arrays, memory: type = NoMemory) -> State:
    """Make the empty state of a run, with room for what an algorithm remembers, and for rewards by block."""
    shape = problem.cost.shape
    laid = layout(memory, problem)
    return State(
        pulls=np.zeros(shape, dtype=np.int64),
        sums=np.zeros(shape),
        squares=np.zeros(shape),
        deviations=np.zeros(shape),
        arm_flags=np.zeros(shape[0], dtype=np.int64),
        clock=np.zeros(ROUNDS + 1, dtype=np.int64),
        spent=np.zeros(1),
        own=laid.of(*laid.blocks()),
        means=np.zeros(shape),
        inv_sqrt_pulls=np.full(shape, math.inf),
        grid_rounder=np.full(1, problem.grid_rounder),
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
    # Without numba, Python's own numbers are several times as fast as those of an array.
    n, width = int(state.pulls[arm, fidelity]), state.pulls.shape[1]
    surprise = reward - (0.5 + float(state.sums[arm, fidelity])) / (n + 1)
    state.pulls[arm, fidelity] = n + 1
    add(state.sums, state.carries, arm, fidelity, fidelity, reward)
    add(state.squares, state.carries, arm, fidelity, width + fidelity, reward * reward)
    add(state.deviations, state.carries, arm, fidelity, 2 * width + fidelity, surprise * surprise)


@kernel
def tally_all(state: State, arm: int, fidelity: int, rewards: Floats) -> None:
    """Count many rewards of one stream, in their order, with the arithmetic of `tally` to the last bit.

    What is in arrays is read and written once, which makes it ten times as fast in plain Python.
    """
    carries, width, n = state.carries, state.pulls.shape[1], int(state.pulls[arm, fidelity])
    total, carry = float(state.sums[arm, fidelity]), float(carries[arm, fidelity])
    squares, carry_squares = float(state.squares[arm, fidelity]), float(carries[arm, width + fidelity])
    deviations, carry_deviations = float(state.deviations[arm, fidelity]), float(carries[arm, 2 * width + fidelity])
    for i in range(len(rewards)):
        reward = float(rewards[i])
        n += 1
        surprise = reward - (0.5 + total) / n
        kept = reward - carry
        larger = total + kept
        carry = (larger - total) - kept
        total = larger
        kept = reward * reward - carry_squares
        larger = squares + kept
        carry_squares = (larger - squares) - kept
        squares = larger
        kept = surprise * surprise - carry_deviations
        larger = deviations + kept
        carry_deviations = (larger - deviations) - kept
        deviations = larger
    state.pulls[arm, fidelity] = n
    state.sums[arm, fidelity], carries[arm, fidelity] = total, carry
    state.squares[arm, fidelity], carries[arm, width + fidelity] = squares, carry_squares
    state.deviations[arm, fidelity], carries[arm, 2 * width + fidelity] = deviations, carry_deviations


@kernel
def derive(state: State, arm: int, fidelity: int) -> None:
    """Bring the derived statistics of a stream up to date, after rewards were entered.

    Means are rounded to a grid (2^-40 for rewards in [0, 1]), on which biases lie too, so that their sums
    and differences are exact. Biases and means are often round decimals: 0.1 + 0.2 and 0.3 are then either
    equal or clearly apart, wherever they are computed and in whichever order.
    """
    root = math.sqrt(1.0 / int(state.pulls[arm, fidelity]))
    rounder = float(state.grid_rounder[0])
    state.means[arm, fidelity] = (float(state.sums[arm, fidelity]) * (root * root) + rounder) - rounder
    state.inv_sqrt_pulls[arm, fidelity] = root


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
    return float(state.inv_sqrt_pulls[arm, fidelity])


@kernel
def observe(state: State, arm: int, fidelity: int, reward: float) -> None:
    """Enter one reward (unit scale) into the state."""
    tally(state, arm, fidelity, reward)
    derive(state, arm, fidelity)


@kernel
def observe_block(state: State, arm: int, lane: int, reward: float) -> None:
    """Enter one reward (unit scale) on the next block of a lane; NaN if it could not be had."""
    tally_block(state, arm, lane, reward)


@kernel
def reset(state: State, numbers: Floats, wholes: Ints) -> None:
    """Empty a state for the next trial, with the blocks that the algorithm's memory lies in."""
    arms, fidelities = state.pulls.shape
    for k in range(arms):
        state.arm_flags[k] = 0
        for m in range(fidelities):
            state.pulls[k, m] = 0
            state.sums[k, m] = 0.0
            state.inv_sqrt_pulls[k, m] = math.inf
    for k in range(state.carries.shape[0]):
        for m in range(state.carries.shape[1]):
            state.carries[k, m] = 0.0
    for k in range(state.squares.shape[0]):
        for m in range(state.squares.shape[1]):
            state.squares[k, m] = 0.0
            state.deviations[k, m] = 0.0
    for i in range(state.clock.shape[0]):
        state.clock[i] = 0
    for i in range(numbers.shape[0]):
        numbers[i] = 0.0
    for i in range(wholes.shape[0]):
        wholes[i] = 0
    state.spent[0] = 0.0
