"""What a race on blocks remembers, and the comparators whose processes it keeps.

Of all pairs of arms only those are followed whose first arm, the comparator, once led its lane: leaving a process
out is always allowed. Each lane has a number of places for comparators. Capitals and sums follow from the
rewards in ``state.blocks``: a study does not store them, and they are made again from the first block on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mfbandit.confidence.race import bet_count
from mfbandit.core import STUDENT, Floats, Ints, State, floats, group, integers, kernel

if TYPE_CHECKING:
    from mfbandit.core import Arrays

__all__ = ["BetMemory", "RaceMemory", "RaceParams", "SumMemory", "beat", "comparator_slot", "comparators", "gap_bound"]

#: At most so many comparators are followed in a lane.
_MOST = 16


def comparators(problem: Arrays) -> int:
    """How many comparators are followed in a lane."""
    return min(int(problem.cost.shape[0]), _MOST)


def _bets(problem: Arrays) -> int:
    return 0 if problem.reward_code == STUDENT else bet_count(problem.blocks.size)


def _processes(problem: Arrays) -> int:
    """One for each comparator, then the leaders', then the answer's within epsilon."""
    return 0 if problem.reward_code == STUDENT else comparators(problem) + 2


def _sums(problem: Arrays) -> int:
    return comparators(problem) if problem.reward_code == STUDENT else 0


class BetMemory(NamedTuple):
    """The bets of bounded rewards: one process per comparator, then the leaders', then that within epsilon."""

    capitals: Floats = floats("fidelities", _processes, "arms", _bets, kept=False)
    ahead: Floats = floats("fidelities", _processes, "arms", kept=False)
    """Sum of the comparator's rewards so far less the arm's."""
    upto: Ints = integers("fidelities", _processes, "arms", kept=False)
    """Blocks that have been bet on."""
    against: Ints = integers("fidelities", "arms", kept=False)
    """1 + the comparator that `ahead` of the leaders' process is about."""
    answer: Ints = integers("fidelities", kept=False)
    """1 + the comparator that the process within epsilon is about."""
    near: Ints = integers("fidelities", "arms", kept=False)
    """Whether that has shown the answer to be within epsilon of the arm."""


class SumMemory(NamedTuple):
    """The sums of normal differences of each comparator and arm."""

    sums: Floats = floats("fidelities", _sums, "arms", kept=False)
    squares: Floats = floats("fidelities", _sums, "arms", kept=False)
    early_sums: Floats = floats("fidelities", _sums, "arms", kept=False)
    """The sums over the blocks before the comparator was first declared leader."""
    early_squares: Floats = floats("fidelities", _sums, "arms", kept=False)
    upto: Ints = integers("fidelities", _sums, kept=False)
    """Blocks in the sums."""
    halted: Ints = integers("fidelities", _sums, "arms", kept=False)
    """1 + the last block of which a cell could not be had, 0 if there is none."""
    least: Floats = floats("fidelities", kept=False)
    """The least difference of two arms on a block that is not 0, and the largest, over `compared` blocks."""
    largest: Floats = floats("fidelities", kept=False)
    compared: Ints = integers("fidelities", kept=False)
    sorted: Floats = floats("arms", kept=False)
    """Room for numbers to be put in order."""
    near: Ints = integers("fidelities", _sums, "arms", kept=False)
    """Whether the comparator was shown to be within epsilon of the arm."""


def _early(problem: Arrays) -> int:
    return 0 if problem.reward_code == STUDENT else int(problem.cost.shape[1])


class EarlyMemory(NamedTuple):
    """What decides whom to measure for an answer before the certificate: differences to the leader."""

    leader: Ints = integers(_early, kept=False)
    """1 + the leader that the differences are about."""
    sums: Floats = floats(_early, "arms", kept=False)
    squares: Floats = floats(_early, "arms", kept=False)
    upto: Ints = integers(_early, "arms", kept=False)
    """Blocks in the sums."""
    times: Floats = floats("arms", kept=False)
    """How many times as far as each arm others are measured first."""
    sorted: Floats = floats("arms", kept=False)
    """Room for numbers to be put in order."""


