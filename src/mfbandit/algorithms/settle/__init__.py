"""Races with other goals than one best arm: arms are measured block by block until all that was asked is settled."""

from mfbandit.algorithms.settle._settle import settling_algorithm

__all__ = ["settling_algorithm"]
