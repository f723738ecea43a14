"""Which block comes when, and by which seed: a function of a study's seed and of the fidelity, never of the arm.

A finite set of blocks is gone through in a random order, one for each fidelity or one for all (`shuffle`). A block
comes with a seed (`block_seed`), from which an evaluation draws whatever all arms share on it. Fidelities are
numbered by their column in the user's problem, whichever of them a policy uses; where all share one order, their
number is 0 here. Simulations and studies use the same functions: trial 0 of a simulation with seed s goes through
the blocks of a study with seed s.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mfbandit.core._random import bits, trial_key, uniform
from mfbandit.core.kernels._kernels import kernel
from mfbandit.errors import InvalidInput

__all__ = ["block_order", "block_seed", "lane_seed", "own_block", "shuffle"]

Ints = npt.NDArray[np.int64]

#: Tells the draw of a pull's own block apart from the draws of its reward.
_OWN = 7


@kernel
def shuffle(order: Ints, key: int, lane: int) -> None:
    """Fill an array with a random order of 0, 1, ..., a function of the trial's key and the lane (Fisher-Yates)."""
    size = order.shape[0]
    for i in range(size):
        order[i] = i
    for i in range(size - 1):
        # Streams of rewards are numbered from 0, so negative ones are free.
        j = i + int(uniform(key, -2 - 2 * int(lane), i, 0) * (size - i))
        held = order[i]
        order[i] = order[j]
        order[j] = held


@kernel
def lane_seed(key: int, lane: int, block: int) -> int:
    """The seed of a block in a lane, below 2^31 so that every library takes it."""
    return bits(key, -3 - 2 * int(lane), int(block), 0) & 0x7FFFFFFF


@kernel
def own_block(key: int, stream: int, n: int, size: int) -> int:
    """The block that the n-th pull of a stream draws for itself alone; a number below 2^62 if there is no end of them.

    `size` is the number of blocks, 0 if there is no end of them.
    """
    if size > 0:
        return int(uniform(key, stream, n, _OWN) * size)
    return bits(key, stream, n, _OWN) & 0x3FFFFFFFFFFFFFFF


def block_order(seed: int, lanes: int, size: int, shared: bool) -> Ints:
    """The order of a finite set of blocks at every fidelity of a study.

    Parameters
    ----------
    seed
        The study's seed.
    lanes
        How many fidelities the user's problem has.
    size
        How many blocks there are.
    shared
        Whether all fidelities have one order.

    Returns
    -------
    array (lanes, size)
        The index of the item at each position.

    Examples
    --------
    >>> block_order(seed=1, lanes=2, size=4, shared=True)
    array([[0, 1, 3, 2],
           [0, 1, 3, 2]])
    """
    order = np.zeros((lanes, size), dtype=np.int64)
    key = trial_key(seed, 0)
    for lane in range(lanes):
        shuffle(order[lane], key, 0 if shared else lane)
    return order


def block_seed(seed: int, lane: int | str, block: int) -> int:
    """The seed that a study hands out with a block, the same for all arms.

    Parameters
    ----------
    seed
        The study's seed.
    lane
        The fidelity's column in the user's problem, or ``"shared"`` where all fidelities have one order.
    block
        Index of an item of a finite set, or the number of a block.

    Returns
    -------
    int
        Below 2^31.

    Examples
    --------
    >>> block_seed(seed=1, lane=0, block=5) == block_seed(seed=1, lane="shared", block=5)
    True
    """
    if isinstance(lane, str) and lane != "shared":
        raise InvalidInput(f"lane must be the column of a fidelity or 'shared', got {lane!r}")
    return int(lane_seed(trial_key(seed, 0), 0 if isinstance(lane, str) else int(lane), int(block)))
