"""Which fidelities a search uses, and how far each may be off."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mfbandit._checks import is_whole
from mfbandit.algorithms.mf_race import TRIED
from mfbandit.calibration import Calibration
from mfbandit.errors import InvalidInput
from mfbandit.model import Gaussian
from mfbandit.search._rungs import Rung, read_biases
from mfbandit.search._search_pilot import check_repeats, forecast_saving, pilot_size, run_pilot, worth_a_pilot

if TYPE_CHECKING:
    from mfbandit.search._search import SearchRun

__all__ = ["Lanes", "choose_lanes"]

#: A cheap rung is used if it is likely to save that part of the cost: its bounds are one more assumption.
_LEAST_SAVING = 0.1


@dataclass(frozen=True)
class Lanes:
    """The rungs that are raced on, with prices and bounds; the truest is the last."""

    rungs: Sequence[Rung]
    costs: Sequence[float]
    biases: Sequence[float]
    pair_biases: Sequence[float | None] = ()
    calibration: Calibration | None = None
    pilot_cost: float = 0.0

    def __post_init__(self) -> None:
        """Without bounds of pairs, those of single candidates count."""
        if not self.pair_biases:
            object.__setattr__(self, "pair_biases", [None] * len(self.rungs))

    @property
    def truest(self) -> Lanes:
        """The truest alone."""
        return self.keep([len(self.rungs) - 1])

    def keep(self, kept: Sequence[int]) -> Lanes:
        """Some of them."""
        return replace(
            self,
            rungs=[self.rungs[m] for m in kept],
            costs=[self.costs[m] for m in kept],
            biases=[self.biases[m] for m in kept],
            pair_biases=[self.pair_biases[m] for m in kept],
        )


def choose_lanes(search: SearchRun) -> Lanes:
    """The rungs of a search that may pay, with what is known of their biases."""
    wanted, lanes = search.chosen.biases, search.lanes
    if isinstance(wanted, str):
        if wanted != "calibrate":
            raise InvalidInput(f"biases must be numbers, a function, a Calibration or 'calibrate', got {wanted!r}")
        return _useful(search, _calibrated(search))
    if isinstance(wanted, Calibration):
        return _useful(search, _from_calibration(wanted, lanes, search.policy.on_blocks))
    return _useful(search, replace(lanes, biases=read_biases(wanted, lanes.rungs)))


def _from_calibration(known: Calibration, lanes: Lanes, on_blocks: bool) -> Lanes:
    """The lanes with bounds from past tasks."""
    if len(known.biases) != len(lanes.rungs) or known.truest != len(lanes.rungs) - 1:
        raise InvalidInput(
            f"the calibration is for {len(known.biases)} fidelities with the truth at place "
            f"{known.truest}; the search has {len(lanes.rungs)} with the truth at the end"
        )
    if any(known.offsets) and not on_blocks:
        raise InvalidInput("a calibration with a common offset shifts scores; this policy takes them as they are")
    return _bounded(known, lanes)


def _bounded(known: Calibration, lanes: Lanes) -> Lanes:
    """The lanes with the bounds of a calibration; what a rung adds to everybody cancels in pairs."""
    biases = [abs(offset) + bias for offset, bias in zip(known.offsets, known.biases, strict=True)]
    pairs = [*known.pair_biases[:-1], None] if known.common_offset else [None] * len(biases)
    return replace(lanes, biases=biases, pair_biases=pairs)


def _calibrated(search: SearchRun) -> Lanes:
    """The lanes with bounds from a pilot, if one is likely to pay; otherwise the truest alone."""
    chosen = search.chosen
    repeats = check_repeats(chosen.pilot_repeats)
    least = pilot_size(chosen.bias_confidence, pairs=search.policy.on_blocks)
    size = least if chosen.pilot is None else chosen.pilot
    if not is_whole(size) or size < least:
        raise InvalidInput(
            f"pilot must be a whole number >= {least} to promise a bias_confidence of {chosen.bias_confidence:g}, "
            f"got {size!r}"
        )
    lanes = _tried(search, search.lanes)
    if len(lanes.rungs) == 1:
        return lanes
    if not worth_a_pilot(len(search.candidates), size):
        search.say(f"{len(search.candidates)} candidates are too few for a pilot of {size} to pay")
        return lanes.truest
    cost = size * repeats * sum(lanes.costs)
    if chosen.max_cost is not None and cost > chosen.max_cost / 2:
        search.say(f"a pilot would cost {cost:g}, more than half of max_cost={chosen.max_cost:g}")
        return lanes.truest
    found, scores = run_pilot(search, lanes.rungs, size, repeats)
    search.say(found.statement)
    lanes = replace(_bounded(found, lanes), calibration=found, pilot_cost=cost)
    return _forecast(search, lanes, scores) if search.policy.on_blocks else lanes


def _forecast(search: SearchRun, lanes: Lanes, scores: Any) -> Lanes:
    """The truest lane, and the cheap one that is likely to save most, if any does."""
    last = len(lanes.rungs) - 1
    needed = math.log(2.0 * len(search.names) / search.chosen.delta)
    savings = [
        forecast_saving(scores, float(pair or 0.0), m, lanes.costs[m] / lanes.costs[last], needed)
        for m, pair in enumerate(lanes.pair_biases[:last])
    ]
    best = max(range(last), key=savings.__getitem__)
    said = ", ".join(f"{lanes.rungs[m].name}: {saving:.0%}" for m, saving in enumerate(savings))
    search.say(f"forecast of what cheap fits save: {said}")
    return lanes.keep([best, last]) if savings[best] >= _LEAST_SAVING else lanes.truest


def _is_tried(search: SearchRun, lanes: Lanes, rung: int) -> bool:
    """Whether fits at a rung can pay: a race of few candidates tries only what costs next to nothing."""
    last = len(lanes.rungs) - 1
    return not search.policy.on_blocks or rung == last or lanes.costs[rung] <= TRIED * lanes.costs[last]


def _tried(search: SearchRun, lanes: Lanes) -> Lanes:
    """Leave out what is too expensive to pay, and say so."""
    kept = [m for m in range(len(lanes.rungs)) if _is_tried(search, lanes, m)]
    costly = [rung.name for m, rung in enumerate(lanes.rungs) if m not in kept]
    if costly and search.wants_fidelities:
        search.say(
            f"fits at {', '.join(costly)} cost more than {TRIED:g} of one at {lanes.rungs[-1].name}: they would not "
            "pay, and are left out"
        )
    return lanes.keep(kept)


def _useful(search: SearchRun, lanes: Lanes) -> Lanes:
    """Drop rungs that are never used, or may be off by so much (half the range) that they tell nothing."""
    span = math.inf if isinstance(search.reward, Gaussian) else search.reward.span
    last = len(lanes.rungs) - 1
    bounds = [2 * bias if pair is None else pair for bias, pair in zip(lanes.biases, lanes.pair_biases, strict=True)]
    return _tried(search, lanes.keep([m for m, bound in enumerate(bounds) if m == last or bound < span]))
