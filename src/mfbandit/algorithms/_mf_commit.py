"""`mf-commit`: spend a budget with little regret, paying for knowledge only what it is worth.

The paper's regret compares with playing the best arm at the cheapest fidelity throughout. So a pull of
arm k at fidelity m is expected to cost lambda_m / lambda_1 * mu_1 - mu_k, and a pull of the best arm at
the cheapest fidelity costs nothing. Knowledge is worth something only if it changes which arm is
exploited, and then for all pulls that are left. Each round asks:

1. What is known? An arm's truth is taken to be normal; fidelity m tells about it with variance
   V / n + zeta_m^2, so that a biased fidelity never settles it alone.
2. What would c more pulls of (k, m) be worth? They move the estimate by a normal amount of known
   variance. If it crosses the best estimate of the other arms, the answer changes; the expected gain per
   pull times the pulls that would be left is the worth of the purchase.
3. What do they cost? c times the price above, with mu_1 replaced by what the best arm is expected to be,
   which is more than the best estimate as long as another arm may turn out better.

The purchase with the highest worth for its price is begun (a part of it, then everything is asked
again). If none is worth its price, the best estimate is exploited at the cheapest fidelity, in steps that
grow; committing is this, and it is taken back if the rewards disappoint. With n pulls left the chance of
a wrong commitment falls like 1 / n, as it must for a regret of order log(budget).

Worths are multiplied by `caution`, since the normal law is too sure of itself after few pulls and after
many looks: ten times the worth costs log(10) more nats of evidence and prevents most wrong commitments.
Nothing here is proven, and no certificate comes out: `mf-toptwo` is for that. The first round pulls every
arm once at the cheapest fidelity.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from mfbandit.algorithms._parts import put
from mfbandit.algorithms._policy import Policy, positive
from mfbandit.core import BOUNDED, GAUSSIAN, PULLS, Ahead, Algorithm, Arrays, Floats, Goal, Ints, State, floats, kernel
from mfbandit.errors import PolicyError

__all__ = ["MFCommit", "MfCommitParams", "plan", "recommend"]

#: The variance of rewards in [0, 1] is learned as if this many pulls had shown Bernoulli's.
_PRIOR_PULLS = 3.0
#: Rounds buy one part in this of the purchase that looked best; exploitation grows by one part too.
_PART = 4
_DENSITY_AT_0 = 0.3989422804014327
_TINY = 1e-300


class Beliefs(NamedTuple):
    """What mf-commit remembers."""

    truth: Floats = floats("arms")
    """Estimated truths."""
    doubt: Floats = floats("arms")
    """Their variances."""


class MfCommitParams(NamedTuple):
    """What mf-commit knows beside the problem."""

    budget: float
    origin: float
    """Where a reward of 0 lies in unit scale."""
    caution: float


class Standing(NamedTuple):
    """Who leads, and what there is to hope for."""

    leader: int
    top: float
    """The best estimate."""
    second: float
    """The best estimate of the other arms."""
    hoped: float
    """By how much the best arm is expected to be better than the leader."""


@kernel
def spread(problem: Arrays, state: State, arm: int, m: int, level: float) -> float:
    """The variance of a stream's rewards, the largest that goes with a mean between estimate and level.

    Whether the mean may be as far as `level` is what is asked, so the variance there counts: after 20
    rewards of 1 the variance at the estimate would all but exclude a mean of 0.85.
    """
    if problem.reward_code == GAUSSIAN:
        return problem.sigma * problem.sigma
    n, total = float(state.pulls[arm, m]), state.sums[arm, m]
    p = (total + 0.5) / (n + 1.0)
    widest = min(max(0.5, min(p, level)), max(p, level))
    widest = min(max(widest, 0.5 / (n + 1.0)), 1.0 - 0.5 / (n + 1.0))
    value = widest * (1.0 - widest)
    if problem.reward_code == BOUNDED and n > 0.0:
        squared = max(0.0, state.squares[arm, m] - total * total / n)
        value = (squared + _PRIOR_PULLS * value) / (n + _PRIOR_PULLS)
    return float(value)


@kernel
def precision(problem: Arrays, state: State, arm: int, m: int, level: float, more: float) -> float:
    """What a stream tells about its arm's truth after `more` pulls: one over its variance."""
    n = state.pulls[arm, m] + more
    if n == 0.0:
        return 0.0
    bias = problem.bias[arm, m]
    return float(1.0 / max(spread(problem, state, arm, m, level) / n + bias * bias, _TINY))


@kernel
def estimate(problem: Arrays, state: State, arm: int) -> float:
    """Estimate an arm's truth from all its streams, by their precision; -inf before its first pull."""
    weights, centre = 0.0, 0.0
    for m in range(problem.cost.shape[1]):
        n = float(state.pulls[arm, m])
        if n > 0.0:
            prior = 0.0 if problem.reward_code == GAUSSIAN else 1.0
            mean = (state.sums[arm, m] + 0.5 * prior) / (n + prior)
            weight = precision(problem, state, arm, m, mean, 0.0)
            weights += weight
            centre += weight * mean
    return centre / weights if weights > 0.0 else -math.inf


