"""LUCB for multi-fidelity best-arm identification (Algorithm 1), with the paper's explore procedures.

Each round takes the two arms with the highest upper confidence bounds, stops if the first is clearly
better than the second, and otherwise explores both. Where the paper is silent, this is what is done:

- t is the number of pulls so far (``clock="pulls"``; ``"rounds"`` also satisfies the proof and is about
  6% cheaper); the paper never increments it.
- The pair is selected, then tested, then explored. Taken literally the paper tests the pair of the
  round before, and then most runs stop while another arm's upper bound is still above.
- The leader is the arm with the top upper bound, not the top mean. Ties go to the smaller index.
- A fidelity that was never pulled is left out of an arm's bounds; an arm never pulled has UCB +inf.
- L = 4 K M, and ``lucb-top`` is the same algorithm with the truest fidelity as the only one.

Explore-A and -B may never stop, even with exact prior knowledge (`mfbandit reproduce termination`).
They are kept as printed; give such runs a `max_cost`. The variants ``a-stop`` and ``b-stop`` are ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from mfbandit.algorithms._policy import Policy, one_of, positive
from mfbandit.algorithms.lucb import _top_two_scan as select
from mfbandit.algorithms.lucb import _top_two_tree as tournament
from mfbandit.algorithms.lucb._explore import EXPLORE
from mfbandit.algorithms.lucb._explore_stop import EXPLORE_STOP
from mfbandit.algorithms.lucb._top_two_scan import Ceilings, lower, upper
from mfbandit.algorithms.lucb._top_two_tree import Tree
from mfbandit.confidence import BOUNDS, bound_kernels
from mfbandit.core import (
    GAUSSIAN,
    PULLS,
    ROUNDS,
    Ahead,
    Algorithm,
    Arrays,
    Goal,
    InFlight,
    Ints,
    State,
    bind,
    kernel,
    slot,
)
from mfbandit.errors import PolicyError

__all__ = ["LUCB", "LucbParams", "plan", "recommend"]


#: From so many arms on, a tournament finds the top two faster than a scan.
_MANY = 64
#: All explore procedures, by what `lucb-` takes.
PROCEDURES = {**EXPLORE, **EXPLORE_STOP}


class LucbParams(NamedTuple):
    """What LUCB knows beside the problem."""

    log_factor: float
    """log(L / delta)."""
    epsilon: float
    top: float
    """Upper bound on the best mean (Explore-A and -B), unit scale."""
    second: float
    """Lower bound on the second best mean (Explore-A and -B), unit scale."""
    by_rounds: bool
    batch: int


@slot
def level(problem: Arrays, log_factor: float, time: float) -> float:
    """What the confidence radius has to pay at a time."""


@slot
def top_two(problem: Arrays, log_factor: float, state: State, time: int, width: float) -> tuple[int, int, float]:
    """The arms with the highest and second highest UCB, and the second UCB; ties to the smaller index."""


@slot
def explore(
    problem: Arrays,
    params: LucbParams,
    state: State,
    arm: int,
    leader: int,
    width: float,
    out: Ints,
    row: int,
) -> int:
    """Write the pulls that explore an arm into `out` from `row` on; return the next free row."""


@kernel
def plan(problem: Arrays, params: LucbParams, state: State, out: Ints) -> int:
    """Play one round of Algorithm 1."""
    if problem.cost.shape[0] < 2:
        return 0
    time = max(1, state.clock[ROUNDS] if params.by_rounds else state.clock[PULLS])
    width = level(problem, params.log_factor, float(time))
    leader, challenger, highest = top_two(problem, params.log_factor, state, time, width)
    if lower(problem, state, leader, width) + params.epsilon > highest:
        return 0
    row = explore(problem, params, state, challenger, leader, width, out, 0)
    return explore(problem, params, state, leader, leader, width, out, row)


@kernel
def recommend(problem: Arrays, params: LucbParams, state: State) -> int:
    """The arm with the top upper bound."""
    time = max(1, state.clock[ROUNDS] if params.by_rounds else state.clock[PULLS])
    width = level(problem, params.log_factor, float(time))
    chosen, best = 0, upper(problem, state, 0, width)
    for k in range(1, problem.cost.shape[0]):
        bound = upper(problem, state, k, width)
        if bound > best:
            chosen, best = k, bound
    return chosen


@kernel
def forget_ceilings(state: State, flying: InFlight) -> None:
    """Compute all bounds anew: any arm may have been pulled since."""
    state.own.epoch[0] = 0


@kernel
def forget_tree(state: State, flying: InFlight) -> None:
    """Build the tournament anew: any arm may have been pulled since."""
    state.own.stands[0] = 0


@dataclass(frozen=True)
class LUCB(Policy):
    """LUCB with an explore procedure of the paper.

    Parameters
    ----------
    explore : {"a", "b", "c", "top", "a-stop", "b-stop"}
        Explore-A (f-UCB), -B (explore, then commit), -C (from cheap to expensive), the truest fidelity only,
        or variants of A and B, not the paper's, that stop with probability 1 if the truths differ.
    top, second : float
        Prior knowledge that Explore-A and -B require: an upper bound on the best mean and a lower
        bound on the second best, in units of the reward.
    bound : str
        The confidence bound; "paper" is the seed's radius.
    clock : {"pulls", "rounds"}
        What the paper's t counts.
    factor : float, optional
        The paper's L; 4 K M by default, and not less.

    Examples
    --------
    >>> LUCB(explore="a", top=0.95, second=0.75).label
    'lucb-a:top=0.95,second=0.75'
    """

    explore: str = "c"
    top: float | None = None
    second: float | None = None
    bound: str = "paper"
    clock: str = "pulls"
    factor: float | None = None
    batch: int = 1

    guarantee: ClassVar[bool] = True
    follows_costs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("explore", self.explore, PROCEDURES)
        one_of("bound", self.bound, BOUNDS)
        one_of("clock", self.clock, ("pulls", "rounds"))
        if self.explore not in ("c", "top"):
            for field in ("top", "second"):
                value = getattr(self, field)
                if value is None:
                    raise PolicyError(
                        f"lucb-{self.explore} needs {field}, "
                        "prior knowledge about the two best means: "
                        f"for example lucb-{self.explore}:top=0.95,second=0.75"
                    )
                if not math.isfinite(value):
                    raise PolicyError(f"{field} must be a finite number, got {value!r}")
            if not self.top > self.second:  # type: ignore[operator]
                raise PolicyError(f"top must exceed second, got top={self.top!r}, second={self.second!r}")
        if self.factor is not None:
            positive("factor", self.factor)

    @property
    def name(self) -> str:
        """The registered name."""
        return f"lucb-{self.explore}"

    @property
    def preset(self) -> frozenset[str]:
        """Fields that the name itself says."""
        return frozenset({"explore"})

    @property
    def truest_only(self) -> bool:
        """Whether the policy by definition uses the truest fidelity only."""
        return self.explore == "top"

    def algorithm(self, problem: Arrays, goal: Goal, unit: Callable[[float], float]) -> Algorithm:
        """Make the kernels and parameters for one problem."""
        if (problem.reward_code == GAUSSIAN) != (self.bound == "gaussian") and self.bound not in (
            "paper",
            "hoeffding",
        ):
            kind = "Gaussian rewards" if problem.reward_code == GAUSSIAN else "rewards in a range"
            raise PolicyError(f"bound {self.bound!r} is not made for {kind}; try bound=hoeffding")
        n_arms, n_fidelities = problem.cost.shape
        least = 4 * n_arms * n_fidelities
        factor = least if self.factor is None else self.factor
        if factor < least:
            raise PolicyError(f"factor must be at least 4 K M = {least}, got {self.factor!r}")
        many = n_arms >= _MANY
        kernels: dict[str, Any] = {
            **bound_kernels(self.bound),
            "explore": PROCEDURES[self.explore],
            "top_two": tournament.top_two if many else select.top_two,
        }
        params = LucbParams(
            log_factor=math.log(factor) - math.log(goal.delta),
            epsilon=goal.epsilon,
            top=unit(self.top) if self.top is not None else 1.0,
            second=unit(self.second) if self.second is not None else 0.0,
            by_rounds=self.clock == "rounds",
            batch=self.batch,
        )
        return Algorithm(
            plan=bind(plan, **kernels),
            recommend=bind(recommend, **kernels),
            params=params,
            rows=2 * n_fidelities if self.explore in ("b", "b-stop") else 2,
            memory=Tree if many else Ceilings,
            sums_only=self.bound not in ("bernstein", "mixed"),
            ahead=Ahead(prepare=forget_tree if many else forget_ceilings),
        )
