"""Theorem D.3 corrected: Elimination drops an arm one phase later than its proof says, or not at all.

The proof lets arm k go in the first phase with ``2^-p < gap/2``. There it shows that the arm's mean is below
the best one; but the algorithm asks for a lead of ``2^(1-p)``. That is certain only once ``2^-p <= gap/4``.
And phases end at ``2^-p > epsilon/2``, so arms with gaps up to 4 epsilon may stay, and are then played for good.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mfbandit._checks import FloatArray
from mfbandit.instances import Instance
from mfbandit.theory._regret_bounds import check_regret, epsilon_of, prices_of_pulls, truest_gaps
from mfbandit.theory._scale import by_name, check_budget, paper_unit

__all__ = ["corrected_regret_upper_bound"]

#: Phases beyond this have more pulls than any budget pays for; 4^p must stay a finite number.
_MOST = 400


@by_name
def corrected_regret_upper_bound(instance: Instance, budget: float, epsilon: float | str | None = None) -> float:
    """Bound the expected regret of Elimination: Theorem D.3 with the phases that its rule needs.

    The steps are those of the printed proof (:func:`~mfbandit.theory.regret_upper_bound`). An arm is counted
    as told apart if some phase has ``2^-p <= gap/4``; its pulls are those of the first such phase. The loss
    of playing the others in turn is that of the worst of them. Never more than all that can be lost. Phases
    are counted, not bounded, so where the printed bound holds this one may be the smaller.

    Parameters
    ----------
    instance, budget, epsilon
        As for :func:`~mfbandit.theory.regret_upper_bound`; above 1, which Elimination refuses, it counts as 1.

    Returns
    -------
    float

    Examples
    --------
    >>> from mfbandit.theory import regret_upper_bound
    >>> from mfbandit.model import Problem
    >>> problem = Problem.from_arrays([1.0, 1.2], [0.5, 0.0], arms=2, reward="bernoulli")
    >>> instance = Instance(problem, [[0.9, 0.9], [0.39, 0.39]])
    >>> round(regret_upper_bound(instance, 1e6, 0.5)), round(corrected_regret_upper_bound(instance, 1e6, 0.5))
    (922, 510109)
    """
    check_regret(instance)
    budget = check_budget(budget)
    if len(instance.means) == 1:
        return 0.0
    costs, truest = instance.problem.costs[0], instance.problem.truest
    expensive, cheap = float(costs[truest]), float(costs.min())
    smallest = min(1.0, epsilon_of(epsilon, len(instance.means), budget, expensive))
    last = min(_MOST, math.ceil(1.0 - math.log2(smallest)) - 1)
    unit = paper_unit(instance)
    gap = truest_gaps(instance) / unit
    needed = _phases(gap)
    told = needed <= last
    phase = np.minimum(needed, last)
    # The best arm is explored as long as any other is left.
    phase[instance.best] = phase.max()
    prices = prices_of_pulls(instance)[:, truest]
    # Wrong estimates: that the arm stays too long (told arms only), and that the best one goes instead.
    wrong = np.where(told, 2.0 + 2.0 / 3.0, 2.0 / 3.0) * 4.0**phase
    explored = prices * (_targets(budget / expensive, phase) + wrong) + unit * 2.0 ** (phase + 4)
    left = budget / cheap * unit * gap[~told].max(initial=0.0)
    everything = budget / cheap * float(instance.truth[instance.best])
    return float(min(everything, explored.sum() + left))


def _phases(gap: FloatArray) -> FloatArray:
    """First phase in which an arm is certain to go if all estimates are good: 2^-p <= gap/4."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.ceil(np.log2(4.0 / gap)), 0.0)


def _targets(share: float, phase: FloatArray) -> FloatArray:
    """Pulls of an arm up to and with its phase: the largest target, since late ones may fall again."""
    found = np.zeros(len(phase))
    for arm, p in enumerate(phase.astype(int)):
        sizes: NDArray[np.float64] = 4.0 ** np.arange(p + 1, dtype=np.float64)
        found[arm] = np.ceil(sizes * np.log(np.maximum(share / sizes, 1.0))).max()
    return found