class RaceMemory(NamedTuple):
    """What `mf-race` remembers."""

    beaten: Ints = integers("arms")
    """Whether an arm was shown not to be the best."""
    last: Ints = integers("fidelities", "arms")
    """How many blocks of each lane were open when that was shown: it is measured on none that is opened later."""
    lane: Ints = integers(1)
    """The place, from cheap to expensive, of the lane that is raced in."""
    gone: Ints = integers("arms")
    """Whether an arm has left that lane for the next one."""
    paused: Ints = integers("arms")
    """Whether there is evidence against an arm, so that others are measured first."""
    held: Ints = integers("fidelities", comparators)
    """1 + the arm that has each place for comparators, 0 if nobody has."""
    newest: Ints = integers("fidelities")
    """The place that was taken last."""
    first_led: Ints = integers("fidelities", "arms")
    """1 + the position for which an arm was first declared leader, 0 if it never was."""
    led_as: Ints = integers("fidelities", "arms")
    """As which of all distinct leaders, counted from 1."""
    leaders: Ints = integers("fidelities")
    """How many distinct leaders were declared."""
    looked: Ints = integers("fidelities", "arms")
    """Up to which number of blocks the evidence against an arm was looked at."""
    flying: Ints = integers("arms", "fidelities", kept=False)
    """Pulls that are out, or wait for their turn to count."""
    bets: BetMemory = group(BetMemory)
    early: EarlyMemory = group(EarlyMemory)
    sums: SumMemory = group(SumMemory)


class RaceParams(NamedTuple):
    """What is fixed before a race."""

    log_level: float
    """log(1 / delta)."""
    epsilon: float
    shares: Floats
    """Each lane's share of delta, (M,)."""
    leader_weight: float
    pair_weight: float
    led: bool
    """Whether leaders are declared."""
    at_least: int
    """From how many blocks on normal differences are looked at."""
    batch: int
    pauses: bool
    """Whether arms with evidence against them are measured later than others."""
    early: bool
    """Whether arms are always measured for a good answer before the certificate."""
    limit: float
    """What may be spent: arms are measured in that way, too, where the certificate will cost more."""
    first: int
    """On how many blocks everybody is measured first in that way."""
    tried: float
    """A lane is tried if it costs at most this part of the truest."""


@kernel
def gap_bound(problem: Arrays, lane: int, first: int, second: int) -> float:
    """By how much a lane may be off about the difference of two arms."""
    return float(min(problem.bias[first, lane] + problem.bias[second, lane], problem.blocks.pair_bias[lane]))


@kernel
def beat(state: State, arm: int) -> None:
    """Note that an arm is not the best, unless it is the last one left: somebody must be the answer."""
    for other in range(state.pulls.shape[0]):
        if other != arm and state.own.beaten[other] == 0 and state.own.beaten[arm] == 0:
            state.own.beaten[arm] = 1
            for lane in range(state.own.last.shape[0]):
                state.own.last[lane, arm] = state.blocks.opened[lane]
            return


@kernel
def comparator_slot(state: State, lane: int, arm: int) -> int:
    """The place of a comparator, given to it if it has none; -1 - place if it is new there."""
    places = state.own.held
    free = -1
    for place in range(places.shape[1]):
        if places[lane, place] == arm + 1:
            return place
        if free < 0 and places[lane, place] == 0:
            free = place
    if free < 0:
        # Somebody who was beaten makes room, else whoever came in longest ago.
        free = (state.own.newest[lane] + 1) % places.shape[1]
        for place in range(places.shape[1]):
            if state.own.beaten[places[lane, place] - 1] == 1:
                free = place
    places[lane, free] = arm + 1
    state.own.newest[lane] = free
    return -1 - free
