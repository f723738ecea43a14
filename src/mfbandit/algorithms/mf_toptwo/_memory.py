"""What `mf-toptwo` remembers, and how the rows of a round enter it.

A reward is *active* if, before its pull, the sampling rule held this fidelity for a good one of the arm (giving
at least 0.3 times what the best one gives) without any optimism. Active rewards form an evidence process of
their own (Z in `mfbandit.confidence.pair._mixture`) that needs no prior over fidelities.
"""

from __future__ import annotations

from typing import NamedTuple

from mfbandit.confidence.pair import Active, PairScratch, Victories, record
from mfbandit.core import Ahead, Arrays, Floats, InFlight, Ints, State, floats, group, integers, kernel

__all__ = ["AHEAD", "TopTwoMemory", "beat", "most_rows", "note_row", "rows_for", "take_in"]

#: One rival in so many that are left is pulled in a round, at least one.
_RIVALS_PER_ROW = 32


@kernel
def rows_for(rivals: int) -> int:
    """How many rivals are pulled in one round where so many are left."""
    return max(1, rivals // _RIVALS_PER_ROW)


@kernel
def most_rows(problem: Arrays) -> int:
    """How many arms a round pulls, at most, after the first."""
    return rows_for(problem.cost.shape[0] - 1)


class TopTwoMemory(NamedTuple):
    """What `mf-toptwo` remembers."""

    leader: Ints = integers(1)
    """The leader + 1; 0 before there is one."""
    centre: Floats = floats("arms")
    """Estimated truth."""
    precision: Floats = floats("arms")
    """That estimate's precision."""
    noise: Floats = floats("arms")
    """Its standard error that is due to rewards alone, not to biases."""
    spent: Floats = floats("arms")
    """Cost spent on the arm."""

    split: Floats = floats("arms")
    """As a rival of the leader: v."""
    value: Floats = floats("arms")
    """The evidence at v."""
    leader_gain: Floats = floats("arms")
    """The most information per cost that the leader promises against v."""
    gain: Floats = floats("arms")
    """The most that the rival promises."""
    due: Floats = floats("arms")
    """What was spent when the certificate is worth computing again."""
    respite: Floats = floats("arms")
    """The cost that is spent on the arm before it can be beaten (again)."""
    distance: Floats = floats("arms")
    """How far it is from being the challenger: the rival with the least is the one."""
    weight: Floats = floats("arms")
    """Its weight where the leader chooses its fidelity."""

    quiet: Floats = floats(1)
    """Total cost when the race last changed: an arm was beaten, or arms returned."""
    racers: Ints = integers(1)
    """How many arms are in the race."""
    race: Ints = integers("arms")
    """Which, in ascending order."""

    rows: Ints = integers(1)
    """Rows of the last round, one per arm that was pulled."""
    row_arm: Ints = integers(most_rows)
    row_distance: Floats = floats(most_rows)
    """The arm's `distance`."""
    row_active: Ints = integers(most_rows)
    """The fidelity + 1 if the row's rewards are active, else 0."""
    row_pulls: Floats = floats(most_rows)
    """n, S and Q of that stream before the round."""
    row_sums: Floats = floats(most_rows)
    row_squares: Floats = floats(most_rows)

    active: Active = group(Active)
    victories: Victories = group(Victories)
    scratch: PairScratch = group(PairScratch)


@kernel
def note_row(state: State, row: int, arm: int, fidelity: int, active: bool) -> None:
    """Remember what a row of this round pulls and, if its rewards are active, the statistics before them."""
    own = state.own
    own.row_arm[row] = arm
    own.row_active[row] = 1 + fidelity if active else 0
    own.row_pulls[row] = state.pulls[arm, fidelity]
    own.row_sums[row] = state.sums[arm, fidelity]
    own.row_squares[row] = state.squares[arm, fidelity]


@kernel
def take_in(state: State) -> None:
    """Enter the rewards of the last round into the active statistics, where they were active."""
    own = state.own
    for row in range(own.rows[0]):
        fidelity = own.row_active[row] - 1
        if fidelity >= 0:
            arm = own.row_arm[row]
            own.active.pulls[arm, fidelity] += state.pulls[arm, fidelity] - own.row_pulls[row]
            own.active.sums[arm, fidelity] += state.sums[arm, fidelity] - own.row_sums[row]
            own.active.squares[arm, fidelity] += state.squares[arm, fidelity] - own.row_squares[row]
            own.row_active[row] = 0


@kernel
def beat(state: State, winner: int, loser: int) -> None:
    """Put an arm out of the race, with a record of who beat it and how."""
    record(state, state.own.active, winner, loser)
    state.own.quiet[0] = state.spent[0]


@kernel
def forget_round(state: State, flying: InFlight) -> None:
    """Forget which arms the round planned last has pulled: others may have come back since."""
    state.own.rows[0] = 0


@kernel
def is_active(state: State, row: int) -> bool:
    """Whether the rewards of a row are active."""
    return bool(row < state.own.rows[0] and state.own.row_active[row] > 0)


@kernel
def take_active(state: State, arm: int, fidelity: int, pulls: float, sums: float, squares: float) -> None:
    """Enter active rewards by their sums."""
    state.own.active.pulls[arm, fidelity] += pulls
    state.own.active.sums[arm, fidelity] += sums
    state.own.active.squares[arm, fidelity] += squares


#: How `mf-toptwo` plans while pulls are out.
AHEAD = Ahead(prepare=forget_round, is_marked=is_active, take_marked=take_active, begins_with_all=True)
