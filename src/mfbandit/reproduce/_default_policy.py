"""The default policy beside those that spend a budget: identify with it, then play its answer cheaply."""

from __future__ import annotations

import dataclasses

from mfbandit.instances import Instance
from mfbandit.simulation import Runs, simulate

__all__ = ["DEFAULT", "identify_then_exploit"]

DEFAULT = "mf-toptwo"


def identify_then_exploit(instance: Instance, budget: float, *, trials: int, seed: int) -> Runs:
    """Spend a budget with the default policy: until it has an answer, then on that at the cheapest fidelity.

    delta is one over the pulls that the budget could pay for. A wrong answer then costs about one reward
    in the mean. What is left when no answer was found in time is spent on the best guess.

    Examples
    --------
    >>> from mfbandit.instances import load_instance
    >>> runs = identify_then_exploit(load_instance("figure-1a"), 1e4, trials=2, seed=0)
    >>> runs.budget, bool((runs.regret < 2e3).all())
    (10000.0, True)
    """
    costs = instance.problem.costs[0]
    cheapest = int(costs.argmin())
    delta = min(0.5, float(costs[cheapest]) / budget)
    runs = simulate(instance, DEFAULT, delta=delta, max_cost=budget, trials=trials, seed=seed)
    left = ((budget - runs.cost) / costs[cheapest]).astype(int).clip(0)
    pulls = runs.pulls.copy()
    pulls[range(trials), runs.best, cheapest] += left
    goal = dataclasses.replace(runs.goal, budget=budget)
    return dataclasses.replace(runs, pulls=pulls, cost=runs.cost + left * costs[cheapest], goal=goal)
