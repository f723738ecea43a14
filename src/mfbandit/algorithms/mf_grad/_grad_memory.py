"""What MF-GRAD remembers from round to round, and what it knows beside the problem."""

from __future__ import annotations

from typing import NamedTuple

from mfbandit.algorithms.mf_grad._nearest_model import Model
from mfbandit.confidence.pair import Leaders, PairScratch, Victories
from mfbandit.core import Floats, Ints, floats, group, integers

__all__ = ["Ascent", "CertifiedAscent", "MfGradParams"]


class Ascent(NamedTuple):
    """What MF-GRAD remembers."""

    answer: Ints = integers(1)
    """The arm that would be answered."""
    model: Model = group(Model)
    shares: Floats = floats("arms", "fidelities")
    """Cost proportions w~."""
    ascent: Floats = floats("arms", "fidelities")
    """Sums of sub-gradients."""
    tracked: Floats = floats("arms", "fidelities")
    """Sums of the proportions pi' of pulls."""


class CertifiedAscent(NamedTuple):
    """What it remembers where it stops by our certificates."""

    answer: Ints = integers(1)
    model: Model = group(Model)
    shares: Floats = floats("arms", "fidelities")
    ascent: Floats = floats("arms", "fidelities")
    tracked: Floats = floats("arms", "fidelities")
    due: Floats = floats("arms")
    """The total cost at which a rival's certificate is worth computing again."""
    leaders: Leaders = group(Leaders)
    """Nobody: MF-GRAD declares none, and pairs are all there is."""
    victories: Victories = group(Victories)
    scratch: PairScratch = group(PairScratch)


class MfGradParams(NamedTuple):
    """What MF-GRAD knows beside the problem."""

    log_factor: float
    """log(K / delta); for our certificates log((K - 1) / delta)."""
    epsilon: float
    rate: float
    """The constant learning rate; 0 for 1 / sqrt(step + 1)."""
    proven: bool
    """Whether the threshold is the theory's."""
    evidence: int
    """Which likelihood ratios our certificates are made of, and"""
    weights: int
    """the number of the weights that they have."""
    batch: int

    @property
    def threshold(self) -> float:
        """What our certificates have to reach."""
        return self.log_factor

    @property
    def pair_share(self) -> float:
        """Pairs are all there is."""
        return 1.0

    @property
    def leader_share(self) -> float:
        """No leaders are declared."""
        return 0.0
