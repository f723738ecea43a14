"""The trials of a simulation: what decides them, what they leave behind, and how a piece of them is played.

A trial depends on its simulation and its own number alone. So trials can be cut into pieces anywhere, and
a piece gives the same result on any thread, device or machine.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from mfbandit.algorithms import Policy
from mfbandit.block_play import block_draw, block_law, block_parts, room_for_blocks
from mfbandit.blocks import has_blocks, tally_block
from mfbandit.core import Algorithm, Arrays, Floats, Goal, Ints, arrays, tally_for
from mfbandit.errors import InvalidInput, PolicyError
from mfbandit.instances import BernoulliLaw, Instance
from mfbandit.kernel import bind, compiled, digest
from mfbandit.layout import layout
from mfbandit.play import Limits, play_many
from mfbandit.rewards import draw_of, law_arrays

__all__ = ["Advance", "Player", "Prepared", "Results", "Simulation", "limit", "pieces", "play_all", "prepare", "whole"]

T = TypeVar("T")
#: Takes note of work done: trials, and pulls in them.
Advance = Callable[[int, int], None]


def _unnoticed(trials: int, pulls: int) -> None:
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


class Results(NamedTuple):
    """What trials leave behind: arrays with one entry per trial, described in `Runs`."""

    cost: Floats
    best: Ints
    stopped: Ints
    pulls: Ints
    mark_pulls: Ints
    mark_best: Ints
    trace: Ints

    def part(self, first: int, last: int) -> Results:
        """The entries of some trials, as views."""
        return Results._make(array[first:last] for array in self)


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
        )


@dataclass(frozen=True)
class Prepared:
    """A policy made ready for one problem: what kernels see, its algorithm, its limits."""

    problem: Arrays
    algorithm: Algorithm
    limits: Limits
    streams: int
    """Fidelities of the user's problem, which number the reward streams."""


def prepare(instance: Instance, chosen: Policy, goal: Goal, max_cost: float | None, max_pulls: int | None) -> Prepared:
    """Make a policy ready to run on an instance."""
    chosen.check(instance.problem, goal)
    problem = chosen.seen(instance.problem)
    used = arrays(problem, chosen.columns(problem))
    algorithm = chosen.ready(problem, used, goal)
    if has_blocks(used) != (algorithm.evidence == "blocks"):
        raise PolicyError(
            f"{chosen.name} takes rewards for independent, but the arms of this problem share blocks"
            if has_blocks(used)
            else f"{chosen.name} compares arms on blocks, and this problem has none"
        )
    limits = Limits(
        cost=min(goal.budget, limit("max_cost", max_cost)),
        pulls=2**62 if max_pulls is None else whole("max_pulls", max_pulls, 1),
        spends=chosen.objective == "regret",
        halt=np.zeros(1, dtype=np.int64),
    )
    return Prepared(used, algorithm, limits, problem.n_fidelities)


class Player:
    """A simulation made ready on this machine: plays any piece of its trials."""

    def __init__(self, simulation: Simulation, device: str) -> None:
        self.simulation, self.device = simulation, device
        instance = simulation.instance
        self.ready = prepare(instance, simulation.policy, simulation.goal, simulation.max_cost, simulation.max_pulls)
        algorithm, used = self.ready.algorithm, self.ready.problem
        blocks = instance.problem.blocks
        if blocks is not None and device == "cuda":
            raise InvalidInput("device 'cuda' cannot simulate problems with blocks: use device='cpu'")
        whole_rewards = isinstance(instance.law, BernoulliLaw)
        self.text = bind(
            play_many,
            {} if blocks is None else block_parts(used, blocks != "unlimited"),
            plan=algorithm.plan,
            recommend=algorithm.recommend,
            draw=draw_of(instance) if blocks is None else block_draw(instance),
            tally=tally_block if has_blocks(used) else tally_for(algorithm, whole_rewards),
        )
        self.law: Any = law_arrays(instance) if blocks is None else block_law(instance)
        self._rooms: list[Any] = []
        self.marks = np.array(simulation.marks, dtype=np.float64)

    @property
    def fingerprint(self) -> str:
        """What tells apart two versions of the text that is played."""
        return digest(self.text)

    @functools.cached_property
    def entry(self) -> Any:
        """The text as it is run on a CPU."""
        return compiled(self.text, apart=("plan",)) if self.device == "cpu" else self.text

    @property
    def code_folder(self) -> str | None:
        """Where machine code is kept for the next process, if it is."""
        return self.entry.stats.cache_path if self.device == "cpu" else None

    def compile(self) -> None:
        """Compile what will be played, or load its machine code."""
        if self.device == "cpu":
            self.play(0, self.simulation.results(0))

    def play(self, first: int, results: Results, advance: Advance = _unnoticed) -> None:
        """Play the trials `first`, `first` + 1, ..., one per entry of the results."""
        ready, seed, marks = self.ready, self.simulation.seed, self.marks
        if self.device == "cuda":
            from mfbandit import gpu

            gpu.launch(
                *(self.simulation.instance, ready.algorithm, ready.problem, self.law, ready.limits, ready.streams),
                *(seed, results, marks, advance, first),
            )
            return
        cost, best, stopped, pulls, *noted = results
        memory = layout(ready.algorithm.memory, ready.problem)
        pieces = memory.blocks()
        # Much room takes time to make, so a thread takes over what another one left.
        room = self._rooms.pop() if self._rooms else room_for_blocks(ready.problem)
        self.entry(
            *(ready.problem, ready.algorithm.params, self.law, ready.limits, ready.streams, ready.algorithm.rows),
            *(memory.of(*pieces), *pieces, room, seed, first),
            *(cost, best, stopped, pulls, marks, *noted),
        )
        self._rooms.append(room)
        advance(len(cost), int(pulls.sum()))


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


def play_all(
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
