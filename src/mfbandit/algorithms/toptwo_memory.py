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
records              12 K M     for every beaten arm: who beat it is in `State.notes` (arm + 1); here, for
                                the winner and then the loser, by fidelity: n, S, Q, and n, S, Q active
scratch              the rest   of the certificate
===================  =========  ========================================================================

A reward is *active* if, before its pull, the sampling rule held this fidelity for a good one of the arm (giving
at least 0.3 times what the best one gives) without any optimism. Active rewards form an evidence process of
their own (Z in `mfbandit.confidence.evidence`) that needs no prior over fidelities.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mfbandit.algorithms.toptwo import EVIDENCE, PER_ARM, TopTwoParams, truth
from mfbandit.confidence.pair import PROVEN, infimum, pair_scratch, prove
from mfbandit.core import OWN, Arrays, State
from mfbandit.kernel import compiled, kernel

__all__ = [
    "CLOCK",
    "active_at",
    "arm_of_row",
    "beaten_records",
    "evidence",
    "memory_size",
    "most_rows",
    "note_row",
    "proves",
    "quiet_at",
    "race_at",
    "record",
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
#: Numbers per fidelity in one half of a record.
_KEPT = 6


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
def records_at(problem: Arrays) -> int:
    """Where the records of beaten arms start."""
    return rows_at(problem) + PER_ROW * most_rows(problem)


@kernel
def scratch_at(problem: Arrays) -> int:
    """Where the scratch space of the certificate starts."""
    return int(records_at(problem) + 2 * _KEPT * problem.cost.shape[0] * problem.cost.shape[1])


def memory_size(problem: Arrays) -> int:
    """How many numbers of memory a run needs."""
    return int(scratch_at(problem)) + pair_scratch(problem.cost.shape[1])


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
def record(problem: Arrays, params: TopTwoParams, state: State, winner: int, loser: int) -> None:
    """Note who beat an arm, with both arms' statistics, all and active, at this moment."""
    fidelities = problem.cost.shape[1]
    state.notes[loser] = winner + 1
    state.memory[loser * PER_ARM + EVIDENCE] = params.threshold
    state.memory[quiet_at(problem)] = state.spent[0]
    place = records_at(problem) + 2 * _KEPT * loser * fidelities
    for side in range(2):
        arm = winner if side == 0 else loser
        for m in range(fidelities):
            active = active_at(problem) + 3 * (arm * fidelities + m)
            state.memory[place] = float(state.pulls[arm, m])
            state.memory[place + 1] = state.sums[arm, m]
            state.memory[place + 2] = state.squares[arm, m]
            for i in range(3):
                state.memory[place + 3 + i] = state.memory[active + i]
            place += _KEPT


def beaten_records(problem: Arrays, state: State) -> list[dict[str, Any]]:
    """Read, for every beaten arm, who beat it and what both arms' statistics were at that moment.

    Returns
    -------
    list of dict
        ``arm``, ``by`` (indices), ``evidence`` (proven log evidence at that moment), and ``winner`` and
        ``loser``: for each the lists ``pulls, sums, squares`` and ``active_pulls, active_sums,
        active_squares``, one number per fidelity in use, rewards in unit scale.
    """
    fidelities = problem.cost.shape[1]
    names = ("pulls", "sums", "squares", "active_pulls", "active_sums", "active_squares")
    first = int(records_at(problem))
    found = []
    for arm, note in enumerate(state.notes.tolist()):
        if note > 0:
            place = first + 2 * _KEPT * arm * fidelities
            kept = state.memory[place : place + 2 * _KEPT * fidelities].reshape(2, fidelities, _KEPT)
            winner, loser = ({name: side[:, i].tolist() for i, name in enumerate(names)} for side in kept)
            proven = float(state.memory[arm * PER_ARM + EVIDENCE])
            found.append({"arm": arm, "by": note - 1, "evidence": proven, "winner": winner, "loser": loser})
    return found


def from_record(problem: Arrays, entry: dict[str, Any]) -> State:
    """Rebuild the state that a record tells of, as far as its two arms go."""
    from mfbandit.core import new_state

    state = new_state(problem, memory_size(problem), CLOCK)
    fidelities = problem.cost.shape[1]
    for arm, side in ((entry["by"], entry["winner"]), (entry["arm"], entry["loser"])):
        state.pulls[arm] = np.asarray(side["pulls"], dtype=np.int64)
        state.sums[arm], state.squares[arm] = side["sums"], side["squares"]
        place = int(active_at(problem)) + 3 * arm * fidelities
        kept = np.array([side["active_pulls"], side["active_sums"], side["active_squares"]])
        state.memory[place : place + 3 * fidelities] = kept.T.ravel()
    return state


def _search_from(problem: Arrays, params: TopTwoParams, state: State, better: int, worse: int) -> tuple[float, float]:
    """Where to begin the search for the least evidence, and the length of its first step."""
    first, second = (truth(problem, params.doubt, state, arm)[0] for arm in (better, worse))
    gap = abs(first - second) + params.epsilon
    return 0.5 * (first + params.epsilon + second), 0.1 * gap + 1e-3 * problem.sigma


def proves(problem: Arrays, params: TopTwoParams, entry: dict[str, Any], threshold: float) -> bool:
    """Whether the statistics of a record prove, again and by themselves, that its arm was beaten."""
    state = from_record(problem, entry)
    better, worse = entry["by"], entry["arm"]
    guess, step = _search_from(problem, params, state, better, worse)
    verdict = compiled(prove)(
        problem,
        params.evidence,
        params.epsilon,
        state,
        better,
        worse,
        threshold - 1e-9,
        guess,
        step,
        int(active_at(problem)),
        int(scratch_at(problem)),
    )
    return bool(verdict == PROVEN)


def evidence(
    problem: Arrays, params: TopTwoParams, state: State, better: int, worse: int, *, fast: bool = True
) -> float:
    """Compute a proven lower bound of inf_v log W for "better beats worse", from the statistics so far.

    Parameters
    ----------
    problem, params, state
        As `plan` sees them; the state is not changed.
    better, worse : int
        The two arms.
    fast : bool
        Compile it; otherwise run it as plain Python, with the same result.

    Returns
    -------
    float
        Natural logarithm of the evidence; at most 750, and tight to about 0.02.
    """
    place = int(scratch_at(problem))
    copy = state._replace(memory=np.concatenate([state.memory[:place], np.zeros(memory_size(problem) - place)]))
    guess, step = _search_from(problem, params, state, better, worse)
    run = compiled(infimum) if fast else infimum
    return float(
        run(
            problem,
            params.evidence,
            params.epsilon,
            copy,
            better,
            worse,
            guess,
            step,
            0.01,
            int(active_at(problem)),
            place,
        )
    )
