"""The finite linear program of the limit: levels in, spending and a proven lower bound out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfbandit._checks import FloatArray
from mfbandit.errors import MfbanditError
from mfbandit.theory.characteristic._pairs import Ints, Pairs, Spending

__all__ = ["Cuts", "solve"]

#: Largest entry of a row; the solver refuses very large ones.
_LARGEST = 1e6
#: From so many rows on, a program is very large.
_VERY_LARGE = 60_000


@dataclass(frozen=True)
class Cuts:
    """Rows of the program: which pair, at which level, and the evidence per cost there."""

    owners: Ints
    levels: FloatArray
    best: FloatArray
    rival: FloatArray

    @classmethod
    def at(cls, pairs: Pairs, owners: Ints, levels: FloatArray) -> Cuts:
        """Make the rows of some pairs at some levels."""
        rows = pairs.rows(owners, levels)
        return cls(owners, levels, rows.best, rows.rival)

    def joined(self, other: Cuts) -> Cuts:
        """Return the rows of both."""
        return Cuts(
            np.concatenate([self.owners, other.owners]),
            np.concatenate([self.levels, other.levels]),
            np.concatenate([self.best, other.best]),
            np.concatenate([self.rival, other.rival]),
        )

    def around(self, duals: FloatArray, pairs: Pairs, distance: float) -> tuple[Ints, FloatArray]:
        """Levels at and around the means of neighbouring active ones of a pair.

        Where the exact dual has one level, the finite one splits its mass over two neighbours so
        that their mean is right to second order. Rows at this level and at a small distance on both
        sides hold the least evidence there, and the exchange converges much faster.

        Parameters
        ----------
        duals : array (n,)
            Dual values of the rows.
        pairs : Pairs
            The pairs that the rows belong to.
        distance : float
            Distance as a share of the pair's range.

        Returns
        -------
        owners, levels : arrays
            Where to make rows.
        """
        active = np.flatnonzero(duals > 1e-9 * duals.max(initial=0.0))
        active = active[np.lexsort((self.levels[active], self.owners[active]))]
        same = self.owners[active[:-1]] == self.owners[active[1:]]
        alone = ~(np.append(same, False) | np.insert(same, 0, False))
        first = np.concatenate([active[:-1][same], active[alone]])
        second = np.concatenate([active[1:][same], active[alone]])
        share = duals[first] / (duals[first] + duals[second])
        levels = share * self.levels[first] + (1.0 - share) * self.levels[second]
        owners = self.owners[first]
        offsets = distance * pairs.widths[owners] * np.array([[-1.0], [0.0], [1.0]])
        nearby = np.clip(
            levels + offsets,
            0.5 * (pairs.low[owners] + levels),
            0.5 * (levels + pairs.high[owners]),
        )
        return np.tile(owners, 3), nearby.ravel()


def solve(pairs: Pairs, cuts: Cuts, guess: Spending) -> tuple[Spending, FloatArray, float]:
    """Find the cheapest spending that yields evidence 1 in every row.

    Parameters
    ----------
    pairs : Pairs
        The pairs that the rows belong to.
    cuts : Cuts
        The rows.
    guess : Spending
        About what the solution will be, for scaling; nothing if it is not known.

    Returns
    -------
    spending : Spending
        The solution.
    duals : array (n,)
        Dual value of every row.
    bound : float
        Proven lower bound of the optimum: the dual solution scaled to be feasible exactly.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix

    count, fidelities = cuts.best.shape
    # One variable per (arm, fidelity), in units of about what its arm needs, and rows of modest
    # size: the tolerances of the solver are absolute.
    scale = _scales(pairs, guess)
    entries = np.concatenate([cuts.best * scale[0], cuts.rival * scale[1 + cuts.owners, None]], axis=1)
    size = np.maximum(entries.max(axis=1) / _LARGEST, 1.0)
    column = np.arange(fidelities)
    indices = np.concatenate([np.tile(column, (count, 1)), (1 + cuts.owners[:, None]) * fidelities + column], axis=1)
    matrix = csr_matrix(
        ((-entries / size[:, None]).ravel(), indices.ravel(), np.arange(count + 1) * 2 * fidelities),
        shape=(count, len(scale) * fidelities),
    )
    unit = float(scale.sum())
    answer = linprog(
        np.repeat(scale / unit, fidelities),
        A_ub=matrix,
        b_ub=-1.0 / size,
        # The simplex method is faster on small programs, an interior point on very large ones.
        method="highs" if count < _VERY_LARGE else "highs-ipm",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if answer.x is None:
        raise MfbanditError(f"the linear program of the limit was not solved: {answer.message}")
    spent = np.maximum(answer.x, 0.0).reshape(-1, fidelities) * scale[:, None]
    duals = np.maximum(-answer.ineqlin.marginals, 0.0) * unit / size
    return Spending(spent[0], spent[1:]), duals, _proven(cuts, duals, len(scale) - 1)


def _scales(pairs: Pairs, guess: Spending) -> FloatArray:
    """About what the best arm and every rival need: 1 / evidence per cost halfway between them."""
    middle = pairs.rows(np.arange(len(pairs.rivals)), 0.5 * (pairs.low + pairs.high))
    best = 1.0 / middle.best.max(axis=1).min()
    # A best arm that is cheap to measure is measured far more, to spare its rivals.
    return np.concatenate([[max(best, guess.best.sum())], 1.0 / middle.rival.max(axis=1)])


def _proven(cuts: Cuts, duals: FloatArray, rivals: int) -> float:
    """Value of the dual solution after it is made feasible: no (arm, fidelity) may earn over 1."""
    earned = np.zeros((rivals, cuts.rival.shape[1]))
    np.add.at(earned, cuts.owners, duals[:, None] * cuts.rival)
    # Rival by rival first: an easy rival's dual values are below the solver's tolerance.
    feasible = duals / np.maximum(earned.max(axis=1), 1.0)[cuts.owners]
    most = max(1.0, float((feasible @ cuts.best).max()))
    return float(feasible.sum()) / most
