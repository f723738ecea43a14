"""Theorem 3.4 corrected: true gaps at the fidelities that the prior knowledge leads to.

The printed theorem measures hardness by the gaps that ``top`` and ``second`` make. A loose prior makes
them larger than they are, so the printed bound may lie below what every algorithm must pay. The proof
(its step 3) bounds pulls by the true gaps at the ancillary optimal fidelity. That is what is used here.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mfbandit.instances import Instance
from mfbandit.theory._conditions import Explore
from mfbandit.theory._identification import behind, gaps, lower_bound, optimal_fidelity, sum_of_inverse_squares
from mfbandit.theory._scale import by_name, paper_unit
from mfbandit.theory._upper import LUCBCase, bound_of, upper_bound
from mfbandit.theory.characteristic._characteristic import limit

__all__ = ["CorrectedHardness", "contradiction", "corrected_hardness", "corrected_upper_bound"]


class CorrectedHardness(NamedTuple):
    """Hardness with true gaps where the prior knowledge leads, in the units of the paper's analysis."""

    H: float
    """Sum over the arms of lambda / gap^2, the true gap at the ancillary optimal fidelity."""
    G: float
    """Cost of telling that fidelity from the others, by true gaps (Lemma C.2 as printed)."""
    G_ancillary: float
    """The same by the gaps that ``top`` and ``second`` make, which are those that f-UCB sees."""
    sweeps: float
    """H with every arm's term times its sweep over all fidelities, in cheapest pulls (Explore-B)."""


@by_name
def corrected_hardness(instance: Instance, top: float | None = None, second: float | None = None) -> CorrectedHardness:
    """H and G of Theorem 3.4 with the gaps that its proof uses.

    Where the true gaps put another fidelity before the one that the prior leads to, Lemma C.2 says
    nothing about that cell; G then takes the cell from `G_ancillary`.

    Parameters
    ----------
    instance : Instance
        The instance. Gaps are in units of the reward range, or of sqrt(2) sigma if Gaussian.
    top, second : float, optional
        Prior knowledge of the two best true means; the means themselves by default.

    Returns
    -------
    CorrectedHardness
        H is infinite when a true gap is not positive where the prior leads.

    Examples
    --------
    >>> from mfbandit.instances import load_instance
    >>> found = corrected_hardness(load_instance("figure-1a"), top=0.95, second=0.75)
    >>> [round(part) for part in found]
    [291, 1474, 1618, 960]
    """
    if len(instance.means) == 1:
        return CorrectedHardness(0.0, 0.0, 0.0, 0.0)
    unit, costs = paper_unit(instance), instance.problem.costs
    true = gaps(instance) / unit / np.sqrt(costs)
    ancillary = gaps(instance, top, second) / unit / np.sqrt(costs)
    reached = optimal_fidelity(instance, top, second)
    rows = np.arange(len(costs))
    lag, seen_lag = behind(true, reached), behind(ancillary, reached)
    by_index = sum_of_inverse_squares(seen_lag)
    by_truth = sum_of_inverse_squares(np.where(lag > 0.0, lag, seen_lag))
    efficiency = true[rows, reached]
    if (efficiency <= 0.0).any():
        return CorrectedHardness(math.inf, by_truth, by_index, math.inf)
    terms = 1.0 / efficiency**2
    sweeps = costs.sum(axis=1) / costs.min(axis=1)
    return CorrectedHardness(float(terms.sum()), by_truth, by_index, float((sweeps * terms).sum()))


@by_name
def corrected_upper_bound(
    instance: Instance,
    delta: float,
    explore: Explore = "a",
    top: float | None = None,
    second: float | None = None,
    L: float | None = None,
    constant: bool = False,
    by_index: bool = False,
) -> float:
    """Bound the expected cost of LUCB with Explore-A or -B: Theorem 3.4 with the proof's gaps.

    With exact prior knowledge it is the printed bound, :func:`~mfbandit.theory.upper_bound`.
    Theorem B.1 has no prior knowledge, so for Explore-C both are the same. For Explore-B it still takes
    that runs commit to fidelities with positive true gaps: see `commitments` of
    :func:`~mfbandit.theory.assumptions`.

    Parameters
    ----------
    instance, delta, explore, top, second, L, constant
        As for :func:`~mfbandit.theory.upper_bound`.
    by_index : bool
        For Explore-A: take G by the gaps that f-UCB sees (G~ as printed) rather than by the true
        ones that Lemma C.2 is printed with. The lemma's proof carries over to these.

    Returns
    -------
    float
        Infinite when the theorem does not apply.

    Examples
    --------
    >>> from mfbandit.instances import load_instance
    >>> instance = load_instance("figure-1a")
    >>> [round(corrected_upper_bound(instance, 0.05, explore, top=0.95, second=0.75)) for explore in "ab"]
    [8184, 13395]
    """

    def proven_hardness(case: LUCBCase) -> tuple[float, float]:
        found = corrected_hardness(case.instance, case.top, case.second)
        if case.explore == "b":
            return found.sweeps, 0.0
        return found.H, found.G_ancillary if by_index else found.G

    return bound_of(LUCBCase(instance, delta, explore, top, second, L), proven_hardness, constant)


@by_name
def contradiction(
    instance: Instance,
    delta: float,
    explore: Explore = "a",
    top: float | None = None,
    second: float | None = None,
    L: float | None = None,
) -> str | None:
    """Say so if the printed Theorem 3.4, with its proof's constant, lies below a lower bound.

    Parameters
    ----------
    instance, delta, explore, top, second, L
        As for :func:`~mfbandit.theory.upper_bound`.

    Returns
    -------
    str or None
        One sentence; None if there is no contradiction, or if no lower bound binds because the
        instance breaks its bias bounds.

    Examples
    --------
    >>> from mfbandit.instances import Instance, load_instance
    >>> from mfbandit.model import Problem
    >>> problem = Problem.from_arrays([1.0], [0.0], arms=2, reward="bernoulli")
    >>> contradiction(Instance(problem, [[0.501], [0.5]]), 0.05, "a", top=1.0, second=0.0)
    'Theorem 3.4 as printed gives at most 68,528 for Explore-A, but every algorithm pays 2,120,261 (Theorem 3.1)'
    >>> contradiction(load_instance("figure-1a"), 0.05, "a", top=0.95, second=0.75) is None
    True
    """
    if explore == "c" or instance.violations:
        return None
    printed = upper_bound(instance, delta, explore, top, second, L, constant=True)
    if not math.isfinite(printed):
        return None
    lowest = {"Theorem 3.1": lower_bound(instance, delta), "the limit": limit(instance, delta)}
    for name, least in lowest.items():
        if printed < least:
            return (
                f"Theorem 3.4 as printed gives at most {printed:,.0f} for Explore-{explore.upper()}, but every "
                f"algorithm pays {least:,.0f} ({name})"
            )
    return None
