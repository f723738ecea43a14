"""What is to be refuted about two arms, by which rewards, and the room that it takes to compute."""

from __future__ import annotations

from typing import NamedTuple

from mfbandit.confidence.pair._leaders import Leaders
from mfbandit.confidence.pair._likelihood_levels import LOGS, WIDTH
from mfbandit.core import Floats, Ints, floats

__all__ = ["STACK", "Active", "Chosen", "Hypothesis", "PairScratch", "Rewards"]

#: Cells of v that wait at once.
STACK = 64


class Active(NamedTuple):
    """Statistics of every stream, of the active rewards or of all."""

    pulls: Floats | Ints = floats("arms", "fidelities")
    sums: Floats = floats("arms", "fidelities")
    squares: Floats = floats("arms", "fidelities")


class PairScratch(NamedTuple):
    """What a certificate needs while it is computed."""

    levels: Floats = floats(9, WIDTH, kept=False)
    """T, X and Z of the better arm, level by level, then of the worse one, A, one leader's factor of it, and A'."""
    streams: Floats = floats("fidelities", WIDTH, kept=False)
    """Likelihood ratios of one arm's streams."""
    logs: Floats = floats("fidelities", LOGS, kept=False)
    """Logarithms that streams of one fidelity share: see `mfbandit.confidence.pair._likelihood_levels`."""
    helps: Floats = floats("fidelities", kept=False)
    """log H of one arm's streams."""
    counts: Floats = floats(2, kept=False)
    """What was cut: see `mfbandit.confidence.pair._likelihood_levels`."""
    stack: Floats = floats(STACK, kept=False)
    """Ends of the cells of v that wait."""


class Hypothesis(NamedTuple):
    """What is to be refuted: that `worse` is not the worse one, or not by more than `epsilon`."""

    better: int
    worse: int
    epsilon: float
    """In unit scale."""
    evidence: int
    """Which likelihood ratios: see `mfbandit.confidence.pair._likelihood_levels`."""
    pair_share: float
    """p, the weight of W of this pair; 1 where pairs are all there is."""
    leader_share: float
    """l, the weight of what leaders have shown; 0 where pairs are all there is."""
    weights: int
    """The number of the weights: see `mfbandit.confidence.pair._weights`."""


class Chosen(NamedTuple):
    """Statistics of rewards that were chosen before their pulls."""

    active: Active
    leaders: Leaders


class Rewards(NamedTuple):
    """Statistics of all rewards, of the active ones, and of those of leaders."""

    seen: Active
    active: Active
    leaders: Leaders
