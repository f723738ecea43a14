"""Pictures of simulations: functions that take runs and return a matplotlib figure."""

from mfbandit.simulation import Bound, cost_against_delta, growth_against_budget, regret_against_budget, save

__all__ = ["Bound", "cost_against_delta", "growth_against_budget", "regret_against_budget", "save"]
