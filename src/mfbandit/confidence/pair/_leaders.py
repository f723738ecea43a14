"""Rewards of declared leaders: which arms have led, and what they gave when they did.

A reward is a leader's if, before its pull, the sampling rule had declared its arm the leader. The evidence against
an arm b takes the rewards of all leaders but b together (A in `mfbandit.confidence.pair._mixture`).
"""

from __future__ import annotations

from typing import NamedTuple

from mfbandit.core import Arrays, Floats, Ints, floats, integers, kernel

__all__ = ["MOST_LEADERS", "Leaders", "leader_places", "take_leader"]

#: So many arms are known as leaders. Rewards of those that come later are no leader's, which is decided before them.
MOST_LEADERS = 8


@kernel
def leader_places(problem: Arrays) -> int:
    """How many leaders are known at most."""
    return int(min(MOST_LEADERS, problem.cost.shape[0]))


class Leaders(NamedTuple):
    """Statistics of the rewards that arms gave as leaders, in the order in which they first did."""

    known: Ints = integers(1)
    """How many there are."""
    arm: Ints = integers(leader_places)
    pulls: Floats = floats(leader_places, "fidelities")
    sums: Floats = floats(leader_places, "fidelities")
    squares: Floats = floats(leader_places, "fidelities")


@kernel
def take_leader(leaders: Leaders, arm: int, fidelity: int, pulls: float, sums: float, squares: float) -> None:
    """Enter rewards of a leader by their sums, unless all places are taken by others."""
    place = 0
    while place < leaders.known[0] and leaders.arm[place] != arm:
        place += 1
    if place == leaders.arm.shape[0]:
        return
    if place == leaders.known[0]:
        leaders.known[0] += 1
        leaders.arm[place] = arm
    leaders.pulls[place, fidelity] += pulls
    leaders.sums[place, fidelity] += sums
    leaders.squares[place, fidelity] += squares
