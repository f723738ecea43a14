"""Cost of identifying the best arm: gaps, hardness, Theorem 3.1, Theorem 3.4 and Theorem B.1.

Arm 1 of the paper is the best arm, fidelity M the truest one, lambda^(1) the cheapest cost. Where
costs or biases differ between arms, every formula takes those of the arm it speaks of.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mfbandit._checks import FloatArray
from mfbandit.instances import Instance
from mfbandit.theory._scale import by_name, check_delta, in_units, refuse_blocks
from mfbandit.theory.divergence._divergence import divergences

__all__ = [
    "Hardness",
    "behind",
    "conservative_fidelity",
    "gaps",
    "hardness",
    "lower_bound",
    "lower_bound_coefficient",
    "lower_bound_costs",
    "optimal_fidelity",
    "separating_information",
    "sum_of_inverse_squares",
]


class Hardness(NamedTuple):
    """The paper's three measures of how hard an instance is, in unit scale."""

    H: float
    """Sum over the arms of lambda / gap^2 at the optimal fidelity (after eq. 3)."""
    H_tilde: float
    """The same with the gaps that ``top`` and ``second`` make (Theorem 3.4)."""
    G_tilde: float
    """Cost of telling the optimal fidelity of each arm from the others (Theorem 3.4)."""


@by_name
def gaps(instance: Instance, top: float | None = None, second: float | None = None) -> FloatArray:
    """Reward gaps of every arm and fidelity, in reward units (eq. reward-gap).

    A fidelity with a gap that is not positive cannot tell the arm from the best (or, for the best
    arm,
    from the second-best). With ``top`` and ``second`` these are the ancillary gaps of Section 3.2.

    Parameters
    ----------
    instance : Instance
        The instance.
    top, second : float, optional
        Prior knowledge of the two best true means; the means themselves by default.

    Returns
    -------
    array (K, M)
        ``mu_1 - (mu_km + zeta_m)``, and ``(mu_1m - zeta_m) - mu_2`` for the best arm.

    Examples
    --------
    >>> from mfbandit.instances import load_instance
    >>> gaps(load_instance("loose-prior")).round(2)
    array([[-0.03,  0.1 ],
           [ 0.07,  0.1 ],
           [ 0.22,  0.25]])
    """
    refuse_blocks(instance)
    biases = instance.problem.biases
    best = instance.best
    if top is None:
        top = float(instance.truth[best])
    if second is None:
        second = float(np.delete(instance.truth, best).max(initial=-math.inf))
    result = np.asarray(top - (instance.means + biases))
    result[best] = instance.means[best] - biases[best] - second
    return result


@by_name
def optimal_fidelity(instance: Instance, top: float | None = None, second: float | None = None) -> NDArray[np.intp]:
    """Most efficient fidelity per arm, the argmax of gap / sqrt(cost) (eq. efficient-fidelity).

    Parameters are those of :func:`gaps`; ties go to the smaller column.

    Examples
    --------
    >>> import warnings
    >>> from mfbandit.instances import load_instance
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     optimal_fidelity(load_instance("figure-1b")).tolist()
    [4, 4, 3, 3, 0]
    """
    ratios = gaps(instance, top, second) / np.sqrt(instance.problem.costs)
    return np.asarray(ratios.argmax(axis=1))


@by_name
def conservative_fidelity(instance: Instance) -> NDArray[np.intp]:
    """Fidelity at which Explore-C ends for every arm: the cheapest with gap > 2 bias (Theorem B.1).

    Fidelities are tried by mean cost, as Explore-C does. -1 where there is none.

    Examples
    --------
    >>> from mfbandit.instances import load_instance
    >>> conservative_fidelity(load_instance("loose-prior")).tolist()
    [1, 1, 0]
    """
    order = np.argsort(instance.problem.costs.mean(axis=0), kind="stable")
    enough = (gaps(instance) > 2.0 * instance.problem.biases)[:, order]
    return np.where(enough.any(axis=1), order[enough.argmax(axis=1)], -1)


@by_name
def hardness(instance: Instance, top: float | None = None, second: float | None = None) -> Hardness:
    """H, H~ and G~ of an instance (Section 3.1 and Theorem 3.4), as printed.

    H is infinite when an arm has no fidelity with a positive gap, G~ when two fidelities of an arm
    are equally efficient. For rewards on another range than [0, 1] they are those of the rewards
    scaled to it.

    Parameters
    ----------
    instance : Instance
        The instance.
    top, second : float, optional
        Prior knowledge of the two best true means, in reward units; the means themselves by
        default.

    Returns
    -------
    Hardness

    Examples
    --------
    >>> from mfbandit.instances import load_instance
    >>> round(hardness(load_instance("loose-prior")).H, 2)  # 20/.1^2 + 1/.07^2 + 1/.22^2
    2224.74
    """
    span = instance.problem.reward.span
    exact = gaps(instance) / span
    ancillary = gaps(instance, top, second) / span
    costs = instance.problem.costs
    return Hardness(_hardness(exact, costs), _hardness(ancillary, costs), _separation(ancillary, costs))


