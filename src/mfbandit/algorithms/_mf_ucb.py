"""MF-UCB (Kandasamy, Dasarathy, Schneider and Poczos 2016), and plain UCB as its special case.

Every (arm, fidelity) is pulled once. Then the arm with the highest
B_k = min over m of mean + psi^-1(rho log t / n) + zeta_m is played, psi(e) = e^2 / (2 sigma^2), at the
cheapest fidelity m whose radius is still at least zeta_m sqrt(lambda_m / lambda_(m+1)), else at the
truest. On the truest fidelity only this is UCB.

A pull that the rest of the budget does not pay for is made at the cheapest fidelity instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from mfbandit.algorithms._parts import put
from mfbandit.algorithms._policy import Policy, positive
from mfbandit.core import PULLS, Algorithm, Arrays, Goal, Ints, State, kernel

__all__ = ["MFUCB", "MfUcbParams", "plan", "recommend"]


class MfUcbParams(NamedTuple):
    """What MF-UCB knows beside the problem."""

    budget: float
    rho: float
    batch: int


@kernel
def radius(problem: Arrays, params: MfUcbParams, state: State, arm: int, fidelity: int) -> float:
    """psi^-1(rho log t / n) of a stream that was pulled."""
    n = state.pulls[arm, fidelity]
    return problem.sigma * math.sqrt(2.0 * params.rho * math.log(state.clock[PULLS]) / n)


@kernel
def index(problem: Arrays, params: MfUcbParams, state: State, arm: int) -> float:
    """B_k: the lowest upper bound over the fidelities pulled; +inf before the first pull."""
    lowest = math.inf
    for m in range(problem.cost.shape[1]):
        n = state.pulls[arm, m]
        if n > 0:
            bound = state.sums[arm, m] / n + radius(problem, params, state, arm, m) + problem.bias[arm, m]
            lowest = min(lowest, bound)
    return lowest


@kernel
def fidelity(problem: Arrays, params: MfUcbParams, state: State, arm: int) -> int:
    """The cheapest fidelity that can still tell more than its bias allows, else the truest."""
    for place in range(problem.cost.shape[1] - 1):
        m = problem.order[place]
        if m == problem.truest:
            break
        following = problem.order[place + 1]
        threshold = problem.bias[arm, m] * math.sqrt(problem.cost[arm, m] / problem.cost[arm, following])
        if radius(problem, params, state, arm, m) >= threshold:
            return int(m)
    return problem.truest


@kernel
def plan(problem: Arrays, params: MfUcbParams, state: State, out: Ints) -> int:
    """Play one pull, after every pair was pulled once."""
    arms, fidelities = problem.cost.shape
    if state.clock[PULLS] == 0:
        rows = 0
        for k in range(arms):
            for m in range(fidelities):
                rows = put(out, rows, k, m, 1)
        return rows
    arm = recommend(problem, params, state)
    cheapest = problem.order[0]
    for m in range(fidelities):
        # The first round was cut short by the budget: bounds cannot be told for this arm yet.
        if state.pulls[arm, m] == 0:
            return put(out, 0, arm, cheapest, 1)
    chosen = fidelity(problem, params, state, arm)
    if params.budget - state.spent[0] < problem.cost[arm, chosen]:
        chosen = cheapest
    return put(out, 0, arm, chosen, params.batch)


@kernel
def recommend(problem: Arrays, params: MfUcbParams, state: State) -> int:
    """The arm with the highest index."""
    chosen, best = 0, -math.inf
    for k in range(problem.cost.shape[0]):
        bound = index(problem, params, state, k)
        if bound > best:
            chosen, best = k, bound
    return chosen


@dataclass(frozen=True)
class MFUCB(Policy):
    """MF-UCB of Kandasamy et al. 2016; with ``truest`` plain UCB on the truest fidelity (`ucb-top`).

    Parameters
    ----------
    rho : float
        Width of the radius; the theory asks for more than 4, 2 is what is used in practice.
    truest : bool
        Use the truest fidelity only.

    Examples
    --------
    >>> MFUCB(rho=4.0).label, MFUCB(truest=True).label
    ('mf-ucb:rho=4.0', 'ucb-top')
    """

    rho: float = 2.0
    truest: bool = False

    objective: ClassVar[str] = "regret"
    guarantee: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("rho", self.rho)

    @property
    def name(self) -> str:
        """The registered name."""
        return "ucb-top" if self.truest else "mf-ucb"

    @property
    def preset(self) -> frozenset[str]:
        """Fields that the name itself says."""
        return frozenset({"truest"})

    @property
    def truest_only(self) -> bool:
        """Whether the policy by definition uses the truest fidelity only."""
        return self.truest

    def algorithm(self, problem: Arrays, goal: Goal, unit: Callable[[float], float]) -> Algorithm:
        """Make the kernels and parameters for one problem."""
        return Algorithm(
            plan=plan,
            recommend=recommend,
            params=MfUcbParams(goal.budget, self.rho, self.batch),
            rows=problem.cost.shape[0] * problem.cost.shape[1],
            sums_only=True,
        )
