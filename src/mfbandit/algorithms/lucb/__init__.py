"""LUCB of the paper: its explore procedures, and two ways to find the two arms that matter."""

from mfbandit.algorithms.lucb._explore import commit, explore_a, explore_b, explore_c, gap
from mfbandit.algorithms.lucb._lucb import LUCB, plan
from mfbandit.algorithms.lucb._top_two_scan import Ceilings

__all__ = ["LUCB", "Ceilings", "commit", "explore_a", "explore_b", "explore_c", "gap", "plan"]
