"""A study at one moment: statistics, the answer, and how sure it is."""

from __future__ import annotations

from functools import cached_property

from mfbandit.core import PULLS, Arrays
from mfbandit.study.course import Course
from mfbandit.study.evidence import confidence, interval, pair_confidence
from mfbandit.study.lineup import copy_state
from mfbandit.study.violations import broken_bounds, sentences

__all__ = ["View"]


class View:
    """What the data of a study say at one moment; it does not change when the study goes on."""

    def __init__(self, course: Course) -> None:
        self.settings = course.settings
        self.arms = list(course.lineup.arms)
        """Index in the problem of each arm in play, one per row of the statistics."""
        self.columns = list(course.lineup.columns)
        """Index in the problem of each fidelity in use, one per column of the statistics."""
        self.arrays: Arrays = course.lineup.problem
        self.params = course.lineup.algorithm.params
        self.stops_by = course.lineup.algorithm.evidence
        """The evidence that the policy stops by, "pairs" or "arms"."""
        self.state = copy_state(course.state)
        # The clock of policies moves when a row of a round is complete; people count every result.
        self.pulls = int(course.state.clock[PULLS]) + course.round.loose()
        """How many pulls have a result."""
        self.status = course.status
        self.cost = course.cost
        self.retired = dict(course.retired)
        self.problem = course.problem
        """The problem with the bias bounds that are believed by now."""
        self.broken = list(course.broken)
        self.reasons = list(course.stuck.values())
        self.answer = course.recommend()
        """Index in the problem of the arm the policy would answer with; -1 if none is left."""

    @property
    def best(self) -> str | None:
        """The arm the policy would answer with; None before the first result."""
        counted = bool(self.state.pulls.any())
        return self.settings.problem.arms[self.answer] if counted and self.answer >= 0 else None

    @cached_property
    def confidence(self) -> float:
        """How sure it is that `best` is the best of the arms in play."""
        if self.best is None:
            return 0.0
        place = self.arms.index(self.answer)
        if self.stops_by == "pairs":
            sure = pair_confidence(self.arrays, self.params, self.state, place)
        else:
            sure = confidence(self.arrays, self.state, place, self.settings.epsilon / self._span)
        # A policy that stopped by itself has proved its answer, perhaps by sharper evidence than this.
        return max(sure, 1.0 - self.settings.delta) if self.status == "certified" else sure

    @property
    def _span(self) -> float:
        return self.settings.problem.reward.span

    def violations(self) -> list[str]:
        """Where the data contradict bias bounds, and what was done about it, in words."""
        settings = self.settings
        found = self.broken
        if settings.on_violation == "ignore" and self.arms and len(self.columns) > 1:
            places, total = range(len(self.arms)), settings.problem.n_arms
            found = broken_bounds(self.arrays, self.state, settings.alarm_level, self.arms, places, total)
        return sentences(settings.problem, found, settings.on_violation)

    def intervals(self) -> dict[str, tuple[float, float]]:
        """Bounds of every arm's true mean, in units of the reward, of the arms in play."""
        problem = self.settings.problem
        alpha = self.settings.delta / problem.n_arms
        found = {}
        for place, arm in enumerate(self.arms):
            low, high = interval(self.arrays, self.state, place, alpha)
            found[problem.arms[arm]] = problem.reward.from_unit(low), problem.reward.from_unit(high)
        return found
