"""IISE (Poiani, Metelli and Restelli 2022): eliminate arms at one fidelity after the other.

Phase m pulls every arm that is left once per round, at fidelity m only, and drops an arm when even its
most favourable truth, mean + radius + zeta_m, is under the least favourable truth of another. It goes on
to fidelity m + 1 when 4 radius <= max over k > m of 4 (zeta_m - zeta_k) sqrt(lambda_m) /
(sqrt(lambda_k) - sqrt(lambda_m)): from there on a more expensive fidelity is the better buy. The last phase runs
until one arm is left. Fidelities that another one beats in both cost and bias are left out first.

With t pulls of the arm at this fidelity the radius is

- ``radius="theory"``: sqrt(2 sigma^2 log(4 t^2 K M / delta) / t), proven;
- ``radius="practical"``: sqrt(2 sigma^2 (log log T + log(K M / delta)) / t) with T all pulls, which the
  published experiments drop arms by (phases still end by the other one). **Unproven.**

Rewards in [0, 1] have sigma = 1/2, their largest. M counts the fidelities that are used.

In an undisturbed run all arms left have the same pulls. If a study starts its phases anew (an arm was
retired, bounds were widened), dropped arms return with the pulls they had: each is judged by its own
radius, which the union over t, arms and fidelities allows, and those that lag behind are pulled first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mfbandit.algorithms._parts import put
from mfbandit.algorithms._policy import Policy, one_of
from mfbandit.core import PULLS, Algorithm, Arrays, Goal, Ints, State, integers, kernel
from mfbandit.errors import PolicyError
from mfbandit.model import Problem

__all__ = ["IISE", "IiseParams", "plan", "recommend", "undominated"]


class Phase(NamedTuple):
    """What IISE remembers."""

    phase: Ints = integers(1)
    """Counted in fidelities from cheap to expensive."""


class IiseParams(NamedTuple):
    """What IISE knows beside the problem."""

    log_factor: float
    """log(K M / delta)."""
    epsilon: float
    practical: bool
    batch: int


@kernel
def zeta(problem: Arrays, m: int) -> float:
    """The bias bound of a fidelity, for all arms."""
    largest = 0.0
    for k in range(problem.cost.shape[0]):
        largest = max(largest, problem.bias[k, m])
    return largest


@kernel
def radius(problem: Arrays, params: IiseParams, t: int) -> float:
    """The proven confidence radius after t pulls in a phase."""
    price = params.log_factor + math.log(4.0) + 2.0 * math.log(t)
    return problem.sigma * math.sqrt(2.0 * price / t)


@kernel
def dropping_radius(problem: Arrays, params: IiseParams, state: State, t: int) -> float:
    """The radius by which arms are dropped."""
    if not params.practical:
        return radius(problem, params, t)
    price = params.log_factor + math.log(max(1.0, math.log(state.clock[PULLS])))
    return problem.sigma * math.sqrt(2.0 * price / t)


@kernel
def patience(problem: Arrays, phase: int) -> float:
    """The radius at which a phase is over: 0 in the last one."""
    m = problem.order[phase]
    bias, root = zeta(problem, m), math.sqrt(problem.cost[0, m])
    largest = 0.0
    if bias > 0.0:
        for later in range(phase + 1, problem.cost.shape[1]):
            k = problem.order[later]
            costlier = math.sqrt(problem.cost[0, k]) - root
            largest = max(largest, (bias - zeta(problem, k)) * root / costlier)
    return largest


@kernel
def mean(state: State, arm: int, fidelity: int) -> float:
    """The mean of a stream; 0 before its first pull."""
    n = state.pulls[arm, fidelity]
    return state.sums[arm, fidelity] / n if n > 0 else 0.0


@kernel
def reach(problem: Arrays, params: IiseParams, state: State, n: int, bias: float) -> float:
    """How far an arm's truth may be from its mean after n pulls of its own; infinite before the first."""
    return dropping_radius(problem, params, state, n) + bias if n > 0 else math.inf


@kernel
def eliminate(problem: Arrays, params: IiseParams, state: State, m: int) -> bool:
    """Drop the arms that are clearly worse; tell whether the best arm left is known (within epsilon).

    Once it is known, it is the only one left.
    """
    bias = zeta(problem, m)
    # Most often all arms left have the same pulls, hence the same reach.
    known, width = -1, math.inf
    best, lowest, top = -1, -math.inf, -math.inf
    for k in range(problem.cost.shape[0]):
        if state.arm_flags[k] == 0:
            if state.pulls[k, m] != known:
                known = state.pulls[k, m]
                width = reach(problem, params, state, known, bias)
            value = mean(state, k, m)
            # Rounding may level two arms of which one has the larger mean.
            if best < 0 or value - width > lowest or (value - width == lowest and value > top):
                best, lowest, top = k, value - width, value
    highest = -math.inf
    for k in range(problem.cost.shape[0]):
        if state.arm_flags[k] == 0 and k != best:
            if state.pulls[k, m] != known:
                known = state.pulls[k, m]
                width = reach(problem, params, state, known, bias)
            high = mean(state, k, m) + width
            highest = max(highest, high)
            if lowest >= high:
                state.arm_flags[k] = 1
    if not lowest + params.epsilon >= highest:
        return False
    for k in range(problem.cost.shape[0]):
        state.arm_flags[k] = 0 if k == best else 1
    return True


