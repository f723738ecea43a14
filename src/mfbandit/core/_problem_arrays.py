"""A problem as kernels see it: arrays in unit scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mfbandit.core._blocks import block_rules
from mfbandit.errors import PolicyError
from mfbandit.model import Bernoulli, Gaussian, Problem

__all__ = ["BERNOULLI", "BOUNDED", "GAUSSIAN", "STUDENT", "Arrays", "arrays", "keep_arms", "with_costs"]


Floats = npt.NDArray[np.float64]


Ints = npt.NDArray[np.int64]


BERNOULLI, BOUNDED, GAUSSIAN, STUDENT = 0, 1, 2, 3


#: Adding and subtracting it rounds a number below 2^11 in size to a multiple of its last place, 2^-40.
_ROUNDER = 1.5 * 2.0**12


class Arrays(NamedTuple):
    """A problem as a kernel sees it, in unit scale (K arms, M fidelities in use)."""

    cost: Floats
    """Cost lambda of a pull, (K, M): as declared, or what pulls have cost on average where that is measured."""
    declared: Floats
    """Cost of a pull as it was declared, (K, M): what evidence rests on must not depend on data."""
    bias: Floats
    """Bound zeta on the bias, (K, M), in unit scale."""
    inv_sqrt_cost: Floats
    """1 / sqrt(cost), (K, M)."""
    order: Ints
    """Fidelities from cheap to expensive, (M,)."""
    columns: Ints
    """Which fidelity of the user's problem each column is, (M,)."""
    truest: int
    """The column whose mean is the truth."""
    reward_code: int
    """0 for 0/1 rewards, 1 for rewards in [0, 1], 2 for Gaussian rewards, 3 for those of unknown variance."""
    sigma: float
    """Standard deviation of a Gaussian reward (1 if unknown); 1/2, its bound, for rewards in [0, 1]."""
    radius_scale: float
    """Twice the variance proxy in the paper's radius: 1 for [0, 1], 2 sigma^2 for Gaussian."""
    grid_rounder: float
    """Adding and subtracting it rounds a mean to a grid, on which biases lie too: see `derive`."""
    blocks: Any
    """What is said of blocks, a `BlockRules`; a `NoBlocks` for problems without."""


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
    # Opening a block is paid once for all arms.
    per_cell = cost.mean(axis=0) + np.array([problem.fidelities[m].block_cost for m in used]) / len(cost)
    rounder = math.ldexp(_ROUNDER, max(-900, min(900, math.frexp(sigma)[1])))
    grid = math.ulp(rounder)
    return Arrays(
        cost=cost,
        declared=cost,
        # Upwards, so that the bounds hold.
        bias=np.ceil(np.ascontiguousarray(problem.biases[:, used]) / reward.span / grid) * grid,
        inv_sqrt_cost=1.0 / np.sqrt(cost),
        order=np.argsort(per_cell, kind="stable").astype(np.int64),
        columns=np.array(used, dtype=np.int64),
        truest=used.index(problem.truest),
        reward_code=kind,
        sigma=float(sigma),
        radius_scale=float(spread),
        grid_rounder=float(rounder),
        blocks=block_rules(problem, used),
    )


def keep_arms(problem: Arrays, arms: Sequence[int]) -> Arrays:
    """What kernels see of some arms. Which fidelity is the truth stays as it is."""
    kept = list(arms)
    declared = np.ascontiguousarray(problem.declared[kept])
    return problem._replace(
        cost=declared if problem.cost is problem.declared else np.ascontiguousarray(problem.cost[kept]),
        declared=declared,
        bias=np.ascontiguousarray(problem.bias[kept]),
        inv_sqrt_cost=np.ascontiguousarray(problem.inv_sqrt_cost[kept]),
    )


def with_costs(problem: Arrays, cost: Floats) -> Arrays:
    """What kernels see if pulls cost something else than was declared.

    The order of fidelities stays as it is: policies count their steps by it, and so does what they remember.
    """
    return problem._replace(cost=cost, inv_sqrt_cost=1.0 / np.sqrt(cost))
