"""What a race with another goal than the best arm remembers, and the statements about two arms that it follows.

A statement is that the first of two arms is better than the second by more than a shift. Those about one control are
numbered 0 (the arm is better than the control) and 1 (the control is better than the arm); those about all pairs are
numbered by kind and first arm. All that is shown follows from the rewards in ``state.blocks``, so that a study stores
none of it; it stores in which lane the race is, and who is still measured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mfbandit.confidence.race import bet_count
from mfbandit.core import STUDENT, Floats, Ints, State, floats, group, integers, kernel

if TYPE_CHECKING:
    from mfbandit.core import Arrays

__all__ = [
    "KINDS",
    "ControlMemory",
    "PairMemory",
    "SettleParams",
    "drop",
    "first_arm",
    "is_certain",
    "is_open",
    "is_shown",
    "second_arm",
    "shift_of",
    "statements",
]

#: At most so many kinds of statements about each pair, which differ in their shift.
KINDS = 3
#: What rounding may do to sums of rewards in [0, 1], per block.
_TOLERANCE = 1e-9


def _pairs(problem: Arrays) -> int:
    return KINDS * int(problem.cost.shape[0])


def _bets(problem: Arrays) -> int:
    return 0 if problem.reward_code == STUDENT else bet_count(problem.blocks.size)


def _pair_bets(problem: Arrays) -> int:
    return 0 if problem.reward_code == STUDENT else _pairs(problem)


def _control_bets(problem: Arrays) -> int:
    return 0 if problem.reward_code == STUDENT else 2


def _sums(problem: Arrays) -> int:
    return int(problem.cost.shape[0]) if problem.reward_code == STUDENT else 0


class PairBets(NamedTuple):
    """The bets on each statement about all pairs."""

    capitals: Floats = floats("fidelities", _pair_bets, "arms", _bets, kept=False)
    ahead: Floats = floats("fidelities", _pair_bets, "arms", kept=False)
    upto: Ints = integers("fidelities", _pair_bets, "arms", kept=False)


class ControlBets(NamedTuple):
    """The bets on each statement about the control."""

    capitals: Floats = floats("fidelities", _control_bets, "arms", _bets, kept=False)
    ahead: Floats = floats("fidelities", _control_bets, "arms", kept=False)
    upto: Ints = integers("fidelities", _control_bets, "arms", kept=False)


class SumMemory(NamedTuple):
    """The sums of normal differences of all pairs; names are those that `mfbandit.algorithms.mf_race` has."""

    sums: Floats = floats("fidelities", _sums, "arms", kept=False)
    squares: Floats = floats("fidelities", _sums, "arms", kept=False)
    upto: Ints = integers("fidelities", _sums, kept=False)
    halted: Ints = integers("fidelities", _sums, "arms", kept=False)
    least: Floats = floats("fidelities", kept=False)
    largest: Floats = floats("fidelities", kept=False)
    compared: Ints = integers("fidelities", kept=False)
    sorted: Floats = floats("arms", kept=False)


class PairMemory(NamedTuple):
    """What a race remembers that follows all pairs."""

    beaten: Ints = integers("arms")
    """Whether nothing more is to be known of an arm, which is measured no longer."""
    last: Ints = integers("fidelities", "arms")
    """How many blocks of each lane were open when that was so."""
    lane: Ints = integers(1)
    """The place, from cheap to expensive, of the lane that is raced in."""
    gone: Ints = integers("arms")
    """Whether an arm has left that lane for the next one."""
    looked: Ints = integers("fidelities", "arms", kept=False)
    """How many blocks of each arm are in the sums of normal differences."""
    flying: Ints = integers("arms", "fidelities", kept=False)
    """Pulls that are out, or wait for their turn to count."""
    shown: Ints = integers(_pairs, "arms", kept=False)
    """Whether a statement is shown."""
    sides: Ints = integers("arms", kept=False)
    """Where an arm stands: 1 chosen, 2 not, 0 open."""
    scores: Floats = floats("arms", kept=False)
    """Means by which arms are put in order."""
    marks: Ints = integers("arms", kept=False)
    """Room for a number of each arm."""
    bets: PairBets = group(PairBets)
    sums: SumMemory = group(SumMemory)


class ControlMemory(NamedTuple):
    """What a race remembers that compares all arms with one; see `PairMemory`."""

    beaten: Ints = integers("arms")
    last: Ints = integers("fidelities", "arms")
    lane: Ints = integers(1)
    gone: Ints = integers("arms")
    looked: Ints = integers("fidelities", "arms", kept=False)
    flying: Ints = integers("arms", "fidelities", kept=False)
    shown: Ints = integers(2, "arms", kept=False)
    sides: Ints = integers("arms", kept=False)
    scores: Floats = floats("arms", kept=False)
    marks: Ints = integers("arms", kept=False)
    bets: ControlBets = group(ControlBets)
    sums: SumMemory = group(SumMemory)


class SettleParams(NamedTuple):
    """What is fixed before such a race."""

    log_need: Floats
    """The logarithm of the evidence that shows a statement, by lane."""
    shifts: Floats
    """By how much the first arm is better than the second, by kind of statement."""
    kinds: int
    control: int
    """The arm that others are compared with, -1 if all pairs are."""
    m: int
    """How many arms are wanted."""
    use_costs: Floats
    """What it costs to use each arm."""
    at_least: int
    """From how many blocks on normal differences are looked at."""
    batch: int
    """The least number of blocks that are opened at once."""
    tried: float
    """A lane is tried if it costs at most this part of the truest."""


@kernel
def statements(params: SettleParams, arms: int) -> int:
    """How many statements there are about each arm."""
    return 2 if params.control >= 0 else params.kinds * arms


@kernel
def first_arm(params: SettleParams, arms: int, number: int, arm: int) -> int:
    """The first arm of a statement."""
    if params.control >= 0:
        return arm if number == 0 else params.control
    return number % arms


@kernel
def second_arm(params: SettleParams, number: int, arm: int) -> int:
    """The second arm of a statement."""
    return params.control if params.control >= 0 and number == 0 else arm


@kernel
def shift_of(params: SettleParams, arms: int, number: int) -> float:
    """By how much the first arm of a statement is better than the second."""
    return float(params.shifts[number if params.control >= 0 else number // arms])


@kernel
def is_shown(state: State, kind: int, first: int, second: int) -> bool:
    """Whether a statement about a pair is shown, where all pairs are followed."""
    return bool(state.own.shown[kind * state.pulls.shape[0] + first, second] == 1)


@kernel
def is_certain(problem: Arrays, state: State, first: int, second: int, shift: float) -> bool:
    """Whether the first arm is better by `shift` at least for certain: both are known on all blocks of a finite set."""
    lane, size = problem.truest, problem.blocks.size
    if size == 0 or state.pulls[first, lane] < size or state.pulls[second, lane] < size:
        return False
    # Cells that could not be had count as badly as they can.
    ahead = state.sums[first, lane] - state.sums[second, lane] - state.blocks.missing[second, lane]
    return bool(ahead >= size * (shift - _TOLERANCE))


@kernel
def is_open(state: State, arm: int) -> bool:
    """Whether an arm is measured in the lane that is raced in."""
    return bool(state.own.beaten[arm] == 0 and state.own.gone[arm] == 0)


@kernel
def drop(state: State, arm: int) -> None:
    """Measure an arm no longer."""
    if state.own.beaten[arm] == 0:
        state.own.beaten[arm] = 1
        for lane in range(state.own.last.shape[0]):
            state.own.last[lane, arm] = state.blocks.opened[lane]
