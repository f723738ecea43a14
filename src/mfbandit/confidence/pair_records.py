"""Victories: what a policy keeps of the moment at which a pair certificate beat an arm.

The final statistics alone need not prove a victory again, so a policy that stops by
`mfbandit.confidence.pair` (`Algorithm.evidence` is "pairs") keeps both arms' statistics as they were. Who
beat an arm is in `State.notes` (arm + 1). Before the scratch space, which is the last in `State.memory`, lie
12 K M numbers: by beaten arm, for the winner and then the loser, by fidelity: n, S, Q, and n, S, Q active.

The parameters of such a policy have the fields of `PairParams`.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from mfbandit.confidence.estimate import truth
from mfbandit.confidence.pair import PROVEN, infimum, pair_scratch, prove
from mfbandit.core import Arrays, State, new_state
from mfbandit.kernel import compiled_or_plain, kernel

__all__ = [
    "PairParams",
    "beaten_records",
    "evidence",
    "evidence_of_record",
    "from_record",
    "proves",
    "record",
    "record_now",
    "records_size",
]

#: Numbers per fidelity in one half of a record, by name.
_NAMES = ("pulls", "sums", "squares", "active_pulls", "active_sums", "active_squares")
_KEPT = 6
#: Variance that is ascribed to a bias, as a part of its squared bound, where a search starts.
_DOUBT = 1.2


class PairParams(Protocol):
    """What the parameters of every policy that stops by pairs say."""

    @property
    def threshold(self) -> float:
        """log((K - 1) / delta)."""

    @property
    def epsilon(self) -> float:
        """What an answer may be worse by, in unit scale."""

    @property
    def evidence(self) -> int:
        """Which likelihood ratios: see `mfbandit.confidence.levels`."""

    @property
    def active(self) -> int:
        """Where the active statistics start in `State.memory`."""


def records_size(problem: Arrays) -> int:
    """How many numbers of memory the records take."""
    return 2 * _KEPT * problem.cost.size


@kernel
def records_at(problem: Arrays, state: State) -> int:
    """Where the records start."""
    arms, fidelities = problem.cost.shape
    return int(state.memory.shape[0] - pair_scratch(fidelities) - 2 * _KEPT * arms * fidelities)


@kernel
def record(problem: Arrays, active: int, state: State, winner: int, loser: int) -> None:
    """Note who beat an arm, with both arms' statistics, all and active, at this moment."""
    fidelities = problem.cost.shape[1]
    state.notes[loser] = winner + 1
    place = records_at(problem, state) + 2 * _KEPT * loser * fidelities
    for side in range(2):
        arm = winner if side == 0 else loser
        for m in range(fidelities):
            state.memory[place] = float(state.pulls[arm, m])
            state.memory[place + 1] = state.sums[arm, m]
            state.memory[place + 2] = state.squares[arm, m]
            for i in range(3):
                state.memory[place + 3 + i] = state.memory[active + 3 * (arm * fidelities + m) + i]
            place += _KEPT


def beaten_records(problem: Arrays, params: PairParams, state: State) -> list[dict[str, Any]]:
    """Read, for every beaten arm, who beat it and what both arms' statistics were at that moment.

    Returns
    -------
    list of dict
        ``arm``, ``by`` (indices), ``evidence`` (proven log evidence at that moment), and ``winner`` and
        ``loser``: for each the lists ``pulls, sums, squares`` and ``active_pulls, active_sums,
        active_squares``, one number per fidelity in use, rewards in unit scale.
    """
    arms, fidelities = problem.cost.shape
    first = records_at(problem, state)
    kept = state.memory[first : first + records_size(problem)].reshape(arms, 2, fidelities, _KEPT)
    found = []
    for arm, note in enumerate(state.notes.tolist()):
        if note > 0:
            winner, loser = ({name: side[:, i].tolist() for i, name in enumerate(_NAMES)} for side in kept[arm])
            entry = {"arm": arm, "by": note - 1, "evidence": float(params.threshold), "winner": winner, "loser": loser}
            found.append(entry)
    return found


