"""The tight limit: what every delta-correct algorithm must pay (Poiani et al., NeurIPS 2024).

Let x be the cost spent on each (arm, fidelity) per unit of evidence. For every rival b of the best
arm a and every level v at which the two could be swapped, the spending must yield evidence 1:

    sum_m x_am d-(mu_am, v + zeta_m) / lambda_m  +  x_bm d+(mu_bm, v - zeta_m) / lambda_m  >=  1.

C* is the least sum of x: a linear program with infinitely many rows, one per (b, v). It is solved
by exchange: solve it for finitely many levels, find the most violated level of every pair (a
convex problem in v), add it, repeat. The finite program gives a lower end (by its dual solution,
rescaled to be feasible), the spending divided by the least evidence an upper end; both are proven,
and their distance is returned.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mfbandit._checks import FloatArray
from mfbandit.errors import InvalidInput, MfbanditError
from mfbandit.instances import Instance
from mfbandit.theory._scale import by_name, check_delta, in_units
from mfbandit.theory.characteristic._linear_program import Cuts, solve
from mfbandit.theory.characteristic._pairs import Pairs, Spending

__all__ = ["CharacteristicCost", "characteristic_cost", "limit"]

#: Where the first levels of a pair lie between the two means; dense at the ends, where easy rivals
#: bind.
_FIRST = np.array([1e-3, 0.03, 0.15, 0.35, 0.5, 0.65, 0.85, 0.97, 0.999])
_ROUNDS = 60
#: Relative distance of two means that is taken for none.
_ROUNDING = 1e-13
_TOP_UPS = 8
#: Distance of the levels set around an active one, as a share of the pair's range: in the first
#: round, how much narrower from round to round, and at the end. Evidence is flat to second order,
#: so the last one is good for a relative error near its square.
_AROUND, _NARROWER, _NARROWEST = 0.05, 8.0, 1e-5


@dataclass(frozen=True)
class CharacteristicCost:
    """C*, how to spend it, and how exactly it is known.

    Attributes
    ----------
    cost : float
        C*: any delta-correct algorithm spends at least C* kl(delta, 1 - delta) in expectation.
        Infinite when no amount of evidence can tell the best arm.
    weights : array (K, M)
        Shares of the cost, by arm and fidelity, that reach it; all 0 when C* is 0 or infinite.
    gap : float
        Proven relative error: the exact value lies in [cost (1 - gap), cost].
    """

    cost: float
    weights: FloatArray
    gap: float


@by_name
def characteristic_cost(
    instance: Instance,
    *,
    fidelities: str | Sequence[int] | None = None,
    tolerance: float = 1e-7,
) -> CharacteristicCost:
    """Compute C* of an instance and the proportions of cost that reach it.

    Instances that break their bias bounds are taken as they are: the formula is evaluated for
    their means.

    Parameters
    ----------
    instance : Instance
        The instance.
    fidelities : None, "top" or columns
        Which fidelities may be used: all, the truest only, or a list of columns.
    tolerance : float
        Relative distance between the proven ends at which to stop.

    Returns
    -------
    CharacteristicCost

    Examples
    --------
    >>> from mfbandit.instances import load_instance
    >>> instance = load_instance("poiani-5x2")
    >>> round(characteristic_cost(instance).cost, 2)
    26.65
    >>> round(characteristic_cost(instance, fidelities="top").cost, 2)
    90.0
    """
    columns = _columns(instance, fidelities)
    weights = np.zeros(instance.means.shape)
    if len(instance.means) == 1:
        return CharacteristicCost(0.0, weights, 0.0)
    pairs = Pairs(instance, columns)
    if _inseparable(instance, pairs):
        return CharacteristicCost(math.inf, weights, 0.0)
    lower, upper, spending = _exchange(pairs, tolerance)
    total = spending.total
    weights[pairs.best, columns] = spending.best / total
    weights[pairs.rivals[:, None], columns] = spending.rivals / total
    return CharacteristicCost(upper, weights, abs(1.0 - lower / upper))


@by_name
def limit(
    instance: Instance, delta: float, *, fidelities: str | Sequence[int] | None = None, tolerance: float = 1e-6
) -> float:
    """Least expected cost of any delta-correct algorithm, C* kl(delta, 1 - delta).

    For delta of one half and above a guess does, and the limit is 0. `fidelities` and `tolerance` are those of
    `characteristic_cost`.

    Examples
    --------
    >>> from mfbandit.instances import load_instance
    >>> round(limit(load_instance("figure-1a"), 0.05), 1)
    361.4
    """
    delta = check_delta(delta)
    if delta >= 0.5:
        return 0.0
    # kl(delta, 1 - delta), exact also where 1 - delta is 1 as a float.
    information = (1.0 - 2.0 * delta) * (math.log1p(-delta) - math.log(delta))
    return _cost(instance, tuple(_columns(instance, fidelities)), tolerance) * information


@functools.lru_cache(maxsize=32)
def _cost(instance: Instance, columns: tuple[int, ...], tolerance: float) -> float:
    """C* alone: curves and tables ask for the limit of one instance at many delta."""
    return characteristic_cost(instance, fidelities=columns, tolerance=tolerance).cost


def _columns(instance: Instance, fidelities: str | Sequence[int] | None) -> list[int]:
    count = instance.problem.n_fidelities
    if fidelities is None or fidelities == "all":
        return list(range(count))
    if isinstance(fidelities, str):
        if fidelities == "top":
            return [instance.problem.truest]
        raise InvalidInput(f"fidelities is {fidelities!r}; it must be 'all', 'top' or columns")
    columns = sorted({int(column) for column in fidelities})
    if not columns or columns[0] < 0 or columns[-1] >= count:
        raise InvalidInput(f"fidelities is {fidelities!r}; columns must be 0 to {count - 1}")
    return columns


def _inseparable(instance: Instance, pairs: Pairs) -> bool:
    """Whether some rival can be as good as the best arm, up to rounding, whatever is observed."""
    units = in_units(instance)
    tied = units.second >= units.truth[units.best]
    rounding = _ROUNDING * np.maximum(np.abs(pairs.high), np.abs(pairs.low))
    return bool(tied or (pairs.widths <= rounding).any())


def _exchange(pairs: Pairs, tolerance: float) -> tuple[float, float, Spending]:
    """Return a lower and an upper end of C*, and the spending that costs the upper one."""
    count = len(pairs.rivals)
    owners = np.repeat(np.arange(count), len(_FIRST))
    cuts = Cuts.at(pairs, owners, (pairs.low[:, None] + _FIRST * pairs.widths[:, None]).ravel())
    levels = 0.5 * (pairs.low + pairs.high)
    nothing = Spending(np.zeros_like(cuts.best[0]), np.zeros((count, cuts.best.shape[1])))
    lower, upper, chosen, spending = 0.0, math.inf, nothing, nothing
    for step in range(_ROUNDS):
        spending, duals, bound = solve(pairs, cuts, spending)
        levels, evidence = pairs.hardest_levels(spending, levels)
        lower = max(lower, bound)
        enough = _completed(pairs, spending, levels, evidence)
        if enough.total < upper:
            upper, chosen = enough.total, enough
        if upper - lower <= tolerance * upper:
            break
        distance = max(_NARROWEST, _AROUND * _NARROWER**-step)
        cuts = cuts.joined(Cuts.at(pairs, np.arange(count), levels))
        cuts = cuts.joined(Cuts.at(pairs, *cuts.around(duals, pairs, distance)))
    if not math.isfinite(upper):
        raise MfbanditError(f"the limit was not found in {_ROUNDS} rounds; it is at least {lower:g}")
    return lower, upper, chosen


def _completed(pairs: Pairs, spending: Spending, levels: FloatArray, evidence: FloatArray) -> Spending:
    """Spend a little more, so that the evidence is proven to be 1 for every pair at every level."""
    for _ in range(_TOP_UPS):
        if evidence.min() >= 1.0:
            break
        # What easy rivals need is below the solver's tolerance. Topping up them alone is cheaper
        # than more of everything.
        more = pairs.topped_up(spending, levels, evidence)
        everything = spending.divided(evidence.min())
        if more.total - spending.total > 0.01 * (everything.total - spending.total):
            break
        spending = more
        levels, evidence = pairs.hardest_levels(spending, levels)
    return spending.divided(evidence.min())
