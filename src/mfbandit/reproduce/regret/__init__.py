"""Regret on a budget, computed again: on the paper's instances, and on the hardest pair."""
