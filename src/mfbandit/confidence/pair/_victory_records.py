"""Victories: what a policy keeps of the moment at which a pair certificate beat an arm.

The final statistics alone need not prove a victory again, so a policy that stops by
`mfbandit.confidence.pair` (`Algorithm.evidence` is "pairs") keeps both arms' statistics as they were. Who
beat an arm is in `State.arm_flags` (arm + 1), the rest in `state.own.victories`.

The parameters of such a policy have the fields of `PairParams`. Rewards are *active* as its memory says in
`state.own.active`; where it has no such field, all of them are. Leaders are in `state.own.leaders`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from mfbandit.confidence._estimate import truth
from mfbandit.confidence.pair._hypothesis import Active, Chosen, Hypothesis, PairScratch
from mfbandit.confidence.pair._leaders import Leaders, leader_places
from mfbandit.confidence.pair._proof import PROVEN, Guess, infimum, prove
from mfbandit.core import Arrays, Floats, State, compiled_or_plain, floats, group, keep_arms, kernel, new_state

__all__ = [
    "PairMemory",
    "PairParams",
    "Victories",
    "beaten_records",
    "evidence",
    "evidence_of_record",
    "from_record",
    "proves",
    "record",
    "record_now",
]

F = TypeVar("F", bound=Callable[..., Any])

#: The two arms of a record, where they stand alone.
WINNER, LOSER = 0, 1
#: The statistics of a victory, in their order.
_NAMES = ("pulls", "sums", "squares", "active_pulls", "active_sums", "active_squares")
#: Variance that is ascribed to a bias, as a part of its squared bound, where a search starts.
_DOUBT = 1.2
#: For how long proofs run as plain Python before numba is started for them, and how long they did so far.
_PLAIN_SECONDS = 0.3
_plain_seconds = [0.0]


class PairParams(Protocol):
    """What the parameters of every policy that stops by pairs say."""

    @property
    def threshold(self) -> float:
        """log((K - 1) / delta), or log(1 / delta) where leaders are declared."""

    @property
    def epsilon(self) -> float:
        """What an answer may be worse by, in unit scale."""

    @property
    def evidence(self) -> int:
        """Which likelihood ratios: see `mfbandit.confidence.pair._likelihood_levels`."""

    @property
    def pair_share(self) -> float:
        """The weight of a pair in the evidence against an arm: see `Hypothesis`."""

    @property
    def leader_share(self) -> float:
        """The weight of what leaders have shown."""

    @property
    def weights(self) -> int:
        """The number of the weights: see `mfbandit.confidence.pair._weights`."""


class Victories(NamedTuple):
    """What was known at the moments of victories."""

    statistics: Floats = floats("arms", 2, "fidelities", 6)
    """By beaten arm: of the winner, then of the loser, by fidelity: n, S, Q, and n, S, Q of the active rewards."""
    led: Floats = floats("arms", leader_places, "fidelities", 3)
    """By beaten arm: of every leader, in their order, by fidelity: n, S and Q of the rewards that it gave as such."""


class PairMemory(NamedTuple):
    """All that is needed to compute a certificate."""

    active: Active = group(Active)
    leaders: Leaders = group(Leaders)
    scratch: PairScratch = group(PairScratch)


@kernel
def record(state: State, chosen: Chosen, winner: int, loser: int) -> None:
    """Note who beat an arm, with both arms' statistics, all and active, and those of leaders, at this moment."""
    active, leaders, led = chosen.active, chosen.leaders, state.own.victories.led
    state.arm_flags[loser] = winner + 1
    kept = state.own.victories.statistics
    for side in range(2):
        arm = winner if side == 0 else loser
        for m in range(state.pulls.shape[1]):
            kept[loser, side, m, 0] = state.pulls[arm, m]
            kept[loser, side, m, 1] = state.sums[arm, m]
            kept[loser, side, m, 2] = state.squares[arm, m]
            kept[loser, side, m, 3] = active.pulls[arm, m]
            kept[loser, side, m, 4] = active.sums[arm, m]
            kept[loser, side, m, 5] = active.squares[arm, m]
    for place in range(led.shape[1]):
        for m in range(state.pulls.shape[1]):
            led[loser, place, m, 0] = leaders.pulls[place, m]
            led[loser, place, m, 1] = leaders.sums[place, m]
            led[loser, place, m, 2] = leaders.squares[place, m]


def beaten_records(problem: Arrays, params: PairParams, state: State) -> list[dict[str, Any]]:
    """Read, for every beaten arm, who beat it and what both arms' statistics were at that moment.

    Returns
    -------
    list of dict
        ``arm``, ``by`` (indices), ``evidence`` (proven log evidence at that moment), and ``winner`` and
        ``loser``: for each the lists ``pulls, sums, squares`` and ``active_pulls, active_sums,
        active_squares``, one number per fidelity in use, rewards in unit scale. Where leaders are declared,
        ``leaders`` is a list of ``arm`` and ``pulls, sums, squares``: of all but the beaten arm.
    """
    kept, led = state.own.victories.statistics, state.own.victories.led
    found = []
    for arm, note in enumerate(state.arm_flags.tolist()):
        if note > 0:
            winner, loser = ({name: side[:, i].tolist() for i, name in enumerate(_NAMES)} for side in kept[arm])
            entry = {"arm": arm, "by": note - 1, "evidence": float(params.threshold), "winner": winner, "loser": loser}
            found.append(entry | _leaders_of(params, state, arm, led[arm]))
    return found


