"""Means by which arms are put in order that are not settled; nothing that is proven rests on them."""

from __future__ import annotations

from mfbandit.algorithms.mf_race._race_lanes import mean_on_first
from mfbandit.core import Arrays, State, kernel

__all__ = ["score"]


@kernel
def scored_in(problem: Arrays, state: State) -> int:
    """The most expensive lane in which all arms were measured that are not settled; -1 if there is none."""
    for place in range(problem.order.shape[0] - 1, -1, -1):
        lane, known = problem.order[place], True
        for arm in range(state.pulls.shape[0]):
            if state.own.beaten[arm] == 0 and state.pulls[arm, lane] == 0:
                known = False
        if known:
            return int(lane)
    return -1


@kernel
def score(problem: Arrays, state: State) -> None:
    """Note the means of the arms that are not settled, on blocks that all of them were measured on."""
    lane, common = scored_in(problem, state), -1
    for arm in range(state.pulls.shape[0]):
        state.own.scores[arm] = 0.0
        if lane >= 0 and state.own.beaten[arm] == 0:
            known = int(state.pulls[arm, lane])
            common = known if common < 0 else min(common, known)
    for arm in range(state.pulls.shape[0]):
        if common > 0 and state.own.beaten[arm] == 0:
            state.own.scores[arm] = mean_on_first(problem, state, arm, lane, common)
