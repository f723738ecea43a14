"""Regret: its two definitions, and the bounds of Theorems D.1 to D.4.

The paper's regret (eq. lambda1-regret) counts every pull as one reward and compares with playing
the best arm at the cheapest fidelity all the time. Kandasamy et al. (2016) weigh a reward by the
cost of its pull. Both are for costs per fidelity, and the bounds for rewards that are not
negative.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from mfbandit._checks import FloatArray
from mfbandit.algorithms import default_epsilon, theorem_epsilon
from mfbandit.errors import InvalidInput
from mfbandit.instances import Instance
from mfbandit.theory._identification import separating_information
from mfbandit.theory._scale import by_name, check_budget, paper_unit, refuse_blocks

__all__ = [
    "check_regret",
    "cost_regret",
    "epsilon_of",
    "prices_of_pulls",
    "regret",
    "regret_lower_bound",
    "regret_lower_rate",
    "regret_upper_bound",
    "regret_upper_coefficient",
    "regret_upper_rate",
    "regret_worst_case",
    "truest_gaps",
]


@by_name
def regret(instance: Instance, pulls: ArrayLike, budget: ArrayLike) -> FloatArray:
    """Regret of runs by the paper's definition, ``budget / lambda_1 * mu_1 - sum N_km mu_k``.

    Parameters
    ----------
    instance : Instance
        The instance.
    pulls : array (..., K, M)
        How often each arm was pulled at each fidelity; leading axes are runs.
    budget : float or array (...)
        What could be spent. The paper does not round budget / lambda_1 down.

    Returns
    -------
    array (...)

    Examples
    --------
    >>> from mfbandit.instances import load_instance
    >>> instance = load_instance("loose-prior")
    >>> float(regret(instance, [[0, 5], [0, 0], [0, 0]], budget=100))
    85.5
    """
    counts = _counts(instance, pulls)
    earned = counts.sum(axis=-1) @ instance.truth
    best = float(instance.truth[instance.best])
    cheapest = float(instance.problem.costs[0].min())
    return np.asarray(np.asarray(budget, float) / cheapest * best - earned)


@by_name
def cost_regret(instance: Instance, pulls: ArrayLike, budget: ArrayLike) -> FloatArray:
    """Regret of runs by Kandasamy et al., ``budget * mu_1 - sum lambda_m N_km mu_k``.

    Parameters and result are those of :func:`regret`.

    Examples
    --------
    >>> from mfbandit.instances import load_instance
    >>> instance = load_instance("loose-prior")
    >>> float(cost_regret(instance, [[0, 5], [0, 0], [0, 0]], budget=100))
    0.0
    """
    counts = _counts(instance, pulls)
    earned = counts @ instance.problem.costs[0] @ instance.truth
    best = float(instance.truth[instance.best])
    return np.asarray(np.asarray(budget, float) * best - earned)


def _counts(instance: Instance, pulls: ArrayLike) -> FloatArray:
    _refuse_costs_per_arm(instance)
    counts = np.asarray(pulls, dtype=np.float64)
    if counts.shape[-2:] != instance.means.shape:
        raise InvalidInput(
            f"pulls have shape {counts.shape}; the last two axes must be {instance.means.shape}, arms and fidelities"
        )
    return counts


@by_name
def regret_lower_bound(instance: Instance) -> float:
    """Coefficient of log(budget) in the regret of any consistent policy (Theorem D.2).

    The sum over the arms of the least, over fidelities with a positive gap, of ``(lambda_m /
    lambda_1 mu_1 - mu_k) / KL``: the paper's C / gap^2 is 1 / KL of the reward law, as in its
    proof (whose last lines divide by the budget where its logarithm is meant). The best arm's term
    is 0 when the cheapest fidelity can tell it.

    Returns
    -------
    float
        Infinite when the best arm is not unique.

    Examples
    --------
    >>> from mfbandit.instances import load_instance
    >>> round(regret_lower_bound(load_instance("loose-prior")), 1)
    474.5
    """
    check_regret(instance)
    if len(instance.means) == 1:
        return 0.0
    information = separating_information(instance)
    prices = prices_of_pulls(instance)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(information > 0.0, prices / information, math.inf)
    return float(terms.min(axis=1).sum())


def regret_lower_rate(n_arms: int, budget: float) -> float:
    """Rate of the worst-case regret that no policy beats, ``K^(1/3) budget^(2/3)`` (Theorem D.1).

    Examples
    --------
    >>> round(regret_lower_rate(8, 1e6))
    20000
    """
    return float(_check_arms(n_arms) ** (1.0 / 3.0) * check_budget(budget) ** (2.0 / 3.0))


def regret_upper_rate(n_arms: int, budget: float) -> float:
    """Rate of Elimination's worst-case regret, ``K^(1/3) budget^(2/3) (log budget)^(1/3)`` (Theorem D.4).

    What stands inside the theorem's O. :func:`regret_worst_case` has the proof's constants.

    Examples
    --------
    >>> round(regret_upper_rate(8, 1e6))
    47990
    """
    return regret_lower_rate(n_arms, budget) * float(np.cbrt(max(0.0, math.log(budget))))


@by_name
def regret_upper_bound(instance: Instance, budget: float, epsilon: float | str | None = None) -> float:
    """Bound the expected regret of Elimination, explicitly (Theorem D.3 as printed).

    As printed it can be false: an arm with a gap between epsilon and 4 epsilon may never be dropped.
    :func:`~mfbandit.theory.corrected_regret_upper_bound` counts the phases that the rule needs.

    Gaps are in units of the reward range, or of sqrt(2) sigma if Gaussian, and so is epsilon; the
    price of a pull, ``lambda_M / lambda_1 mu_1 - mu_k``, is in reward units. The best arm's gap is
    taken as mu_1 - mu_2: it is explored until its last rival is gone. A logarithm is not taken
    below 0.

    Parameters
    ----------
    instance : Instance
        The instance.
    budget : float
        The budget.
    epsilon : float, "proof" or "theorem", optional
        Gap below which arms are not told apart. By default the choice of Theorem D.4's proof with
        mu_1 replaced by 1, ``(16 K lambda_M log(budget / 16 lambda_M) / budget)^(1/3)``, at most 1.
        "theorem" is the one that the theorem states, ``(K log(budget) / budget)^(1/3)``.

    Returns
    -------
    float

    Examples
    --------
    >>> from mfbandit.instances import load_instance
    >>> instance = load_instance("loose-prior")
    >>> regret_upper_bound(instance, 1e6) < regret_upper_bound(instance, 1e7)
    True
    """
    check_regret(instance)
    budget = check_budget(budget)
    if len(instance.means) == 1:
        return 0.0
    costs = instance.problem.costs[0]
    expensive, cheap = float(costs[instance.problem.truest]), float(costs.min())
    epsilon = epsilon_of(epsilon, len(instance.means), budget, expensive)
    unit = paper_unit(instance)
    gap = truest_gaps(instance) / unit
    prices = prices_of_pulls(instance)[:, instance.problem.truest]
    told = gap > epsilon
    size = np.maximum(gap, epsilon)
    pulls = 16.0 / size**2 * np.log(np.maximum(budget * size**2 / (16.0 * expensive), 1.0))
    extra = np.where(told, 48.0, 32.0 / 3.0) / size**2 + 1.0
    explored = prices * (pulls + extra) + 64.0 * unit / size
    confused = budget / cheap * unit * gap[~told].max(initial=0.0)
    return float(explored.sum() + confused)


@by_name
def regret_upper_coefficient(instance: Instance) -> float:
    """Coefficient of log(budget) in the regret of Elimination (Theorem D.3, asymptotic form).

    ``sum_k (lambda_M / lambda_1 mu_1 - mu_k) 16 / gap_k^2`` with the best arm's gap mu_1 - mu_2
    (with the appendix's 0 it would be infinite). Infinite when the best arm is not unique.

    Examples
    --------
    >>> from mfbandit.instances import load_instance
    >>> round(regret_upper_coefficient(load_instance("loose-prior")))
    59322
    """
    check_regret(instance)
    if len(instance.means) == 1:
        return 0.0
    gap = truest_gaps(instance) / paper_unit(instance)
    prices = prices_of_pulls(instance)[:, instance.problem.truest]
    with np.errstate(divide="ignore"):
        return float((prices * 16.0 / gap**2).sum())


def regret_worst_case(
    n_arms: int, budget: float, *, cheapest: float = 1.0, truest: float = 1.0, top: float = 1.0
) -> float:
    """Worst-case regret of Elimination, explicit (last line of the proof of Theorem D.4).

    ``2 (16 K mu_1 lambda_M / lambda_1 log(budget / 16 lambda_M))^(1/3) (budget /
    lambda_1)^(2/3)``. The proof drops terms of lower order, so it is for large budgets; it is
    never more than ``budget / lambda_1 mu_1``, which is all that can be lost.

    Parameters
    ----------
    n_arms : int
        K.
    budget : float
        The budget.
    cheapest, truest : float
        Costs lambda_1 and lambda_M.
    top : float
        Best true mean mu_1, in unit scale.

    Returns
    -------
    float

    Examples
    --------
    >>> round(regret_worst_case(5, 1e6, cheapest=1.0, truest=2.0))
    236618
    """
    budget = check_budget(budget)
    for name, cost in (("cheapest", cheapest), ("truest", truest)):
        if not (cost > 0.0 and math.isfinite(cost)):
            raise InvalidInput(f"{name} is {cost}; a cost must be a positive finite number")
    everything = budget / cheapest * top
    if budget <= 16.0 * truest:
        return everything
    arms = _check_arms(n_arms)
    inner = 16.0 * arms * top * truest / cheapest * math.log(budget / (16.0 * truest))
    bound = 2.0 * inner ** (1.0 / 3.0) * (budget / cheapest) ** (2.0 / 3.0)
    return float(min(everything, bound))


def epsilon_of(epsilon: float | str | None, n_arms: int, budget: float, expensive: float) -> float:
    """Return the epsilon that is meant: a number, the proof's (the default) or the theorem's."""
    if epsilon is None or epsilon == "proof":
        return default_epsilon(n_arms, budget, expensive)
    if epsilon == "theorem":
        return theorem_epsilon(n_arms, budget)
    if isinstance(epsilon, str) or not epsilon > 0.0:
        raise InvalidInput(f"epsilon is {epsilon}; it must be positive, 'proof' or 'theorem'")
    return float(epsilon)


def prices_of_pulls(instance: Instance) -> FloatArray:
    """Regret of one pull: what its cost would have earned less what it earns, (K, M)."""
    costs = instance.problem.costs[0]
    best = float(instance.truth[instance.best])
    return np.asarray(costs[None, :] / costs.min() * best - instance.truth[:, None])


def truest_gaps(instance: Instance) -> FloatArray:
    """Gaps at the truest fidelity; that of the best arm is mu_1 - mu_2, (K,)."""
    best = instance.best
    gap = np.asarray(instance.truth[best] - instance.truth)
    gap[best] = np.delete(gap, best).min()
    return gap


def _refuse_costs_per_arm(instance: Instance) -> None:
    if instance.problem.costs_per_arm:
        raise InvalidInput(
            "the costs of this instance differ between arms; regret is defined for costs per fidelity only"
        )


def check_regret(instance: Instance) -> None:
    """Refuse an instance for which the regret bounds are not made."""
    refuse_blocks(instance)
    _refuse_costs_per_arm(instance)
    best = float(instance.truth[instance.best])
    if best < 0.0:
        raise InvalidInput(f"the best true mean is {best:g}; the regret bounds are for rewards that are not negative")


def _check_arms(n_arms: int) -> int:
    if n_arms < 1:
        raise InvalidInput(f"n_arms is {n_arms}; there must be at least one arm")
    return int(n_arms)
