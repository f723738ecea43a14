"""The explore procedures of the paper: which fidelity to pull an arm at (Algorithm 2, Appendix B)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from mfbandit.algorithms._parts import put
from mfbandit.core import Arrays, Ints, State, kernel, mean_of, root_of, slot

__all__ = ["EXPLORE", "explore_a", "explore_b", "explore_c", "put"]

#: Notes of Explore-B on an arm: 0 still exploring, m + 1 committed to fidelity m; a sweep whose commit
#: test is due when its rewards are in is noted with the role the arm had.
SWEPT_AS_LEADER, SWEPT_AS_CHALLENGER = -1, -2


@slot
def high(problem: Arrays, state: State, arm: int, fidelity: int, width: float) -> float:
    """Upper confidence bound of one stream that was pulled."""


@kernel
def gap(problem: Arrays, params: Any, state: State, arm: int, fidelity: int, leading: bool) -> float:
    """The estimated gap, hat Delta in Section 3.2, of a fidelity that was pulled."""
    mean = mean_of(state, arm, fidelity)
    if leading:
        return float(mean - problem.bias[arm, fidelity] - params.second)
    return float(params.top - (mean + problem.bias[arm, fidelity]))


@kernel
def explore_a(
    problem: Arrays, params: Any, state: State, arm: int, leader: int, width: float, out: Ints, row: int
) -> int:
    """Explore-A: the fidelity with the top f-UCB of gap / sqrt(cost); one never pulled comes first."""
    total = 0
    for m in range(problem.cost.shape[1]):
        total += state.pulls[arm, m]
    optimism = math.sqrt(2.0 * problem.radius_scale * math.log(total)) if total > 0 else 0.0
    chosen, best = 0, -math.inf
    for m in range(problem.cost.shape[1]):
        if state.pulls[arm, m] == 0:
            chosen = m
            break
        estimate = gap(problem, params, state, arm, m, arm == leader)
        index = (estimate + optimism * root_of(state, arm, m)) * problem.inv_sqrt_cost[arm, m]
        if index > best:
            chosen, best = m, index
    return put(out, row, arm, chosen, params.batch)


@kernel
def commit(problem: Arrays, params: Any, state: State, arm: int, leading: bool) -> int:
    """Explore-B's commit test after a sweep: the fidelity to commit to plus one, or 0."""
    chosen, best = 0, -math.inf
    for m in range(problem.cost.shape[1]):
        rate = gap(problem, params, state, arm, m, leading) * problem.inv_sqrt_cost[arm, m]
        if rate > best:
            chosen, best = m, rate
    # All fidelities have the pulls of the sweeps, unless one was committed to before a study noted all anew.
    cheapest, sweeps = math.inf, state.pulls[arm, chosen]
    for m in range(problem.cost.shape[1]):
        cheapest = min(cheapest, problem.cost[arm, m])
        sweeps = min(sweeps, state.pulls[arm, m])
    if sweeps == 0:  # the sweep is still out
        return 0
    if best > 3.0 * math.sqrt(problem.radius_scale * params.log_factor / (cheapest * sweeps)):
        return chosen + 1
    return 0


@kernel
def explore_b(
    problem: Arrays, params: Any, state: State, arm: int, leader: int, width: float, out: Ints, row: int
) -> int:
    """Explore-B: all fidelities in turn until one is good enough, then that one for good.

    The commit test belongs to the end of the sweep; it is made when the arm is next explored, with the
    role the arm had in the round of the sweep. Nothing happens to the arm in between.
    """
    note = state.arm_flags[arm]
    if note < 0:
        note = commit(problem, params, state, arm, note == SWEPT_AS_LEADER)
    if note > 0:
        state.arm_flags[arm] = note
        return put(out, row, arm, note - 1, params.batch)
    state.arm_flags[arm] = SWEPT_AS_LEADER if arm == leader else SWEPT_AS_CHALLENGER
    for m in range(problem.cost.shape[1]):
        row = put(out, row, arm, m, params.batch)
    return row


@kernel
def explore_c(
    problem: Arrays, params: Any, state: State, arm: int, leader: int, width: float, out: Ints, row: int
) -> int:
    """Explore-C: the cheapest fidelity whose confidence radius still exceeds its bias bound."""
    chosen = problem.truest
    for place in range(problem.cost.shape[1]):
        m = problem.order[place]
        if state.pulls[arm, m] == 0 or m == problem.truest:
            chosen = m
            break
        radius = high(problem, state, arm, m, width) - mean_of(state, arm, m)
        if radius >= problem.bias[arm, m]:
            chosen = m
            break
    return put(out, row, arm, chosen, params.batch)


#: Explore procedures by the letter that `lucb-` takes; with one fidelity -C is that fidelity.
EXPLORE: dict[str, Callable[..., Any]] = {
    "a": explore_a,
    "b": explore_b,
    "c": explore_c,
    "top": explore_c,
}
