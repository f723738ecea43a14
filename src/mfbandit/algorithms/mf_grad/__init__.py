"""MF-GRAD of Poiani et al. 2024, and the nearest model in which another arm wins."""

from mfbandit.algorithms.mf_grad._mf_grad import Ascent, CertifiedAscent, MFGrad

__all__ = ["Ascent", "CertifiedAscent", "MFGrad"]
