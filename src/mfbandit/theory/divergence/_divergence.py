"""Divergences of the reward laws: how hard it is to mistake one mean for another.

``up`` is d+, the smallest divergence to a law of mean at least q (0 where the mean is already
there); ``down`` is d-, to a law of mean at most q. For Bernoulli and Gaussian rewards this is the
KL of the family; for Beta and table rewards it is KL_inf over all laws on the range, since an
algorithm that is told only the range must tell the law from every other one with a better mean.
Levels are in unit scale.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mfbandit.errors import InvalidInput
from mfbandit.instances import BernoulliLaw, BetaLaw, GaussianLaw, Instance, TableLaw
from mfbandit.theory._scale import by_name, in_units
from mfbandit.theory.divergence._kl_inf import Atoms, FloatArray, atoms_of_values, beta_atoms, kl_inf, log1p_minus

__all__ = [
    "Divergences",
    "bernoulli_divergence",
    "divergence_down",
    "divergence_up",
    "divergences",
    "gaussian_divergence",
]

Ints = NDArray[np.intp]
Pair = tuple[FloatArray, FloatArray]

#: Numbers in the largest temporary array of KL_inf.
_CHUNK = 2_000_000


def bernoulli_divergence(mean: ArrayLike, level: ArrayLike) -> FloatArray:
    """KL between Bernoulli laws, kl(p, q) = p log(p/q) + (1-p) log((1-p)/(1-q)).

    Written so that no digits are lost when the two are close: with u = (p-q)/q it is a sum of two
    nonnegative terms.

    Examples
    --------
    >>> round(float(bernoulli_divergence(0.5, 0.8)), 6)
    0.223144
    >>> float(bernoulli_divergence(0.5, 1.0)), float(bernoulli_divergence(1.0, 1.0))
    (inf, 0.0)
    """
    p, q = np.broadcast_arrays(np.asarray(mean, float), np.asarray(level, float))
    return _half_kl(p, q) + _half_kl(1.0 - p, 1.0 - q)


def _half_kl(p: FloatArray, q: FloatArray) -> FloatArray:
    """Return p log(p/q) - (p - q)."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        u = (p - q) / q
        # (1+u) log(1+u) - u = (1+u) (log(1+u) - u) + u^2
        part = np.where(np.abs(u) < 0.05, _close(u), p / q * np.log(p / q) - u) * q
    part = np.where(p > 0.0, part, q)
    return np.where(q > 0.0, part, np.where(p > 0.0, np.inf, 0.0))


def _close(u: FloatArray) -> FloatArray:
    return (1.0 + u) * log1p_minus(u) + u * u


def gaussian_divergence(mean: ArrayLike, level: ArrayLike, sigma: float) -> FloatArray:
    """KL between normal laws of one standard deviation, (p - q)^2 / (2 sigma^2).

    Examples
    --------
    >>> round(float(gaussian_divergence(0.5, 0.7, sigma=0.1)), 12)
    2.0
    """
    distance = (np.asarray(mean, float) - np.asarray(level, float)) / sigma
    return np.asarray(0.5 * distance * distance)


class Divergences(Protocol):
    """d+ and d- of the cells of an instance, with their slopes in the level, in unit scale."""

    def up(self, arms: Ints, levels: FloatArray) -> Pair:
        """Value and slope of d+ at levels (n, M) for the rows ``arms`` (n,)."""

    def down(self, arms: Ints, levels: FloatArray) -> Pair:
        """Value and slope of d- at levels (n, M) for the rows ``arms`` (n,)."""