def _hardness(gap: FloatArray, costs: FloatArray) -> float:
    efficiency = (gap / np.sqrt(costs)).max(axis=1)
    if (efficiency <= 0.0).any():
        return math.inf
    return float((1.0 / efficiency**2).sum())


def _separation(gap: FloatArray, costs: FloatArray) -> float:
    efficiency = gap / np.sqrt(costs)
    if len(efficiency) == 1:
        return 0.0
    return sum_of_inverse_squares(behind(efficiency, efficiency.argmax(axis=1)))


def behind(efficiency: FloatArray, chosen: NDArray[np.intp]) -> FloatArray:
    """How much less efficient every fidelity of an arm is than the chosen one; infinite there."""
    rows = np.arange(len(efficiency))
    found = np.asarray(efficiency[rows, chosen][:, None] - efficiency)
    found[rows, chosen] = math.inf
    return found


def sum_of_inverse_squares(values: FloatArray) -> float:
    """Sum of 1 / x^2; infinite if there is a 0."""
    with np.errstate(divide="ignore"):
        return float((values**-2.0).sum())


@by_name
def lower_bound_costs(instance: Instance) -> FloatArray:
    """Terms of Theorem 3.1's sum: the least cost of evidence 1 on every arm by itself.

    For the best arm the minimum over its fidelities with a positive gap of ``lambda_m / KL(nu_1m,
    mu_2 + zeta_m)``, for the others of ``lambda_m / KL(nu_km, mu_1 - zeta_m)``. KL is that of the
    reward law (``mfbandit.theory.divergence``). The proof's ``mu_2^(m) + zeta^(m)`` for the
    best arm is read as ``mu_2^(M) + zeta^(m)``, as in the theorem.

    Returns
    -------
    array (K,)
        Infinite where no fidelity has a positive gap.

    Examples
    --------
    >>> from mfbandit.instances import load_instance
    >>> lower_bound_costs(load_instance("forever"))
    array([125., 125.])
    """
    if len(instance.means) == 1:
        return np.zeros(1)
    with np.errstate(divide="ignore"):
        prices = instance.problem.costs / separating_information(instance)
    return np.asarray(prices.min(axis=1))


def separating_information(instance: Instance) -> FloatArray:
    """KL that one pull gives for telling its arm from the best (the best: from the second-best).

    Returns
    -------
    array (K, M)
        0 where the gap is not positive.

    Examples
    --------
    >>> from mfbandit.instances import load_instance
    >>> separating_information(load_instance("forever")).round(6)
    array([[0.0008, 0.005 ],
           [0.0008, 0.005 ]])
    """
    units = in_units(instance)
    cells = divergences(instance)
    best = np.array([units.best])
    arms = np.arange(len(units.means))
    information = cells.up(arms, units.truth[units.best] - units.biases)[0]
    information[best] = cells.down(best, units.second + units.biases[best])[0]
    return information


@by_name
def lower_bound_coefficient(instance: Instance) -> float:
    """Coefficient of Theorem 3.1 (KL form): what log(1 / (2.4 delta)) is multiplied by.

    It never exceeds :func:`~mfbandit.theory.characteristic_cost` when the bias bounds hold: each
    of its terms is what one of the rows of that program asks for alone. Infinite when no fidelity
    of some arm has a positive gap, that is when the best arm is not unique.

    Examples
    --------
    >>> from mfbandit.instances import load_instance
    >>> round(lower_bound_coefficient(load_instance("figure-1a")), 1)
    73.7
    """
    return float(lower_bound_costs(instance).sum())


@by_name
def lower_bound(instance: Instance, delta: float) -> float:
    """Least expected cost of an algorithm that errs with probability at most delta (Theorem 3.1).

    Parameters
    ----------
    instance : Instance
        The instance.
    delta : float
        Probability of error. From 1/2.4 on the bound is 0.

    Returns
    -------
    float
        ``lower_bound_coefficient(instance) * log(1 / (2.4 delta))``.

    Examples
    --------
    >>> from mfbandit.instances import load_instance
    >>> round(lower_bound(load_instance("forever"), 0.05), 1)
    530.1
    """
    factor = math.log(1.0 / (2.4 * check_delta(delta)))
    return lower_bound_coefficient(instance) * factor if factor > 0.0 else 0.0
