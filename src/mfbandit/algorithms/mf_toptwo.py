"""`mf-toptwo`, the default policy: near the limit, with no prior knowledge, and it always stops."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from mfbandit.algorithms.explore import put
from mfbandit.algorithms.policy import Policy, one_of
from mfbandit.algorithms.toptwo import (
    CENTRE,
    DUE,
    EVIDENCE,
    PER_ARM,
    SHARE,
    SPENT,
    SPLIT,
    VALUE,
    TopTwoParams,
    promise,
    refresh,
    split,
    truth,
)
from mfbandit.confidence.levels import BOTH, NORMAL, TILT
from mfbandit.confidence.pair import PROVEN, REFUTED, SHORTFALL, pair_scratch, prove
from mfbandit.core import BOUNDED, GAUSSIAN, OWN, Algorithm, Arrays, Goal, Ints, State
from mfbandit.errors import PolicyError
from mfbandit.kernel import kernel

__all__ = ["MFTopTwo", "plan", "recommend"]

#: Places of the clock: leader + 1, arm pulled last + 1, its stream + 1 if its rewards were active.
LEADER, PULLED, ACTIVE = OWN, OWN + 1, OWN + 2
CLOCK = OWN + 3

TUNING = dict(hope=1.5, doubt=0.4, forced=0.1, spread=2.0, check=0.8, passive=0.05, clip=0.0, bal=0.15)


@kernel
def active_at(problem: Arrays) -> int:
    """Where the active statistics, n, S and Q of each stream, start in the memory."""
    return problem.cost.shape[0] * PER_ARM


@kernel
def before_at(problem: Arrays) -> int:
    """Where n, S and Q of the stream pulled last, as they were before, start in the memory."""
    return problem.cost.shape[0] * (PER_ARM + 3 * problem.cost.shape[1])


@kernel
def records_at(problem: Arrays) -> int:
    """Where the records of beaten arms start in the memory."""
    return before_at(problem) + 3


@kernel
def scratch_at(problem: Arrays) -> int:
    """Where the scratch space of the certificate starts in the memory."""
    return records_at(problem) + 12 * problem.cost.shape[0] * problem.cost.shape[1]


@kernel
def out_of_race(params: TopTwoParams, state: State, arm: int, leader: int) -> bool:
    """Whether an arm needs no more comparison with the leader.

    "Beaten within epsilon" is not transitive: with epsilon > 0 only the leader's own victories count.
    """
    return state.notes[arm] == leader + 1 or (params.epsilon == 0.0 and state.notes[arm] > 0)


@kernel
def first_fidelity(problem: Arrays, arm: int) -> int:
    """The fidelity at which the first pull of an arm tells most about its truth for its cost."""
    chosen, least = 0, math.inf
    for m in range(problem.cost.shape[1]):
        bias = problem.bias[arm, m]
        price = problem.cost[arm, m] * (problem.sigma * problem.sigma + bias * bias)
        if price < least:
            chosen, least = m, price
    return chosen


@kernel
def start(problem: Arrays, state: State, out: Ints) -> int:
    """Pull every arm once that was never pulled; nothing else is forced at the beginning."""
    rows = 0
    for k in range(problem.cost.shape[0]):
        pulls = 0
        for m in range(problem.cost.shape[1]):
            pulls += state.pulls[k, m]
        if pulls == 0:
            rows = put(out, rows, k, first_fidelity(problem, k), 1)
    return rows


@kernel
def activate(problem: Arrays, state: State, arm: int, fidelity: int) -> None:
    """Declare the coming rewards of a stream active: remember its statistics before them."""
    place = before_at(problem)
    state.memory[place] = float(state.pulls[arm, fidelity])
    state.memory[place + 1] = state.sums[arm, fidelity]
    state.memory[place + 2] = state.squares[arm, fidelity]
    state.clock[ACTIVE] = 1 + arm * problem.cost.shape[1] + fidelity


@kernel
def settle(problem: Arrays, state: State) -> None:
    """Enter the rewards of the last round into the active statistics, if they were active."""
    stream = state.clock[ACTIVE] - 1
    if stream >= 0:
        arm, fidelity = stream // problem.cost.shape[1], stream % problem.cost.shape[1]
        place, active = before_at(problem), active_at(problem) + 3 * stream
        state.memory[active] += float(state.pulls[arm, fidelity]) - state.memory[place]
        state.memory[active + 1] += state.sums[arm, fidelity] - state.memory[place + 1]
        state.memory[active + 2] += state.squares[arm, fidelity] - state.memory[place + 2]
        state.clock[ACTIVE] = 0


@kernel
def record(problem: Arrays, params: TopTwoParams, state: State, winner: int, loser: int) -> None:
    """Note who beat an arm, with both arms' statistics, all and active, at this moment."""
    fidelities = problem.cost.shape[1]
    state.notes[loser] = winner + 1
    state.memory[loser * PER_ARM + EVIDENCE] = params.threshold
    place = records_at(problem) + 12 * loser * fidelities
    for side in range(2):
        arm = winner if side == 0 else loser
        for m in range(fidelities):
            active = active_at(problem) + 3 * (arm * fidelities + m)
            state.memory[place] = float(state.pulls[arm, m])
            state.memory[place + 1] = state.sums[arm, m]
            state.memory[place + 2] = state.squares[arm, m]
            for i in range(3):
                state.memory[place + 3 + i] = state.memory[active + i]
            place += 6