class _BernoulliCells:
    def __init__(self, means: FloatArray) -> None:
        self.means = means

    def up(self, arms: Ints, levels: FloatArray) -> Pair:
        return self._where(self.means[arms], levels, levels > self.means[arms])

    def down(self, arms: Ints, levels: FloatArray) -> Pair:
        return self._where(self.means[arms], levels, levels < self.means[arms])

    def _where(self, means: FloatArray, levels: FloatArray, counts: NDArray[np.bool_]) -> Pair:
        # Where nothing counts the level may lie outside [0, 1].
        levels = np.where(counts, np.clip(levels, 0.0, 1.0), means)
        value = np.where(counts, bernoulli_divergence(means, levels), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.where(counts, (levels - means) / (levels * (1.0 - levels)), 0.0)
        return value, slope


class _GaussianCells:
    def __init__(self, means: FloatArray, sigma: float) -> None:
        self.means = means
        self.sigma = sigma

    def up(self, arms: Ints, levels: FloatArray) -> Pair:
        return self._of(np.maximum(levels - self.means[arms], 0.0))

    def down(self, arms: Ints, levels: FloatArray) -> Pair:
        return self._of(np.minimum(levels - self.means[arms], 0.0))

    def _of(self, distance: FloatArray) -> Pair:
        variance = self.sigma * self.sigma
        return 0.5 * distance * distance / variance, distance / variance


class _AtomCells:
    """Laws given by atoms, padded to a common number."""

    def __init__(self, means: FloatArray, cells: list[list[Atoms]]) -> None:
        self.means = means
        longest = max(cell.weights.size for row in cells for cell in row)
        shape = (*means.shape, longest)
        # Padding has weight 0; its values only must not be the ends of the range.
        self.above, self.below = np.full(shape, 0.5), np.full(shape, 0.5)
        self.weights = np.zeros(shape)
        for k, row in enumerate(cells):
            for m, cell in enumerate(row):
                size = cell.weights.size
                self.above[k, m, :size] = cell.above
                self.below[k, m, :size] = cell.below
                self.weights[k, m, :size] = cell.weights

    def up(self, arms: Ints, levels: FloatArray) -> Pair:
        return self._chunks(arms, levels - self.means[arms], 1.0 - levels, self.below)

    def down(self, arms: Ints, levels: FloatArray) -> Pair:
        value, slope = self._chunks(arms, self.means[arms] - levels, levels, self.above)
        return value, -slope

    def _chunks(self, arms: Ints, excess: FloatArray, room: FloatArray, ends: FloatArray) -> Pair:
        value, slope = np.empty(excess.shape), np.empty(excess.shape)
        size = max(1, _CHUNK // max(1, ends[0].size))
        for start in range(0, len(arms), size):
            part = slice(start, start + size)
            rows = arms[part]
            value[part], slope[part] = kl_inf(ends[rows], self.weights[rows], excess[part], np.maximum(room[part], 0.0))
        return value, slope


def divergences(instance: Instance) -> Divergences:
    """Return d+ and d- of every cell of an instance, by its reward law."""
    units = in_units(instance)
    law = instance.law
    if isinstance(law, GaussianLaw):
        return _GaussianCells(units.means, law.sigma)
    if isinstance(law, BernoulliLaw):
        return _BernoulliCells(units.means)
    if isinstance(law, BetaLaw):
        rules = [[beta_atoms(float(mean), law.concentration) for mean in row] for row in units.means]
        return _AtomCells(units.means, rules)
    if isinstance(law, TableLaw):
        reward = instance.problem.reward
        table = [[atoms_of_values(reward.to_unit(np.asarray(cell, float))) for cell in row] for row in law.cells]
        means = np.array([[(cell.above * cell.weights).sum() for cell in row] for row in table])
        return _AtomCells(means, table)
    raise InvalidInput(f"{law!r} is not a known reward law; there is no divergence for it")


@by_name
def divergence_up(instance: Instance, level: ArrayLike) -> FloatArray:
    """d+ of every cell: the smallest divergence that lifts its mean to a level.

    Parameters
    ----------
    instance : Instance
        The instance.
    level : array-like
        Level in reward units, a number or one per (arm, fidelity).

    Returns
    -------
    array (K, M)
        0 where the mean is at or above the level.

    Examples
    --------
    >>> from mfbandit.instances import load_instance
    >>> divergence_up(load_instance("figure-1a"), 0.9)[:2].round(4)
    array([[0.1537, 0.0444, 0.    ],
           [0.0923, 0.0666, 0.0444]])
    """
    return divergences(instance).up(*_every_cell(instance, level))[0]


@by_name
def divergence_down(instance: Instance, level: ArrayLike) -> FloatArray:
    """d- of every cell: the smallest divergence that lowers its mean to a level.

    Parameters and result are those of :func:`divergence_up`; 0 where the mean is at or below the
    level.

    Examples
    --------
    >>> from mfbandit.instances import load_instance
    >>> divergence_down(load_instance("figure-1a"), 0.75)[:2].round(4)
    array([[0.    , 0.007 , 0.0725],
           [0.    , 0.0017, 0.007 ]])
    """
    return divergences(instance).down(*_every_cell(instance, level))[0]


def _every_cell(instance: Instance, level: ArrayLike) -> tuple[Ints, FloatArray]:
    levels = np.asarray(instance.problem.reward.to_unit(np.asarray(level, dtype=np.float64)))
    return np.arange(len(instance.means)), np.broadcast_to(levels, instance.means.shape)
