"""Reward laws: how the rewards of a simulated instance are distributed around their means."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from mfbandit._checks import FloatArray, Numbers, as_list, as_numbers, as_positive, check_keys, frozen
from mfbandit.errors import InstanceError
from mfbandit.instances._block_laws import BlockEffectLaw, BlockTableLaw

__all__ = ["BernoulliLaw", "BetaLaw", "GaussianLaw", "RewardLaw", "TableLaw", "law_from_json"]


@dataclass(frozen=True)
class BernoulliLaw:
    """Rewards at the two ends of their range, the upper one as often as the mean asks for.

    Examples
    --------
    >>> BernoulliLaw().to_json()
    {'law': 'bernoulli'}
    """

    def to_json(self) -> dict[str, Any]:
        """Return what :func:`law_from_json` reads back."""
        return {"law": "bernoulli"}


@dataclass(frozen=True, init=False)
class GaussianLaw:
    """Normal rewards around their means.

    Parameters
    ----------
    sigma
        Standard deviation, above 0.

    Examples
    --------
    >>> GaussianLaw(0.1)
    GaussianLaw(sigma=0.1)
    """

    sigma: float

    def __init__(self, sigma: float) -> None:
        value = as_positive(sigma, "sigma of the Gaussian law", InstanceError)
        object.__setattr__(self, "sigma", value)

    def to_json(self) -> dict[str, Any]:
        """Return what :func:`law_from_json` reads back."""
        return {"law": "gaussian", "sigma": self.sigma}


@dataclass(frozen=True, init=False)
class BetaLaw:
    """Beta rewards, stretched over the reward range, around their means.

    In unit scale a reward of mean u is Beta(u c, (1 - u) c) with c the concentration; a mean at an
    end of the range is a constant.

    Parameters
    ----------
    concentration
        Sum of the two Beta parameters, above 0; larger means less noise.

    Examples
    --------
    >>> BetaLaw(50)
    BetaLaw(concentration=50.0)
    """

    concentration: float

    def __init__(self, concentration: float) -> None:
        value = as_positive(concentration, "concentration of the Beta law", InstanceError)
        object.__setattr__(self, "concentration", value)

    def to_json(self) -> dict[str, Any]:
        """Return what :func:`law_from_json` reads back."""
        return {"law": "beta", "concentration": self.concentration}


@dataclass(frozen=True, init=False, repr=False, eq=False)
class TableLaw:
    """Rewards drawn with replacement from the rows of a data table.

    Parameters
    ----------
    cells
        ``cells[k][m]`` holds the recorded rewards of arm k at fidelity m, at least one; cells may
        hold different numbers of them.

    Examples
    --------
    >>> law = TableLaw([[[0, 1, 1, 1], [1, 1]], [[0, 0], [0, 1]]])
    >>> law
    <TableLaw: 2 arms, 2 fidelities, 10 rewards>
    >>> law.means
    array([[0.75, 1.  ],
           [0.  , 0.5 ]])
    """

    cells: tuple[tuple[FloatArray, ...], ...]

    def __init__(self, cells: Iterable[Iterable[Numbers]]) -> None:
        listed = as_list(cells, "a table must be a list of rows of cells", InstanceError)
        rows = tuple(_row(row, k) for k, row in enumerate(listed))
        if not rows or not rows[0]:
            raise InstanceError("the table has no cells; it needs one for each arm and fidelity")
        for k, row in enumerate(rows):
            if len(row) != len(rows[0]):
                raise InstanceError(f"the table is ragged: row {k} has {len(row)} cells, row 0 has {len(rows[0])}")
        object.__setattr__(self, "cells", rows)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of arms and of fidelities."""
        return len(self.cells), len(self.cells[0])

    @cached_property
    def means(self) -> FloatArray:
        """Average of every cell, arms by fidelities, read-only."""
        return frozen(np.array([[_average(cell) for cell in row] for row in self.cells]))

    def to_json(self) -> dict[str, Any]:
        """Return what :func:`law_from_json` reads back."""
        return {"law": "table", "cells": [[cell.tolist() for cell in row] for row in self.cells]}

    @property
    def _content(self) -> tuple[object, ...]:
        return tuple(tuple(cell.tobytes() for cell in row) for row in self.cells)

    def __eq__(self, other: object) -> bool:
        """Compare by content."""
        if not isinstance(other, TableLaw):
            return NotImplemented
        return self._content == other._content

    def __hash__(self) -> int:
        """Hash the content."""
        return hash(self._content)

    def __repr__(self) -> str:
        """Show the size in one line."""
        count = sum(len(cell) for row in self.cells for cell in row)
        return f"<TableLaw: {self.shape[0]} arms, {self.shape[1]} fidelities, {count} rewards>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy through the constructor, which makes the arrays read-only again."""
        return type(self), (self.cells,)


RewardLaw: TypeAlias = BernoulliLaw | GaussianLaw | BetaLaw | TableLaw | BlockTableLaw | BlockEffectLaw

_LAWS: dict[str, tuple[type[RewardLaw], tuple[str, ...]]] = {
    "bernoulli": (BernoulliLaw, ()),
    "gaussian": (GaussianLaw, ("sigma",)),
    "beta": (BetaLaw, ("concentration",)),
    "table": (TableLaw, ("cells",)),
    "block_table": (BlockTableLaw, ("values",)),
    "block_effect": (BlockEffectLaw, ("rho", "sigma")),
}


def law_from_json(data: Mapping[str, Any]) -> RewardLaw:
    """Read back what the ``to_json`` of a law wrote.

    Parameters
    ----------
    data
        The key ``law`` and the numbers of that law.

    Returns
    -------
    BernoulliLaw, GaussianLaw, BetaLaw, TableLaw, BlockTableLaw or BlockEffectLaw

    Examples
    --------
    >>> law_from_json({"law": "beta", "concentration": 50})
    BetaLaw(concentration=50.0)
    """
    name = data.get("law") if isinstance(data, Mapping) else None
    if not isinstance(name, str) or name not in _LAWS:
        raise InstanceError(
            f"the reward law {reprlib.repr(data)} is unknown: its key 'law' must be one of {', '.join(_LAWS)}"
        )
    law, parameters = _LAWS[name]
    keys = check_keys(data, ("law", *parameters), (), f"the {name} law", InstanceError)
    return law(**{parameter: keys[parameter] for parameter in parameters})


def _row(cells: object, k: int) -> tuple[FloatArray, ...]:
    listed = as_list(cells, f"row {k} of the table must be a list of cells", InstanceError)
    return tuple(_cell(cell, k, m) for m, cell in enumerate(listed))


def _cell(values: object, k: int, m: int) -> FloatArray:
    what = f"the table cell of arm {k}, fidelity {m}"
    rewards = as_numbers(values, what, InstanceError)
    if rewards.ndim != 1:
        raise InstanceError(f"{what} has {rewards.ndim} dimensions; it must be a list of rewards")
    if not rewards.size:
        raise InstanceError(f"{what} is empty; it must hold at least one reward")
    for row in np.flatnonzero(~np.isfinite(rewards)):
        raise InstanceError(f"{what} holds {rewards[row]} in row {row}; rewards must be finite")
    return frozen(rewards)


def _average(rewards: FloatArray) -> float:
    """Return the mean, which rounding must not push out of the range of the rewards."""
    return float(np.clip(rewards.mean(), rewards.min(), rewards.max()))
