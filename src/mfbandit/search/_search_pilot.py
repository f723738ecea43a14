"""A pilot: some candidates measured at every fidelity, to know how far the cheap ones may be off."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mfbandit._checks import fraction, whole_number
from mfbandit.calibration import Calibration, calibrate
from mfbandit.search._rungs import Rung

if TYPE_CHECKING:
    from mfbandit.search._search import SearchRun

__all__ = ["NOISE_RISK", "check_repeats", "forecast_saving", "pilot_size", "run_pilot", "worth_a_pilot"]

#: Scores of a pilot by candidate, rung and repeat.
Scores = npt.NDArray[np.float64]

#: The share of single differences whose noise may exceed what is allowed for it: see `mfbandit.calibration._calibrate`.
NOISE_RISK = 0.1
#: About so many fits at the truest rung show that a candidate is not the best, where it is far off.
_AT_TRUEST = 5.0


def pilot_size(confidence: float, *, pairs: bool = False) -> int:
    """The fewest candidates from which bounds can be promised with a confidence, of single ones or of pairs.

    Examples
    --------
    >>> pilot_size(0.9), pilot_size(0.8), pilot_size(0.9, pairs=True)
    (11, 5, 22)
    """
    tail = (1 - Fraction(repr(fraction("bias_confidence", confidence)))) * (1 - Fraction(repr(NOISE_RISK)))
    return math.ceil((2 if pairs else 1) / tail) - 1


def check_repeats(repeats: Any) -> int:
    """Refuse what is no number of repeats from which noise can be told."""
    return whole_number("pilot_repeats", repeats, 2)


def worth_a_pilot(candidates: int, size: int) -> bool:
    """Whether enough candidates are left to save on, once so many were measured at every fidelity.

    A pilot measures its candidates at the truest fidelity, too; for a grid hardly larger than the pilot
    that is the whole work.
    """
    return candidates >= 2 * size


def run_pilot(search: SearchRun, rungs: Sequence[Rung], size: int, repeats: int) -> tuple[Calibration, Scores]:
    """Measure some candidates at all rungs, and bound the bias of each rung.

    A candidate is measured on the same splits at all rungs, and each candidate on splits of its own. On blocks, where
    only differences of candidates count, what a rung does to all of them alike is no bias.
    """
    drawn = search.random.choice(len(search.candidates), size=size, replace=False)
    seeds = np.random.SeedSequence([search.seed, 1]).generate_state(size * repeats).reshape(size, repeats) >> 1
    blocks = search.splits.blocks
    jobs = [
        search.job(search.names[k], rung, int(seed), int(seed) % blocks if isinstance(blocks, int) else None)
        for k, own in zip(drawn, seeds, strict=True)
        for rung in rungs
        for seed in own
    ]
    scores: Scores = np.array([one.score for one in search.fit_all(jobs)]).reshape(size, len(rungs), repeats)
    found = calibrate(
        scores,
        confidence=search.chosen.bias_confidence,
        fidelities=[rung.name for rung in rungs],
        reward=search.reward,
        noise_risk=NOISE_RISK,
        noise="normal",
        paired=True,
        common_offset=search.policy.on_blocks,
    )
    return found, scores


def forecast_saving(scores: Scores, pair_bias: float, lane: int, price: float, needed: float) -> float:
    """Which part of the cost of a race a rung is likely to save, by what a pilot of some candidates says.

    Whoever lies behind the best of them by more than the bound is beaten at the rung, after as many blocks as it takes
    to gather the evidence that is `needed`, or else races at the truest rung as if the other had not been, in about
    five blocks. The spread of a difference is taken from single scores, so that it is rather too large.

    Parameters
    ----------
    scores
        Of the pilot: (candidates, rungs, repeats).
    pair_bias, price
        Of the rung; the price in fits at the truest.
    lane
        Which of the rungs.
    needed
        In nats.
    """
    means, spreads = scores[:, lane].mean(axis=1), scores[:, lane].std(axis=1, ddof=1)
    best = int(means.argmax())
    noise = np.maximum(spreads**2 + spreads[best] ** 2, 1e-12)
    # The best of some means is too high, and a few repeats are no proof: twice their standard error.
    doubt = 2.0 * np.sqrt(noise / scores.shape[2])
    beyond = np.maximum(means[best] - means - doubt - pair_bias, 0.0)
    with np.errstate(divide="ignore"):
        blocks = np.maximum(_AT_TRUEST, needed / (0.5 * np.log1p(beyond**2 / noise)))
    cheap = price * blocks
    # Whoever is not beaten soon leaves after a quarter of a fit or five, and was there for nothing.
    paid = np.where(cheap < _AT_TRUEST / 2, cheap, _AT_TRUEST + price * _AT_TRUEST)
    return float(1.0 - paid.mean() / _AT_TRUEST)
