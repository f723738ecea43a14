"""Simulated trials of problems with blocks: what is bound into the loop of `mfbandit.play`, and the draws.

In a race, the n-th pull of an arm in a lane is on the n-th block of the lane, whose index (or number, if there
is no end of blocks) the draw gets in place of n. A policy that takes rewards for independent makes every pull
on a block of its own, drawn with replacement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mfbandit.block_order import lane_seed, own_block, shuffle
from mfbandit.blocks import Blocks, NoBlocks, clear_blocks, new_blocks
from mfbandit.core import Arrays, State, settle
from mfbandit.instances import BlockEffectLaw, BlockTableLaw, Instance
from mfbandit.kernel import kernel
from mfbandit.play import begin, block_of, outcome, possible, price
from mfbandit.problem import Gaussian
from mfbandit.rewards import normal, uniform

__all__ = [
    "OUT_OF_ROOM",
    "BlockLaw",
    "block_draw",
    "block_law",
    "block_parts",
    "room_for_blocks",
    "row_of",
    "seeded_draw",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: How a trial ended that would have needed more blocks than there is room for.
OUT_OF_ROOM = 2
#: Room for the rewards of unlimited blocks in one thread: bytes, and the least and most blocks.
_BYTES, _LEAST, _MOST = 64 * 2**20, 1_000, 1_000_000


class BlockLaw(NamedTuple):
    """A reward law on blocks as a kernel sees it, in unit scale."""

    values: Floats
    """Table: the rewards, (K, M, B)."""
    levels: Floats
    """Block effect: means of Gaussian rewards, else what the normal number must pass for the upper end, (K, M)."""
    loads: Floats
    """What the effect of a block counts for in each arm, (K,)."""
    own: float
    """What an arm's own part counts for."""
    scale: float
    """Standard deviation of Gaussian rewards."""
    lanes: Ints
    """The number by which each fidelity's blocks are drawn, (M,)."""
    size: int
    """How many blocks there are; 0 if there is no end of them."""
    streams: int
    """Fidelities of the user's problem, which number the reward streams."""


def block_law(instance: Instance) -> BlockLaw:
    """Turn the law of an instance with blocks into arrays."""
    law, problem = instance.law, instance.problem
    arms, columns = instance.means.shape
    values, levels, loads, own = np.zeros((1, 1, 1)), np.zeros((1, 1)), np.zeros(1), 0.0
    if isinstance(law, BlockTableLaw):
        # Copied, since code for an array that is read-only would be compiled anew.
        values = np.array(problem.reward.to_unit(law.values))
    elif isinstance(law, BlockEffectLaw):
        loads, own = law.loads(arms), float(np.sqrt(1.0 - abs(law.rho)))
        units = np.asarray(problem.reward.to_unit(instance.means), dtype=np.float64)
        levels = units if isinstance(problem.reward, Gaussian) else _thresholds(units)
    return BlockLaw(
        values=values,
        levels=np.array(levels),
        loads=loads,
        own=own,
        scale=float(getattr(law, "sigma", None) or 1.0),
        lanes=np.zeros(columns, dtype=np.int64) if problem.order == "shared" else np.arange(columns, dtype=np.int64),
        size=problem.blocks if isinstance(problem.blocks, int) else 0,
        streams=columns,
    )


def _thresholds(means: Floats) -> Floats:
    """What a standard normal number passes with the probability of the mean."""
    ends = np.where(means <= 0.0, np.inf, -np.inf)
    inner = (means > 0.0) & (means < 1.0)
    # Both tails are best where the small one is computed.
    for k, m in np.argwhere(inner):
        ends[k, m] = -normal(float(means[k, m]))
    return ends


@kernel
def draw_item(law: BlockLaw, key: int, stream: int, arm: int, fidelity: int, n: int) -> float:
    """The reward on the item n of a finite set."""
    return float(law.values[arm, fidelity, n])


@kernel
def row_of(seed: int, rows: int) -> int:
    """The row of a table that the block of this seed is."""
    return int(uniform(seed, 0, 0, 0) * rows)


@kernel
def row_by_seed(law: BlockLaw, seed: int, stream: int, arm: int, fidelity: int) -> float:
    """The reward on the block of this seed, a row of the table."""
    return float(law.values[arm, fidelity, row_of(seed, law.values.shape[2])])


@kernel
def latent(law: BlockLaw, seed: int, stream: int, arm: int) -> float:
    """A standard normal number, of the block's effect and the arm's own part."""
    effect = normal(uniform(seed, 0, 0, 0))
    return float(law.loads[arm] * effect + law.own * normal(uniform(seed, stream + 1, 0, 0)))


