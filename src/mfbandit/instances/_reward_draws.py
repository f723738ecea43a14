"""Rewards drawn from the laws of instances: the n-th reward of a stream is a function of where it stands.

The n-th pull of arm k at fidelity m in trial i under seed s is a pure function of (s, i, k, m, n), so
plain Python, compiled threads and a GPU see the same luck, two algorithms compared on one seed share
it, and trials can be computed in any order on any number of machines.

Numbers come from the SplitMix64 finaliser, applied once to name the stream and once to name the pull.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mfbandit.core import kernel, normal, uniform
from mfbandit.instances._laws import BernoulliLaw, BetaLaw, GaussianLaw, TableLaw

if TYPE_CHECKING:
    from mfbandit.instances._instance import Instance

__all__ = ["Law", "draw_any", "draw_of", "law_arrays"]


Floats = npt.NDArray[np.float64]


Ints = npt.NDArray[np.int64]

#: Kinds of laws, as kernels know them.
_BERNOULLI, _GAUSSIAN, _BETA, _TABLE = range(4)
_KINDS: dict[type, int] = {BernoulliLaw: _BERNOULLI, GaussianLaw: _GAUSSIAN, BetaLaw: _BETA, TableLaw: _TABLE}


class Law(NamedTuple):
    """The reward law of an instance as a kernel sees it, in unit scale."""

    means: Floats
    scale: float
    """Gaussian: sigma; Beta: concentration."""
    values: Floats
    """Table: the rewards of all cells, one after the other."""
    starts: Ints
    counts: Ints
    streams: int
    """Fidelities of the user's problem, which number the reward streams."""
    kind: int
    """Which law it is, for `draw_any`."""


def law_arrays(instance: Instance) -> Law:
    """Turn the reward law of an instance into arrays, in unit scale."""
    law, reward = instance.law, instance.problem.reward
    # A copy, which can be written: the same arrays of an instance cannot, and would be compiled for once more.
    means = np.array(reward.to_unit(instance.means), dtype=np.float64, order="C")
    scale = 0.0
    values, counts = np.zeros(1), np.zeros(means.shape, dtype=np.int64)
    if isinstance(law, GaussianLaw):
        scale = float(law.sigma)
    elif isinstance(law, BetaLaw):
        scale = float(law.concentration)
    elif isinstance(law, TableLaw):
        cells = [np.asarray(cell, dtype=np.float64) for row in law.cells for cell in row]
        counts = np.array([len(cell) for cell in cells], dtype=np.int64).reshape(means.shape)
        values = np.asarray(reward.to_unit(np.concatenate(cells)), dtype=np.float64)
    starts = (np.cumsum(counts.ravel()) - counts.ravel()).reshape(means.shape)
    return Law(means, scale, values, starts, counts, means.shape[1], _KINDS[type(law)])


@kernel
def gamma(shape: float, key: int, stream: int, n: int, part: int) -> float:
    """The logarithm of a gamma variate (Marsaglia and Tsang 2000), without underflow for small shapes."""
    boost = 0.0
    if shape < 1.0:
        boost = math.log(uniform(key, stream, n, part)) / shape
        shape = shape + 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    step = part + 1
    while True:
        x = normal(uniform(key, stream, n, step))
        u = uniform(key, stream, n, step + 1)
        step += 2
        root = 1.0 + c * x
        if root > 0.0:
            v = root * root * root
            if math.log(u) < 0.5 * x * x + d * (1.0 - v + math.log(v)):
                return math.log(d * v) + boost


@kernel
def beta(mean: float, concentration: float, key: int, stream: int, n: int) -> float:
    """A Beta variate of given mean and concentration, as a quotient of gamma variates."""
    if mean <= 0.0:
        return 0.0
    if mean >= 1.0:
        return 1.0
    first = gamma(concentration * mean, key, stream, n, 0)
    second = gamma(concentration * (1.0 - mean), key, stream, n, 1_000_000)
    return 1.0 / (1.0 + math.exp(min(700.0, second - first)))


@kernel
def draw_bernoulli(law: Law, key: int, stream: int, arm: int, fidelity: int, n: int) -> float:
    """1 with the probability of the mean, else 0."""
    return 1.0 if uniform(key, stream, n, 0) < law.means[arm, fidelity] else 0.0


@kernel
def draw_gaussian(law: Law, key: int, stream: int, arm: int, fidelity: int, n: int) -> float:
    """A normal reward."""
    return float(law.means[arm, fidelity] + law.scale * normal(uniform(key, stream, n, 0)))


@kernel
def draw_beta(law: Law, key: int, stream: int, arm: int, fidelity: int, n: int) -> float:
    """A Beta reward."""
    return beta(law.means[arm, fidelity], law.scale, key, stream, n)


@kernel
def draw_table(law: Law, key: int, stream: int, arm: int, fidelity: int, n: int) -> float:
    """A row of the cell's table, drawn with replacement."""
    row = int(uniform(key, stream, n, 0) * law.counts[arm, fidelity])
    return float(law.values[law.starts[arm, fidelity] + row])


@kernel
def draw_any(law: Law, key: int, stream: int, arm: int, fidelity: int, n: int) -> float:
    """A reward of whichever law: slower by a comparison, and the same machine code for all of them."""
    if law.kind == _BERNOULLI:
        return draw_bernoulli(law, key, stream, arm, fidelity, n)
    if law.kind == _GAUSSIAN:
        return draw_gaussian(law, key, stream, arm, fidelity, n)
    if law.kind == _BETA:
        return draw_beta(law, key, stream, arm, fidelity, n)
    return draw_table(law, key, stream, arm, fidelity, n)


def draw_of(instance: Instance) -> Callable[..., Any]:
    """The kernel that draws the n-th reward (counted from 0) of a stream, in unit scale."""
    draws: dict[type, Callable[..., Any]] = {
        BernoulliLaw: draw_bernoulli,
        GaussianLaw: draw_gaussian,
        BetaLaw: draw_beta,
        TableLaw: draw_table,
    }
    return draws[type(instance.law)]
