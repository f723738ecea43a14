"""What the state of a study rests on: the arms in play, the bounds that are believed, and the statistics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mfbandit.confidence import BrokenBound
from mfbandit.core import State, arrays, keep_arms, new_state, observe, observe_block, with_costs
from mfbandit.model import Gaussian
from mfbandit.study._settings import Settings
from mfbandit.study.state._bias_violations import broken_bounds, widened, write_beliefs
from mfbandit.study.state._planner import Planner, carry_over, copy_state, make_planner, make_planner_for, race_of
from mfbandit.study.state._study_blocks import BlockBook, RaceLog, return_unbeaten
from mfbandit.study.state.rounds._costs import Costs
from mfbandit.study.state.rounds._round import PlannedRow
from mfbandit.study.state.rounds._round_record import MemoryDiff

__all__ = ["StudyStatistics"]


class StudyStatistics:
    """The arms in play, what is believed of them, and all statistics."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        #: How many arms a race had at first that others may join.
        self.arms_at_first = settings.arms_there
        problem = settings.seen
        #: The problem with the bias bounds that are believed by now.
        self.problem = problem
        #: Bias bounds that the data have contradicted, and what was added to bounds since, by fidelity.
        self.broken: list[BrokenBound] = []
        self.added: dict[int, float] = {}
        self._full = arrays(problem, settings.policy.columns(problem))
        self._unit = problem.reward.to_unit
        #: The user's problem, with the unit scale that statistics are in.
        self._scaled = problem
        self._centred = not isinstance(problem.reward, Gaussian)
        #: What pulls have cost, and are expected to cost.
        self.costs = Costs(settings)
        self.planner: Planner = make_planner(settings, self._full)
        algorithm = self.planner.algorithm
        self.state = new_state(self._full, algorithm.memory)
        #: Which block each pull is on, and what a race on blocks has seen; None for a problem without blocks.
        self.book = BlockBook(settings, self.costs) if settings.problem.blocks is not None else None
        self.race: RaceLog | None = None
        self._observe: Callable[..., None] = observe
        if self.book is not None and not self.book.independent:
            self.race = RaceLog(settings, self.planner, self.book)
            self.race.begin(self.state)
            if settings.present is not None:
                self.state.own.beaten[~np.array(settings.present)] = 1
            self._observe = observe_block
        #: Arms that were given up, and why.
        self.retired: dict[int, str] = {}
        #: Whether evidence is judged by something else since the last plan: the next one judges all arms again.
        self.judges_again = False
        self._diff: MemoryDiff | None = None

    def centre(self, first: float) -> None:
        """Fix the origin of Gaussian rewards by the first that counts, in the order of asking.

        All statistics are relative to it; no reward counts before it is fixed. Every process finds it in the log.
        """
        self._centred = True
        kind = self._scaled.reward
        if isinstance(kind, Gaussian) and kind.near(first) is not kind:
            self._scaled = self._scaled.with_reward(kind.near(first))
            self._unit = self._scaled.reward.to_unit
            self.problem = self.problem.with_reward(self._scaled.reward)
            self.planner.rescale(self.settings, self._scaled)

    def follow(self, changes: Mapping[str, Any]) -> None:
        """Go on with other settings, of which the policy is told: now, or by the next plan if arms are judged again."""
        before = self.settings
        self.settings = before.changed(changes)
        if self.settings.problem != before.problem:
            self._scaled = self.settings.seen.with_reward(self._scaled.reward)
            self._widen()
        if "joins" in changes:
            self.state.blocks.joined[:, before.arms_there] = changes["joins"]["blocks"]
        if self.settings.prices != before.prices:
            self.costs.reprice(self.settings)
        self.judges_again |= self.settings.judged_by != before.judged_by
        if self.planner.arms and not self.judges_again:
            self.planner.rescale(self.settings, self._scaled)

    def judged(self) -> tuple[Planner, State]:
        """The planner and a copy of the state that show what is proven by now.

        Victories over arms are kept as they were found. Where they are judged by something else since, they show
        nothing until the next plan has judged them again, so that all evidence is taken from the statistics.
        """
        planner, state = self.planner, copy_state(self.state)
        if not self.judges_again or not planner.arms:
            return planner, state
        if self.race is not None:
            return_unbeaten(race_of(self.settings, self.problem, planner.columns, state), state)
        if planner.algorithm.evidence not in ("pairs", "leaders"):
            return replace(planner, problem=keep_arms(self._full, planner.arms)), state
        anew = make_planner_for(self.settings, self._full, planner.arms, self._scaled)
        return anew, carry_over(planner, state, anew)

    def _follow_judging(self) -> None:
        """Tell the policy what evidence is judged by from now on, if that has changed."""
        if self.judges_again and self.planner.arms:
            self.planner.problem = keep_arms(self._full, self.planner.arms)
            self.planner.rescale(self.settings, self._scaled)
            self._plan_with_costs()  # which are not those that were declared, for all that is planned
        self.judges_again = False

    def _judge_race_again(self) -> None:
        """Let those arms of a race return that were beaten by what is no longer enough."""
        if self.race is None or not self.judges_again:
            return
        self._follow_judging()
        return_unbeaten(race_of(self.settings, self.problem, self.planner.columns, self.state), self.state)

    @property
    def _stops(self) -> bool:
        """Whether the data contradict a bias bound and that is to end the study."""
        return bool(self.broken) and self.settings.on_violation == "stop"

    def _violations(self, rows: Sequence[PlannedRow]) -> list[BrokenBound]:
        """The bias bounds that the rows of the round before have shown to be wrong."""
        settings, planner = self.settings, self.planner
        if settings.on_violation == "ignore" or len(planner.columns) < 2 or not planner.arms:
            return []
        among = sorted({row.cell[0] for row in rows})
        total = settings.problem.n_arms
        return broken_bounds(planner.problem, self.state, settings.alarm_level, planner.arms, among, total)

    def _new_planner(self, found: list[BrokenBound]) -> dict[str, Any]:
        """Go on with the arms that are left and the bounds to believe; returns what the record says of it."""
        # It says all of it each time, so that the last such record is enough to go on from.
        left = [arm for arm in self.planner.arms if arm not in self.retired] if self.retired else None
        again = self.judges_again and self.race is None and bool(self.planner.arms)
        if not (found or again) and (left is None or len(left) == len(self.planner.arms)):
            return {}
        if found:
            action = self.settings.on_violation
            self.broken += found
            self._believe({} if action == "stop" else widened(self.problem, self.added, found, action))
        arms = list(self.planner.arms) if left is None else left
        self._keep_arms(arms)
        return {"arms": arms, **write_beliefs(self.broken, self.added)}

    def _believe(self, added: dict[int, float]) -> None:
        """Take bias bounds to be wider by so much, in unit scale, by fidelity."""
        if added != self.added:
            self.added = added
            self._widen()

    def _widen(self) -> None:
        """Make anew what follows from the bounds that are believed."""
        self.problem = self._scaled.widened(self.added)
        self._full = arrays(self.problem, self.settings.policy.columns(self.settings.problem))

    def _keep_arms(self, arms: list[int]) -> None:
        """Keep the statistics of some arms, active ones too; an algorithm's notes start anew."""
        self._diff, self.judges_again = None, False
        old, before = self.state, self.planner
        self.planner = make_planner_for(self.settings, self._full, arms, self._scaled)
        self.state = carry_over(before, old, self.planner)

    def _plan_with_costs(self) -> None:
        """Tell the policy what pulls are expected to cost by now, if it plans with that."""
        planner = self.planner
        as_declared = planner.problem.cost is planner.problem.declared
        changed = self.costs.renew() or (self.costs.known and as_declared)
        if changed and planner.arms and self.settings.policy.follows_costs:
            expected = np.array(self.costs.expected)[np.ix_(planner.arms, planner.columns)]
            planner.problem = with_costs(planner.problem, np.ascontiguousarray(expected))

    def recommend(self) -> int:
        """The arm the policy would answer with, as an index of the problem; -1 if none is left."""
        row = self.planner.answer(self.state) if self.planner.arms else -1
        return self.planner.arms[row] if row >= 0 else -1
