"""The pair of instances on one of which every policy regrets K^(1/3) budget^(2/3) (Theorem D.1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mfbandit.errors import InvalidInput
from mfbandit.instances import BernoulliLaw, Instance
from mfbandit.model import Problem
from mfbandit.theory._scale import check_budget

__all__ = ["hard_pair"]


def hard_pair(
    n_arms: int,
    budget: float,
    *,
    costs: Sequence[float] = (1.0, 1.5),
    changed: int | None = None,
) -> tuple[Instance, Instance]:
    """Build the pair of instances in the proof of Theorem D.1.

    Both look alike at the cheap fidelity: mean 1/2 + gap for arm 0, 1/2 for the others. So they do
    at the true fidelity, but for one arm of the second instance, which has 1/2 + 2 gap and is the
    best. Telling them apart takes pulls at the true fidelity, and every one of them is regret. The
    bias bound of the cheap fidelity is 2 gap, the least that admits both.

    Parameters
    ----------
    n_arms : int
        K, at least 2.
    budget : float
        The budget; the gap is ``(K lambda_1 / budget)^(1/3)``. At least ``64 K lambda_1``, so that
        means stay in [0, 1].
    costs : two numbers
        lambda_1 and lambda_M, with ``lambda_1 < lambda_M <= 2 lambda_1``. (At 2 lambda_1, which
        the paper admits, the factor ``1/lambda_M - 1/(2 lambda_1)`` of its step 2 is 0 and the
        proof says nothing.)
    changed : int, optional
        The arm that differs, the last by default. In the proof it is the one that the policy pulls
        least often at the true fidelity; a policy that does not know the names has no favourite.

    Returns
    -------
    first, second : Instance

    Examples
    --------
    >>> first, second = hard_pair(3, 24_000)
    >>> first.means.round(2)
    array([[0.55, 0.55],
           [0.5 , 0.5 ],
           [0.5 , 0.5 ]])
    >>> second.means[2].round(2), second.best
    (array([0.5, 0.6]), 2)
    """
    if n_arms < 2:
        raise InvalidInput(f"n_arms is {n_arms}; the pair needs at least two arms")
    changed = n_arms - 1 if changed is None else changed
    if not 1 <= changed < n_arms:
        raise InvalidInput(f"changed is {changed}; it must be one of the arms 1 to {n_arms - 1}")
    cheap, expensive = (float(cost) for cost in costs)
    if not 0.0 < cheap < expensive <= 2.0 * cheap:
        raise InvalidInput(
            f"the costs are {cheap:g} and {expensive:g}; the second must be above the first and at most twice it"
        )
    gap = (n_arms * cheap / check_budget(budget)) ** (1.0 / 3.0)
    if gap > 0.25:
        raise InvalidInput(f"the budget is {budget:g}; it must be at least 64 K lambda_1 = {64.0 * n_arms * cheap:g}")
    return _instance(n_arms, gap, (cheap, expensive), None), _instance(n_arms, gap, (cheap, expensive), changed)


def _instance(n_arms: int, gap: float, costs: tuple[float, float], changed: int | None) -> Instance:
    means = np.full((n_arms, 2), 0.5)
    means[0] += gap
    if changed is not None:
        means[changed, 1] += 2.0 * gap
    problem = Problem.from_arrays(costs, (2.0 * gap, 0.0), arms=n_arms, reward="bernoulli")
    name = "hard pair, first" if changed is None else "hard pair, second"
    return Instance(problem, means, BernoulliLaw(), name=name)
