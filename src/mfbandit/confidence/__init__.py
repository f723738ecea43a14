"""Evidence: what rewards prove about one arm, two arms, or all arms of a race.

Processes for single streams are in `mfbandit.confidence.processes`, the pair certificate in `mfbandit.confidence.pair`,
the evidence of races on blocks in `mfbandit.confidence.race`.

What stands here is for other rooms; modules with an underscore are private to this one, which imports only from
the rooms above it in CONTRIBUTING.md.
"""

from mfbandit.confidence._bias_alarm import BrokenBound, alarm, alarm_kernel
from mfbandit.confidence._estimate import truth, variance
from mfbandit.confidence._normality import unlike_normal
from mfbandit.confidence._special import bernoulli_kl
from mfbandit.confidence._victories import (
    Victory,
    arm_evidence,
    chances,
    confidence,
    interval,
    is_proven,
    threshold,
    victories,
)
from mfbandit.confidence.processes._by_name import BOUNDS, bound_kernels, process_kernels

__all__ = [
    "BOUNDS",
    "BrokenBound",
    "Victory",
    "alarm",
    "alarm_kernel",
    "arm_evidence",
    "bernoulli_kl",
    "bound_kernels",
    "chances",
    "confidence",
    "interval",
    "is_proven",
    "process_kernels",
    "threshold",
    "truth",
    "unlike_normal",
    "variance",
    "victories",
]
