"""Simulated trials of problems with blocks: what is bound into the loop of `mfbandit.simulation._trial_loop`.

In a race, the n-th pull of an arm in a lane is on the n-th block of the lane, whose index (or number, if there
is no end of blocks) the draw gets in place of n. A policy that takes rewards for independent makes every pull
on a block of its own, drawn with replacement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from mfbandit.core import Arrays, Blocks, NoBlocks, State, clear_blocks, derive, kernel, new_blocks, own_block, shuffle
from mfbandit.instances import BlockLaw
from mfbandit.simulation._trial_loop import begin, block_of, outcome, possible, price

__all__ = ["OUT_OF_ROOM", "any_block_of", "block_parts", "room_for_blocks"]


Floats = npt.NDArray[np.float64]


Ints = npt.NDArray[np.int64]


#: How a trial ended that would have needed more blocks, or had more pulls out, than there is room for.
OUT_OF_ROOM = 2


#: Room for the rewards of unlimited blocks in one thread: bytes, and the least and most blocks.
_BYTES, _LEAST, _MOST = 64 * 2**20, 1_000, 1_000_000


@kernel
def begin_race(problem: Arrays, state: State, key: int) -> None:
    """Empty the blocks for a trial, and put a finite set in order."""
    clear_blocks(state.blocks)
    if problem.blocks.size > 0:
        for m in range(problem.columns.shape[0]):
            shuffle(state.blocks.order[m], key, 0 if problem.blocks.shared else problem.columns[m])


@kernel
def item_of(law: BlockLaw, state: State, key: int, stream: int, fidelity: int, n: int) -> int:
    """The item at a position of a finite set."""
    return int(state.blocks.order[fidelity, n])


@kernel
def any_block_of(law: BlockLaw, state: State, key: int, stream: int, fidelity: int, n: int) -> int:
    """The item at a position of a finite set, or the block itself if there is no end of them."""
    return int(state.blocks.order[fidelity, n]) if law.size > 0 else n


@kernel
def drawn_of(law: BlockLaw, state: State, key: int, stream: int, fidelity: int, n: int) -> int:
    """A block that no other pull shares but by chance."""
    return own_block(key, stream, n, law.size)


@kernel
def price_in_race(problem: Arrays, pulls: Ints, arm: int, fidelity: int) -> float:
    """What each pull of a row costs: more if the row opens its blocks, that is if no arm was measured on the first."""
    cost = float(problem.cost[arm, fidelity])
    opening = float(problem.blocks.opening[fidelity])
    if opening > 0.0:
        start = pulls[arm, fidelity]
        for k in range(pulls.shape[0]):
            if pulls[k, fidelity] > start:
                opening = 0.0
        return cost + opening
    return cost


@kernel
def possible_in_race(state: State, pulls: Ints, arm: int, fidelity: int, count: int) -> int:
    """How many of some pulls there is room for."""
    return min(count, int(state.blocks.declared.shape[1]) - int(pulls[arm, fidelity]))


@kernel
def outcome_of_race(state: State, ended: bool) -> int:
    """How a race came to its end: 1 by itself, 0 at a limit, 2 because there was no room for more blocks."""
    if state.blocks.order.shape[1] == 0:
        for m in range(state.blocks.opened.shape[0]):
            if state.blocks.opened[m] >= state.blocks.declared.shape[1]:
                return 2
    return 1 if ended else 0


@kernel
def leave(state: State, arm: int, fidelity: int) -> None:
    """Leave derived statistics alone: no race reads them."""


def block_parts(problem: Arrays, finite: bool) -> Mapping[Callable[..., Any], Callable[..., Any]]:
    """What is bound in place of parts of `mfbandit.simulation._trial_loop`, for an instance with blocks."""
    if isinstance(problem.blocks, NoBlocks):
        return {block_of: drawn_of}
    parts: dict[Callable[..., Any], Callable[..., Any]] = {
        begin: begin_race,
        price: price_in_race,
        possible: possible_in_race,
        outcome: outcome_of_race,
        derive: leave,
    }
    return {**parts, block_of: item_of} if finite else parts


def room_for_blocks(problem: Arrays) -> Blocks | NoBlocks:
    """Empty blocks for one thread, with as much room as one may take if there is no end of them."""
    cells = problem.cost.size
    made: Blocks | NoBlocks = new_blocks(problem, min(max(_BYTES // (8 * cells), _LEAST), _MOST))
    return made
