"""A small policy on blocks for tests: all arms, block by block, the leader by its mean, an end after some blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from mfbandit.algorithms.policy import Policy
from mfbandit.blocks import open_block
from mfbandit.core import Algorithm
from mfbandit.kernel import kernel


class Params(NamedTuple):
    last: int


@kernel
def leader_of(problem, state):
    best = 0
    m = problem.truest
    for k in range(1, state.pulls.shape[0]):
        if state.sums[k, m] > state.sums[best, m]:
            best = k
    return best


@kernel
def plan(problem, params, state, out):
    lanes, arms = problem.cost.shape[1], problem.cost.shape[0]
    room = state.blocks.rewards.shape[2]
    if state.blocks.opened[0] >= min(params.last, room):
        return 0
    leader = leader_of(problem, state)
    rows = 0
    for m in range(lanes):
        open_block(state.blocks, m, leader, -1)
        for k in range(arms):
            out[rows, 0], out[rows, 1], out[rows, 2] = k, m, 1
            rows += 1
    return rows


@kernel
def recommend(problem, params, state):
    return leader_of(problem, state)


@dataclass(frozen=True)
class Lockstep(Policy):
    last: int = 100

    @property
    def name(self):
        return "lockstep"

    def check(self, problem, goal):
        """Take any problem."""

    def algorithm(self, problem, goal, unit):
        rows = problem.cost.size
        return Algorithm(plan, recommend, Params(self.last), rows, evidence="blocks")