def record_now(problem: Arrays, params: PairParams, state: State, winner: int, loser: int) -> dict[str, Any]:
    """Both arms' statistics as they are, in the form of a record."""
    sides = {}
    for side, arm in (("winner", winner), ("loser", loser)):
        first = params.active + 3 * arm * problem.cost.shape[1]
        active = state.memory[first : first + 3 * problem.cost.shape[1]].reshape(-1, 3)
        numbers = (state.pulls[arm], state.sums[arm], state.squares[arm], *active.T)
        sides[side] = {name: part.tolist() for name, part in zip(_NAMES, numbers, strict=True)}
    return {"arm": loser, "by": winner, **sides}


def from_record(problem: Arrays, entry: dict[str, Any]) -> tuple[State, int, int]:
    """Rebuild the state that a record tells of, as far as its two arms go.

    Returned with it: where in its memory the active statistics and the scratch space start.
    """
    arms, fidelities = problem.cost.shape
    scratch = 3 * arms * fidelities
    state = new_state(problem, scratch + pair_scratch(fidelities))
    for arm, side in ((entry["by"], entry["winner"]), (entry["arm"], entry["loser"])):
        state.pulls[arm] = np.asarray(side["pulls"], dtype=np.int64)
        state.sums[arm], state.squares[arm] = side["sums"], side["squares"]
        kept = np.array([side["active_pulls"], side["active_sums"], side["active_squares"]])
        state.memory[3 * arm * fidelities : 3 * (arm + 1) * fidelities] = kept.T.ravel()
    return state, 0, scratch


def _search_from(problem: Arrays, params: PairParams, state: State, better: int, worse: int) -> tuple[float, float]:
    """Where to begin the search for the least evidence, and the length of its first step."""
    first, second = (truth(problem, _DOUBT, state, arm)[0] for arm in (better, worse))
    gap = abs(first - second) + params.epsilon
    return 0.5 * (first + params.epsilon + second), 0.1 * gap + 1e-3 * problem.sigma


def proves(
    problem: Arrays, params: PairParams, entry: dict[str, Any], threshold: float, *, fast: bool | None = None
) -> bool:
    """Whether the statistics of a record prove, again and by themselves, that its arm was beaten."""
    state, active, scratch = from_record(problem, entry)
    better, worse = entry["by"], entry["arm"]
    guess, step = _search_from(problem, params, state, better, worse)
    run = prove if fast is False else compiled_or_plain(prove)
    verdict = run(
        problem,
        params.evidence,
        params.epsilon,
        state,
        better,
        worse,
        threshold - 1e-9,
        guess,
        step,
        active,
        scratch,
    )
    return bool(verdict == PROVEN)


def evidence(
    problem: Arrays, params: PairParams, state: State, better: int, worse: int, *, fast: bool | None = None
) -> float:
    """Compute a proven lower bound of inf_v log W for "better beats worse", from the statistics so far.

    Parameters
    ----------
    problem, params, state
        As `plan` sees them; the state is not changed.
    better, worse : int
        The two arms.
    fast : bool, optional
        Compile it, or run it as plain Python, with the same result; by default compiled where numba is there.

    Returns
    -------
    float
        Natural logarithm of the evidence; at most 750, and tight to about 0.02.
    """
    return evidence_of_record(problem, params, record_now(problem, params, state, better, worse), fast=fast)


def evidence_of_record(
    problem: Arrays, params: PairParams, entry: dict[str, Any], *, fast: bool | None = None
) -> float:
    """Compute the same from the statistics of a record."""
    state, active, scratch = from_record(problem, entry)
    better, worse = entry["by"], entry["arm"]
    guess, step = _search_from(problem, params, state, better, worse)
    run = infimum if fast is False else compiled_or_plain(infimum)
    return float(
        run(
            problem,
            params.evidence,
            params.epsilon,
            state,
            better,
            worse,
            guess,
            step,
            0.01,
            active,
            scratch,
        )
    )
