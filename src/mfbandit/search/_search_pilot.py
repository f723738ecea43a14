"""A pilot: some candidates measured at every fidelity, to know how far the cheap ones may be off."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from mfbandit._checks import fraction, whole_number
from mfbandit.calibration import Calibration, calibrate
from mfbandit.search._measure import Job
from mfbandit.search._rungs import Rung

if TYPE_CHECKING:
    from mfbandit.search._search import Search

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


def run_pilot(search: Search, rungs: Sequence[Rung], size: int, repeats: int) -> Calibration:
    """Measure some candidates at all rungs, and bound the bias of each rung."""
    drawn = search.random.choice(len(search.candidates), size=size, replace=False)
    seeds = np.random.SeedSequence([search.seed, 1]).generate_state(size * len(rungs) * repeats)
    blocks = search.splits.blocks
    jobs: list[Job] = []
    for k in drawn:
        for rung in rungs:
            for _ in range(repeats):
                seed = int(seeds[len(jobs)] >> 1)
                block = seed % blocks if isinstance(blocks, int) else None
                jobs.append(search.job(search.names[k], rung, seed, block))
    scores: Any = np.array([one.score for one in search.fit_all(jobs)]).reshape(size, len(rungs), repeats)
    return calibrate(
        scores,
        confidence=search.chosen.bias_confidence,
        fidelities=[rung.name for rung in rungs],
        reward=search.reward,
        noise_risk=NOISE_RISK,
        noise="normal",
    )
