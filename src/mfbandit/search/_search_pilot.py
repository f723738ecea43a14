"""A pilot: some candidates measured at every fidelity, to know how far the cheap ones may be off."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from mfbandit._checks import fraction, whole_number
from mfbandit.calibration import Calibration, calibrate
from mfbandit.model import RewardKind
from mfbandit.search._candidates import Candidate
from mfbandit.search._measure import Measured
from mfbandit.search._rungs import Rung

__all__ = ["NOISE_RISK", "check_repeats", "pilot_size", "run_pilot", "worth_a_pilot"]

#: The share of single differences whose noise may exceed what is allowed for it: see `mfbandit.calibration._calibrate`.
NOISE_RISK = 0.1


def pilot_size(confidence: float) -> int:
    """The fewest candidates from which bounds can be promised with a confidence.

    Examples
    --------
    >>> pilot_size(0.9), pilot_size(0.8)
    (11, 5)
    """
    tail = (1 - Fraction(repr(fraction("bias_confidence", confidence)))) * (1 - Fraction(repr(NOISE_RISK)))
    return math.ceil(1 / tail) - 1


def check_repeats(repeats: Any) -> int:
    """Refuse what is no number of repeats from which noise can be told."""
    return whole_number("pilot_repeats", repeats, 2)


def worth_a_pilot(candidates: int, size: int) -> bool:
    """Whether enough candidates are left to save on, once so many were measured at every fidelity.

    A pilot measures its candidates at the truest fidelity, too; for a grid hardly larger than the pilot
    that is the whole work.
    """
    return candidates >= 2 * size


def run_pilot(
    candidates: Sequence[Candidate],
    rungs: Sequence[Rung],
    repeats: int,
    seed: int,
    confidence: float,
    reward: RewardKind,
    measure_all: Callable[[list[tuple[Candidate, Rung, int]]], list[Measured]],
) -> tuple[Calibration, list[Measured]]:
    """Measure candidates at all rungs, and bound the bias of each rung."""
    repeats = check_repeats(repeats)
    seeds = np.random.SeedSequence([seed, 1]).generate_state(len(candidates) * len(rungs) * repeats)
    jobs: list[tuple[Candidate, Rung, int]] = []
    for one in candidates:
        for rung in rungs:
            jobs += [(one, rung, int(seeds[len(jobs) + k] >> 1)) for k in range(repeats)]
    measured = measure_all(jobs)
    scores: Any = np.array([one.score for one in measured]).reshape(len(candidates), len(rungs), repeats)
    calibration = calibrate(
        scores,
        confidence=confidence,
        fidelities=[rung.name for rung in rungs],
        reward=reward,
        noise_risk=NOISE_RISK,
        noise="normal",
    )
    return calibration, measured