@kernel
def examine(problem: Arrays, params: TopTwoParams, state: State, leader: int, rival: int) -> None:
    """Compute the certificate of a pair if it may hold; if it does, the rival is beaten."""
    at, scratch = rival * PER_ARM, scratch_at(problem)
    value = state.memory[at + VALUE]
    spent = state.memory[leader * PER_ARM + SPENT] + state.memory[at + SPENT]
    if value < params.check * params.threshold or spent < state.memory[at + DUE]:
        return
    gap = abs(state.memory[leader * PER_ARM + CENTRE] - state.memory[at + CENTRE]) + params.epsilon
    verdict = prove(
        problem,
        params.evidence,
        params.epsilon,
        state,
        leader,
        rival,
        params.threshold,
        state.memory[at + SPLIT],
        0.1 * gap + 1e-3 * problem.sigma,
        active_at(problem),
        scratch,
    )
    if verdict == PROVEN:
        record(problem, params, state, leader, rival)
    else:
        # What lacks comes by drift and by luck: evidence f moves by about sqrt(2 f r) while the cost
        # spent on the pair grows by a part r. Look again when two such moves may have bridged it.
        lacks = state.memory[scratch + SHORTFALL] if verdict == REFUTED else 0.0
        state.memory[at + DUE] = spent * (1.0 + params.passive * lacks * lacks / (value + 1.0))


@kernel
def compare(problem: Arrays, params: TopTwoParams, state: State, leader: int, rival: int) -> None:
    """Bring a rival's split, evidence and share up to date, and see whether it is beaten."""
    split(problem, params.epsilon, state, leader, rival)
    examine(problem, params, state, leader, rival)
    at = rival * PER_ARM
    v = state.memory[at + SPLIT]
    share = 1.0
    for side in range(2):
        arm, sign, shift = (leader, 1.0, params.epsilon) if side == 0 else (rival, -1.0, 0.0)
        gain, _, _, _ = promise(problem, params, state, arm, sign, v - shift)
        if side == 0:
            share = gain
        elif gain > 0.0:
            share /= gain
        else:
            share = math.inf if share > 0.0 else 1.0
    state.memory[at + SHARE] = share


@kernel
def lead(problem: Arrays, params: TopTwoParams, state: State) -> int:
    """The arm with the largest estimated truth among those that are not beaten."""
    leader, best = 0, -math.inf
    for k in range(problem.cost.shape[0]):
        if params.epsilon > 0.0 or state.notes[k] == 0:
            centre = state.memory[k * PER_ARM + CENTRE]
            if centre > best:
                leader, best = k, centre
    return leader


@kernel
def update(problem: Arrays, params: TopTwoParams, state: State) -> int:
    """Take in the rewards of the last round; return the leader.

    Only what the last round changed is computed anew: one arm, and if it leads (or the leader is
    another one now) every comparison with it.
    """
    arms = problem.cost.shape[0]
    pulled = state.clock[PULLED] - 1
    settle(problem, state)
    for k in range(arms) if pulled < 0 else range(pulled, pulled + 1):
        refresh(problem, params.doubt, params.clip, state, k)
    leader = lead(problem, params, state)
    changed = state.clock[LEADER] != leader + 1
    state.clock[LEADER] = leader + 1
    every = changed or pulled == leader
    for b in range(arms):
        if changed:
            state.memory[b * PER_ARM + DUE] = 0.0
        if b != leader and (every or b == pulled) and not out_of_race(params, state, b, leader):
            compare(problem, params, state, leader, b)
    return leader


