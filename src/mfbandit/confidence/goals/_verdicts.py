"""Where each arm stands by what is shown, for each question, and how sure that is.

NumPy beside the kernels of policies: a certificate is checked by code that does not share theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mfbandit.confidence.goals._pair_levels import Flags, Floats, least_levels, pair_levels
from mfbandit.confidence.goals._top_levels import best_guess, settled_arms, sides_at
from mfbandit.confidence.race import Race
from mfbandit.model import BetterThan, CheapestWithin, Question, TopM

__all__ = ["Verdicts", "settled_by"]

#: What is said of arms that are not settled.
OPEN = "open"


@dataclass(frozen=True)
class Verdicts:
    """What is shown about each arm."""

    answer: tuple[int, ...]
    """The arms that are chosen, as it seems so far, or shown to be better than the control."""
    words: dict[int, str]
    """What is shown of each arm; "open" where nothing is."""
    log_levels: Floats
    """Log of the level at which what seems so far is shown of each arm, (K,); -inf if it is certain."""
    certified: bool
    """Whether all is shown that was asked for."""

    @property
    def confidence(self) -> float:
        """How sure it is that all that seems so far is right; right whenever one looks."""
        return float(1.0 - math.exp(min(0.0, self.log_levels.max())))

    @property
    def left(self) -> list[int]:
        """The arms that are not settled."""
        return [arm for arm, word in self.words.items() if word == OPEN]


def settled_by(question: Question, race: Race, answer: Sequence[int] | None = None) -> Verdicts:
    """What the rewards of a race show about a question; of an answer, if one is given.

    Examples
    --------
    >>> import mfbandit as mf
    >>> problem = mf.Problem(["a", "b", "c"], [("only", 1.0)], reward="bernoulli", blocks=8)
    >>> rewards = np.array([[[1.0] * 8, [0.0] * 8, [0.0, 1.0] * 4]])
    >>> race = Race(problem, [0], 0.05, 0.0, rewards, np.array([[8], [8], [8]]), np.full((1, 8, 2), -1))
    >>> settled_by(TopM(2), race).words
    {0: 'in', 1: 'out', 2: 'in'}
    >>> settled_by(BetterThan("c"), race).words
    {0: 'better', 1: 'not better'}
    """
    ways: dict[type[Question], Callable[..., Verdicts]] = {BetterThan: _better, TopM: _top, CheapestWithin: _cheapest}
    return ways[type(question)](question, race, None if answer is None else list(answer))


def _better(question: BetterThan, race: Race, answer: list[int] | None) -> Verdicts:
    arms, log_delta = race.problem.n_arms, math.log(race.delta)
    control = race.problem.arms.index(question.control)
    others = np.array([arm for arm in range(arms) if arm != control])
    mine = np.full(others.size, control)
    weight = math.log(question.at_risk(arms))
    better = race.log_pairs(others, mine, 0.0)
    no_better = race.log_pairs(mine, others, -race.epsilon)
    no_better = np.where(race.certain_pairs(mine, others, -race.epsilon), -math.inf, no_better)
    scores = race.scores(np.arange(arms))
    # Where neither is more likely by the evidence, the means tell what it seems to be.
    seems = (better < no_better) | ((better == no_better) & (scores[others] > scores[control]))
    levels = np.full(arms, -math.inf)
    levels[others] = np.minimum(better, no_better) + weight
    words = {
        int(arm): OPEN if levels[arm] > log_delta else "better" if one else "not better"
        for arm, one in zip(others, seems, strict=True)
    }
    # Each verdict is claimed as soon as it is shown.
    found = [arm for arm, word in words.items() if word == "better"]
    return Verdicts(tuple(found), words, levels, bool((levels <= log_delta).all() and answer in (None, found)))


def _top(question: TopM, race: Race, answer: list[int] | None) -> Verdicts:
    arms, log_delta = race.problem.n_arms, math.log(race.delta)
    weight = math.log(question.at_risk(arms))
    better = pair_levels(race, 0.0) + weight
    # To be better is to be no worse: what is rejected is so for every lower shift, too.
    no_worse = np.minimum(better, pair_levels(race, -race.epsilon, certain=True) + weight)
    if answer is None:
        inside, outside = sides_at(better <= log_delta, question.m)
        scores, left = np.zeros(arms), np.flatnonzero(~inside & ~outside)
        scores[left] = race.scores(left)
        chosen = best_guess(better <= log_delta, question.m, scores)
    else:
        chosen = np.isin(np.arange(arms), answer)

    def settled(level: float) -> Flags:
        return settled_arms(better <= level, no_worse <= level, chosen)

    levels = least_levels(settled, np.concatenate([better.ravel(), no_worse.ravel()]))
    words = {
        arm: OPEN if levels[arm] > log_delta else "in" if one else "out" for arm, one in enumerate(chosen.tolist())
    }
    right = int(chosen.sum()) == question.m
    return Verdicts(tuple(np.flatnonzero(chosen).tolist()), words, levels, bool(right and (levels <= log_delta).all()))


@dataclass(frozen=True)
class _Cheapest:
    """Log of the levels at which statements are shown that "the cheapest within epsilon" rests on, (K, K) each."""

    better: Floats
    far: Floats
    near: Floats
    price: Floats

    def good(self, level: float) -> Flags:
        """Which arms are shown to be within epsilon of the best."""
        outdone = np.asarray((self.better <= level).any(axis=0))
        near = (self.near <= level) | outdone[None, :] | np.eye(self.price.size, dtype=bool)
        return np.asarray(near.all(axis=1))

    def settled(self, level: float, chosen: int) -> Flags:
        """Which arms are no reason for another answer: the answer is good, and those that are cheaper are not."""
        cheaper = np.asarray(self.price < self.price[chosen])
        outdone = (self.better <= level).any(axis=0)
        far = (self.far <= level).any(axis=0)
        fine = np.asarray(np.where(cheaper, far, outdone | (self.near[chosen] <= level)))
        # A cheaper one that is too far behind is not the best either.
        fine[chosen] = self.good(level)[chosen]
        return fine

    def guess(self, level: float, scores: Floats, within: float) -> int:
        """The cheapest of the good arms or, if there is none, of those whose means are good and that are not out."""
        good = self.good(level)
        if not good.any():
            left = ~(self.far <= level).any(axis=0)
            good = left & (scores >= scores[left].max(initial=-math.inf) - within) if left.any() else ~good
        return int(np.flatnonzero(good)[np.argmin(self.price[good])])


def _cheapest(question: CheapestWithin, race: Race, answer: list[int] | None) -> Verdicts:
    arms, log_delta, within = race.problem.n_arms, math.log(race.delta), race.epsilon
    weight = math.log(question.at_risk(arms))
    shown = _Cheapest(
        better=pair_levels(race, 0.0) + weight,
        far=pair_levels(race, within - question.slack) + weight,
        near=pair_levels(race, -within, certain=True) + weight,
        price=np.array(question.use_costs),
    )
    scores = race.scores(np.arange(arms))
    chosen = answer[0] if answer else shown.guess(log_delta, scores, within / race.problem.reward.span)
    every = np.concatenate([shown.better.ravel(), shown.far.ravel(), shown.near.ravel()])
    levels = least_levels(lambda level: shown.settled(level, chosen), every)
    far = np.asarray((shown.far <= log_delta).any(axis=0))
    words = {arm: "too far behind" if far[arm] else OPEN for arm in range(arms)}
    # Whether an arm that is no cheaper is too far behind is not asked, and delta is not shared among such statements.
    for arm in np.flatnonzero(shown.price >= shown.price[chosen]).tolist():
        words[arm] = OPEN if levels[arm] > log_delta else "no cheaper"
    # A claim of several arms, or of none, is not shown, whatever is shown of the first.
    certified = bool((levels <= log_delta).all() and answer in (None, [chosen]))
    if levels[chosen] <= log_delta:
        # A cheaper one may turn out to be good, too.
        words[chosen] = "chosen" if certified else "good enough"
    else:
        words[chosen] = OPEN
    return Verdicts((chosen,), words, levels, certified)
