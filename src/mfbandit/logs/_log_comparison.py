"""Which of several systems is best, by logs of their scores on the same items."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from mfbandit.formatting import percent
from mfbandit.logs._evidence import Differences, Judgement, check_levels, judgement
from mfbandit.logs._items_needed import ItemsNeeded, items_needed
from mfbandit.logs._log_sentences import about_more, rests_on
from mfbandit.logs._open_logs import LogSources, read_logs
from mfbandit.logs._score_table import Reading, ScoreTable, score_table

__all__ = ["LogComparison", "Rival", "compare", "compare_table"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Rival:
    """A system beside the best one."""

    system: str
    mean: float
    ahead: float
    """By how much the best one has the better mean on the items of the logs."""
    at_least: float
    at_most: float
    """Between which that difference lies on all items of the kind; right for all pairs of systems together."""
    confidence: float
    """How sure it is that this one is not the best, or not by more than epsilon."""
    needed: ItemsNeeded
    """How many items would show that; those of the logs, if they do."""


@dataclass(frozen=True)
class LogComparison:
    """Which system is best, by how much, how sure, and how many items would settle it.

    Examples
    --------
    >>> items, values = tuple(map(str, range(60))), np.repeat([[1.0], [0.0]], 60, axis=1)
    >>> table = ScoreTable(("a", "b"), items, values, "score", (0.0, 1.0), ())
    >>> found = compare_table(table)
    >>> found.best, found.settled, found.rivals[0].ahead
    ('a', True, 1.0)
    """

    best: str
    """The system with the best mean on these items; the first, if several have it."""
    tied: tuple[str, ...]
    """Others with the same mean."""
    mean: float
    rivals: tuple[Rival, ...]
    """The others, by their means."""
    items: int
    """How many items all systems have."""
    delta: float
    epsilon: float
    once: bool
    metric: str
    range: tuple[float, float]
    notes: tuple[str, ...] = field(default=())
    """What was left out, averaged or assumed."""

    @property
    def confidence(self) -> float:
        """How sure it is that the best one here is the best on all items of the kind, or within epsilon of it."""
        return min(rival.confidence for rival in self.rivals)

    @property
    def settled(self) -> bool:
        """Whether that is as sure as was asked for."""
        # A rival's confidence was worked out from a logarithm: what is delta up to rounding passes.
        return self.confidence >= 1.0 - self.delta - 1e-12

    @property
    def open(self) -> tuple[str, ...]:
        """The systems that may still be the best."""
        return tuple(rival.system for rival in self.rivals if rival.confidence < 1.0 - self.delta - 1e-12)

    @property
    def needed(self) -> ItemsNeeded:
        """How many items would settle it, those of the logs included (if one may look again)."""
        return ItemsNeeded.most([rival.needed for rival in self.rivals])

    @property
    def about_these(self) -> str:
        """What is certain: the means of the items in the logs."""
        if self.tied:
            names = ", ".join(map(repr, (self.best, *self.tied)))
            return f"On these {self.items:,} items {names} have the same best mean, {self.mean:.4g}. That is exact."
        return f"On these {self.items:,} items {self.best!r} has the best mean, {self.mean:.4g}. That is exact."

    @property
    def about_all(self) -> str:
        """What follows for items that were not asked."""
        close = f"within {self.epsilon:g} of the best" if self.epsilon else "the best"
        if self.settled:
            sure = f"{self.best!r} is {close} with confidence {percent(self.confidence)}"
            return f"On all items of this kind {sure} ({percent(1.0 - self.delta)} was asked for)."
        rivals = ", ".join(map(repr, self.open[:4])) + (f" and {len(self.open) - 4} more" if len(self.open) > 4 else "")
        return (
            f"On all items of this kind it is not settled that {self.best!r} is {close}: {rivals} may be better. "
            f"The confidence is {percent(self.confidence)}; {percent(1.0 - self.delta)} was asked for."
        )

    @property
    def about_more(self) -> str:
        """How many items would settle it."""
        return "These items are enough." if self.settled else about_more(self.needed, self.items, self.once)

    @property
    def rests_on(self) -> str:
        """What has to hold for what is said about all items."""
        return rests_on(self.range, self.once)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is shown, in words."""
        return (self.about_these, self.about_all, self.about_more, self.rests_on, *self.notes)

    def to_json(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "best": self.best,
            "tied": list(self.tied),
            "settled": self.settled,
            "confidence": self.confidence,
            "mean": self.mean,
            "items": self.items,
            "items_needed": vars(self.needed),
            "metric": self.metric,
            "range": list(self.range),
            "delta": self.delta,
            "epsilon": self.epsilon,
            "once": self.once,
            "rivals": [vars(rival) | {"needed": vars(rival.needed)} for rival in self.rivals],
            "notes": list(self.notes),
        }