@kernel
def plan(problem: Arrays, params: TopTwoParams, state: State, out: Ints) -> int:
    """Play one round: compare the leader with every rival left, then pull one of the closest pair."""
    arms, fidelities = problem.cost.shape
    if arms < 2:
        return 0
    if state.clock[LEADER] == 0:
        rows = start(problem, state, out)
        if rows > 0:
            return rows
    leader = update(problem, params, state)
    challenger, least, balance = -1, math.inf, 0.0
    for b in range(arms):
        if b != leader and not out_of_race(params, state, b, leader):
            at = b * PER_ARM
            balance += state.memory[at + SHARE]
            index = state.memory[at + VALUE] + params.spread * math.log(state.memory[at + SPENT])
            if index < least:
                challenger, least = b, index
    if challenger < 0:
        return 0
    v = state.memory[challenger * PER_ARM + SPLIT]
    arm, sign = (leader, 1.0) if balance > 1.0 else (challenger, -1.0)
    if arm == leader:
        v -= params.epsilon
    _, fidelity, plain, _ = promise(problem, params, state, arm, sign, v)
    most = max(state.memory[leader * PER_ARM + SPENT], state.memory[challenger * PER_ARM + SPENT])
    cheapest = math.inf
    for k in (leader, challenger):
        for m in range(fidelities):
            cost = problem.cost[k, m]
            if cost < cheapest and state.pulls[k, m] + 1 <= params.forced * math.sqrt(most / cost):
                cheapest, arm, fidelity, plain = cost, k, m, -1
    if fidelity == plain:
        activate(problem, state, arm, fidelity)
    state.clock[PULLED] = arm + 1
    count = params.batch
    if count == 0:
        share = min(
            0.01 * state.spent[0] / problem.cost[arm, fidelity], 0.25 * state.pulls[arm, fidelity]
        )
        count = max(1, int(share))
    return put(out, 0, arm, fidelity, count)


@kernel
def recommend(problem: Arrays, params: TopTwoParams, state: State) -> int:
    """The arm with the largest estimated truth among those that are not beaten."""
    chosen, best = 0, -math.inf
    for k in range(problem.cost.shape[0]):
        if params.epsilon > 0.0 or state.notes[k] == 0:
            centre, weights, _ = truth(problem, params.doubt, params.clip, state, k)
            if weights > 0.0 and centre > best:
                chosen, best = k, centre
    return chosen


@dataclass(frozen=True)
class MFTopTwo(Policy):
    """The default policy.

    Parameters
    ----------
    batch : int
        Pulls per round; 0 (the default) lets rounds grow with what was spent.
    evidence : {"auto", "tilt"}
        Likelihood ratios.
    """

    batch: int = 0
    evidence: str = "auto"

    def __post_init__(self) -> None:
        if not isinstance(self.batch, int) or isinstance(self.batch, bool) or self.batch < 0:
            raise PolicyError(
                f"batch must be a whole number >= 0 (0: rounds grow), got {self.batch!r}"
            )
        one_of("evidence", self.evidence, ("auto", "tilt"))
        self._columns_text()

    @property
    def name(self) -> str:
        """The registered name."""
        return "mf-toptwo"

    def algorithm(self, problem: Arrays, goal: Goal, unit: Callable[[float], float]) -> Algorithm:
        """Make the kernels and parameters for one problem."""
        arms, fidelities = problem.cost.shape
        evidence = NORMAL if problem.kind == GAUSSIAN else TILT
        if problem.kind == BOUNDED and self.evidence == "auto":
            evidence = BOTH
        params = TopTwoParams(
            threshold=math.log(max(1, arms - 1)) - math.log(goal.delta),
            epsilon=goal.epsilon,
            evidence=evidence,
            batch=self.batch,
            **TUNING,
        )
        return Algorithm(
            plan=plan,
            recommend=recommend,
            params=params,
            rows=arms,
            memory=scratch_at(problem) + pair_scratch(fidelities),
            notes=CLOCK,
        )