@kernel
def expected_excess(gap: float, deviation: float) -> float:
    """The mean of max(0, X) for a normal X of mean -gap <= 0 and this deviation, to a few percent."""
    if deviation <= 0.0:
        return 0.0
    z = gap / deviation
    return deviation * _DENSITY_AT_0 * math.exp(-0.5 * z * z) / (1.0 + z * (1.128 + 0.8 * z))


@kernel
def look(problem: Arrays, state: State) -> Standing:
    """Estimate all truths and how doubtful they are; see who leads."""
    arms, fidelities = problem.cost.shape
    leader = 0
    for k in range(arms):
        state.own.truth[k] = estimate(problem, state, k)
        if state.own.truth[k] > state.own.truth[leader]:
            leader = k
    top, second = state.own.truth[leader], -math.inf
    for k in range(arms):
        if k != leader:
            second = max(second, state.own.truth[k])
    for k in range(arms):
        known = 0.0
        for m in range(fidelities):
            known += precision(problem, state, k, m, second if k == leader else top, 0.0)
        state.own.doubt[k] = 1.0 / max(known, _TINY)
    hoped = 0.0
    for k in range(arms):
        if k != leader:
            both = math.sqrt(state.own.doubt[k] + state.own.doubt[leader])
            hoped = max(hoped, expected_excess(top - state.own.truth[k], both))
    return Standing(leader, top, second, hoped)


@kernel
def buy(problem: Arrays, params: MfCommitParams, state: State, standing: Standing, out: Ints) -> int:
    """Plan the purchase of knowledge with the highest worth for its price; 0 rows if none is worth it."""
    arms, fidelities = problem.cost.shape
    unit_cost = problem.cost[0, problem.order[0]]
    left = params.budget - state.spent[0]
    best, rows = 1.0, 0
    for k in range(arms):
        leads = k == standing.leader
        level = standing.second if leads else standing.top
        gap = abs(state.own.truth[k] - level)
        doubt = state.own.doubt[k]
        # Even certainty about this arm would not be worth one pull.
        if params.caution * left * expected_excess(gap, math.sqrt(doubt)) <= unit_cost * standing.hoped:
            continue
        for m in range(fidelities):
            cost = problem.cost[k, m]
            reference = standing.top + standing.hoped - params.origin
            price = cost / unit_cost * reference - (state.own.truth[k] - params.origin)
            price = max(price, standing.hoped, _TINY)
            others = max(0.0, 1.0 / doubt - precision(problem, state, k, m, level, 0.0))
            pulls = 1.0
            while pulls * cost <= left:
                doubt_then = 1.0 / (others + precision(problem, state, k, m, level, pulls))
                gain = expected_excess(gap, math.sqrt(max(0.0, doubt - doubt_then)))
                worth = params.caution * gain * (left - pulls * cost) / unit_cost
                if worth > best * pulls * price:
                    best = worth / (pulls * price)
                    rows = put(out, 0, k, m, max(1, int(pulls) // _PART))
                pulls *= 2.0
    return rows


@kernel
def plan(problem: Arrays, params: MfCommitParams, state: State, out: Ints) -> int:
    """Buy knowledge if some is worth its price, else exploit the best estimate."""
    cheapest = problem.order[0]
    if params.budget - state.spent[0] < problem.cost[0, cheapest]:
        return 0
    rows = 0
    if state.clock[PULLS] == 0:
        for k in range(problem.cost.shape[0]):
            rows = put(out, rows, k, cheapest, 1)
        return rows
    standing = look(problem, state)
    rows = buy(problem, params, state, standing, out)
    if rows > 0:
        return rows
    leader = standing.leader
    return put(out, 0, leader, cheapest, max(1, state.pulls[leader, cheapest] // _PART))


@kernel
def recommend(problem: Arrays, params: MfCommitParams, state: State) -> int:
    """The arm with the best estimate."""
    leader, best = 0, estimate(problem, state, 0)
    for k in range(1, problem.cost.shape[0]):
        value = estimate(problem, state, k)
        if value > best:
            leader, best = k, value
    return leader


@dataclass(frozen=True)
class MFCommit(Policy):
    """Buy knowledge while it is worth its price in regret, then exploit the best arm cheaply (ours).

    Parameters
    ----------
    caution : float
        How many times knowledge is worth what a normal law says; more is safer and explores longer.

    Examples
    --------
    >>> MFCommit(caution=3.0).label
    'mf-commit:caution=3.0'
    """

    caution: float = 10.0

    objective: ClassVar[str] = "regret"

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("caution", self.caution)
        if self.batch != 1:
            raise PolicyError(f"mf-commit chooses its own counts: batch must be 1, got {self.batch!r}")

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
            params=MfCommitParams(goal.budget, unit(0.0), float(self.caution)),
            rows=arms,
            memory=Beliefs,
            sums_only=problem.reward_code != BOUNDED,
            ahead=Ahead(begins_with_all=True),
        )
