"""Blocks: conditions that all arms share, as kernels see them.

A block is one question, one data split, one random seed, on which every arm can be measured. A lane is
a fidelity used on blocks: it has a sequence of blocks, and every arm is measured on a prefix of it, so the n-th
pull of an arm in a lane is on the n-th block of the lane. Where a block stands in that sequence is its
*position*; which item of a finite set it is, its *index*.

Kernels of problems with blocks find all past rewards in ``state.blocks`` (`Blocks`): the reward of arm k in lane m
at position n is ``reward_at(state.blocks, m, k, n)`` for n below ``state.pulls[k, m]``. They are entered by
`tally_block`, never by an algorithm. Of many thousand arms few are measured on many blocks, so there is room for the
first positions of all arms, and for later ones of those that come that far (`with_deep_rows`). An algorithm opens
blocks by `open_block`, with the leader that it declares for it, in the very round in which the first cell of the block
is planned.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mfbandit.core.kernels._kernels import kernel

if TYPE_CHECKING:
    from mfbandit.core._problem_arrays import Arrays
    from mfbandit.core._state import State
    from mfbandit.model import Problem

__all__ = [
    "LEADER",
    "NOBODY",
    "RUNNER_UP",
    "BlockRules",
    "Blocks",
    "NoBlocks",
    "block_room",
    "block_rules",
    "clear_blocks",
    "enlarged",
    "has_blocks",
    "is_led",
    "new_blocks",
    "open_block",
    "reward_at",
    "tally_block",
    "with_deep_rows",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: Columns of `Blocks.declared`, and what stands there when nobody was declared.
LEADER, RUNNER_UP = 0, 1
NOBODY = -1
#: Room for so many blocks per lane when there is no last one; a study makes more when it is needed.
_ROOM = 64
#: All arms have room for all positions where that is no more than so many cells.
_CELLS = 4_000_000


class NoBlocks(NamedTuple):
    """What stands where a problem without blocks has nothing."""


class BlockRules(NamedTuple):
    """What a problem says of its blocks, in unit scale."""

    size: int
    """N, how many blocks there are; 0 if there is no end of them."""
    shared: bool
    """Whether all lanes have the same sequence of blocks."""
    pair_bias: Floats
    """By how much a lane may be off about the difference of two arms, (M,); +inf where that is not declared."""
    opening: Floats
    """What it costs to open a block, beside the pull that does it, (M,)."""
    swing: float
    """How far a difference may stray from its mean; 0 if that is not declared."""
    caution: float
    """How many standard deviations of one unseen bad block are allowed for, with normal rewards."""
    resolution: float
    """The least difference that a normal reward can show; 0 if that is not declared."""
    continues: bool
    """Whether the truest lane goes on from what others left on a block."""


class Blocks(NamedTuple):
    """The rewards of one run by lane, arm and position, and what was declared before them."""

    rewards: Floats
    """Those of the first positions, (M, K, held), valid up to the pulls of each arm; NaN for a cell that could not be
    had."""
    deep: Floats
    """Those of the positions from `held` on, one row for each arm of a lane that has any."""
    deep_row: Ints
    """Which row that is, (M, K); -1 if there is none."""
    order: Ints
    """The index of the item at each position, (M, N); empty if there is no end of blocks."""
    opened: Ints
    """How many blocks of each lane were opened, (M,)."""
    declared: Ints
    """Leader and runner-up declared for each position before any cell of it was known, (M, room, 2)."""
    missing: Ints
    """How many cells of an arm in a lane could not be had, (K, M)."""
    joined: Ints
    """How many blocks of a lane were open when an arm joined, (M, K): on these it is measured, and proves nothing."""


def has_blocks(problem: Arrays) -> bool:
    """Whether a problem has blocks."""
    return isinstance(problem.blocks, BlockRules)


def is_led(problem: Arrays) -> bool:
    """Whether leaders are declared for blocks: not where several lanes go through them in one order."""
    return not (problem.blocks.shared and problem.cost.shape[1] > 1)


def block_rules(problem: Problem, columns: list[int]) -> NoBlocks | BlockRules:
    """What kernels see of the blocks of a problem, at the fidelities in use."""
    if problem.blocks is None:
        return NoBlocks()
    reward, span = problem.reward, problem.reward.span
    used = [problem.fidelities[m] for m in columns]
    biases = [math.inf if one.pair_bias is None else one.pair_bias / span for one in used]
    return BlockRules(
        size=0 if problem.blocks == "unlimited" else int(problem.blocks),
        shared=problem.order == "shared",
        pair_bias=np.array(biases),
        opening=np.array([one.block_cost for one in used]),
        swing=float((getattr(reward, "swing", None) or 0.0) / span),
        caution=float(getattr(reward, "caution", 0.0)),
        resolution=float(getattr(reward, "resolution", None) or 0.0),
        continues=problem.fidelities[problem.truest].continues,
    )


def new_blocks(problem: Arrays, room: int | None = None) -> Any:
    """The blocks of a run that has not begun; all of a finite set, else `room` for each lane."""
    if not has_blocks(problem):
        return NoBlocks()
    arms, lanes = problem.cost.shape
    size = problem.blocks.size
    held = size or room or _ROOM
    return Blocks(
        rewards=np.zeros((lanes, arms, held)),
        deep=np.zeros((0, 0)),
        deep_row=np.full((lanes, arms), -1, dtype=np.int64),
        order=np.tile(np.arange(size, dtype=np.int64), (lanes, 1)),
        opened=np.zeros(lanes, dtype=np.int64),
        declared=np.full((lanes, held, 2), NOBODY, dtype=np.int64),
        missing=np.zeros((arms, lanes), dtype=np.int64),
        joined=np.zeros((lanes, arms), dtype=np.int64),
    )


def enlarged(blocks: Blocks, room: int) -> Blocks:
    """The same blocks with room for more of them."""
    lanes, arms, held = blocks.rewards.shape
    before = blocks.declared.shape[1]
    declared = np.full((lanes, room, 2), NOBODY, dtype=np.int64)
    declared[:, :before] = blocks.declared
    if before > held or lanes * arms * room > _CELLS:
        return with_deep_rows(blocks._replace(declared=declared), ())
    rewards = np.zeros((lanes, arms, room))
    rewards[:, :, :held] = blocks.rewards
    return blocks._replace(rewards=rewards, declared=declared)


def with_deep_rows(blocks: Blocks, cells: Iterable[tuple[int, int]]) -> Blocks:
    """The same blocks, with rows for the later positions of some more arms, given as (arm, lane)."""
    deep_row, used = blocks.deep_row.copy(), int(blocks.deep_row.max(initial=-1)) + 1
    for arm, lane in cells:
        if deep_row[lane, arm] < 0:
            deep_row[lane, arm] = used
            used += 1
    rows, columns = blocks.deep.shape
    wanted = blocks.declared.shape[1] - blocks.rewards.shape[2]
    if used <= rows and wanted <= columns:
        return blocks._replace(deep_row=deep_row)
    deep = np.zeros((max(rows, 2 * used if used > rows else used), wanted))
    deep[:rows, :columns] = blocks.deep
    return blocks._replace(deep=deep, deep_row=deep_row)


@kernel
def block_room(blocks: Blocks) -> int:
    """How many blocks of a lane there is room for."""
    return int(blocks.declared.shape[1])


@kernel
def reward_at(blocks: Blocks, lane: int, arm: int, position: int) -> float:
    """The reward of an arm at a position of a lane; NaN if it could not be had."""
    held = blocks.rewards.shape[2]
    if position < held:
        return float(blocks.rewards[lane, arm, position])
    return float(blocks.deep[blocks.deep_row[lane, arm], position - held])


@kernel
def clear_blocks(blocks: Blocks) -> None:
    """Empty blocks for the next run. Rewards and declarations beyond what counts are never read."""
    for m in range(blocks.opened.shape[0]):
        blocks.opened[m] = 0
        for k in range(blocks.missing.shape[0]):
            blocks.missing[k, m] = 0


@kernel
def open_block(blocks: Blocks, lane: int, leader: int, runner_up: int) -> None:
    """Open the next block of a lane, with a leader and a runner-up that no cell of it has decided."""
    position = blocks.opened[lane]
    blocks.declared[lane, position, 0] = leader
    blocks.declared[lane, position, 1] = runner_up
    blocks.opened[lane] = position + 1


@kernel
def tally_block(state: State, arm: int, lane: int, reward: float) -> None:
    """Count one reward (unit scale) on the next block of a lane; NaN is a cell that could not be had."""
    n = state.pulls[arm, lane]
    held = state.blocks.rewards.shape[2]
    if n < held:
        state.blocks.rewards[lane, arm, n] = reward
    else:
        state.blocks.deep[state.blocks.deep_row[lane, arm], n - held] = reward
    state.pulls[arm, lane] = n + 1
    if reward == reward:
        state.sums[arm, lane] += reward
        state.squares[arm, lane] += reward * reward
    else:
        state.blocks.missing[arm, lane] += 1