@kernel
def least_pulls(state: State, m: int) -> int:
    """The pulls at a fidelity of the arm left that has fewest."""
    least = -1
    for k in range(state.arm_flags.shape[0]):
        if state.arm_flags[k] == 0 and (least < 0 or state.pulls[k, m] < least):
            least = state.pulls[k, m]
    return least


@kernel
def plan(problem: Arrays, params: IiseParams, state: State, out: Ints) -> int:
    """Look at the last round, then pull the arms that are left once, those that lag behind first.

    All arms left have the same number of pulls in a phase, unless some have returned with what they had.
    """
    arms = problem.cost.shape[0]
    if arms < 2:
        return 0
    phase = state.own.phase[0]
    m = problem.order[phase]
    if eliminate(problem, params, state, m):
        return 0
    t = least_pulls(state, m)
    if t > 0 and radius(problem, params, t) <= patience(problem, phase):
        state.own.phase[0] += 1
        m = problem.order[phase + 1]
    least = least_pulls(state, m)
    rows = 0
    for k in range(arms):
        if state.arm_flags[k] == 0 and state.pulls[k, m] == least:
            rows = put(out, rows, k, m, params.batch)
    return rows


@kernel
def recommend(problem: Arrays, params: IiseParams, state: State) -> int:
    """The arm with the best mean, among those left, at the last fidelity that all of them were pulled at."""
    chosen = -1
    for place in range(problem.cost.shape[1] - 1, -1, -1):
        m = problem.order[place]
        complete = True
        for k in range(problem.cost.shape[0]):
            if state.arm_flags[k] == 0:
                if state.pulls[k, m] == 0:
                    complete = False
                if chosen < 0 or mean(state, k, m) > mean(state, chosen, m):
                    chosen = k
        if complete or place == 0:
            break
        chosen = -1
    return chosen


def undominated(problem: Problem, columns: list[int]) -> list[int]:
    """The fidelities among some columns that no other beats in both cost and bias; the truest stays.

    Examples
    --------
    >>> small = Problem.from_arrays([1.0, 2.0, 3.0], [0.1, 0.2, 0.0], arms=2)
    >>> undominated(small, [0, 1, 2])
    [0, 2]
    """
    costs, biases = problem.costs[0], np.max(problem.biases, axis=0)

    def beaten(m: int) -> bool:
        return any(
            (costs[k], biases[k]) != (costs[m], biases[m]) and costs[k] <= costs[m] and biases[k] <= biases[m]
            for k in columns
        ) or any((costs[k], biases[k]) == (costs[m], biases[m]) for k in columns if k < m)

    return [m for m in columns if m == problem.truest or not beaten(m)]


@dataclass(frozen=True)
class IISE(Policy):
    """IISE of Poiani et al. 2022: elimination at one fidelity after the other, from cheap to expensive.

    Parameters
    ----------
    radius : {"theory", "practical"}
        The confidence radius: proven, or the narrower one of the published experiments, for which there
        is **no proof** that errors are as rare as delta.

    Examples
    --------
    >>> IISE(radius="practical").label
    'iise:radius=practical'
    """

    radius: str = "theory"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("radius", self.radius, ("theory", "practical"))

    @property
    def name(self) -> str:
        """The registered name."""
        return "iise"

    @property
    def proven(self) -> bool:
        """Whether the radius has a proof."""
        return self.radius == "theory"

    def columns(self, problem: Problem) -> list[int]:
        """The fidelities of a problem that this policy uses: not the dominated ones."""
        return undominated(self.seen(problem), super().columns(problem))

    def check(self, problem: Problem, goal: Goal) -> None:
        """Refuse a problem or a goal that this policy is not made for."""
        super().check(problem, goal)
        if problem.costs_per_arm:
            raise PolicyError(
                "iise goes from one fidelity to the next, which needs costs per fidelity; "
                "this problem has costs that differ between arms"
            )

    def algorithm(self, problem: Arrays, goal: Goal, unit: Callable[[float], float]) -> Algorithm:
        """Make the kernels and parameters for one problem."""
        arms, fidelities = problem.cost.shape
        return Algorithm(
            plan=plan,
            recommend=recommend,
            params=IiseParams(
                log_factor=math.log(arms * fidelities) - math.log(goal.delta),
                epsilon=goal.epsilon,
                practical=self.radius == "practical",
                batch=self.batch,
            ),
            rows=arms,
            memory=Phase,
            sums_only=True,
        )
