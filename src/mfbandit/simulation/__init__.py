"""Simulations: thousands of independent trials of a policy on an instance, what they cost, and pictures of them.

What stands here is for other rooms; modules with an underscore are private to this one, which imports only from
the rooms above it in CONTRIBUTING.md.
"""

from mfbandit.simulation._forecast import Forecast, forecast
from mfbandit.simulation._progress_bar import Bar
from mfbandit.simulation._run_plots import Bound, cost_against_delta, growth_against_budget, regret_against_budget, save
from mfbandit.simulation._runs import Runs
from mfbandit.simulation._simulate import simulate
from mfbandit.simulation._virtual_workers import Durations

__all__ = [
    "Bar",
    "Bound",
    "Durations",
    "Forecast",
    "Runs",
    "cost_against_delta",
    "forecast",
    "growth_against_budget",
    "regret_against_budget",
    "save",
    "simulate",
]
