"""Upper bounds on the cost of LUCB: Theorem 3.4 (Explore-A and -B), Theorem B.1 (Explore-C)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mfbandit.errors import InvalidInput
from mfbandit.instances import Instance
from mfbandit.theory._conditions import Explore, assumptions
from mfbandit.theory._identification import conservative_fidelity, gaps, hardness
from mfbandit.theory._scale import by_name, check_delta, paper_unit

__all__ = ["LUCBCase", "bound_from_hardness", "bound_of", "upper_bound"]

#: Constants of the proofs: C of Explore-A; the factor and the factor inside the logarithm of
#: Explore-B.
_A = 1200.0
_B, _B_INSIDE = 1024.0, 256.0


@by_name
def upper_bound(
    instance: Instance,
    delta: float,
    explore: Explore = "a",
    top: float | None = None,
    second: float | None = None,
    L: float | None = None,
    constant: bool = False,
) -> float:
    """Bound the expected cost of LUCB with Explore-A, -B or -C, by the paper's theorems as printed.

    With a loose prior the printed Theorem 3.4 can be false: its gaps are those that the prior makes.
    :func:`~mfbandit.theory.contradiction` says where, :func:`~mfbandit.theory.corrected_upper_bound`
    has the true gaps of the proof.

    Parameters
    ----------
    instance : Instance
        The instance. Gaps are in units of the reward range, or of sqrt(2) sigma if Gaussian.
    delta : float
        Probability of error.
    explore : "a", "b" or "c"
        The explore procedure.
    top, second : float, optional
        Prior knowledge that Explore-A and -B are given; the true means by default. Explore-C has
        none.
    L : float, optional
        The L of the confidence radius, 4KM by default.
    constant : bool
        By default the expression inside the O(.). If true, with the constants of the proofs: 1200
        for A; 1024 and, inside the logarithm, 256 for B; for C the largest solution of the proof's
        last inequality, Lambda <= 8 (16 H + Q) log(L Lambda / (lambda_1 delta)).

    Returns
    -------
    float
        Infinite when the theorem does not apply; :func:`~mfbandit.theory.assumptions` says why.
        Broken bias bounds alone leave the expression as it is.

    Examples
    --------
    >>> from mfbandit.instances import load_instance
    >>> round(upper_bound(load_instance("figure-1a"), 0.05, "b", top=0.95, second=0.75))
    6185
    >>> upper_bound(load_instance("loose-prior"), 0.05, "b", top=1, second=0.5)
    inf
    """
    return bound_of(LUCBCase(instance, delta, explore, top, second, L), _printed_hardness, constant)


class LUCBCase(NamedTuple):
    """What LUCB is run on, and what it is told: the arguments that its bounds share."""

    instance: Instance
    delta: float
    explore: Explore
    top: float | None
    second: float | None
    L: float | None

    def evidence(self) -> float | None:
        """log(L / (lambda_1 delta)), which all bounds have; None when the theorem does not apply."""
        found = assumptions(self.instance, self.top, self.second, self.L, self.explore)
        if not found.applies:
            return None
        return math.log(found.L) - math.log(float(self.instance.problem.costs.min())) - math.log(self.delta)


def bound_of(case: LUCBCase, hardness: Callable[[LUCBCase], tuple[float, float]], constant: bool) -> float:
    """Bound the cost of LUCB; for Explore-A and -B with a hardness as `bound_from_hardness` takes it."""
    if case.explore not in ("a", "b", "c"):
        raise InvalidInput(f"explore is {case.explore!r}; it must be 'a', 'b' or 'c'")
    case = case._replace(delta=check_delta(case.delta))
    if len(case.instance.means) == 1:
        return 0.0
    evidence = case.evidence()
    if evidence is None:
        return math.inf
    if case.explore == "c":
        return _bound_c(case.instance, evidence, constant)
    return bound_from_hardness(case.explore, evidence, *hardness(case), constant)


def _printed_hardness(case: LUCBCase) -> tuple[float, float]:
    """H and G of Theorem 3.4 as printed: by the gaps that the prior knowledge makes."""
    instance = case.instance
    unit, costs = paper_unit(instance), instance.problem.costs
    if case.explore == "b":
        efficiency = (gaps(instance, case.top, case.second) / unit / np.sqrt(costs)).max(axis=1)
        # One sweep over all fidelities, in units of the arm's cheapest pull.
        sweeps = costs.sum(axis=1) / costs.min(axis=1)
        return float((sweeps / efficiency**2).sum()), 0.0
    scale = (unit / instance.problem.reward.span) ** 2
    _, h, g = (scale * part for part in hardness(instance, case.top, case.second))
    return h, g


def bound_from_hardness(explore: Explore, evidence: float, h: float, g: float, constant: bool) -> float:
    """Theorem 3.4's expression for given hardness: H and G for Explore-A, H of sweeps for -B.

    Examples
    --------
    >>> round(bound_from_hardness("b", evidence=0.0, h=math.e, g=0.0, constant=False), 3)
    2.718
    """
    if not math.isfinite(h + g):
        return math.inf
    if explore == "b":
        outside, inside = (_B, _B_INSIDE) if constant else (1.0, 1.0)
        return outside * h * max(0.0, evidence + math.log(inside * h))
    inner = max(0.0, evidence + math.log(h + g))
    return (_A if constant else 1.0) * (h * inner + g * math.log(max(inner, 1.0)))


def _bound_c(instance: Instance, evidence: float, constant: bool) -> float:
    unit = paper_unit(instance)
    costs = instance.problem.costs
    final = conservative_fidelity(instance)
    rows = np.arange(len(costs))
    h = float((costs[rows, final] * (unit / gaps(instance)[rows, final]) ** 2).sum())
    q = _conservative_overhead(instance, unit)
    if not constant:
        return (h + q) * max(0.0, evidence + math.log(h + q))
    return _largest_solution(8.0 * (16.0 * h + q), evidence)


def _conservative_overhead(instance: Instance, unit: float) -> float:
    """Q of Theorem B.1: what the fidelities below the final one cost before they are given up."""
    problem = instance.problem
    order = np.argsort(problem.costs.mean(axis=0), kind="stable")
    rank = np.argsort(order)
    final = conservative_fidelity(instance)
    passed = rank[None, :] < rank[final][:, None]
    with np.errstate(divide="ignore"):
        prices = problem.costs * (unit / problem.biases) ** 2
    return float(prices[passed].sum())


def _largest_solution(factor: float, evidence: float) -> float:
    """Return the largest x with x <= factor (evidence + log x).

    Examples
    --------
    >>> x = _largest_solution(10.0, math.log(5.0))
    >>> math.isclose(x, 10.0 * math.log(5.0 * x))
    True
    """
    # y = x / factor solves y = shift + log y. Under 1 there is no solution; y = 1 is nearest to one.
    shift = max(evidence + math.log(factor), 1.0)
    y = 2.0 * shift + 1.0
    # y - shift - log y is convex: Newton from above comes down to the larger root.
    for _ in range(100):
        step = (y - shift - math.log(y)) / (1.0 - 1.0 / y) if y > 1.0 else 0.0
        y -= step
        if abs(step) <= 1e-15 * y:
            break
    return factor * y
