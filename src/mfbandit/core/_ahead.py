"""Plans while pulls are out: what an algorithm sees of pulls whose rewards are not known yet.

With width W, up to W pulls are out at once. Decisions must not depend on which of them comes back first, so results
count in the order of asking, row by row, and pull j is planned from the rows that end before j - `lag`: exactly
from these, however many more have come back. What was asked for since counts as if it had come back as expected: as
many rewards like those that the stream has had so far (`expect`), in a copy of the state that is thrown away. The
policy plans on that copy, so that a plan spreads over the arms and fidelities that are worth it. Whether to stop is
asked of the state itself. Where only the copy says so, nothing more is planned until one more row counts (`WAIT`).

How large the lag is says `mfbandit.core._lag`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from mfbandit.core._layouts import layout, memory_blocks
from mfbandit.core._problem_arrays import BERNOULLI, GAUSSIAN, Arrays, Floats, Ints
from mfbandit.core._state import PULLS, State, derive, new_state
from mfbandit.core.kernels._kernels import bind, kernel, slot

if TYPE_CHECKING:
    from mfbandit.core._algorithm import Algorithm

__all__ = [
    "ROW_LIMIT",
    "WAIT",
    "Ahead",
    "Copy",
    "InFlight",
    "any_out",
    "copy_for",
    "plan_ahead",
    "rows_at_once",
]

#: What a plan returns where nothing is worth planning before another row has counted.
WAIT = -1
#: A row of a plan has at most so many pulls; on blocks it has as many as were opened.
ROW_LIMIT = 64
#: A stream is expected to be like its arm as if so many of its rewards had been.
_PRIOR = 6.0


class InFlight(NamedTuple):
    """How many pulls of each stream were planned and have not counted yet."""

    pulls: Ints
    """(K, M)."""
    marked: Ints
    """Those of them whose rewards have mark 1, (K, M)."""
    leading: Ints
    """Those of them whose rewards have mark 2, (K, M)."""


@kernel
def unprepared(state: State, flying: InFlight) -> None:
    """Nothing is to be prepared."""


@kernel
def never_marked(state: State, row: int) -> int:
    """No rewards are marked."""
    return 0


@kernel
def take_nothing(state: State, arm: int, fidelity: int, mark: int, pulls: float, sums: float, squares: float) -> None:
    """Nothing is known of marked rewards."""


@dataclass(frozen=True)
class Ahead:
    """How an algorithm plans while pulls are out: kernels."""

    prepare: Callable[..., None] = unprepared
    """``prepare(state, flying)`` before each plan: forget what ties the state to the round that was planned last."""
    mark_of: Callable[..., int] = never_marked
    """``mark_of(state, row)`` after a plan: the mark of the rewards of a row: 0 for none, 1, 2, or 3 for both."""
    take_marked: Callable[..., None] = take_nothing
    """``take_marked(state, arm, fidelity, mark, pulls, sums, squares)`` enters marked rewards, by their sums."""
    begins_with_all: bool = False
    """Whether it begins with a pull of every arm, which is then repeated until the first have come back."""
    on_copy: bool = True
    """Whether it plans on a copy of the state with what is expected; otherwise `prepare` is told all it needs."""
    shared: bool = False
    """Whether a run is a few pulls of every arm, as a race with normal differences is, and not many of two."""


def rows_at_once(ahead: Ahead, width: int, rows: int) -> int:
    """How many of the rows of a plan are asked for before the next one is made, of so many that it may have.

    On blocks, results of some arms should be known when the others' turn comes, so that whoever is out by then is not
    measured once more; with very many arms, plans that often would take too long.
    """
    return rows if ahead.on_copy else min(rows, max(1, width // 2, rows // 64))


@kernel
def any_out(pulls: Ints) -> bool:
    """Whether a pull of any stream is out."""
    for k in range(pulls.shape[0]):
        for m in range(pulls.shape[1]):
            if pulls[k, m] > 0:
                return True
    return False


@slot
def take_marked(state: State, arm: int, fidelity: int, mark: int, pulls: float, sums: float, squares: float) -> None:
    """Enter marked rewards."""


@kernel
def usual_reward(problem: Arrays, state: State) -> float:
    """The mean of all rewards so far; the middle of the range before the first."""
    pulls, sums = 0, 0.0
    for k in range(state.pulls.shape[0]):
        for m in range(state.pulls.shape[1]):
            pulls += state.pulls[k, m]
            sums += state.sums[k, m]
    if pulls > 0:
        return sums / pulls
    return 0.0 if problem.reward_code == GAUSSIAN else 0.5


@kernel
def expect(problem: Arrays, state: State, flying: InFlight) -> None:
    """Enter pulls that are out as if they had come back like those before, or like others of the arm."""
    usual = usual_reward(problem, state)
    for k in range(state.pulls.shape[0]):
        pulls, sums = 0, 0.0
        for m in range(state.pulls.shape[1]):
            pulls += state.pulls[k, m]
            sums += state.sums[k, m]
        mean = sums / pulls if pulls > 0 else usual
        for m in range(state.pulls.shape[1]):
            more = flying.pulls[k, m]
            if more == 0:
                continue
            n = state.pulls[k, m]
            # After few rewards a stream is expected to be like the others of the arm.
            centre = (state.sums[k, m] + _PRIOR * mean) / (n + _PRIOR)
            spread = problem.sigma * problem.sigma
            if problem.reward_code != GAUSSIAN:
                spread = centre * (1.0 - centre)
            if n > 0 and problem.reward_code != BERNOULLI:
                own = state.sums[k, m] / n
                spread = (n * max(0.0, state.squares[k, m] / n - own * own) + _PRIOR * spread) / (n + _PRIOR)
            gained, squared, strayed = more * centre, more * (centre * centre + spread), more * spread
            state.pulls[k, m] = n + more
            state.sums[k, m] += gained
            state.squares[k, m] += squared
            state.deviations[k, m] += strayed
            derive(state, k, m)
            state.clock[PULLS] += more
            state.spent[0] += more * problem.cost[k, m]
            for mark in range(1, 3):
                chosen = flying.marked[k, m] if mark == 1 else flying.leading[k, m]
                if chosen > 0:
                    part = chosen / more
                    take_marked(state, k, m, mark, float(chosen), part * gained, part * squared)


@slot
def plan(problem: Arrays, params: Any, state: State, out: Ints) -> int:
    """Play one round of an algorithm."""


@slot
def prepare(state: State, flying: InFlight) -> None:
    """Forget what ties a state to the round that was planned last."""


@slot
def mark_of(state: State, row: int) -> int:
    """What the rewards of a row are marked as."""


class Copy(NamedTuple):
    """A second state, and the blocks that the memories of both lie in."""

    state: State
    numbers: Floats
    wholes: Ints
    from_numbers: Floats
    from_wholes: Ints


@kernel
def copy_state_to(copied: Copy, state: State) -> None:
    """Make the second state what the first one is."""
    other = copied.state
    arms, fidelities = state.pulls.shape
    for k in range(arms):
        other.arm_flags[k] = state.arm_flags[k]
        for m in range(fidelities):
            other.pulls[k, m] = state.pulls[k, m]
            other.sums[k, m] = state.sums[k, m]
            other.squares[k, m] = state.squares[k, m]
            other.deviations[k, m] = state.deviations[k, m]
            other.means[k, m] = state.means[k, m]
            other.inv_sqrt_pulls[k, m] = state.inv_sqrt_pulls[k, m]
    for i in range(state.clock.shape[0]):
        other.clock[i] = state.clock[i]
    other.spent[0] = state.spent[0]
    for i in range(copied.numbers.shape[0]):
        copied.numbers[i] = copied.from_numbers[i]
    for i in range(copied.wholes.shape[0]):
        copied.wholes[i] = copied.from_wholes[i]


@kernel
def note_marks(state: State, rows: int, out: Ints) -> None:
    """Write beside each row of a plan what its rewards are marked as."""
    for row in range(rows):
        out[row, 3] = mark_of(state, row)


@slot
def is_blind(state: State, rows: int, out: Ints) -> bool:
    """Whether a plan is as good as any as long as nothing has come back."""


@kernel
def sees_something(state: State, rows: int, out: Ints) -> bool:
    """Never: an algorithm begins with some of its arms only."""
    return False


@kernel
def nothing_known(state: State, rows: int, out: Ints) -> bool:
    """Whether nothing has come back yet."""
    return bool(state.clock[PULLS] == 0)


@kernel
def plan_on_copy(problem: Arrays, params: Any, state: State, copied: Copy, flying: InFlight, out: Ints) -> int:
    """Ask the state whether to stop, and a copy in which what is out has come back as expected for what to pull."""
    prepare(state, flying)
    rows = plan(problem, params, state, out)
    if rows == 0 or not any_out(flying.pulls) or is_blind(state, rows, out):
        note_marks(state, rows, out)
        prepare(state, flying)
        return rows
    prepare(state, flying)
    copy_state_to(copied, state)
    expect(problem, copied.state, flying)
    rows = plan(problem, params, copied.state, out)
    note_marks(copied.state, rows, out)
    return rows if rows > 0 else WAIT


@kernel
def plan_in_place(problem: Arrays, params: Any, state: State, copied: Copy, flying: InFlight, out: Ints) -> int:
    """Plan by an algorithm that knows itself what to do about pulls that are out."""
    prepare(state, flying)
    rows = plan(problem, params, state, out)
    note_marks(state, rows, out)
    return rows


def copy_for(problem: Arrays, state: State) -> Copy:
    """Room for a copy of a state, whose memory lies in the blocks of a layout."""
    kind = type(state.own)
    laid = layout(kind, problem)
    numbers, wholes = laid.blocks()
    other = new_state(problem)._replace(own=laid.of(numbers, wholes), blocks=state.blocks)
    return Copy(other, numbers, wholes, *memory_blocks(state.own))


def plan_ahead(algorithm: Algorithm) -> Callable[..., int]:
    """How an algorithm plans while pulls are out: ``(problem, params, state, copy, flying, out) -> rows``."""
    ahead = algorithm.ahead
    if ahead is None:
        raise TypeError("this algorithm plans when all pulls have come back")
    text = plan_on_copy if ahead.on_copy else plan_in_place
    return bind(
        text,
        plan=algorithm.plan,
        prepare=ahead.prepare,
        mark_of=ahead.mark_of,
        take_marked=ahead.take_marked,
        is_blind=nothing_known if ahead.begins_with_all else sees_something,
    )