@kernel
def normal_by_seed(law: BlockLaw, seed: int, stream: int, arm: int, fidelity: int) -> float:
    """A Gaussian reward on the block of this seed."""
    return float(law.levels[arm, fidelity] + law.scale * latent(law, seed, stream, arm))


@kernel
def hit_by_seed(law: BlockLaw, seed: int, stream: int, arm: int, fidelity: int) -> float:
    """A reward of 0 or 1 on the block of this seed."""
    return 1.0 if latent(law, seed, stream, arm) > law.levels[arm, fidelity] else 0.0


@kernel
def draw_row(law: BlockLaw, key: int, stream: int, arm: int, fidelity: int, n: int) -> float:
    """The reward on block n, a row of the table drawn with replacement."""
    return row_by_seed(law, lane_seed(key, law.lanes[fidelity], n), stream, arm, fidelity)


@kernel
def draw_normal(law: BlockLaw, key: int, stream: int, arm: int, fidelity: int, n: int) -> float:
    """The Gaussian reward on block n."""
    return normal_by_seed(law, lane_seed(key, law.lanes[fidelity], n), stream, arm, fidelity)


@kernel
def draw_hit(law: BlockLaw, key: int, stream: int, arm: int, fidelity: int, n: int) -> float:
    """The reward on block n, 0 or 1."""
    return hit_by_seed(law, lane_seed(key, law.lanes[fidelity], n), stream, arm, fidelity)


def seeded_draw(instance: Instance) -> Callable[..., Any]:
    """The kernel that draws a reward by the seed of a block, with unlimited blocks."""
    if isinstance(instance.law, BlockTableLaw):
        return row_by_seed
    return normal_by_seed if isinstance(instance.problem.reward, Gaussian) else hit_by_seed


def block_draw(instance: Instance) -> Callable[..., Any]:
    """The kernel that draws the reward of an arm on a block, in unit scale."""
    if instance.problem.blocks != "unlimited":
        return draw_item
    draws = {row_by_seed: draw_row, normal_by_seed: draw_normal, hit_by_seed: draw_hit}
    return draws[seeded_draw(instance)]


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
def drawn_of(law: BlockLaw, state: State, key: int, stream: int, fidelity: int, n: int) -> int:
    """A block that no other pull shares but by chance."""
    return own_block(key, stream, n, law.size)


@kernel
def price_in_race(problem: Arrays, state: State, arm: int, fidelity: int) -> float:
    """What each pull of a row costs: more if the row opens its blocks, that is if no arm was measured on the first."""
    cost = float(problem.cost[arm, fidelity])
    opening = float(problem.blocks.opening[fidelity])
    if opening > 0.0:
        start = state.pulls[arm, fidelity]
        for k in range(state.pulls.shape[0]):
            if state.pulls[k, fidelity] > start:
                opening = 0.0
        return cost + opening
    return cost


@kernel
def possible_in_race(state: State, arm: int, fidelity: int, count: int) -> int:
    """How many of some pulls there is room for."""
    return min(count, int(state.blocks.rewards.shape[2]) - int(state.pulls[arm, fidelity]))


@kernel
def outcome_of_race(state: State, ended: bool) -> int:
    """How a race came to its end: 1 by itself, 0 at a limit, 2 because there was no room for more blocks."""
    if state.blocks.order.shape[1] == 0:
        for m in range(state.blocks.opened.shape[0]):
            if state.blocks.opened[m] >= state.blocks.rewards.shape[2]:
                return 2
    return 1 if ended else 0


@kernel
def leave(state: State, arm: int, fidelity: int) -> None:
    """Leave derived statistics alone: no race reads them."""


def block_parts(problem: Arrays, finite: bool) -> Mapping[Callable[..., Any], Callable[..., Any]]:
    """What is bound in place of parts of `mfbandit.play`, for what kernels see of an instance with blocks."""
    if isinstance(problem.blocks, NoBlocks):
        return {block_of: drawn_of}
    parts: dict[Callable[..., Any], Callable[..., Any]] = {
        begin: begin_race,
        price: price_in_race,
        possible: possible_in_race,
        outcome: outcome_of_race,
        settle: leave,
    }
    return {**parts, block_of: item_of} if finite else parts


def room_for_blocks(problem: Arrays) -> Blocks | NoBlocks:
    """Empty blocks for one thread, with as much room as one may take if there is no end of them."""
    cells = problem.cost.size
    made: Blocks | NoBlocks = new_blocks(problem, min(max(_BYTES // (8 * cells), _LEAST), _MOST))
    return made
