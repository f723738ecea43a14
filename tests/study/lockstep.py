"""A policy that advances all arms together on blocks, and studies of it: what tests of studies with blocks share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

import mfbandit as mf
from mfbandit.algorithms import Policy
from mfbandit.core import Algorithm, Ints, open_block, uniform
from mfbandit.kernel import kernel
from mfbandit.layout import integers
from mfbandit.model import Pull
from mfbandit.study import Study
from mfbandit.study.state.rounds._round_record import dump_state

LANES = [
    mf.Fidelity("judge", cost=1.0, bias=0.3, pair_bias=0.1, block_cost=0.25),
    mf.Fidelity("human", cost=4.0, block_cost=2.0),
]


class Steps(NamedTuple):
    """How many rounds were planned."""

    step: Ints = integers(1)


class LockstepParams(NamedTuple):
    """How many blocks to open at once, and when to stop."""

    batch: int
    last: int


@kernel
def plan_lockstep(problem, params, state, out):
    """Advance all arms together, in one lane after the other; the arm with the larger sum is declared leader."""
    lane = int(state.own.step[0]) % problem.cost.shape[1]
    begun = int(state.blocks.opened[lane])
    count = min(params.batch, params.last - begun)
    if count <= 0:
        return 0
    state.own.step[0] += 1
    leader = recommend_lockstep(problem, params, state)
    for _ in range(count):
        open_block(state.blocks, lane, leader if begun > 2 else -1, (leader + 1) % problem.cost.shape[0])
    for arm in range(problem.cost.shape[0]):
        out[arm, 0], out[arm, 1], out[arm, 2] = arm, lane, count
    return problem.cost.shape[0]


@kernel
def recommend_lockstep(problem, params, state):
    """The arm with the largest sum in the truest lane."""
    best = 0
    for arm in range(problem.cost.shape[0]):
        if state.sums[arm, problem.truest] > state.sums[best, problem.truest]:
            best = arm
    return best


@dataclass(frozen=True)
class Lockstep(Policy):
    """All arms on the same blocks, up to a last one."""

    last: int = 30
    guarantee: ClassVar[bool] = True
    on_blocks: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return "lockstep"

    def algorithm(self, problem: Any, goal: Any, unit: Callable[[float], float]) -> Algorithm:
        params = LockstepParams(self.batch, self.last)
        rows = problem.cost.shape[0]
        return Algorithm(plan_lockstep, recommend_lockstep, params, rows, memory=Steps, evidence="blocks")


def problem(blocks: int | str = "unlimited", **options: Any) -> mf.Problem:
    return mf.Problem(["a", "b", "c"], LANES, "bernoulli", blocks=blocks, **options)


def evaluate(pull: Pull) -> float:
    """A reward that is a function of the arm, the fidelity and the block alone."""
    assert pull.block is not None
    easy = uniform(11, pull.fidelity_index, pull.block, 0)
    luck = uniform(12, 3 * pull.fidelity_index + pull.arm_index, pull.block, 0)
    return float(0.6 * easy + 0.4 * luck < 0.4 + 0.1 * pull.arm_index)


def play(study: Study, of: Callable[[Pull], float] = evaluate) -> list[Pull]:
    asked = []
    while pulls := study.ask(4):
        asked += pulls
        for pull in pulls:
            assert study.tell(pull, of(pull))
    return asked


def cells(state: Any) -> list[Any]:
    """All that a state holds of blocks which counts."""
    held = state.blocks
    rewards = [
        [held.rewards[m, k, : state.pulls[k, m]].tobytes() for k in range(state.pulls.shape[0])]
        for m in range(state.pulls.shape[1])
    ]
    declared = [held.declared[m, : held.opened[m]].tolist() for m in range(held.opened.size)]
    return [rewards, declared, held.order.tolist(), held.missing.tolist(), held.rewards.shape]


def assert_same(one: Study, other: Study) -> None:
    first, second = one.current(), other.current()
    assert dump_state(first.state) == dump_state(second.state)
    assert cells(first.state) == cells(second.state)
    assert (first.status, first.cost, first.rounds) == (second.status, second.cost, second.rounds)
    assert first.race is not None
    assert second.race is not None
    assert first.race.rounds == second.race.rounds
    np.testing.assert_array_equal(first.race.rewards, second.race.rewards)
    np.testing.assert_array_equal(first.race.openings, second.race.openings)
