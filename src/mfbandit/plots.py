"""Pictures of simulations and of studies: functions that return a matplotlib figure.

Examples
--------
>>> import mfbandit as mf
>>> problem = mf.Problem(["a", "b"], [("exact", 1.0)], reward="bernoulli", blocks=50)
>>> result = mf.identify(problem, lambda pull: float(pull.arm == "b"), progress=False)
>>> differences(result).savefig("differences.png")  # doctest: +SKIP
"""

from mfbandit.simulation import Bound, cost_against_delta, growth_against_budget, regret_against_budget, save
from mfbandit.study.report import confidence_over_cost, differences, intervals, spend

__all__ = [
    "Bound",
    "confidence_over_cost",
    "cost_against_delta",
    "differences",
    "growth_against_budget",
    "intervals",
    "regret_against_budget",
    "save",
    "spend",
]
