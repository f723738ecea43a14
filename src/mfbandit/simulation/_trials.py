"""The trials of a simulation: what decides them, what they leave behind, and how a piece of them is played.

A trial depends on its simulation and its own number alone. So trials can be cut into pieces anywhere, and
a piece gives the same result on any thread, device or machine.
"""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from mfbandit.algorithms import Policy
from mfbandit.core import (
    Algorithm,
    Goal,
    arrays,
    bind,
    compiled,
    digest,
    has_blocks,
    layout,
    names,
    tally_block,
    tally_for,
)
from mfbandit.errors import InvalidInput, PolicyError
from mfbandit.instances import (
    BernoulliLaw,
    Instance,
    block_draw,
    block_law,
    draw_any,
    draw_any_block,
    draw_of,
    law_arrays,
)
from mfbandit.simulation._block_trials import any_block_of, block_parts, room_for_blocks
from mfbandit.simulation._trial_loop import Limits, Prepared, Results, Room, Setting, block_of, run_trials
from mfbandit.simulation._virtual_workers import Durations

__all__ = ["Advance", "Simulation", "Simulator", "limit", "pieces", "prepare", "run_all", "unnoticed", "whole"]

T = TypeVar("T")
#: Takes note of work done: trials, and pulls in them.
Advance = Callable[[int, int], None]


def unnoticed(trials: int, pulls: int) -> None:
    """Take no note of work done."""


def whole(name: str, value: Any, least: int) -> int:
    """Check a whole number."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InvalidInput(f"{name} must be a whole number >= {least}, got {value!r}")
    if value >= 2**63:
        raise InvalidInput(f"{name} must be below 2^63, got {value!r}")
    return int(value)


def limit(name: str, value: float | None) -> float:
    """Check a limit on a cost; None is no limit."""
    if value is None:
        return math.inf
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not value > 0:
        raise InvalidInput(f"{name} must be a number > 0, got {value!r}")
    return float(value)


@dataclass(frozen=True)
class Simulation:
    """What decides every trial of a simulation; it can be sent to another machine."""

    instance: Instance
    policy: Policy
    goal: Goal
    seed: int
    max_cost: float | None = None
    max_pulls: int | None = None
    marks: tuple[float, ...] = ()
    trace: int = 0
    width: int = 1
    durations: Durations | None = None

    @property
    def on_clock(self) -> bool:
        """Whether it is told who works when; otherwise one pull is made after the other, and each takes 1."""
        return self.width > 1 or self.durations is not None

    def results(self, trials: int) -> Results:
        """Empty arrays for the results of some trials."""
        shape, marks = self.instance.means.shape, len(self.marks)
        return Results(
            cost=np.zeros(trials),
            best=np.zeros(trials, dtype=np.int64),
            stopped=np.zeros(trials, dtype=np.int64),
            pulls=np.zeros((trials, *shape), dtype=np.int64),
            mark_pulls=np.zeros((trials, marks, *shape), dtype=np.int64),
            mark_best=np.zeros((trials, marks), dtype=np.int64),
            trace=np.zeros((trials, self.trace, 3), dtype=np.int64),
            sides=np.zeros((trials, shape[0] if self.goal.question is not None else 0), dtype=np.int64),
        )


def prepare(simulation: Simulation) -> Prepared:
    """Make a simulation ready to be played."""
    instance, policy = simulation.instance, simulation.policy
    goal = replace(simulation.goal, max_cost=limit("max_cost", simulation.max_cost))
    policy.check(instance.problem, goal)
    problem = policy.seen(instance.problem)
    used = arrays(problem, policy.columns(problem))
    algorithm = policy.ready(problem, used, goal)
    races = has_blocks(used)
    if races != (algorithm.evidence == "blocks"):
        raise PolicyError(
            f"{policy.name} takes rewards for independent, but the arms of this problem share blocks"
            if races
            else f"{policy.name} compares arms on blocks, and this problem has none"
        )
    blocks, whole_rewards = instance.problem.blocks, isinstance(instance.law, BernoulliLaw)
    setting = Setting(
        problem=used,
        params=algorithm.params,
        law=law_arrays(instance) if blocks is None else block_law(instance),
        limits=Limits(
            cost=min(goal.budget, goal.max_cost),
            pulls=2**62 if simulation.max_pulls is None else whole("max_pulls", simulation.max_pulls, 1),
            spends=policy.spends,
            stop_flag=np.zeros(1, dtype=np.int64),
        ),
        marks=np.array(simulation.marks, dtype=np.float64),
        rows=algorithm.rows,
        seed=simulation.seed,
    )
    parts = {
        "plan": algorithm.plan,
        "recommend": algorithm.recommend,
        "note_answer": algorithm.note_answer,
        "draw": draw_of(instance) if blocks is None else block_draw(instance),
        "tally": tally_block if races else tally_for(algorithm, whole_rewards),
    }
    swaps = {} if blocks is None else block_parts(used, blocks != "unlimited")
    return Prepared(setting, algorithm, parts, swaps, whole_rewards)


def _one_for_all_laws(prepared: Prepared) -> Prepared | None:
    """The same with one text for all laws, if that pays.

    Algorithms that stop by pairs or on blocks take long for a round anyway, and longest to compile.
    """
    evidence = prepared.algorithm.evidence
    if evidence == "blocks":
        swaps = {**prepared.swaps, block_of: any_block_of}
        return replace(prepared, parts={**prepared.parts, "draw": draw_any_block}, swaps=swaps)
    if evidence in ("pairs", "leaders") and not prepared.swaps:
        return replace(prepared, parts={**prepared.parts, "draw": draw_any})
    return None


def _check_marks(policy: Policy, algorithm: Algorithm) -> None:
    """Refuse what could not be compiled since somebody forgot to mark it: the compiler's words are many."""
    for part in ("plan", "recommend"):
        function = getattr(algorithm, part)
        if not _marked(function):
            raise PolicyError(f"{part} of {policy.name!r} is no kernel: mark it with @kernel")
        for name in names(function.__code__):
            called = function.__globals__.get(name)
            if isinstance(called, types.FunctionType) and not _marked(called):
                raise PolicyError(f"{part} of {policy.name!r} calls {name}, which is no kernel: mark it with @kernel")


