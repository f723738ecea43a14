"""What `mf-toptwo` remembers, and how the rows of a round enter it.

Before each pull the sampling rule ranks the fidelities of the arm by expected information per cost, without optimism.
If the chosen fidelity is the truest, or reaches at least 30% of the best one, the reward is marked *active*. Active
rewards form an evidence process of their own (Z in `mfbandit.confidence.pair._mixture`) that needs no prior over
fidelities.

A reward is a *leader's* if, before its pull, its arm was the leader and had its part of all that was spent (so that an
arm that was lucky at the beginning is none), and it is active (at one fidelity all of them are). These form A.
"""

from __future__ import annotations

from typing import NamedTuple

from mfbandit.algorithms.mf_toptwo._tuning import RIVALS_PER_ROW
from mfbandit.confidence.pair import Active, Chosen, Leaders, PairScratch, Victories, record, take_leader
from mfbandit.core import Ahead, Arrays, Floats, InFlight, Ints, State, floats, group, integers, kernel

__all__ = ["AHEAD", "Choice", "TopTwoMemory", "beat", "chosen_rewards", "most_rows", "note_row", "rows_for", "take_in"]

#: Rewards of a row may be active, a leader's, or both: the sum of these.
_ACTIVE, _LEADS = 1, 2


@kernel
def rows_for(rivals: int) -> int:
    """How many rivals are pulled in one round where so many are left."""
    return max(1, rivals // RIVALS_PER_ROW)


@kernel
def most_rows(problem: Arrays) -> int:
    """How many arms a round pulls, at most, after the first."""
    return rows_for(problem.cost.shape[0] - 1)


class Choice(NamedTuple):
    """What to pull next, whether its rewards are active, and whether they are a leader's."""

    arm: int
    fidelity: int
    active: bool
    leads: bool


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
    """The cost of the pair at which the certificate is worth computing again."""
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
    row_leads: Ints = integers(most_rows)
    """The fidelity + 1 if they are a leader's, else 0."""
    row_pulls: Floats = floats(most_rows)
    """n, S and Q of that stream before the round."""
    row_sums: Floats = floats(most_rows)
    row_squares: Floats = floats(most_rows)

    active: Active = group(Active)
    leaders: Leaders = group(Leaders)
    victories: Victories = group(Victories)
    scratch: PairScratch = group(PairScratch)


@kernel
def chosen_rewards(own: TopTwoMemory) -> Chosen:
    """What was chosen before its pull."""
    return Chosen(own.active, own.leaders)


@kernel
def note_row(state: State, row: int, choice: Choice) -> None:
    """Remember what a row of this round pulls and, if its rewards are chosen, the statistics before them."""
    own, arm, fidelity = state.own, choice.arm, choice.fidelity
    own.row_arm[row] = arm
    own.row_active[row] = 1 + fidelity if choice.active else 0
    own.row_leads[row] = 1 + fidelity if choice.leads else 0
    own.row_pulls[row] = state.pulls[arm, fidelity]
    own.row_sums[row] = state.sums[arm, fidelity]
    own.row_squares[row] = state.squares[arm, fidelity]


@kernel
def take_in(state: State) -> None:
    """Enter the rewards of the last round into the statistics of those that they were chosen for."""
    own = state.own
    for row in range(own.rows[0]):
        mark = mark_of(state, row)
        if mark > 0:
            arm, fidelity = own.row_arm[row], max(own.row_active[row], own.row_leads[row]) - 1
            pulls = float(state.pulls[arm, fidelity] - own.row_pulls[row])
            sums = state.sums[arm, fidelity] - own.row_sums[row]
            take_chosen(state, arm, fidelity, mark, pulls, sums, state.squares[arm, fidelity] - own.row_squares[row])
            own.row_active[row] = 0
            own.row_leads[row] = 0


@kernel
def beat(state: State, winner: int, loser: int) -> None:
    """Put an arm out of the race, with a record of who beat it and how."""
    record(state, chosen_rewards(state.own), winner, loser)
    state.own.quiet[0] = state.spent[0]


@kernel
def forget_round(state: State, flying: InFlight) -> None:
    """Forget which arms the round planned last has pulled: others may have come back since."""
    state.own.rows[0] = 0


@kernel
def mark_of(state: State, row: int) -> int:
    """What the rewards of a row were chosen for: to be active, a leader's, or both."""
    own = state.own
    if row >= own.rows[0]:
        return 0
    return (_ACTIVE if own.row_active[row] > 0 else 0) + (_LEADS if own.row_leads[row] > 0 else 0)


@kernel
def take_chosen(state: State, arm: int, fidelity: int, mark: int, pulls: float, sums: float, squares: float) -> None:
    """Enter chosen rewards by their sums."""
    own = state.own
    if mark % 2 == _ACTIVE:
        own.active.pulls[arm, fidelity] += pulls
        own.active.sums[arm, fidelity] += sums
        own.active.squares[arm, fidelity] += squares
    if mark >= _LEADS:
        take_leader(own.leaders, arm, fidelity, pulls, sums, squares)


#: How `mf-toptwo` plans while pulls are out.
AHEAD = Ahead(prepare=forget_round, mark_of=mark_of, take_marked=take_chosen, begins_with_all=True)
