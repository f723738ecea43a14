"""`mf-commit`: spend a budget with little regret by paying for knowledge only what it is worth."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from mfbandit.algorithms.explore import put
from mfbandit.algorithms.policy import Policy
from mfbandit.core import BOUNDED, GAUSSIAN, PULLS, Algorithm, Arrays, Goal, Ints, State
from mfbandit.kernel import kernel

__all__ = ["MFCommit", "MfCommitParams", "plan", "recommend"]

#: Blocks of the memory, K numbers each: estimated truths, and how uncertain they are (variances).
TRUTH, DOUBT = 0, 1
_PRIOR = 3.0


class MfCommitParams(NamedTuple):
    """What mf-commit knows beside the problem."""

    budget: float
    origin: float
    """Where a reward of 0 lies in unit scale."""
    trust: float
    """Variance of a bias, as a part of its bound squared."""
    part: int
    caution: float


@kernel
def spread(problem: Arrays, state: State, arm: int, m: int, level: float) -> float:
    """The variance of a stream's rewards, the largest for a mean between its estimate and a level."""
    if problem.kind == GAUSSIAN:
        return problem.sigma * problem.sigma
    n, total = float(state.pulls[arm, m]), state.sums[arm, m]
    p = (total + 0.5) / (n + 1.0)
    widest = min(max(0.5, min(p, level)), max(p, level))
    widest = min(max(widest, 0.5 / (n + 1.0)), 1.0 - 0.5 / (n + 1.0))
    value = widest * (1.0 - widest)
    if problem.kind == BOUNDED and n > 0.0:
        value = (max(0.0, state.squares[arm, m] - total * total / n) + _PRIOR * value) / (n + _PRIOR)
    return value


@kernel
def precision(
    problem: Arrays, params: MfCommitParams, state: State, arm: int, m: int, level: float, more: float
) -> float:
    """What a stream tells about its arm's truth once it has `more` pulls: one over the variance."""
    n = state.pulls[arm, m] + more
    if n == 0.0:
        return 0.0
    bias = problem.bias[arm, m]
    return 1.0 / (spread(problem, state, arm, m, level) / n + params.trust * bias * bias)


@kernel
def arm_precision(problem: Arrays, params: MfCommitParams, state: State, arm: int, level: float) -> float:
    """What all streams of an arm tell about its truth."""
    value = 0.0
    for m in range(problem.cost.shape[1]):
        value += precision(problem, params, state, arm, m, level, 0.0)
    return value


@kernel
def estimate(problem: Arrays, params: MfCommitParams, state: State) -> None:
    """Estimate every arm's truth from all its streams, by their precision."""
    for k in range(problem.cost.shape[0]):
        weights, centre = 0.0, 0.0
        for m in range(problem.cost.shape[1]):
            n = float(state.pulls[k, m])
            if n > 0.0:
                mean = state.sums[k, m] / n
                if problem.kind != GAUSSIAN:
                    mean = (state.sums[k, m] + 0.5) / (n + 1.0)
                weight = precision(problem, params, state, k, m, mean, 0.0)
                weights += weight
                centre += weight * mean
        state.memory[TRUTH * problem.cost.shape[0] + k] = centre / weights if weights > 0.0 else -math.inf


@kernel
def expected_excess(gap: float, deviation: float) -> float:
    """E max(0, X) of a normal X with mean -gap <= 0 and this deviation, to a few percent."""
    if deviation <= 0.0:
        return 0.0
    z = gap / deviation
    return deviation * 0.3989422804014327 * math.exp(-0.5 * z * z) / (1.0 + z * (1.128 + 0.8 * z))


@kernel
def leader_and_second(problem: Arrays, state: State) -> tuple[int, float]:
    """The arm with the highest estimate, and the highest estimate of the others."""
    leader, second = 0, -math.inf
    for k in range(1, problem.cost.shape[0]):
        value = state.memory[k]
        if value > state.memory[leader]:
            leader, second = k, state.memory[leader]
        elif value > second:
            second = value
    return leader, second


@kernel
def plan(problem: Arrays, params: MfCommitParams, state: State, out: Ints) -> int:
    """Buy the knowledge that is worth most for its price; if none is worth it, exploit."""
    arms, fidelities = problem.cost.shape
    cheapest = problem.order[0]
    unit_cost = problem.cost[0, cheapest]
    if state.clock[PULLS] == 0:
        for k in range(arms):
            put(out, k, k, cheapest, 1)
        return arms
    estimate(problem, params, state)
    leader, second = leader_and_second(problem, state)
    top = state.memory[leader]
    left = params.budget - state.spent[0]
    hoped = 0.0
    for k in range(arms):
        level = top if k != leader else second
        state.memory[DOUBT * arms + k] = 1.0 / arm_precision(problem, params, state, k, level)
    for k in range(arms):
        if k != leader:
            both = math.sqrt(state.memory[DOUBT * arms + k] + state.memory[DOUBT * arms + leader])
            hoped = max(hoped, expected_excess(top - state.memory[k], both))
    best, arm, fidelity, count = 1.0, leader, cheapest, 0
    for k in range(arms):
        doubt = state.memory[DOUBT * arms + k]
        level = top if k != leader else second
        gap = top - state.memory[k] if k != leader else top - second
        if expected_excess(gap, math.sqrt(doubt)) * left / unit_cost <= 1e-3 * hoped:
            continue
        for m in range(fidelities):
            cost = problem.cost[k, m]
            ratio = cost / unit_cost
            price = ratio * (top + hoped - params.origin) - (state.memory[k] - params.origin)
            price = max(price, hoped)
            without = max(0.0, 1.0 / doubt - precision(problem, params, state, k, m, level, 0.0))
            pulls = 1.0
            while pulls * cost <= left:
                after = 1.0 / (without + precision(problem, params, state, k, m, level, pulls))
                learned = math.sqrt(max(0.0, doubt - after))
                gain = params.caution * (left - pulls * cost) / unit_cost * expected_excess(gap, learned)
                if gain > best * pulls * price:
                    best, arm, fidelity, count = gain / (pulls * price), k, m, int(pulls)
                pulls *= 2.0
    if count == 0:
        return put(out, 0, leader, cheapest, max(1, state.pulls[leader, cheapest] // 4))
    return put(out, 0, arm, fidelity, max(1, count // params.part))


@kernel
def recommend(problem: Arrays, params: MfCommitParams, state: State) -> int:
    """The arm with the highest estimate."""
    estimate(problem, params, state)
    leader, _ = leader_and_second(problem, state)
    return leader


@dataclass(frozen=True)
class MFCommit(Policy):
    """x."""

    trust: float = 1.0
    part: int = 4
    caution: float = 1.0

    objective: ClassVar[str] = "regret"

    @property
    def name(self) -> str:
        """The registered name."""
        return "mf-commit"

    def algorithm(self, problem: Arrays, goal: Goal, unit: Callable[[float], float]) -> Algorithm:
        """Make the kernels and parameters for one problem."""
        arms = problem.cost.shape[0]
        return Algorithm(
            plan=plan,
            recommend=recommend,
            params=MfCommitParams(goal.budget, unit(0.0), self.trust, self.part, self.caution),
            rows=arms,
            memory=2 * arms,
        )