def _marked(function: Any) -> bool:
    return hasattr(function, "__mfbandit_kernel__") or hasattr(function, "__mfbandit_slot__")


class Simulator:
    """A simulation made ready on this machine: plays any piece of its trials."""

    def __init__(self, simulation: Simulation, device: str) -> None:
        self.simulation, self.device = simulation, device
        self.prepared = prepare(simulation)
        if device != "python":
            _check_marks(simulation.policy, self.prepared.algorithm)
        if simulation.instance.problem.blocks is not None and device == "cuda":
            raise InvalidInput("device 'cuda' cannot simulate problems with blocks: use device='cpu'")
        self.text = self.bound()
        #: What threads have left for others.
        self.rooms: list[Any] = []

    def bound(self) -> Any:
        """The text that is played."""
        # On a GPU, draws of other laws would take registers away.
        one = _one_for_all_laws(self.prepared) if self.device == "cpu" else None
        chosen = one or self.prepared
        return bind(run_trials, chosen.swaps, **chosen.parts)

    @property
    def fingerprint(self) -> str:
        """What tells apart two versions of the text that is played."""
        return digest(self.text)

    @functools.cached_property
    def entry(self) -> Any:
        """The text as it is run on a CPU."""
        if self.device != "cpu":
            return self.text
        # Kept on its own, the plan need not be compiled again with the draw of another law, or for many workers.
        return compiled(self.text, apart=("plan",))

    @property
    def code_folder(self) -> str | None:
        """Where machine code is kept for the next process, if it is."""
        return self.entry.stats.cache_path if self.device == "cpu" else None

    def compile(self) -> None:
        """Compile what will be played, or load its machine code."""
        if self.device == "cpu":
            self.play(0, self.results(0))

    def results(self, trials: int) -> Any:
        """Empty arrays for the results of some trials."""
        return self.simulation.results(trials)

    def halt(self) -> None:
        """End the runs under way, on whichever thread, at their next round."""
        self.prepared.setting.limits.stop_flag[0] = 1

    def play(self, first: int, results: Any, advance: Advance = unnoticed) -> None:
        """Play the trials `first`, `first` + 1, ..., one per entry of the results."""
        if self.device == "cuda":
            from mfbandit.simulation.gpu import _launch as gpu

            gpu.launch(self.prepared, first, results, advance)
            return
        problem = self.prepared.setting.problem
        memory = layout(self.prepared.algorithm.memory, problem)
        numbers, wholes = memory.blocks()
        # Much room takes time to make, so a thread takes over what another one left.
        blocks = self.rooms.pop() if self.rooms else room_for_blocks(problem)
        room = Room(memory.of(numbers, wholes), numbers, wholes, blocks)
        self.entry(self.prepared.setting, room, first, results)
        self.rooms.append(blocks)
        advance(len(results.cost), int(results.pulls.sum()))


def pieces(trials: int, workers: int, least: int = 1, most: int = 4096) -> Iterator[tuple[int, int]]:
    """Cut trials into pieces that get smaller, so that workers end together.

    Examples
    --------
    >>> [last - first for first, last in pieces(20, workers=1)]
    [5, 3, 3, 2, 1, 1, 1, 1, 1, 1, 1]
    """
    first = 0
    while first < trials:
        size = min(max(least, (trials - first) // (4 * workers)), most)
        yield first, min(first + size, trials)
        first += size


def run_all(
    start: Callable[[int, int], Future[T]],
    spans: Iterable[tuple[int, int]],
    at_once: Callable[[], int],
    take: Callable[[int, int, T], None],
) -> None:
    """Play pieces, a bounded number of them at once (it may change), and take each outcome as it comes."""
    running: dict[Future[T], tuple[int, int]] = {}

    def collect() -> None:
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            take(*running.pop(future), future.result())

    try:
        for span in spans:
            running[start(*span)] = span
            while len(running) >= at_once():
                collect()
        while running:
            collect()
    finally:
        for future in running:  # none, unless something went wrong
            future.cancel()
