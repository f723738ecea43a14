"""The arms that are in play, and the policy made ready for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mfbandit.confidence import chances, is_proven, victories
from mfbandit.confidence.goals import settled_by
from mfbandit.confidence.pair import Leaders
from mfbandit.confidence.race import Race
from mfbandit.core import (
    Algorithm,
    Arrays,
    Floats,
    InFlight,
    Ints,
    State,
    compiled,
    copy_for,
    digest,
    keep_arms,
    new_state,
    observe,
    plan_ahead,
    rebuilt,
    round_of,
)
from mfbandit.errors import MissingExtra
from mfbandit.model import Problem
from mfbandit.study._settings import Settings
from mfbandit.study.state._compile_thread import start_compiling

if TYPE_CHECKING:
    from mfbandit.confidence.race import Race

__all__ = [
    "Planner",
    "Streams",
    "carry_over",
    "copy_state",
    "make_planner",
    "make_planner_for",
    "race_of",
    "streams_of",
]


#: A policy is compiled, beside the study, once it has some rounds and planning them takes time. What was compiled for
#: another study is taken sooner: it takes a millisecond to find. Where planning takes very long, it is waited for.
_LOOK_AFTER_SECONDS = 0.002
_COMPILE_AFTER_SECONDS = 0.02
_COMPILE_AFTER_ROUNDS = 100
_WAIT_AFTER_SECONDS = 1.0


@dataclass
class Planner:
    """The arms in play, what kernels see of them, and the algorithm."""

    problem: Arrays
    algorithm: Algorithm
    arms: list[int]
    """Index in the user's problem of each arm in play."""
    columns: list[int]
    """Index in the user's problem of each fidelity in use."""
    out: Ints
    text: Callable[..., Any]
    """`algorithm.plan`, or what plans by it while pulls are out."""
    plan: Callable[..., Any]
    """The same, or its compiled form once that pays."""
    ahead: bool = False
    """Whether it plans while pulls are out."""
    looked: bool = False
    """Whether somebody has looked for a form that was compiled before."""
    asked_to_compile: bool = False
    observe: Callable[[Streams, int, int, float], Any] | None = None
    """`mfbandit.core.observe` as machine code, once that can be had."""
    cells: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    """Where the statistics of an arm at a fidelity are, from indices of the user's problem."""

    def __post_init__(self) -> None:
        for k, arm in enumerate(self.arms):
            for m, fidelity in enumerate(self.columns):
                self.cells[arm, fidelity] = k, m

    def rescale(self, settings: Settings, rewards_as: Problem) -> None:
        """Tell the policy anew what it was told: in another unit scale, or with another limit of what may be spent."""
        ready = settings.policy.ready(rewards_as, self.problem, settings.goal)
        self.algorithm = replace(self.algorithm, params=ready.params)

    def compile(self, spare: State) -> None:
        """Compile `plan`, with a state that may be spoilt; without numba, do nothing."""
        arguments = self._arguments(spare)
        try:
            # The policy's own plan is kept for itself: a simulation of the policy needs the same one.
            text = self.text if self.ahead else round_of(self.algorithm)
            faster = compiled(text, apart=("plan",))
            faster(*arguments)
        except MissingExtra:
            return
        _compiled_before[digest(self.text)] = faster
        self.plan = _machine_code(faster, arguments) or faster
        self.observe = _machine_observe(spare)

    def _arguments(self, state: State) -> tuple[Any, ...]:
        """What `plan` may be tried with; a plan while pulls are out is tried with an empty state."""
        out = self.out.copy()
        if not self.ahead:
            return self.problem, self.algorithm.params, state, out
        empty = new_state(self.problem, self.algorithm.memory)
        flying = InFlight(*(np.zeros_like(empty.pulls) for _ in range(3)))
        return self.problem, self.algorithm.params, empty, copy_for(self.problem, empty), flying, out

    def maybe_compile(self, state: State, seconds: float, rounds: int) -> None:
        """Compile `plan` once that pays, where so many rounds took so long to plan; other threads go on meanwhile."""
        if self.asked_to_compile or seconds < _LOOK_AFTER_SECONDS:
            return
        if not self.looked:
            self.look(state, seconds)
            return
        if seconds >= _WAIT_AFTER_SECONDS:
            # To plan by the plain text meanwhile, with thousands of arms, would take longer than to wait.
            self.compile_once(state)
        elif seconds >= _COMPILE_AFTER_SECONDS and rounds >= _COMPILE_AFTER_ROUNDS:
            self.asked_to_compile = True
            # It takes seconds the first time on a machine.
            start_compiling(self.compile, copy_state(state))

    def look(self, state: State, seconds: float) -> None:
        """Take the compiled form of `plan`, if another study of this process has needed it, once plans take time."""
        if not (self.asked_to_compile or self.looked) and seconds >= _LOOK_AFTER_SECONDS:
            self.asked_to_compile = self.compiled_before(state)

    def compile_once(self, state: State) -> None:
        """Compile `plan`, where that can be had and nobody has asked for it before."""
        if self.arms and not self.asked_to_compile:
            self.asked_to_compile = True
            self.compile(copy_state(state))

    def answer(self, state: State) -> int:
        """The arm, as an index of those in play, that the policy would answer with."""
        return int(self.algorithm.recommend(self.problem, self.algorithm.params, state))

    def proves(self, settings: Settings, problem: Problem, state: State) -> bool:
        """Whether the answer of a policy that has stopped by itself is proven by what a certificate holds."""
        if settings.question is not None:
            race = race_of(settings, problem, self.columns, state)
            return settled_by(settings.question, race).certified
        if problem.blocks is not None:
            answer = self.answer(state)
            return answer >= 0 and bool(race_of(settings, problem, self.columns, state).certified(answer))
        if not settings.policy.proven_for(settings.problem):
            return False
        answer = self.answer(state)
        epsilon = settings.epsilon / settings.problem.reward.span
        shown = victories(self.problem, self.algorithm, state, answer, epsilon)
        ways = chances(self.algorithm.evidence, len(self.arms))
        return all(is_proven(ways, settings.delta, one.evidence) for one in shown)

    def compiled_before(self, state: State) -> bool:
        """Take the compiled form of `plan` if another study of this process has needed it."""
        self.looked = True
        faster = _compiled_before.get(digest(self.text)) if _compiled_before else None
        if faster is None:
            return False
        code = _machine_code(faster, self._arguments(state))
        if code is None:
            return False
        self.plan, self.observe = code, _machine_observe(copy_state(state))
        return True


