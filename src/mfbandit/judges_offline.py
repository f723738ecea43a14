"""Graders that stand in for paid ones: see `mfbandit.judges`."""

from mfbandit.judges import stand_in_graders

__all__ = ["stand_in_graders"]
