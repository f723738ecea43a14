"""The rows of a round of `mf-toptwo`: at which fidelity an arm is pulled, how often, and what its rewards count for."""

from __future__ import annotations

import math

from mfbandit.algorithms._parts import put
from mfbandit.algorithms.mf_toptwo._arms_in_race import needs_fresh_pulls
from mfbandit.algorithms.mf_toptwo._memory import Choice, note_row
from mfbandit.algorithms.mf_toptwo._sampling import (
    best_information_rate,
    cheap_hope,
    leader_information_rate,
    truest_widening,
)
from mfbandit.algorithms.mf_toptwo._tuning import TopTwoParams
from mfbandit.core import Arrays, Ints, State, kernel

__all__ = ["NONE", "lagging", "leader_choice", "rival_choice", "write_row"]

#: No fidelity.
NONE = -1


@kernel
def lagging(problem: Arrays, params: TopTwoParams, state: State, arm: int, spent: float) -> int:
    """The cheapest fidelity at which an arm fell behind the least number of pulls, or NONE."""
    if needs_fresh_pulls(state, arm):
        return int(problem.truest)
    chosen, cheapest = NONE, math.inf
    for m in range(problem.cost.shape[1]):
        cost = problem.cost[arm, m]
        if cost < cheapest and state.pulls[arm, m] + 1 <= params.forced * math.sqrt(spent / cost):
            chosen, cheapest = m, cost
    return chosen


@kernel
def leader_choice(problem: Arrays, params: TopTwoParams, state: State, leader: int, rival: int, late: int) -> Choice:
    """Pull the leader at the fidelity `late` or, if there is none, where it tells most."""
    leads = params.leader_share > 0.0
    part = min(params.tested, 1.0 / math.sqrt(problem.cost.shape[0]))
    leads = leads and state.own.spent[leader] >= part * state.spent[0]
    alone = problem.cost.shape[1] == 1
    if late != NONE:
        return Choice(leader, late, False, bool(leads and alone))
    cheap, truest = cheap_hope(problem, params, state, rival), truest_widening(problem, params, state, leader, rival)
    fidelity, active = leader_information_rate(problem, params, state, leader, cheap, truest)
    return Choice(leader, fidelity, active, bool(leads and (active or alone)))


@kernel
def rival_choice(problem: Arrays, params: TopTwoParams, state: State, leader: int, rival: int, late: int) -> Choice:
    """Pull a rival at the fidelity `late` or, if there is none, where it tells most."""
    if late != NONE:
        return Choice(rival, late, False, False)
    cheap, truest = cheap_hope(problem, params, state, rival), truest_widening(problem, params, state, leader, rival)
    _, fidelity, active = best_information_rate(
        problem, params, state, rival, -1.0, state.own.split[rival], params.optimism, cheap, truest
    )
    return Choice(rival, fidelity, active, False)


@kernel
def write_row(
    problem: Arrays, params: TopTwoParams, state: State, out: Ints, row: int, rows: int, choice: Choice
) -> None:
    """Plan a row, of so many in its round."""
    arm, fidelity = choice.arm, choice.fidelity
    note_row(state, row, choice)
    count = params.batch
    if count == 0:
        part = params.round_part / rows * state.spent[0] / problem.cost[arm, fidelity]
        count = max(1, int(min(part, params.stream_part * state.pulls[arm, fidelity])))
    put(out, row, arm, fidelity, count)
