"""A study at one moment: statistics, the answer, and how sure it is."""

from __future__ import annotations

from functools import cached_property

from mfbandit.confidence.victories import Victory, confidence, interval, victories
from mfbandit.core import PULLS, Arrays
from mfbandit.study.course import Course
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
        self.algorithm = course.lineup.algorithm
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
        self.added = dict(course.added)
        """What was added to bias bounds, by fidelity, in unit scale."""
        kept = self.state.pulls * self.arrays.cost
        gone = len(self.arms) < self.settings.problem.n_arms
        self.retired_pulls = course.folded_pulls - int(self.state.pulls.sum()) if gone else 0
        """How many results arms had that are no longer in play."""
        # A difference of sums: digits that are noise are left out.
        self.retired_cost = float(f"{max(0.0, course.folded_cost - float(kept.sum())):.10g}") if gone else 0.0
        self.reasons = list(course.stuck.values())
        self.answer = course.recommend()
        """Index in the problem of the arm the policy would answer with; -1 if none is left."""

    @property
    def best(self) -> str | None:
        """The arm the policy would answer with; None before the first result, unless there is only one."""
        counted = bool(self.state.pulls.any()) or self.settings.problem.n_arms == 1
        return self.settings.problem.arms[self.answer] if counted and self.answer >= 0 else None

    @cached_property
    def victories(self) -> list[Victory]:
        """How strongly each arm in play but the answer is beaten; empty before the first result."""
        if self.best is None:
            return []
        epsilon = self.settings.epsilon / self._span
        return list(victories(self.arrays, self.algorithm, self.state, self.arms.index(self.answer), epsilon))

    @cached_property
    def confidence(self) -> float:
        """How sure it is that `best` is the best of the arms in play."""
        if self.best is None:
            return 0.0
        least = min((one.evidence for one in self.victories), default=0.0)
        return confidence(len(self.arms), self.settings.delta, least)

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
            found[problem.arms[arm]] = self.problem.reward.from_unit(low), self.problem.reward.from_unit(high)
        return found
