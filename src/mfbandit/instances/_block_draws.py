"""Rewards on blocks, drawn from an instance: by the item of a finite set, or by the seed of a block."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mfbandit.core import Floats, Ints, kernel, lane_seed, normal, uniform
from mfbandit.instances._block_laws import BlockEffectLaw, BlockTableLaw
from mfbandit.model import Gaussian

if TYPE_CHECKING:
    from mfbandit.instances._instance import Instance

__all__ = [
    "BlockLaw",
    "block_draw",
    "block_law",
    "draw_any_block",
    "draw_hit",
    "draw_item",
    "draw_normal",
    "draw_row",
    "hit_by_seed",
    "latent",
    "normal_by_seed",
    "row_by_seed",
    "row_of",
    "seeded_draw",
]


#: Kinds of laws on blocks, as kernels know them.
_ITEM, _ROW, _NORMAL, _HIT = range(4)


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
    kind: int
    """Which law it is, for `draw_any_block`."""


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
        kind=_DRAWS[block_draw(instance)],
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


@kernel
def draw_any_block(law: BlockLaw, key: int, stream: int, arm: int, fidelity: int, n: int) -> float:
    """The reward on item or block n, of whichever law: the same machine code for all of them."""
    if law.kind == _ITEM:
        return draw_item(law, key, stream, arm, fidelity, n)
    if law.kind == _ROW:
        return draw_row(law, key, stream, arm, fidelity, n)
    if law.kind == _NORMAL:
        return draw_normal(law, key, stream, arm, fidelity, n)
    return draw_hit(law, key, stream, arm, fidelity, n)


_DRAWS: dict[Callable[..., Any], int] = {draw_item: _ITEM, draw_row: _ROW, draw_normal: _NORMAL, draw_hit: _HIT}


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