def _leaders_of(params: PairParams, state: State, arm: int, led: Floats) -> dict[str, Any]:
    """The part of a record that tells of leaders, if any are declared: those that had rewards, apart from the arm."""
    if params.leader_share == 0.0:
        return {}
    order = state.own.leaders.arm[: state.own.leaders.known[0]].tolist()
    return {
        "leaders": [
            {"arm": leader, **{name: led[place, :, i].tolist() for i, name in enumerate(Active._fields)}}
            for place, leader in enumerate(order)
            if leader != arm and led[place, :, 0].any()
        ]
    }


def record_now(problem: Arrays, params: PairParams, state: State, winner: int, loser: int) -> dict[str, Any]:
    """Both arms' statistics as they are, in the form of a record."""
    active = getattr(state.own, "active", state)
    sides = {}
    for side, arm in (("winner", winner), ("loser", loser)):
        numbers = [getattr(part, name)[arm] for part in (state, active) for name in Active._fields]
        sides[side] = {name: part.tolist() for name, part in zip(_NAMES, numbers, strict=True)}
    entry = {"arm": loser, "by": winner, **sides}
    if params.leader_share == 0.0:
        return entry
    leaders = state.own.leaders
    return entry | _leaders_of(params, state, loser, np.stack([leaders.pulls, leaders.sums, leaders.squares], axis=-1))


def from_record(problem: Arrays, entry: dict[str, Any]) -> tuple[Arrays, State]:
    """Rebuild what a record tells of: the two arms, the winner first, then leaders that are neither."""
    known = [entry["by"], entry["arm"]]
    led = entry.get("leaders", [])
    known += [one["arm"] for one in led if one["arm"] not in known]
    pair = keep_arms(problem, known)
    state = new_state(pair, PairMemory)
    leaders = state.own.leaders
    leaders.known[0] = len(led)
    for place, one in enumerate(led):
        leaders.arm[place] = known.index(one["arm"])
        for name in Active._fields:
            getattr(leaders, name)[place] = one[name]
    for arm, side in ((WINNER, entry["winner"]), (LOSER, entry["loser"])):
        state.pulls[arm] = np.asarray(side["pulls"], dtype=np.int64)
        for name in ("sums", "squares"):
            getattr(state, name)[arm] = side[name]
        for name in Active._fields:
            getattr(state.own.active, name)[arm] = side[f"active_{name}"]
    return pair, state


def _claim(problem: Arrays, params: PairParams, state: State) -> tuple[Hypothesis, Guess]:
    """What a record is to refute, and where to begin the search for the least evidence."""
    first, second = (truth(problem, _DOUBT, state, arm)[0] for arm in (WINNER, LOSER))
    gap = abs(first - second) + params.epsilon
    guess = Guess(0.5 * (first + params.epsilon + second), 0.1 * gap + 1e-3 * problem.sigma)
    shares = float(params.pair_share), float(params.leader_share)
    return Hypothesis(WINNER, LOSER, float(params.epsilon), int(params.evidence), *shares, int(params.weights)), guess


def _chosen(state: State) -> Chosen:
    return Chosen(state.own.active, state.own.leaders)


def proves(
    problem: Arrays, params: PairParams, entry: dict[str, Any], threshold: float, *, fast: bool | None = None
) -> bool:
    """Whether the statistics of a record prove, again and by themselves, that its arm was beaten."""
    pair, state = from_record(problem, entry)
    hypothesis, guess = _claim(pair, params, state)
    with _running(prove, fast) as run:
        verdict = run(pair, hypothesis, state, threshold - 1e-9, guess, _chosen(state), state.own.scratch)
    return bool(verdict.status == PROVEN)


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
    pair, state = from_record(problem, entry)
    hypothesis, guess = _claim(pair, params, state)
    with _running(infimum, fast) as run:
        return float(run(pair, hypothesis, state, guess, 0.01, _chosen(state), state.own.scratch))


@contextmanager
def _running(function: F, fast: bool | None) -> Iterator[F]:
    """A kernel as it is run: plain at first, if nothing else is said, since a few proofs take less than numba's start.

    Both give the same, so nothing depends on which it is.
    """
    if fast is False or (fast is None and "numba" not in sys.modules and _plain_seconds[0] < _PLAIN_SECONDS):
        began = time.thread_time()
        yield function
        _plain_seconds[0] += time.thread_time() - began
    else:
        yield compiled_or_plain(function)
