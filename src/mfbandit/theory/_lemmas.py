"""How often LUCB pulls each arm at each fidelity: step 3 of the proof, Lemma C.2 and Lemma C.3."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from mfbandit._checks import FloatArray
from mfbandit.errors import InvalidInput
from mfbandit.instances import Instance
from mfbandit.theory._identification import gaps, optimal_fidelity
from mfbandit.theory._scale import by_name, check_delta, paper_unit

__all__ = ["commitment_ratio", "pulls_at_optimum", "pulls_elsewhere", "pulls_of_sweeps"]


@by_name
def pulls_at_optimum(
    instance: Instance,
    delta: float,
    pulls: float,
    top: float | None = None,
    second: float | None = None,
    L: float | None = None,
) -> FloatArray:
    """Bound an arm's pulls at the fidelity that the prior leads to (step 3 of Theorem 3.4's proof).

    ``64 / gap^2 log(L t / delta)`` with the true gap there; t is the number of pulls of the run.
    It holds with high probability.

    Parameters
    ----------
    instance : Instance
        The instance. Gaps are in units of the reward range, or of sqrt(2) sigma if Gaussian.
    delta : float
        Probability of error.
    pulls : float
        Pulls of the whole run.
    top, second : float, optional
        Prior knowledge; the true means by default.
    L : float, optional
        The L of the confidence radius, 4KM by default.

    Returns
    -------
    array (K,)
        Infinite where the true gap is not positive.

    Examples
    --------
    >>> from mfbandit.instances import load_instance
    >>> pulls_at_optimum(load_instance("figure-1a"), 0.05, 50_000).round(-3)
    array([115000., 115000.,  29000.,  13000.,   7000.])
    """
    delta = check_delta(delta)
    if not pulls >= 1.0:
        raise InvalidInput(f"pulls is {pulls}; a run has at least one pull")
    factor = float(L) if L is not None else 4.0 * instance.means.size
    gap = _reached(instance, gaps(instance), top, second) / paper_unit(instance)
    evidence = math.log(factor) + math.log(pulls) - math.log(delta)
    return np.where(gap > 0.0, 64.0 * evidence / np.where(gap > 0.0, gap, 1.0) ** 2, math.inf)


@by_name
def pulls_elsewhere(
    instance: Instance, arm_pulls: ArrayLike, top: float | None = None, second: float | None = None
) -> FloatArray:
    """Bound Explore-A's pulls at all other fidelities (Lemma C.2).

    ``8 / lambda_m (efficiency at m~ - efficiency at m)^-2 log N_k``. The lemma is printed with the
    exact two best means; here efficiencies are those that ``top`` and ``second`` make, which f-UCB
    sees. It holds with high probability, once an arm has pulls enough.

    Parameters
    ----------
    instance, top, second
        As for :func:`pulls_at_optimum`.
    arm_pulls : array (..., K)
        Pulls of every arm; leading axes are runs.

    Returns
    -------
    array (..., K, M)
        Infinite at the fidelity that the prior leads to.

    Examples
    --------
    >>> from mfbandit.instances import load_instance
    >>> pulls_elsewhere(load_instance("loose-prior"), [1000, 1000, 1000]).round()
    array([[20157.,    inf],
           [   inf,  1217.],
           [   inf,   103.]])
    """
    costs = instance.problem.costs
    efficiency = gaps(instance, top, second) / paper_unit(instance) / np.sqrt(costs)
    reached = optimal_fidelity(instance, top, second)
    behind = efficiency[np.arange(len(costs)), reached][:, None] - efficiency
    counts = np.maximum(np.asarray(arm_pulls, dtype=np.float64), 1.0)
    with np.errstate(divide="ignore"):
        price = 8.0 / costs * np.abs(behind) ** -2.0
    # A fidelity that is as efficient as the chosen one may be pulled any number of times.
    with np.errstate(invalid="ignore"):
        bound = price * np.log(counts)[..., None]
    return np.where(np.isfinite(price), bound, math.inf)


@by_name
def commitment_ratio(
    instance: Instance, committed: ArrayLike, top: float | None = None, second: float | None = None
) -> FloatArray:
    """How much less efficient the fidelity is that Explore-B commits to; Lemma C.3 says at most 2.

    Parameters
    ----------
    instance, top, second
        As for :func:`pulls_at_optimum`. Efficiencies are those that ``top`` and ``second`` make.
    committed : array (..., K) of int
        The fidelity of every arm.

    Returns
    -------
    array (..., K)
        1 at the most efficient fidelity; infinite where the efficiency is not positive.

    Examples
    --------
    >>> from mfbandit.instances import load_instance
    >>> commitment_ratio(load_instance("figure-1a"), [2, 1, 1, 2, 2], 0.95, 0.75).round(2)
    array([1.  , 5.74, 1.2 , 1.  , 1.  ])
    """
    efficiency = gaps(instance, top, second) / np.sqrt(instance.problem.costs)
    chosen = np.asarray(committed, dtype=np.intp)
    mine = efficiency[np.arange(len(efficiency)), chosen]
    return np.where(mine > 0.0, efficiency.max(axis=1) / np.where(mine > 0.0, mine, 1.0), math.inf)


@by_name
def pulls_of_sweeps(
    instance: Instance,
    delta: float,
    top: float | None = None,
    second: float | None = None,
    L: float | None = None,
) -> FloatArray:
    """Bound Explore-B's sweeps of every arm before it commits (proof after Lemma C.3).

    ``16 lambda / gap^2 log(L / delta) / lambda_1`` at the most efficient fidelity. The proof
    writes 2KM for the L of the commit test; the L of the test is used, 4KM by default. Gaps are
    those that ``top`` and ``second`` make, as in the test.

    Parameters
    ----------
    instance, delta, top, second, L
        As for :func:`pulls_at_optimum`.

    Returns
    -------
    array (K,)

    Examples
    --------
    >>> from mfbandit.instances import load_instance
    >>> pulls_of_sweeps(load_instance("figure-1a"), 0.05, 0.95, 0.75).round()
    array([6050., 6050., 2178., 1111.,  672.])
    """
    delta = check_delta(delta)
    costs = instance.problem.costs
    factor = float(L) if L is not None else 4.0 * instance.means.size
    efficiency = (gaps(instance, top, second) / paper_unit(instance) / np.sqrt(costs)).max(axis=1)
    bound = 16.0 * (math.log(factor) - math.log(delta)) / costs.min(axis=1)
    return np.where(efficiency > 0.0, bound / np.where(efficiency > 0.0, efficiency, 1.0) ** 2, math.inf)


def _reached(instance: Instance, values: FloatArray, top: float | None, second: float | None) -> FloatArray:
    """The values at the fidelity of every arm that the prior leads to."""
    return np.asarray(values[np.arange(len(values)), optimal_fidelity(instance, top, second)])
