"""The default policy on blocks: which block to open for whom, and the evidence it stops by."""

from mfbandit.algorithms.mf_race._race_lanes import TRIED

__all__ = ["TRIED"]
