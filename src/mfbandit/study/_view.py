"""A study at one moment: statistics, the answer, and how sure it is."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mfbandit.confidence import Victory, chances, confidence, interval, is_proven, unlike_normal, victories
from mfbandit.confidence.goals import Verdicts, settled_by
from mfbandit.core import PULLS, Arrays, Ints
from mfbandit.model import BetterThan, CheapestWithin
from mfbandit.study.state._bias_violations import broken_bounds, sentences
from mfbandit.study.state._planner import race_of
from mfbandit.study.state._remaining_cost import RemainingCost
from mfbandit.study.state._study_state import StudyState

if TYPE_CHECKING:
    from mfbandit.confidence.race import Race

__all__ = ["View"]

#: So many arms are named in a warning.
_MOST_NAMED = 3


class View:
    """What the data of a study say at one moment; it does not change when the study goes on."""

    def __init__(self, study_state: StudyState) -> None:
        self.settings = study_state.settings
        planner, self.state = study_state.judged()
        self.arms = list(planner.arms)
        """Index in the problem of each arm in play, one per row of the statistics."""
        self.columns = list(planner.columns)
        """Index in the problem of each fidelity in use, one per column of the statistics."""
        self.arrays: Arrays = planner.problem
        self.algorithm = planner.algorithm
        # The clock of policies moves when a row of a round is complete; people count every result.
        self.pulls = int(study_state.state.clock[PULLS]) + study_state.round.loose()
        """How many pulls have a result."""
        self.status = study_state.status
        self.cost = study_state.cost
        unfinished = study_state.round.unfinished() if study_state.ended else []
        self.unfinished = len(unfinished)
        """How many pulls were out when the study had its answer, and never got a result."""
        self.unfinished_cost = math.fsum(study_state.round.row_of(position).cost for position in unfinished)
        """What these would cost; no part of `cost`."""
        self.hold_up = study_state.hold_up()
        """Why no pull can be handed out, if none can."""
        names = self.settings.problem.arms
        self.retired = study_state.retired | {names.index(arm): "taken out" for arm in self.settings.arms_gone}
        self.problem = study_state.problem
        """The problem with the bias bounds that are believed by now."""
        self.broken = list(study_state.broken)
        self.added = dict(study_state.added)
        """What was added to bias bounds, by fidelity, in unit scale."""
        self.counted_cost = study_state.folded_cost
        """What the results cost that have counted."""
        self.beyond = study_state.costs.beyond.copy() if study_state.costs.known else None
        """What pulls have cost beyond what was declared, by arm and fidelity; None if nobody told."""
        kept = self.state.pulls * self.arrays.declared
        if self.beyond is not None:
            kept += self.beyond[np.ix_(self.arms, self.columns)]
        gone = len(self.arms) < len(names)
        self.retired_pulls = study_state.folded_pulls - int(self.state.pulls.sum()) if gone else 0
        """How many results arms had that are no longer in play."""
        # A difference of sums: digits that are noise are left out.
        self.retired_cost = float(f"{max(0.0, self.counted_cost - float(kept.sum())):.10g}") if gone else 0.0
        first = study_state.arms_at_first
        self.joined = (
            tuple(tuple(blocks) for blocks in self.state.blocks.joined.T[first : self.settings.arms_there].tolist())
            if self.settings.arms_there
            else ()
        )
        """How many blocks of each fidelity in use were open when each arm joined that was not there at first."""
        self.reasons = list(study_state.stuck.values())
        row = planner.answer(self.state) if self.arms else -1
        self.answer = self.arms[row] if row >= 0 else -1
        """Index in the problem of the arm the policy would answer with; -1 if none is left."""
        race = study_state.race
        self.on_blocks = race is not None
        """Whether arms are compared on shared blocks."""
        # Both only grow, so what is said of this moment is their first so many entries.
        self._rounds, self._rewards = (race.rounds, race.rewards) if race is not None else ([], [])
        self._lengths = len(self._rounds), len(self._rewards)
        self.openings: Ints = np.zeros((0, 0), dtype=np.int64) if race is None else race.openings.copy()
        """How many pulls of each arm at each fidelity have opened a block; empty for a problem without blocks."""

    @property
    def best(self) -> str | None:
        """The arm the policy would answer with; None before the first result, unless there is only one.

        None where the goal is not one arm: see `verdicts`.
        """
        if self.settings.question is not None:
            one = isinstance(self.settings.question, CheapestWithin) and self.verdicts is not None
            return self.chosen[0] if one else None
        counted = bool(self.state.pulls.any()) or self.settings.problem.n_arms == 1
        return self.settings.problem.arms[self.answer] if counted and self.answer >= 0 else None

    @cached_property
    def verdicts(self) -> Verdicts | None:
        """What is shown about each arm, where the goal is not the best arm; None before the first result."""
        question = self.settings.question
        return settled_by(question, self.race) if question is not None and self.state.pulls.any() else None

    @property
    def chosen(self) -> tuple[str, ...]:
        """The arms that are chosen, or better than the control, as it seems so far; empty where one best is sought."""
        names = self.settings.problem.arms
        return () if self.verdicts is None else tuple(names[arm] for arm in self.verdicts.answer)

    @cached_property
    def victories(self) -> list[Victory]:
        """How strongly each arm in play but the answer is beaten; empty before the first result, and on blocks."""
        if self.best is None or self.on_blocks:
            return []
        epsilon = self.settings.epsilon / self._span
        return list(victories(self.arrays, self.algorithm, self.state, self.arms.index(self.answer), epsilon))

    @cached_property
    def race(self) -> Race:
        """What the rewards of a race on blocks prove."""
        return race_of(self.settings, self.problem, self.columns, self.state)

    @property
    def rounds(self) -> list[dict[str, Any]]:
        """The rounds of a race: what each has opened (fidelity, block, leader, runner-up), and its rows."""
        return self._rounds[: self._lengths[0]]

    @property
    def rewards(self) -> list[float | None]:
        """The rewards of a race that have counted, in the order of asking; None for a cell that could not be had."""
        return [None if math.isnan(reward) else reward for reward in self._rewards[: self._lengths[1]]]

    @cached_property
    def confidence(self) -> float:
        """How sure it is that `best` is the best of the arms in play."""
        if self.verdicts is not None:
            return self.verdicts.confidence
        if self.best is None:
            return 0.0
        if self.on_blocks:
            return float(self.race.confidence(self.answer))
        least = min((one.evidence for one in self.victories), default=0.0)
        return confidence(self._ways, self.settings.delta, least)

    @property
    def differences(self) -> dict[str, tuple[float, float]]:
        """By how much `best` is ahead of each other arm, at least and at most; empty unless on blocks.

        Where the goal is not one arm: by how much the control is, or nothing.
        """
        names, asked = self.settings.problem.arms, self.settings.question
        if asked is not None:
            reference = asked.control if isinstance(asked, BetterThan) and self.verdicts is not None else self.best
            found = {} if reference is None else self.race.differences(names.index(reference))
            return {names[arm]: (float(low), float(high)) for arm, (low, high) in found.items()}
        if self.best is None or not self.on_blocks:
            return {}
        found = self.race.differences(self.answer)
        return {names[arm]: (float(low), float(high)) for arm, (low, high) in found.items() if arm != self.answer}

    @property
    def tied(self) -> tuple[str, ...]:
        """The other arms that are known to be exactly as good as `best`."""
        if self.best is None or not self.on_blocks or self.settings.question is not None:
            return ()
        return tuple(self.settings.problem.arms[arm] for arm in self.race.tied(self.answer) if arm != self.answer)

    @cached_property
    def left(self) -> tuple[str, ...]:
        """The arms that are not shown to be worse than another, at the level delta; `best` is one of them."""
        names = self.settings.problem.arms
        if self.verdicts is not None:
            return tuple(names[arm] for arm in self.verdicts.left)
        if self.best is None:
            there = self.settings.present
            return tuple(names[arm] for arm in self.arms if there is None or there[arm])
        if self.on_blocks:
            open_arms = self.race.log_wrong(self.answer) > self.race.log_level
            return tuple(name for arm, name in enumerate(names) if open_arms[arm] or arm == self.answer)
        ways, delta = self._ways, self.settings.delta
        beaten = {self.arms[one.arm] for one in self.victories if is_proven(ways, delta, one.evidence)}
        return tuple(names[arm] for arm in self.arms if arm not in beaten)

    @cached_property
    def regret_bound(self) -> float | None:
        """By how much `best` can at most be worse than the best arm in play, with probability 1 - delta.

        None if nothing is known. Without blocks it rests on the intervals of all arms.
        """
        if self.best is None or self.settings.question is not None:
            return None
        if self.on_blocks:
            bound = float(self.race.regret_bound(self.answer))
        elif len(self.left) == 1:
            bound = self.settings.epsilon
        else:
            known = self.intervals()
            bound = max(high for _, high in known.values()) - known[self.best][0]
            bound = min(max(0.0, bound), self._span)
        return bound if math.isfinite(bound) else None

    @property
    def remaining_cost(self) -> float | None:
        """About what it takes until the answer is sure, if evidence grows as it did so far; None if that is not known.

        A rough guess: a run that goes on measures it better.
        """
        if self.settings.spends or self.status in ("certified", "answered"):
            return None
        ways = 1 if self.on_blocks else self._ways
        found = RemainingCost(ways, self.settings.delta).update(self.cost, self.confidence)
        return None if found is None else min(found, self.cost_of_all)

    @property
    def _ways(self) -> int:
        """In how many ways the best arm can be beaten wrongly."""
        return chances(self.algorithm.evidence, len(self.arms))

    @property
    def cost_of_all(self) -> float:
        """What is left to pay until all arms are known on all blocks of a finite set, and so for certain; else inf."""
        size = int(self.arrays.blocks.size) if self.on_blocks else 0
        if not size:
            return math.inf
        there, truest = self.settings.present, int(self.arrays.truest)
        cells = (size - self.state.pulls[:, truest]) * self.arrays.cost[:, truest]
        return float(cells.sum() if there is None else cells[there].sum())

    @property
    def _span(self) -> float:
        return self.settings.problem.reward.span

    def violations(self) -> list[str]:
        """Where the data contradict what was assumed, and what was done about it, in words.

        On blocks, where differences look unlike normal ones. Bias bounds are not watched there: the alarm takes
        rewards for independent.
        """
        settings = self.settings
        if self.on_blocks:
            return self._unlike_normal()
        found = self.broken
        if settings.on_violation == "ignore" and self.arms and len(self.columns) > 1:
            rows, total = range(len(self.arms)), settings.problem.n_arms
            found = broken_bounds(self.arrays, self.state, settings.alarm_level, self.arms, rows, total)
        return sentences(settings.problem, found, settings.on_violation)

    def _unlike_normal(self) -> list[str]:
        """The arms whose differences to the answer look unlike normal ones, where the claim assumes them."""
        problem = self.settings.problem
        if not self.state.pulls.any() or problem.reward.low is not None:
            return []
        leader, asked = self.answer, self.settings.question
        if isinstance(asked, BetterThan):
            leader = problem.arms.index(asked.control)
        first = problem.arms[leader]
        words = {arm: unlike_normal(self.race.truest_differences(leader, k)) for k, arm in enumerate(problem.arms)}
        found = [(arm, said) for arm, said in words.items() if said is not None and arm != first]
        named = [
            f"differences of {first!r} and {arm!r} look unlike normal ones ({said}), which the claim assumes: "
            "declare a range or a swing, or more caution"
            for arm, said in found[:_MOST_NAMED]
        ]
        return named + ([f"so do those of {len(found) - len(named)} other arms"] if len(found) > len(named) else [])

    def intervals(self) -> dict[str, tuple[float, float]]:
        """Bounds of every arm's true mean, in units of the reward, of the arms in play.

        On blocks nothing but the range of rewards is known of one arm alone: see `differences`.
        """
        return dict(self._intervals)

    @cached_property
    def _intervals(self) -> dict[str, tuple[float, float]]:
        problem = self.settings.problem
        if self.on_blocks:
            low, high = problem.reward.low, problem.reward.high
            return dict.fromkeys(problem.arms, (-math.inf if low is None else low, math.inf if high is None else high))
        return {problem.arms[arm]: self.interval_of(row) for row, arm in enumerate(self.arms)}

    def interval_of(self, row: int) -> tuple[float, float]:
        """The same for one arm in play, by its row in the statistics: at many arms all of them take a while."""
        problem, reward = self.settings.problem, self.problem.reward
        if self.on_blocks:
            return self._intervals[problem.arms[self.arms[row]]]
        low, high = interval(self.arrays, self.state, row, self.settings.delta / problem.n_arms)
        return reward.from_unit(low), reward.from_unit(high)
