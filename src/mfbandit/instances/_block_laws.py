"""Reward laws on blocks: what the arms of a simulated instance share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mfbandit._checks import FloatArray, Numbers, as_numbers, as_positive, frozen
from mfbandit.errors import InstanceError

__all__ = ["BlockEffectLaw", "BlockTableLaw"]


@dataclass(frozen=True, init=False, repr=False, eq=False)
class BlockTableLaw:
    """Recorded rewards of every arm at every fidelity on every block.

    With a finite number of blocks, these are all there are, and every run goes through them in a random order; with
    ``blocks="unlimited"`` a block is one of them, drawn with replacement.

    Parameters
    ----------
    values
        ``values[k][m][i]`` is the reward of arm k at fidelity m on block i.

    Examples
    --------
    >>> law = BlockTableLaw([[[0, 1, 1, 1]], [[0, 0, 0, 1]]])
    >>> law
    <BlockTableLaw: 2 arms, 1 fidelity, 4 blocks>
    >>> law.means
    array([[0.75],
           [0.25]])
    """

    values: FloatArray

    def __init__(self, values: Numbers) -> None:
        what = "the values of a table with blocks"
        table = as_numbers(values, what, InstanceError)
        if table.ndim != 3 or not table.size:
            raise InstanceError(f"{what} have shape {table.shape}; they must be arms x fidelities x blocks, each >= 1")
        for k, m, i in np.argwhere(~np.isfinite(table)):
            raise InstanceError(
                f"the table holds {table[k, m, i]} for arm {k}, fidelity {m}, block {i}; rewards must be finite"
            )
        object.__setattr__(self, "values", frozen(np.ascontiguousarray(table + 0.0)))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of arms and of fidelities."""
        return self.values.shape[0], self.values.shape[1]

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return int(self.values.shape[2])

    @cached_property
    def means(self) -> FloatArray:
        """Average over the blocks, arms by fidelities, read-only."""
        # A sum without rounding: arms that have equal rewards in another order must tie exactly.
        rows = [[math.fsum(cell) / self.blocks for cell in row] for row in self.values]
        return frozen(np.clip(rows, self.values.min(axis=2), self.values.max(axis=2)))

    def to_json(self) -> dict[str, Any]:
        """Return what :func:`law_from_json` reads back."""
        return {"law": "block_table", "values": self.values.tolist()}

    def __eq__(self, other: object) -> bool:
        """Compare by content."""
        if not isinstance(other, BlockTableLaw):
            return NotImplemented
        return self.values.shape == other.values.shape and self.values.tobytes() == other.values.tobytes()

    def __hash__(self) -> int:
        """Hash the content."""
        return hash((self.values.shape, self.values.tobytes()))

    def __repr__(self) -> str:
        """Show the size in one line."""
        arms, fidelities = (f"{n} {one if n == 1 else many}" for n, one, many in zip(self.shape, *_WORDS, strict=True))
        return f"<BlockTableLaw: {arms}, {fidelities}, {self.blocks} block{'s'[: self.blocks != 1]}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy through the constructor, which makes the array read-only again."""
        return type(self), (self.values,)


_WORDS = (("arm", "fidelity"), ("arms", "fidelities"))


@dataclass(frozen=True, init=False)
class BlockEffectLaw:
    """Rewards with an effect of the block that all arms share, for unlimited blocks.

    Behind a reward stands a standard normal number, the root of rho times the block's effect plus what is the arm's
    own. Gaussian rewards are the mean plus sigma times that number; rewards with a range are at its two ends, the
    upper one where that number is large, as often as the mean asks for.

    Parameters
    ----------
    rho
        Share of the variance that is the block's, from -1 to 1: the correlation of the normal numbers of two arms. If
        it is below 0, every second arm takes the effect with the opposite sign, so that neighbours are right on
        opposite blocks.
    sigma
        Standard deviation of Gaussian rewards, above 0; none for rewards with a range.

    Examples
    --------
    >>> BlockEffectLaw(0.5)
    BlockEffectLaw(rho=0.5, sigma=None)
    """

    rho: float
    sigma: float | None

    def __init__(self, rho: float, sigma: float | None = None) -> None:
        share = as_numbers(rho, "rho of the block effect law", InstanceError)
        if share.ndim or not -1.0 <= float(share) <= 1.0:
            raise InstanceError(f"rho of the block effect law is {rho}; it must be one number from -1 to 1")
        noise = None if sigma is None else as_positive(sigma, "sigma of the block effect law", InstanceError)
        object.__setattr__(self, "rho", float(share))
        object.__setattr__(self, "sigma", noise)

    def loads(self, arms: int) -> FloatArray:
        """What the block's effect counts for in each arm."""
        signs = np.where(np.arange(arms) % 2 == 0, 1.0, 1.0 if self.rho >= 0.0 else -1.0)
        return np.asarray(signs * math.sqrt(abs(self.rho)))

    def to_json(self) -> dict[str, Any]:
        """Return what :func:`law_from_json` reads back."""
        return {"law": "block_effect", "rho": self.rho, "sigma": self.sigma}
