"""`mf-toptwo`: the default policy, near the limit without prior knowledge."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from mfbandit.algorithms.explore import put
from mfbandit.algorithms.policy import Policy
from mfbandit.algorithms.toptwo import (
    CENTRE,
    CHECK,
    EVIDENCE,
    PER_ARM,
    SPENT,
    SPLIT,
    TopTwoParams,
    promise2,
    promising,
    refresh,
    split,
)
from mfbandit.confidence.levels import BOTH, NORMAL, TILT
from mfbandit.confidence.pair import PROVEN, pair_scratch, prove
from mfbandit.core import BOUNDED, GAUSSIAN, OWN, PULLS, Algorithm, Arrays, Goal, Ints, State
from mfbandit.kernel import kernel


ACTIVE = OWN


@kernel
def first_fidelity(problem: Arrays, arm: int) -> int:
    chosen, least = 0, math.inf
    for m in range(problem.cost.shape[1]):
        bias = problem.bias[arm, m]
        price = problem.cost[arm, m] * (problem.sigma * problem.sigma + bias * bias)
        if price < least:
            chosen, least = m, price
    return chosen


@kernel
def leading(problem: Arrays, state: State) -> int:
    best, leader = -math.inf, -1
    for k in range(problem.cost.shape[0]):
        if state.notes[k] == 0 and state.memory[k * PER_ARM + CENTRE] > best:
            best, leader = state.memory[k * PER_ARM + CENTRE], k
    return leader


@kernel
def activate(problem: Arrays, state: State, arm: int, fidelity: int) -> None:
    """Remember the stream about to be pulled, whose coming rewards are active."""
    state.clock[ACTIVE] = 1 + arm * problem.cost.shape[1] + fidelity
    place = problem.cost.shape[0] * (PER_ARM + 3 * problem.cost.shape[1])
    state.memory[place] = float(state.pulls[arm, fidelity])
    state.memory[place + 1] = state.sums[arm, fidelity]
    state.memory[place + 2] = state.squares[arm, fidelity]


@kernel
def settle(problem: Arrays, state: State) -> None:
    """Enter the rewards of the last round into the active statistics, if they were active."""
    if state.clock[ACTIVE] == 0:
        return
    arms, fidelities = problem.cost.shape
    stream = state.clock[ACTIVE] - 1
    arm, fidelity = stream // fidelities, stream % fidelities
    place = arms * (PER_ARM + 3 * fidelities)
    active = arms * PER_ARM + 3 * stream
    state.memory[active] += float(state.pulls[arm, fidelity]) - state.memory[place]
    state.memory[active + 1] += state.sums[arm, fidelity] - state.memory[place + 1]
    state.memory[active + 2] += state.squares[arm, fidelity] - state.memory[place + 2]
    state.clock[ACTIVE] = 0


@kernel
def plan(problem: Arrays, params: TopTwoParams, state: State, out: Ints) -> int:
    arms, fidelities = problem.cost.shape
    own = arms * PER_ARM
    if arms < 2:
        return 0
    rows = 0
    if state.clock[PULLS] < arms:
        for k in range(arms):
            rows = put(out, rows, k, first_fidelity(problem, k), 1)
        return rows
    settle(problem, state)
    width = params.optimism * (1.0 + math.log1p(math.log1p(float(state.clock[PULLS]))))
    for k in range(arms):
        refresh(problem, state, k, width, params.bvar)
    leader = leading(problem, state)
    while True:
        challenger, least, left, standing = -1, math.inf, 0, 0.0
        balance = 0.0
        for b in range(arms):
            if b == leader or state.notes[b] != 0:
                continue
            v, value = split(problem, params.epsilon, state, leader, b)
            at = b * PER_ARM
            if value > state.memory[at + CHECK] and value > params.check * params.threshold:
                gap = max(
                    1e-3 * problem.sigma,
                    abs(state.memory[leader * PER_ARM + CENTRE] - state.memory[at + CENTRE]),
                )
                if problem.kind != GAUSSIAN:
                    v = min(max(v, params.epsilon), 1.0)
                verdict = prove(
                    problem,
                    params.evidence,
                    params.epsilon,
                    state,
                    leader,
                    b,
                    params.threshold,
                    v,
                    0.15 * gap,
                    state.memory, own, own + 3 * arms * fidelities + 3, state.memory, at + EVIDENCE,
                )
                if verdict == PROVEN:
                    state.notes[b] = leader + 1
                    continue
            left += 1
            gain_a, _ = promising(problem, params, state, leader, 1.0, v - params.epsilon, value)
            gain_b, _ = promising(problem, params, state, b, -1.0, v, value)
            if gain_b > 0.0:
                balance += gain_a / gain_b
            elif gain_a > 0.0:
                balance = math.inf
            else:
                balance += 1.0
            index = value + params.logw * math.log(state.memory[at + SPENT])
            if index < least:
                least, challenger, standing = index, b, value
        break
    if left == 0:
        return 0
    v = state.memory[challenger * PER_ARM + SPLIT]
    arm, sign = (leader, 1.0) if balance > 1.0 else (challenger, -1.0)
    _, fidelity = promising(problem, params, state, arm, sign, v - params.epsilon if sign > 0.0 else v, standing)
    planned = fidelity
    budget = max(state.memory[leader * PER_ARM + SPENT], state.memory[challenger * PER_ARM + SPENT])
    cheapest = math.inf
    for k in (leader, challenger):
        for m in range(problem.cost.shape[1]):
            cost = problem.cost[k, m]
            if state.pulls[k, m] + 1 <= params.forced * math.sqrt(budget / cost) and cost < cheapest:
                cheapest, arm, fidelity = cost, k, m
                planned = -1
    if fidelity == planned:
        _, plain = promise2(problem, state, arm, sign, v - params.epsilon if sign > 0.0 else v, 1.0, 0.0, params.bvar)
        if plain == fidelity:
            activate(problem, state, arm, fidelity)
    count = params.batch
    if count == 0:
        count = max(
            1,
            int(
                min(
                    params.grow * state.spent[0] / problem.cost[arm, fidelity],
                    params.part * state.pulls[arm, fidelity],
                )
            ),
        )
    return put(out, 0, arm, fidelity, count)


@kernel
def recommend(problem: Arrays, params: TopTwoParams, state: State) -> int:
    for k in range(problem.cost.shape[0]):
        refresh(problem, state, k, 1.0, params.bvar)
    return max(0, leading(problem, state))


@dataclass(frozen=True)
class MFTopTwo(Policy):
    """x."""

    batch: int = 1
    evidence: str = "auto"
    grow: int = 1
    optimism: float = 1.5
    forced: float = 0.1
    chk: float = 0.8
    explore: float = 0.15
    logw: float = 2.0
    mode: float = 2.0
    tau: float = 1.5
    bvar: float = 0.3333
    fade: float = 0.0

    @property
    def name(self) -> str:
        """The registered name."""
        return "mf-toptwo"

    def algorithm(self, problem: Arrays, goal: Goal, unit: Callable[[float], float]) -> Algorithm:
        """Make the kernels and parameters for one problem."""
        n_arms, n_fidelities = problem.cost.shape
        evidence = NORMAL if problem.kind == GAUSSIAN else TILT
        if problem.kind == BOUNDED and self.evidence == "auto":
            evidence = BOTH
        return Algorithm(
            plan=plan,
            recommend=recommend,
            params=TopTwoParams(
                math.log(max(1, n_arms - 1)) - math.log(goal.delta),
                goal.epsilon,
                evidence,
                0 if self.grow else self.batch,
                self.optimism,
                self.forced,
                0.01,
                0.25,
                self.chk,
                self.explore,
                self.logw,
                self.mode,
                self.tau,
                self.bvar,
                self.fade,
            ),
            rows=max(1, n_arms),
            memory=n_arms * (PER_ARM + 3 * n_fidelities) + 3 + pair_scratch(n_fidelities),
            notes=OWN + 1,
        )
