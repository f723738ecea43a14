"""MF-GRAD of Poiani et al. 2024, and the nearest model in which another arm wins."""

from mfbandit.algorithms.mf_grad._grad_memory import Ascent, CertifiedAscent
from mfbandit.algorithms.mf_grad._mf_grad import MFGrad

__all__ = ["Ascent", "CertifiedAscent", "MFGrad"]