def compare(
    logs: LogSources,
    *,
    delta: float = 0.05,
    epsilon: float = 0.0,
    once: bool = False,
    reading: Reading | None = None,
) -> LogComparison:
    """Say which of several systems is best, from logs of their scores.

    Parameters
    ----------
    logs
        Files and folders: logs of Inspect (``.eval``, ``.json``; extra ``inspect``), samples of
        lm-evaluation-harness (``samples_*.jsonl``), outputs of promptfoo (``.json``), CSV or JSON lines with item,
        system and score. "NAME=FILE", or a mapping, names systems. Or a data frame with item, system and score.
    delta
        Allowed probability that the claim is wrong.
    epsilon
        A system this close to the best is good enough, in units of the score.
    once
        The number of items was fixed before anybody looked, and this is the only look. Then more can be shown where
        all answers are right or wrong.
    reading
        How scores are read: the metric, the range, what counts for missing ones.

    Returns
    -------
    LogComparison
    """
    reading = reading or Reading()
    rows = read_logs(logs, reading.metric)
    return compare_table(score_table(rows, reading), delta, epsilon, once, reading.lower_is_better)


def compare_table(
    table: ScoreTable, delta: float = 0.05, epsilon: float = 0.0, once: bool = False, lower_is_better: bool = False
) -> LogComparison:
    """Say which system of a table is best."""
    delta, epsilon = check_levels(delta, epsilon)
    low, high = table.range
    unit = table.in_units(lower_is_better)
    means = unit.mean(axis=1)
    order = np.argsort(-means, kind="stable").tolist()
    pairs = _PairEvidence(unit, judgement(once), math.log(delta), epsilon / (high - low))
    rivals = tuple(pairs.rival(order[0], b, table, high - low) for b in order[1:])
    tied = tuple(table.systems[b] for b in order[1:] if math.isclose(means[b], means[order[0]], abs_tol=1e-12))
    best = order[0]
    return LogComparison(
        table.systems[best],
        tied,
        float(table.values[best].mean()),
        rivals,
        len(table.items),
        delta,
        epsilon,
        once,
        table.metric,
        table.range,
        table.notes,
    )


class _PairEvidence:
    """What is shown about pairs of systems."""

    def __init__(self, unit: Floats, judge: Judgement, log_delta: float, epsilon: float) -> None:
        self._unit, self._judge, self._log_delta, self._epsilon = unit, judge, log_delta, epsilon
        self._systems = unit.shape[0]

    def _differences(self, a: int, b: int) -> Differences:
        return Differences.of(self._unit[a], self._unit[b])

    def rival(self, best: int, b: int, table: ScoreTable, span: float) -> Rival:
        """What is shown about a system beside the best one."""
        found = self._differences(best, b)
        log_weight = math.log(self._systems - 1)
        against = np.array([self._judge.log_p(self._differences(a, b)) for a in range(self._systems) if a != b])
        log_p = self._judge.log_p_best(against)
        if self._epsilon:
            log_p = min(log_p, self._judge.log_p(found, -self._epsilon) + log_weight)
        each = self._log_delta - math.log(self._systems * (self._systems - 1))
        at_least = self._judge.at_least(found, each)
        at_most = -self._judge.at_least(found.reversed(), each)
        if log_p <= self._log_delta:
            needed = ItemsNeeded(int(found.n), int(found.n))
        else:
            needed = items_needed(self._judge, found, -self._epsilon, self._log_delta - log_weight)
        return Rival(
            table.systems[b],
            float(table.values[b].mean()),
            found.mean * span,
            at_least * span,
            at_most * span,
            1.0 - math.exp(min(0.0, log_p)),
            needed,
        )
