"""The evidence of a race on blocks, from the raw rewards: what certificates and results say of it.

The proof is in docs/certificates.md. In short: against "b is the best arm" there are processes along each lane's
sequence of blocks, with weights that sum to 1; for the best arm their chance of ever reaching 1/delta is at most
delta, whichever part of them is known and whenever one looks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mfbandit.confidence.race._bounded_paths import contradicts_range, leader_paths, pair_paths, sure_difference
from mfbandit.confidence.race._cells import portions
from mfbandit.confidence.race._difference_bounds import bracket, highest_rejected
from mfbandit.confidence.race._lane import Lane
from mfbandit.confidence.race._race_data import RaceData
from mfbandit.confidence.race._rules import TOLERANCE, lane_shares
from mfbandit.confidence.race._student_paths import student_peaks
from mfbandit.confidence.race._whole_lanes import equal_arms, no_better, surely_best

__all__ = ["Race"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

#: All pairs are worked out where they have no more cells than that.
_ALL_PAIRS = 20_000_000


@dataclass(frozen=True)
class Race(RaceData):
    """All that a race on blocks has measured, and what follows from it.

    Examples
    --------
    >>> import mfbandit as mf
    >>> problem = mf.Problem(2, [("only", 1.0)], reward="bernoulli", blocks=8)
    >>> nobody = np.full((1, 8, 2), -1)
    >>> race = Race(problem, [0], 0.05, 0.0, np.array([[[1.0] * 8, [0.0] * 8]]), np.array([[8], [8]]), nobody)
    >>> race.certified(0), race.confidence(0), race.regret_bound(0), race.differences(0)
    (True, 1.0, 0.0, {1: (1.0, 1.0)})
    """

    # Against "b is the best arm"

    @cached_property
    def log_p(self) -> Floats:
        """Log of p for "b is the best arm", of every b; 0 if nothing speaks against it, -inf if it cannot be."""
        found = np.zeros(self._arms)
        if self._arms > 1 and not self._mute:
            shares = lane_shares(len(self.columns), self._seen.truest)
            for m in range(len(self.columns)):
                against = self._student_against if self._normal else self._bounded_against
                against(m, float(np.log(shares[m])), found)
        found[~self._present] = -math.inf
        return found

    def _comparators(self, lane: Lane) -> list[int]:
        """The arms whose pairs are looked at, those that once led first: leaving processes out is always allowed."""
        listed = list(dict.fromkeys(lane.declared[lane.declared >= 0].tolist()))
        if lane.pair_cells > _ALL_PAIRS:
            longest = np.flatnonzero(lane.known == lane.known.max())
            means = np.nan_to_num(lane.cells.rows(longest, 0, int(lane.known.max()))).mean(axis=1)
            listed = list(dict.fromkeys([*listed, int(longest[means.argmax()])]))
        else:
            listed += sorted(set(range(self._arms)) - set(listed))
        return [a for a in listed if self._present[a]]

    def _bounded_against(self, m: int, log_share: float, found: Floats) -> None:
        """Averages: the sum over processes that are known up to the same block, at its peak."""
        lane = self._lanes[m]
        comparators = [a for a in self._comparators(lane) if lane.known[a]]
        lead, pair = self._weights
        for losers in portions(lane.known):
            blocks = int(lane.known[losers].max())
            total = np.full((losers.size, blocks), -math.inf)
            if lead > 0.0:
                total = leader_paths(lane, losers) + math.log(lead)
            for a in comparators:
                rivals = np.flatnonzero(losers != a)
                pairs = np.full(rivals.size, a), losers[rivals]
                none = np.zeros(rivals.size)
                paths = pair_paths(lane, *pairs, none) + math.log(pair)
                part = np.ix_(rivals, np.arange(paths.shape[1]))
                total[part] = np.logaddexp(total[part], paths)
                found[losers[rivals[contradicts_range(lane, *pairs, none)]]] = -math.inf
            found[losers] = np.minimum(found[losers], -(total.max(axis=1) + log_share))

    def _student_against(self, m: int, log_share: float, found: Floats) -> None:
        """A union: each process alone, never a sum of them."""
        lane, guards = self._lanes[m], self._guards[m]
        lead, pair = self._weights
        starts = [(a, 0, pair) for a in self._comparators(lane)]
        if lead > 0.0:
            starts += [(a, i, lead / (j * (j + 1))) for a, (i, j) in lane.leaders.items()]
        for a, start, weight in starts:
            log_weight = math.log(weight) + log_share
            common = np.where(np.arange(self._arms) != a, np.minimum(lane.known, lane.known[a]), 0)
            for part in portions(np.where(common > start, common, 0)):
                # Only what says more than is known already.
                need = -found[part] - log_weight
                peaks = student_peaks(guards, np.full(part.size, a), part, np.zeros(part.size), need, start)
                found[part] = np.minimum(found[part], -(peaks + log_weight))

    # Of two arms

    def _rejected(self, winners: Ints, losers: Ints, shift: Floats, log_level: Floats) -> Flags:
        """Whether "truth(winner) - truth(loser) <= shift" is rejected in some lane, at the levels of lanes.

        Monotone: what is rejected is so for every lower shift, too.
        """
        found = np.zeros(winners.size, dtype=bool)
        for m in range(len(self.columns)):
            left = np.flatnonzero(~found)
            some = winners[left], losers[left], shift[left]
            found[left] = self._pair_peaks(m, *some, -log_level[m], any_one=True) >= -log_level[m]
        return found

    def _pair_peaks(
        self, m: int, winners: Ints, losers: Ints, shift: Floats, need: float, start: int = 0, *, any_one: bool = False
    ) -> Floats:
        """The largest log E of pairs in a lane, worked out where it may reach `need`; +inf if it cannot be.

        Normal rewards count from `start` on. If `any_one`, one that reaches it is enough.
        """
        lane = self._lanes[m]
        if self._mute:
            return np.full(winners.size, -math.inf)
        found = np.full(winners.size, -math.inf)
        # One more, since a pair without blocks may contradict the range.
        for part in portions(lane.common(winners, losers) + 1):
            some = winners[part], losers[part], shift[part]
            if self._normal:
                # A little below, so that what just reaches it is worked out.
                least = np.full(part.size, need - (0.0 if any_one else 1e-9))
                found[part] = student_peaks(self._guards[m], *some, least, start, any_will_do=any_one)
            else:
                peaks = pair_paths(lane, *some).max(axis=1, initial=-math.inf)
                found[part] = np.where(contradicts_range(lane, *some), math.inf, peaks)
        return found

    def log_pairs(self, winners: Ints, losers: Ints, shift: float) -> Floats:
        """Log of the p of "truth(winner) - truth(loser) <= shift" of each pair, `shift` in units of the reward.

        Each of its own: where several statements are made, their levels must add up to delta.
        """
        found, shifts = np.zeros(winners.size), np.full(winners.size, shift / self.problem.reward.span)
        for m, log_share in enumerate(np.log(lane_shares(len(self.columns), self._seen.truest))):
            peaks = self._pair_peaks(m, winners, losers, shifts, -log_share)
            found = np.minimum(found, -(peaks + log_share))
        return found

    def certain_pairs(self, winners: Ints, losers: Ints, shift: float) -> Flags:
        """Whether truth(winner) - truth(loser) >= shift for certain: both are known on all blocks of a finite set."""
        lane = self._truest
        if not lane.size:
            return np.zeros(winners.size, dtype=bool)
        whole = (lane.known[winners] == lane.size) & (lane.known[losers] == lane.size)
        ends = np.minimum(lane.known, lane.size)
        ahead = lane.low_sums[winners, ends[winners]] - lane.high_sums[losers, ends[losers]]
        return np.asarray(whole & (ahead >= lane.size * (shift / self.problem.reward.span - TOLERANCE)))

    def scores(self, arms: Ints) -> Floats:
        """Means of some arms on blocks that all of them were measured on, in the truest lane where there are any."""
        for m in self._seen.order[::-1]:
            lane = self._lanes[m]
            common = int(lane.known[arms].min()) if arms.size else 0
            if common:
                rows = lane.cells.rows(arms, 0, common)
                counted = (~np.isnan(rows)).sum(axis=1) if self._normal else np.full(arms.size, common)
                # One after the other, as kernels add them up.
                return np.asarray(np.cumsum(np.nan_to_num(rows), axis=1)[:, -1] / np.maximum(counted, 1))
        return np.zeros(arms.size)

    @property
    def _pair_weights(self) -> Floats:
        """Log of the weight that a process of one pair has in each lane, its share included."""
        shares = lane_shares(len(self.columns), self._seen.truest)
        return np.asarray(np.log(self._weights.pair * shares))

    def _others(self, answer: int) -> Ints:
        return np.flatnonzero(self._present & (np.arange(self._arms) != answer))

    def _log_q(self, answer: int) -> Floats:
        """Log of q for "b is better than the answer by more than epsilon", of every b."""
        others = self._others(answer)
        found = np.zeros(self._arms)
        shift = np.full(others.size, -self.epsilon / self.problem.reward.span)
        for m, log_weight in enumerate(self._pair_weights):
            peaks = self._pair_peaks(m, np.full(others.size, answer), others, shift, -log_weight)
            found[others] = np.minimum(found[others], -(peaks + log_weight))
            start, rank = self._lanes[m].leaders.get(answer, (0, 0))
            if rank and self._normal and self._weights.leader > 0.0:
                log_weight += math.log(self._weights.leader / self._weights.pair / (rank * (rank + 1)))
                peaks = self._pair_peaks(m, np.full(others.size, answer), others, shift, -log_weight, start)
                found[others] = np.minimum(found[others], -(peaks + log_weight))
        return found

    def _highest_rejected(self, winners: Ints, losers: Ints, log_level: Floats, top: float) -> Floats:
        """The highest shift up to `top` that is rejected; -1 or, for normal rewards, -inf if there is none."""
        high, low = np.full(winners.size, top), np.full(winners.size, -1.0)

        def rejected(pairs: Ints, shift: Floats) -> Flags:
            return self._rejected(winners[pairs], losers[pairs], shift, log_level)

        if self._normal:
            high, low = bracket(rejected, self._scale(winners, losers), top)
        return highest_rejected(rejected, high, low, top)

    def _scale(self, winners: Ints, losers: Ints) -> Floats:
        """The largest difference of each pair on a block, and what a lane may be off by."""
        found = np.max([lane.largest_apart(winners, losers) for lane in self._lanes], axis=0)
        off = max(float(lane.allowed(winners, losers).max(initial=0.0)) for lane in self._lanes)
        return np.asarray(found + off)

    def truest_differences(self, first: int, second: int) -> Floats:
        """What an arm gave more than another on the blocks of the truest lane on which both are known."""
        return self._truest.differences(first, second)

    # What follows

    def _certain(self, answer: int) -> Flags:
        """The arms that are no better than the answer for certain: both are known on all blocks of the truest lane."""
        return no_better(self._truest, answer)

    def log_wrong(self, answer: int) -> Floats:
        """Log of the level at which each arm is shown to be no better than the answer; -inf for the answer."""
        found = self.log_p.copy()
        if self.epsilon > 0.0:
            found = np.minimum(found, self._log_q(answer))
        return np.where(self._certain(answer), -math.inf, found)

    def confidence(self, answer: int) -> float:
        """How sure it is that an arm is the best, or within epsilon of it; right whenever one looks."""
        spent = self.log_level - math.log(self.delta)
        return float(1.0 - min(1.0, math.exp(min(0.0, self.log_wrong(answer).max() - spent))))

    def certified(self, answer: int) -> bool:
        """Whether the error is at most delta."""
        return bool(self.log_wrong(answer).max() <= self.log_level)

    def regret_bound(self, answer: int) -> float:
        """By how much the best arm can be better than an answer, in units of the reward, with probability 1 - delta.

        The least epsilon for which it would be certified now; right for all epsilon and at all times at once.
        """
        open_arms = np.flatnonzero(~self._certain(answer) & (self.log_p > self.log_level))
        if not open_arms.size:
            return 0.0
        level = self.log_level + self._pair_weights
        shift = self._highest_rejected(np.full(open_arms.size, answer), open_arms, level, 0.0)
        bound = float(max(0.0, -shift.min())) * self.problem.reward.span
        # The search finds nothing where rewards of unknown noise never differ, though their sums may tell enough.
        return min(bound, self.epsilon) if self.epsilon > 0.0 and self.certified(answer) else bound

    def differences(self, answer: int) -> dict[int, tuple[float, float]]:
        """Bounds of truth(answer) - truth(b) by arm, in units of the reward; right for all pairs and times at once.

        A statement of its own: an arm may be beaten while its interval holds 0. Among very many arms nothing is worked
        out for those that are beaten.
        """
        others = self._others(answer)
        found = dict.fromkeys(others.tolist(), (-math.inf, math.inf))
        if any(lane.pair_cells > _ALL_PAIRS for lane in self._lanes):
            others = others[self.log_p[others] > self.log_level]
        if not others.size:
            return found
        mine = np.full(others.size, answer)
        shares = lane_shares(len(self.columns), self._seen.truest)
        level = math.log(self.delta / (self._arms * (self._arms - 1))) + np.log(shares)
        top = math.inf if self._normal else 1.0
        low = np.maximum(self._highest_rejected(mine, others, level, top), self._sure(mine, others))
        high = -np.maximum(self._highest_rejected(others, mine, level, top), self._sure(others, mine))
        span = self.problem.reward.span
        return found | {int(b): (float(x) * span, float(y) * span) for b, x, y in zip(others, low, high, strict=True)}

    def _sure(self, winners: Ints, losers: Ints) -> Floats:
        """The least that truth(winner) - truth(loser) can be, for certain."""
        found = np.full(winners.size, -math.inf if self._normal else -1.0)
        for lane in self._lanes:
            if lane.size:
                found = np.maximum(found, sure_difference(lane, winners, losers) - lane.allowed(winners, losers))
        return found

    def tied(self, answer: int) -> list[int]:
        """The arms whose truth is known to be equal to the answer's: all blocks are known, with equal sums."""
        return [arm for arm in equal_arms(self._truest, answer) if self._present[arm]]

    @property
    def exact(self) -> bool:
        """Whether some arm is the best for certain, since nothing that is not known can change it."""
        return self._arms == 1 or surely_best(self._truest, np.isneginf(self.log_p))
