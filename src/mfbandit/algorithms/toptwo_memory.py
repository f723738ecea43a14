"""What `mf-toptwo` keeps in `State.memory`, and what can be read from it.

Layout, for K arms and M fidelities in use, one after the other:

===================  =========  ========================================================================
what                 numbers    meaning
===================  =========  ========================================================================
per arm              13 K       `mfbandit.algorithms.toptwo`: estimates and cached comparisons
active statistics    3 K M      n, S, Q of the active rewards, by arm, then fidelity
quiet                1          total cost when the race last changed: an arm was beaten, or arms returned
race                 K + 1      how many arms are in the race, then which, in ascending order
rows                 6 W        of the last round, one per arm that was pulled: the arm, its index as a
                                challenger, its fidelity + 1 if its rewards are active, and n, S, Q of that
                                stream before; W is `most_rows`
records              12 K M     of beaten arms: see `mfbandit.confidence.pair_records`
scratch              the rest   of the certificate
===================  =========  ========================================================================

A reward is *active* if, before its pull, the sampling rule held this fidelity for a good one of the arm (giving
at least 0.3 times what the best one gives) without any optimism. Active rewards form an evidence process of
their own (Z in `mfbandit.confidence.evidence`) that needs no prior over fidelities.
"""

from __future__ import annotations

from mfbandit.algorithms.toptwo import EVIDENCE, PER_ARM, TopTwoParams
from mfbandit.confidence.pair import pair_scratch
from mfbandit.confidence.pair_records import record, records_size
from mfbandit.core import OWN, Arrays, State
from mfbandit.kernel import kernel

__all__ = [
    "CLOCK",
    "active_at",
    "arm_of_row",
    "beat",
    "memory_size",
    "most_rows",
    "note_row",
    "quiet_at",
    "race_at",
    "rows_at",
    "rows_for",
    "scratch_at",
    "take_in",
]

#: Places of the clock: leader + 1, rows of the last round.
LEADER, ROWS = OWN, OWN + 1
CLOCK = OWN + 2

#: What a row of the last round remembers.
ROW_ARM, ROW_INDEX, ROW_ACTIVE, ROW_BEFORE, PER_ROW = 0, 1, 2, 3, 6
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


@kernel
def active_at(problem: Arrays) -> int:
    """Where the active statistics start."""
    return int(problem.cost.shape[0] * PER_ARM)


@kernel
def quiet_at(problem: Arrays) -> int:
    """Where the total cost is noted at which the race last changed."""
    return int(problem.cost.shape[0] * (PER_ARM + 3 * problem.cost.shape[1]))


@kernel
def race_at(problem: Arrays) -> int:
    """Where the number of arms in the race is; the arms follow it."""
    return quiet_at(problem) + 1


@kernel
def rows_at(problem: Arrays) -> int:
    """Where the rows of the last round start."""
    return int(race_at(problem) + 1 + problem.cost.shape[0])


@kernel
def scratch_at(problem: Arrays, state: State) -> int:
    """Where the scratch space of the certificate starts."""
    return int(state.memory.shape[0] - pair_scratch(problem.cost.shape[1]))


def memory_size(problem: Arrays) -> int:
    """How many numbers of memory a run needs."""
    rows = PER_ROW * int(most_rows(problem))
    return int(rows_at(problem)) + rows + records_size(problem) + int(pair_scratch(problem.cost.shape[1]))


@kernel
def note_row(problem: Arrays, state: State, row: int, arm: int, fidelity: int, active: bool) -> None:
    """Remember what a row of this round pulls and, if its rewards are active, the statistics before them."""
    at = rows_at(problem) + PER_ROW * row
    state.memory[at + ROW_ARM] = float(arm)
    state.memory[at + ROW_ACTIVE] = 1.0 + fidelity if active else 0.0
    state.memory[at + ROW_BEFORE] = float(state.pulls[arm, fidelity])
    state.memory[at + ROW_BEFORE + 1] = state.sums[arm, fidelity]
    state.memory[at + ROW_BEFORE + 2] = state.squares[arm, fidelity]


@kernel
def arm_of_row(problem: Arrays, state: State, row: int) -> int:
    """The arm that a row of the last round pulled."""
    return int(state.memory[rows_at(problem) + PER_ROW * row + ROW_ARM])


@kernel
def take_in(problem: Arrays, state: State) -> None:
    """Enter the rewards of the last round into the active statistics, where they were active."""
    for row in range(state.clock[ROWS]):
        at = rows_at(problem) + PER_ROW * row
        fidelity = int(state.memory[at + ROW_ACTIVE]) - 1
        if fidelity >= 0:
            arm, before = int(state.memory[at + ROW_ARM]), at + ROW_BEFORE
            active = active_at(problem) + 3 * (arm * problem.cost.shape[1] + fidelity)
            state.memory[active] += float(state.pulls[arm, fidelity]) - state.memory[before]
            state.memory[active + 1] += state.sums[arm, fidelity] - state.memory[before + 1]
            state.memory[active + 2] += state.squares[arm, fidelity] - state.memory[before + 2]
            state.memory[at + ROW_ACTIVE] = 0.0


@kernel
def beat(problem: Arrays, params: TopTwoParams, state: State, winner: int, loser: int) -> None:
    """Put an arm out of the race, with a record of who beat it and how."""
    record(problem, active_at(problem), state, winner, loser)
    state.memory[loser * PER_ARM + EVIDENCE] = params.threshold
    state.memory[quiet_at(problem)] = state.spent[0]
