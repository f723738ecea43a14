"""The two arms with the highest upper bounds among very many: a tournament that is replayed where it must be.

It gives what the scan in `mfbandit.algorithms.lucb._top_two_scan` gives, to the last bit, in time that grows with the
logarithm of the number of arms. An upper bound is a straight line in the width of the confidence radius,
which grows with time. Arms are the leaves of a binary tree, and every node knows who leads below it, that
arm's line, and the width up to which nothing below can change: until the loser's line may meet the
winner's, or another fidelity may give an arm's bound. Each round replays the matches of the two arms that
were pulled, and those whose time has come. Lines of equal slope never meet, so that the many arms that
were pulled equally often cost nothing.

Node i has the children 2i and 2i + 1, and arm k is node K + k. All that is remembered follows from the rest of
the state: where it is all zeros it is built anew.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from mfbandit.algorithms.lucb._top_two_scan import lowest_line, truth_line
from mfbandit.core import Arrays, Floats, Ints, State, floats, integers, kernel

__all__ = ["Tree", "top_two"]

#: Two values that differ by less than this, relatively, may have been rounded past each other.
_ROUNDING = 1e-14
#: The upper bound of an arm that was never pulled, and a width that is never reached.
_NEVER = 1e300


@kernel
def nodes(problem: Arrays) -> int:
    """How many nodes there are, with node 0, which the tree does not use."""
    return int(2 * problem.cost.shape[0])


class Tree(NamedTuple):
    """What the tournament remembers."""

    stands: Ints = integers(1, kept=False)
    """Whether the tree was built."""
    top: Ints = integers(2, kept=False)
    """The two arms that came out last."""
    arm: Ints = integers(nodes, kept=False)
    """Who leads below a node."""
    until: Floats = floats(nodes, kept=False)
    """The width until which that holds."""
    offset: Floats = floats(nodes, kept=False)
    """The leader's line: its offset."""
    slope: Floats = floats(nodes, kept=False)
    """The leader's line: its slope."""


@kernel
def safe_growth(lead: float, closing: float, size: float, same: bool) -> float:
    """How much the width may grow before a line that leads by so much can be level with another.

    `closing` is by how much the other is steeper, `size` the size of the numbers that were rounded. Where
    rounding alone may have made the lead, it is looked at again as soon as the width changes, unless the
    lines are the `same`. Who leads is a toss-up, so this has no branch for the processor to guess.
    """
    beyond_rounding = max(0.0, lead - _ROUNDING * size)
    return beyond_rounding / max(closing, 1.0 / _NEVER) + same * _NEVER


@kernel
def update_leaf(problem: Arrays, state: State, arm: int, width: float) -> None:
    """Bring the leaf of an arm up to date: its line, until another fidelity's may be lower."""
    _, offset, slope, where = lowest_line(problem, state, arm, width)
    until = _NEVER
    if offset < math.inf:
        for m in range(problem.cost.shape[1]):
            if m != where and state.pulls[arm, m] > 0:
                other, rise = truth_line(problem, state, arm, m, width)
                above = (other + width * rise) - (offset + width * slope)
                size = abs(offset) + abs(other) + width * (slope + rise)
                same = (other == offset) & (rise == slope)
                until = min(until, width + safe_growth(above, slope - rise, size, same))
    node = problem.cost.shape[0] + arm
    state.own.arm[node] = arm
    state.own.until[node] = until
    state.own.offset[node] = min(offset, _NEVER)
    state.own.slope[node] = slope


@kernel
def update_node(state: State, node: int, width: float) -> None:
    """Play the match of a node: the higher line of its children's wins or, if they are level, the smaller arm."""
    own = state.own
    left, right = 2 * node, 2 * node + 1
    offset, slope, other, rise = own.offset[left], own.slope[left], own.offset[right], own.slope[right]
    bound, beside = offset + width * slope, other + width * rise
    right_wins = (beside > bound) | ((beside == bound) & (own.arm[right] < own.arm[left]))
    winner = left + int(right_wins)
    size = abs(offset) + abs(other) + width * (slope + rise)
    closing = (slope + rise) - 2.0 * own.slope[winner]
    same = (offset == other) & (slope == rise)
    until = width + safe_growth(abs(bound - beside), closing, size, same)
    own.arm[node] = own.arm[winner]
    own.until[node] = min(until, min(own.until[left], own.until[right]))
    own.offset[node] = own.offset[winner]
    own.slope[node] = own.slope[winner]


@kernel
def build(problem: Arrays, state: State, width: float) -> None:
    """Seat all arms and play all matches."""
    arms = problem.cost.shape[0]
    for k in range(arms):
        update_leaf(problem, state, k, width)
    for node in range(arms - 1, 0, -1):
        update_node(state, node, width)


@kernel
def update_two_paths(problem: Arrays, state: State, one: int, other: int, width: float) -> None:
    """Seat two arms that were pulled, and replay their matches.

    They climb side by side, since a processor can work on both at once. Where their ways have met, a match
    is played twice, the second time at the latest with both children up to date.
    """
    update_leaf(problem, state, one, width)
    update_leaf(problem, state, other, width)
    node, beside = (problem.cost.shape[0] + one) // 2, (problem.cost.shape[0] + other) // 2
    while node > 0 or beside > 0:
        if node > 0:
            update_node(state, node, width)
        if beside > 0:
            update_node(state, beside, width)
        node, beside = node // 2, beside // 2


@kernel
def update_expired(problem: Arrays, state: State, width: float) -> None:
    """Replay every match whose time has come, those below before those above."""
    arms = problem.cost.shape[0]
    node = 1
    until = state.own.until
    while until[1] < width:
        left, right = 2 * node, 2 * node + 1
        if node < arms and until[left] < width:
            node = left
        elif node < arms and until[right] < width:
            node = right
        else:
            if node < arms:
                update_node(state, node, width)
            else:
                update_leaf(problem, state, node - arms, width)
            node = max(1, node // 2)


@kernel
def runner_up(problem: Arrays, state: State, first: int, width: float) -> tuple[int, float]:
    """The best of those who lost a match to the winner, and its bound."""
    own = state.own
    second, best = -1, -math.inf
    node = problem.cost.shape[0] + first
    while node > 1:
        beside = node ^ 1
        arm = int(own.arm[beside])
        bound = own.offset[beside] + width * own.slope[beside]
        if second < 0 or bound > best or (bound == best and arm < second):
            second, best = arm, bound
        node //= 2
    return second, best


@kernel
def top_two(problem: Arrays, log_factor: float, state: State, time: int, width: float) -> tuple[int, int, float]:
    """The arms with the highest and second highest UCB, and the second UCB; ties to the smaller index.

    Only the two arms it returned last may have been pulled since.
    """
    own = state.own
    if own.stands[0] == 0:
        build(problem, state, width)
        own.stands[0] = 1
    else:
        update_two_paths(problem, state, int(own.top[0]), int(own.top[1]), width)
        update_expired(problem, state, width)
    first = int(own.arm[1])
    second, next_best = runner_up(problem, state, first, width)
    own.top[0] = first
    own.top[1] = second
    return first, second, next_best