def race_of(settings: Settings, problem: Problem, columns: list[int], state: State) -> Race:
    """What the rewards of a race prove; `problem` has the unit scale that they are in."""
    present = None if settings.present is None else np.array(settings.present)
    return Race.of_state(problem, columns, settings.delta, settings.epsilon, state, present)


#: Compiled forms of the plans of policies, by the fingerprints of the plain ones.
_compiled_before: dict[str, Any] = {}


def _machine_code(function: Any, arguments: tuple[Any, ...]) -> Callable[..., Any] | None:
    """The machine code for arguments of these types, which a study's never change; None if there is none.

    To look up the types of twenty arrays at every call takes longer than to plan a round.
    """
    try:
        types = tuple(function.typeof_pyval(argument) for argument in arguments)
        code: Callable[..., Any] = function.overloads[types].entry_point
    except (AttributeError, KeyError):
        return None
    return code


def _machine_observe(spare: State) -> Callable[..., Any] | None:
    """The machine code of `observe`, with a state that may be spoilt; None where numba is missing."""
    arguments = streams_of(spare), 0, 0, 0.5
    try:
        faster: Any = compiled(observe)
    except MissingExtra:
        return None
    faster(*arguments)
    return _machine_code(faster, arguments)


class Streams(NamedTuple):
    """The part of a state that a reward enters: compiled code takes its few arrays faster than a whole state."""

    pulls: Ints
    sums: Floats
    squares: Floats
    deviations: Floats
    means: Floats
    inv_sqrt_pulls: Floats
    grid_rounder: Floats
    carries: Floats


