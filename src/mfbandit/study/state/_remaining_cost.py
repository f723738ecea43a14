"""What a study may still cost, from how fast its evidence grew with what was spent."""

from __future__ import annotations

import math
import time

__all__ = ["RemainingCost", "SpendingRate"]

#: Weight of a new estimate against those before.
_FRESH = 0.3
#: Points of the past that are remembered.
_POINTS = 200


class RemainingCost:
    """An estimate of the cost still to come.

    The confidence 1 - ways exp(-L) rests on evidence L that grows about linearly with the cost, after a
    start in which little is known. So the growth is measured since half of the cost was spent, and carried
    on to where the confidence is 1 - delta. Nothing is said while the confidence is 0.

    Parameters
    ----------
    ways : int
        In how many ways the best arm can be beaten wrongly: see `mfbandit.confidence.chances`.
    delta : float
        One minus the confidence that is wanted.

    Examples
    --------
    >>> remaining_cost = RemainingCost(ways=1, delta=math.exp(-4.0))
    >>> remaining_cost.update(10.0, 0.0) is None
    True
    >>> round(remaining_cost.update(20.0, 1.0 - math.exp(-1.0)), 6)
    60.0
    """

    def __init__(self, ways: int, delta: float) -> None:
        self._ways = max(1, ways)
        self._needed = math.log(self._ways / delta)
        self._past = [(0.0, 0.0)]
        self._total = 0.0

    def evidence(self, confidence: float) -> float:
        """The evidence behind a confidence; 0 where it is not known."""
        return math.log(self._ways / max(1.0 - confidence, 1e-300)) if confidence > 0.0 else 0.0

    def share(self, confidence: float) -> float:
        """How much of the evidence that is needed there is."""
        return min(1.0, self.evidence(confidence) / self._needed)

    def update(self, cost: float, confidence: float) -> float | None:
        """Take in how sure a study is after a cost; returns the cost still to come, or None."""
        evidence = self.evidence(confidence)
        if evidence <= 0.0:
            return None
        before = max((point for point in self._past if point[0] <= 0.5 * cost), key=lambda point: point[0])
        if cost > self._past[-1][0]:
            self._remember(cost, evidence)
        growth = evidence - before[1]
        if growth <= 0.0:
            return None
        total = cost + max(0.0, self._needed - evidence) * (cost - before[0]) / growth
        self._total = total if not self._total else self._total ** (1.0 - _FRESH) * total**_FRESH
        return max(0.0, self._total - cost) or None

    def _remember(self, cost: float, evidence: float) -> None:
        self._past.append((cost, evidence))
        if len(self._past) > _POINTS:
            del self._past[1:-1:2]


class SpendingRate:
    """How long a run takes for what it spends, with the workers that it has.

    Parameters
    ----------
    cost : float
        What was spent before the run.
    """

    def __init__(self, cost: float) -> None:
        self._began, self._cost = time.monotonic(), cost

    def seconds(self, cost: float, ahead: float) -> float | None:
        """How long it takes to spend `ahead` more, by what was spent since; None if that is nothing."""
        spent = cost - self._cost
        return ahead * (time.monotonic() - self._began) / spent if spent > 0.0 else None
