"""Which systems are better than a control, and which are not, by logs of their scores on the same items."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from mfbandit._checks import closest
from mfbandit.errors import InvalidInput
from mfbandit.formatting import percent
from mfbandit.logs._evidence import Differences, check_levels, judgement
from mfbandit.logs._items_needed import ItemsNeeded, items_needed
from mfbandit.logs._log_sentences import about_more, rests_on
from mfbandit.logs._open_logs import LogSources, read_logs
from mfbandit.logs._score_table import Reading, ScoreTable, score_table

__all__ = ["BETTER", "NOT_BETTER", "OPEN", "Challenger", "ControlComparison", "compare_with_control", "control_table"]

BETTER, NOT_BETTER, OPEN = "better", "not better", "open"


@dataclass(frozen=True)
class Challenger:
    """A system beside the control."""

    system: str
    mean: float
    ahead: float
    """By how much its mean on the items of the logs is better than the control's."""
    at_least: float
    at_most: float
    """Between which that difference lies on all items of the kind; right for all challengers together."""
    verdict: str
    """"better", "not better" (by more than epsilon), or "open"."""
    confidence: float
    """How sure the verdict is, or that which seems right so far."""
    needed: ItemsNeeded
    """How many items would give a verdict; those of the logs, if they do."""


@dataclass(frozen=True)
class ControlComparison:
    """Which systems are better than the control.

    Examples
    --------
    >>> import numpy as np
    >>> items, values = tuple(map(str, range(60))), np.repeat([[0.0], [1.0], [0.0]], 60, axis=1)
    >>> table = ScoreTable(("old", "new", "odd"), items, values, "score", (0.0, 1.0), ())
    >>> found = control_table(table, "old", epsilon=0.2)
    >>> found.better, found.not_better, found.settled
    (('new',), ('odd',), True)
    """

    control: str
    mean: float
    challengers: tuple[Challenger, ...]
    """The others, by their means."""
    items: int
    delta: float
    epsilon: float
    once: bool
    metric: str
    range: tuple[float, float]
    notes: tuple[str, ...] = field(default=())

    def _with(self, verdict: str) -> tuple[str, ...]:
        return tuple(one.system for one in self.challengers if one.verdict == verdict)

    @property
    def better(self) -> tuple[str, ...]:
        """The systems that are shown to be better than the control."""
        return self._with(BETTER)

    @property
    def not_better(self) -> tuple[str, ...]:
        """The systems that are shown not to be better by more than epsilon."""
        return self._with(NOT_BETTER)

    @property
    def open(self) -> tuple[str, ...]:
        """The systems of which neither is shown."""
        return self._with(OPEN)

    @property
    def settled(self) -> bool:
        """Whether there is a verdict about every system."""
        return not self.open

    @property
    def needed(self) -> ItemsNeeded:
        """How many items would settle it, those of the logs included (if one may look again)."""
        return ItemsNeeded.most([one.needed for one in self.challengers])

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is shown, in words."""
        by = f" by more than {self.epsilon:g}" if self.epsilon else ""
        parts = [
            (self.better, f"better than {self.control!r}"),
            (self.not_better, f"not better than {self.control!r}{by}"),
        ]
        shown = [f"{', '.join(map(repr, names))}: {what}." for names, what in parts if names]
        if self.open:
            shown.append(f"Nothing is shown about {', '.join(map(repr, self.open))}.")
        sure = f"On all items of this kind these verdicts are all right with confidence {percent(1.0 - self.delta)}."
        more = "These items are enough." if self.settled else about_more(self.needed, self.items, self.once)
        return (*shown, sure, more, rests_on(self.range, self.once), *self.notes)

    def to_json(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "control": self.control,
            "better": list(self.better),
            "not_better": list(self.not_better),
            "open": list(self.open),
            "settled": self.settled,
            "mean": self.mean,
            "items": self.items,
            "items_needed": vars(self.needed),
            "metric": self.metric,
            "range": list(self.range),
            "delta": self.delta,
            "epsilon": self.epsilon,
            "once": self.once,
            "challengers": [vars(one) | {"needed": vars(one.needed)} for one in self.challengers],
            "notes": list(self.notes),
        }


def compare_with_control(
    logs: LogSources,
    control: str,
    *,
    delta: float = 0.05,
    epsilon: float = 0.0,
    once: bool = False,
    reading: Reading | None = None,
) -> ControlComparison:
    """Say which systems are better than a control, and which are not, from logs of their scores.

    Parameters
    ----------
    logs, once, reading
        As for `compare`.
    control
        The name of the system that the others are compared with.
    delta
        Allowed probability that any of the verdicts is wrong.
    epsilon
        A system that is not better by more than that counts as not better. Without it, a system that is as good as the
        control stays open.

    Returns
    -------
    ControlComparison
    """
    reading = reading or Reading()
    table = score_table(read_logs(logs, reading.metric), reading)
    return control_table(table, control, delta, epsilon, once, reading.lower_is_better)


def control_table(
    table: ScoreTable,
    control: str,
    delta: float = 0.05,
    epsilon: float = 0.0,
    once: bool = False,
    lower_is_better: bool = False,
) -> ControlComparison:
    """Say which systems of a table are better than a control."""
    delta, epsilon = check_levels(delta, epsilon)
    if control not in table.systems:
        known = ", ".join(map(repr, table.systems))
        raise InvalidInput(f"there is no system {control!r}{closest(control, table.systems)}; there are {known}")
    span = table.range[1] - table.range[0]
    unit = table.in_units(lower_is_better)
    row = table.systems.index(control)
    judge = judgement(once)
    # A union over the others; a verdict about one can be wrong in one way only, whichever the truth is.
    log_weight = math.log(len(table.systems) - 1)
    log_level = math.log(delta) - log_weight

    def challenger(k: int) -> Challenger:
        found = Differences.of(unit[k], unit[row])
        back = found.reversed()
        log_better, log_not = judge.log_p(found), judge.log_p(back, -epsilon / span)
        verdict = BETTER if log_better <= log_level else NOT_BETTER if log_not <= log_level else OPEN
        needed = ItemsNeeded(int(found.n), int(found.n))
        if verdict == OPEN:
            towards = [
                items_needed(judge, found, 0.0, log_level),
                items_needed(judge, back, -epsilon / span, log_level),
            ]
            needed = min(towards, key=lambda one: one.even or math.inf)
        each = log_level - math.log(2.0)
        return Challenger(
            table.systems[k],
            float(table.values[k].mean()),
            found.mean * span,
            judge.at_least(found, each) * span,
            -judge.at_least(back, each) * span,
            verdict,
            1.0 - math.exp(min(0.0, min(log_better, log_not) + log_weight)),
            needed,
        )

    others = sorted((k for k in range(len(table.systems)) if k != row), key=lambda k: -float(unit[k].mean()))
    return ControlComparison(
        control,
        float(table.values[row].mean()),
        tuple(challenger(k) for k in others),
        len(table.items),
        delta,
        epsilon,
        once,
        table.metric,
        table.range,
        table.notes,
    )