_parts = attrgetter(*Streams._fields)


def streams_of(state: State) -> Streams:
    """That part of a state, which shares its arrays."""
    return Streams(*_parts(state))


def copy_state(state: State) -> State:
    """A state that can be changed without changing this one."""
    blocks = type(state.blocks)(*(array.copy() for array in state.blocks))
    own = rebuilt(state.own, np.ndarray.copy)
    parts = {name: part.copy() for name, part in state._asdict().items() if isinstance(part, np.ndarray)}
    return state._replace(own=own, blocks=blocks, **parts)


def make_planner(settings: Settings, full: Arrays) -> Planner:
    """Put all arms in play."""
    return make_planner_for(settings, full, list(range(full.cost.shape[0])), settings.seen)


def make_planner_for(settings: Settings, full: Arrays, arms: list[int], rewards_as: Problem) -> Planner:
    """Put some arms in play; `rewards_as` is the problem with the unit scale that statistics are in."""
    problem = keep_arms(full, arms)
    if arms:
        algorithm = settings.policy.ready(rewards_as, problem, settings.goal)
    else:
        algorithm = Algorithm(_stop, _nobody, None, 0)
    ahead = settings.width > 1 and algorithm.ahead is not None
    text = plan_ahead(algorithm) if ahead else algorithm.plan
    out = np.zeros((algorithm.rows, 4 if ahead else 3), dtype=np.int64)
    return Planner(problem, algorithm, arms, full.columns.tolist(), out, text, text, ahead)


def carry_over(before: Planner, old: State, after: Planner) -> State:
    """The state of a new planner, with the statistics of its arms so far."""
    state = new_state(after.problem, after.algorithm.memory)
    row_of = {arm: row for row, arm in enumerate(before.arms)}
    rows = [row_of[arm] for arm in after.arms]
    for new, known in zip(state, old, strict=True):
        if isinstance(known, np.ndarray) and known.ndim == 2:
            new[:] = known[rows]
    _keep_active(before, old, state, rows)
    state.clock[:] = old.clock
    state.spent[:] = old.spent
    return state


def _keep_active(before: Planner, old: State, new: State, rows: list[int]) -> None:
    """Keep the active statistics of the arms that stay, at their rows in the old state.

    Which rewards are active is decided before their pulls. To forget those so far would be a second chance for
    evidence that has come out low, which the proof does not allow for.
    """
    if not (hasattr(old.own, "active") and hasattr(new.own, "active")):
        return
    if before.algorithm.take_in is not None:
        before.algorithm.take_in(old)
    for known, kept in zip(new.own.active, old.own.active, strict=True):
        known[:] = kept[rows]
    if hasattr(old.own, "leaders") and hasattr(new.own, "leaders"):
        _keep_leaders(old.own.leaders, new.own.leaders, {row: arm for arm, row in enumerate(rows)})


def _keep_leaders(old: Leaders, new: Leaders, now: Mapping[int, int]) -> None:
    """Keep the statistics of leaders that stay; `now` has their new rows by the old ones.

    One that was given up may be better than all who are left: what it has shown is no part of the evidence any more.
    """
    staying = [index for index, arm in enumerate(old.arm[: old.known[0]].tolist()) if arm in now]
    new.known[0] = len(staying)
    for to, index in enumerate(staying):
        new.arm[to] = now[int(old.arm[index])]
        for name in ("pulls", "sums", "squares"):
            getattr(new, name)[to] = getattr(old, name)[index]


def _stop(*arguments: Any) -> int:
    """The plan of a study that has no arms left."""
    return 0


def _nobody(*arguments: Any) -> int:
    """The answer of a study that has no arms left."""
    return -1
