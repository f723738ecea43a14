"""The two arms with the highest upper bounds among very many: a tournament that is replayed where it must be.

It gives what the scan in `mfbandit.confidence.select` gives, to the last bit, in time that grows with the
logarithm of the number of arms. An upper bound is a straight line in the width of the confidence radius,
which grows with time. Arms are the leaves of a binary tree, and every node knows who leads below it, that
arm's line, and the width up to which nothing below can change: until the loser's line may meet the
winner's, or another fidelity may give an arm's bound. Each round replays the matches of the two arms that
were pulled, and those whose time has come. Lines of equal slope never meet, so that the many arms that
were pulled equally often cost nothing.

Layout of `State.memory`: a node takes four numbers, its arm, the width until which it holds, and its line;
node i has the children 2i and 2i + 1, arm k is node K + k, and node 0, which the tree does not use, holds
whether the tree stands, and the two arms that came out last. All of it follows from the rest of
the state: where it is all zeros it is built anew.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from mfbandit.confidence.select import lowest_line, truth_line
from mfbandit.core import Arrays, State
from mfbandit.kernel import kernel

__all__ = ["top_two", "tournament_memory"]

#: What a node remembers.
ARM, UNTIL, OFFSET, SLOPE, PER_NODE = 0, 1, 2, 3, 4
#: What node 0 remembers.
STANDS, FIRST, SECOND = 0, 1, 2
#: Two values that differ by less than this, relatively, may have been rounded past each other.
_ROUNDING = 1e-14


class Entry(NamedTuple):
    """Who leads at a node, the width until which that holds, and the leader's line."""

    arm: float
    until: float
    offset: float
    slope: float


def tournament_memory(n_arms: int) -> int:
    """How many numbers of memory the tournament needs."""
    return 2 * PER_NODE * n_arms


@kernel
def safe_growth(lead: float, closing: float, size: float) -> float:
    """How much the width may grow before a line that leads by so much can be level with another.

    `closing` is by how much the other is steeper, `size` the size of the numbers that were rounded. Where
    rounding alone may have made the lead, it is looked at again as soon as the width changes.
    """
    beyond_rounding = lead - _ROUNDING * size
    if beyond_rounding <= 0.0:
        return 0.0
    return beyond_rounding / closing if closing > 0.0 else math.inf


@kernel
def seat(problem: Arrays, state: State, arm: int, width: float) -> None:
    """Bring the leaf of an arm up to date: its line, until another fidelity's may be lower."""
    offset, slope, where = lowest_line(problem, state, arm, width)
    until = math.inf
    if offset < math.inf:
        for m in range(problem.cost.shape[1]):
            if m != where and state.pulls[arm, m] > 0:
                other, rise = truth_line(problem, state, arm, m, width)
                if other != offset or rise != slope:
                    above = other + width * rise - (offset + width * slope)
                    size = abs(offset) + abs(other) + width * (slope + rise)
                    until = min(until, width + safe_growth(above, slope - rise, size))
    enter(state, problem.cost.shape[0] + arm, Entry(float(arm), until, offset, slope))


@kernel
def contest(one: Entry, other: Entry, width: float) -> Entry:
    """Who of two leads, the one with the higher line or, if they are level, the smaller arm, and how long."""
    bound, beside = one.offset + width * one.slope, other.offset + width * other.slope
    ahead = bound > beside or (bound == beside and one.arm < other.arm)
    closing = other.slope - one.slope if ahead else one.slope - other.slope
    growth = math.inf
    # Lines that are the same stay level, and so does the line of an arm that was never pulled, at +inf.
    if max(bound, beside) < math.inf and (closing != 0.0 or one.offset != other.offset):
        size = abs(one.offset) + abs(other.offset) + width * (one.slope + other.slope)
        growth = safe_growth(abs(bound - beside), closing, size)
    until = min(one.until, other.until, width + growth)
    if ahead:
        return Entry(one.arm, until, one.offset, one.slope)
    return Entry(other.arm, until, other.offset, other.slope)


@kernel
def entry_of(state: State, node: int) -> Entry:
    """What a node remembers."""
    at = PER_NODE * node
    memory = state.memory
    return Entry(memory[at + ARM], memory[at + UNTIL], memory[at + OFFSET], memory[at + SLOPE])


@kernel
def enter(state: State, node: int, entry: Entry) -> None:
    """Let a node remember who leads there."""
    at = PER_NODE * node
    state.memory[at + ARM] = entry.arm
    state.memory[at + UNTIL] = entry.until
    state.memory[at + OFFSET] = entry.offset
    state.memory[at + SLOPE] = entry.slope


@kernel
def match(state: State, node: int, width: float) -> None:
    """Play the match of a node."""
    enter(state, node, contest(entry_of(state, 2 * node), entry_of(state, 2 * node + 1), width))


@kernel
def build(problem: Arrays, state: State, width: float) -> None:
    """Seat all arms and play all matches."""
    arms = problem.cost.shape[0]
    for k in range(arms):
        seat(problem, state, k, width)
    for node in range(arms - 1, 0, -1):
        match(state, node, width)


@kernel
def climb(problem: Arrays, state: State, arm: int, width: float) -> None:
    """Seat an arm that was pulled, and replay its matches."""
    seat(problem, state, arm, width)
    node = problem.cost.shape[0] + arm
    leading = entry_of(state, node)
    while node > 1:
        leading = contest(leading, entry_of(state, node ^ 1), width)
        node //= 2
        enter(state, node, leading)


@kernel
def replay(problem: Arrays, state: State, width: float) -> None:
    """Replay every match whose time has come, those below before those above."""
    arms = problem.cost.shape[0]
    node = 1
    while state.memory[PER_NODE + UNTIL] < width:
        left, right = 2 * node, 2 * node + 1
        if node < arms and state.memory[PER_NODE * left + UNTIL] < width:
            node = left
        elif node < arms and state.memory[PER_NODE * right + UNTIL] < width:
            node = right
        else:
            if node < arms:
                match(state, node, width)
            else:
                seat(problem, state, node - arms, width)
            node = max(1, node // 2)


@kernel
def runner_up(problem: Arrays, state: State, first: int, width: float) -> tuple[int, float]:
    """The best of those who lost a match to the winner, and its bound."""
    second, best = -1, -math.inf
    node = problem.cost.shape[0] + first
    while node > 1:
        at = PER_NODE * (node ^ 1)
        arm = int(state.memory[at + ARM])
        bound = state.memory[at + OFFSET] + width * state.memory[at + SLOPE]
        if second < 0 or bound > best or (bound == best and arm < second):
            second, best = arm, bound
        node //= 2
    return second, best


@kernel
def top_two(problem: Arrays, log_factor: float, state: State, time: int, width: float) -> tuple[int, int, float]:
    """The arms with the highest and second highest UCB, and the second UCB; ties to the smaller index.

    Only the two arms it returned last may have been pulled since.
    """
    if state.memory[STANDS] == 0.0:
        build(problem, state, width)
        state.memory[STANDS] = 1.0
    else:
        climb(problem, state, int(state.memory[FIRST]), width)
        climb(problem, state, int(state.memory[SECOND]), width)
        replay(problem, state, width)
    first = int(state.memory[PER_NODE + ARM])
    second, next_best = runner_up(problem, state, first, width)
    state.memory[FIRST] = float(first)
    state.memory[SECOND] = float(second)
    return first, second, next_best
