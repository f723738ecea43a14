"""Simulations: thousands of independent trials of a policy on an instance, on CPU threads."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mfbandit.algorithms import Policy
from mfbandit.algorithms import policy as read_policy
from mfbandit.core import Algorithm, Arrays, Goal, arrays, tally, tally_sums
from mfbandit.errors import InvalidInput
from mfbandit.instances import Instance, load_instance
from mfbandit.kernel import bind, compiled
from mfbandit.play import Limits, Sizes, play_many
from mfbandit.progress import Progress, no_progress
from mfbandit.rewards import draw_of, law_arrays
from mfbandit.runs import Runs

__all__ = ["simulate"]

DEVICES = ("cpu", "cuda", "python")


@dataclass(frozen=True)
class Prepared:
    """A policy made ready for one problem: what kernels see, its algorithm, its limits."""

    problem: Arrays
    algorithm: Algorithm
    limits: Limits
    sizes: Sizes


def whole(name: str, value: Any, least: int) -> int:
    """Check a whole number."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InvalidInput(f"{name} must be a whole number >= {least}, got {value!r}")
    if value >= 2**63:
        raise InvalidInput(f"{name} must be below 2^63, got {value!r}")
    return int(value)


def _limit(name: str, value: float | None) -> float:
    if value is None:
        return math.inf
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not value > 0:
        raise InvalidInput(f"{name} must be a number > 0, got {value!r}")
    return float(value)


def prepare(instance: Instance, chosen: Policy, goal: Goal, max_cost: float | None, max_pulls: int | None) -> Prepared:
    """Make a policy ready to run on an instance."""
    problem = instance.problem
    chosen.check(problem, goal)
    used = arrays(problem, chosen.columns(problem))
    algorithm = chosen.ready(problem, used, goal)
    spends = chosen.objective == "regret"
    limits = Limits(
        cost=min(goal.budget, _limit("max_cost", max_cost)),
        pulls=2**62 if max_pulls is None else whole("max_pulls", max_pulls, 1),
        spends=spends,
        halt=np.zeros(1, dtype=np.int64),
    )
    sizes = Sizes(algorithm.rows, algorithm.memory, algorithm.notes, problem.n_fidelities)
    return Prepared(used, algorithm, limits, sizes)


def _pieces(trials: int, threads: int) -> Iterator[tuple[int, int]]:
    """Cut trials into pieces that get smaller, so that threads end together."""
    first = 0
    while first < trials:
        size = min(max(1, (trials - first) // (4 * threads)), 4096)
        yield first, min(first + size, trials)
        first += size


def simulate(
    instance: Instance | str,
    policy: Policy | str,
    *,
    delta: float = 0.05,
    epsilon: float = 0.0,
    budget: float | None = None,
    trials: int = 100,
    seed: int = 0,
    max_cost: float | None = None,
    max_pulls: int | None = None,
    threads: int | None = None,
    device: str = "cpu",
    marks: Sequence[float] = (),
    trace: int = 0,
    progress: bool = False,
) -> Runs:
    """Run a policy on an instance many times.

    Parameters
    ----------
    instance : Instance or str
        What is simulated; a string is a built-in's name or a TOML file.
    policy : Policy or str
        The policy, as an object or as ``name:key=value,...``.
    delta : float
        Probability of a wrong answer that is allowed.
    epsilon : float
        An answer within this of the best is good enough (0: the best).
    budget : float, optional
        What to spend, for policies that minimise regret.
    trials : int
        How many independent runs.
    seed : int
        Rewards are a function of the seed, the trial, the arm, the fidelity and the number of the
        pull, so results do not depend on the number of threads, and two policies share their luck.
    max_cost, max_pulls : optional
        Where a run ends without an answer.
    threads : int, optional
        CPU threads; all cores by default.
    device : {"cpu", "cuda", "python"}
        "cuda" runs one trial per thread of an NVIDIA GPU (needs the ``cuda`` extra); "python" runs the
        same text uncompiled, to be stepped through by a debugger.
    marks : sequence of float
        Costs at which each run is noted: see `Runs.marks`.
    trace : int
        How many of the first rows (arm, fidelity, count) each run records in `Runs.trace`.
    progress : bool
        Show progress on stderr, if it is a terminal and the run is long.

    Returns
    -------
    Runs
        One entry per trial.

    Examples
    --------
    >>> import mfbandit as mf
    >>> runs = mf.simulate("loose-prior", "lucb-top", trials=4, seed=1, max_cost=1e7)
    >>> runs.best.tolist(), bool(runs.stopped.all())
    ([0, 0, 0, 0], True)
    """
    if isinstance(instance, str):
        instance = load_instance(instance)
    if not isinstance(instance, Instance):
        raise InvalidInput(f"instance must be an Instance, a name or a file, got {instance!r}")
    chosen = read_policy(policy)
    goal = Goal(delta=delta, epsilon=epsilon, budget=_limit("budget", budget))
    trials = whole("trials", trials, 1)
    seed = whole("seed", seed, 0)
    threads = os.cpu_count() or 1 if threads is None else whole("threads", threads, 1)
    if device not in DEVICES:
        raise InvalidInput(f"device must be one of {', '.join(DEVICES)}, got {device!r}")
    marked = np.array(sorted(float(mark) for mark in marks), dtype=np.float64)
    if marked.size and not (marked > 0).all():
        raise InvalidInput(f"marks must be costs > 0, got {marked[0]:g}")
    ready = prepare(instance, chosen, goal, max_cost, max_pulls)

    shape = instance.means.shape
    cost = np.zeros(trials)
    best = np.zeros(trials, dtype=np.int64)
    stopped = np.zeros(trials, dtype=np.int64)
    pulls = np.zeros((trials, *shape), dtype=np.int64)
    mark_pulls = np.zeros((trials, marked.size, *shape), dtype=np.int64)
    mark_best = np.zeros((trials, marked.size), dtype=np.int64)
    traces = np.zeros((trials, whole("trace", trace, 0), 3), dtype=np.int64)
    law = law_arrays(instance)
    many = bind(
        play_many,
        plan=ready.algorithm.plan,
        recommend=ready.algorithm.recommend,
        draw=draw_of(instance),
        tally=tally_sums if ready.algorithm.sums_only else tally,
    )

    def piece(run: Callable[..., Any], first: int, last: int) -> int:
        part = slice(first, last)
        run(
            ready.problem,
            ready.algorithm.params,
            law,
            ready.limits,
            ready.sizes,
            seed,
            first,
            cost[part],
            best[part],
            stopped[part],
            pulls[part],
            marked,
            mark_pulls[part],
            mark_best[part],
            traces[part],
        )
        return last - first

    if device == "cpu":
        piece(compiled(many), 0, 0)  # compiles, or loads machine code, and plays nothing
    started = time.perf_counter()
    title = f"{chosen.name} on {instance.name or 'instance'}"
    with Progress(title, trials) if progress else no_progress() as bar:
        if device == "python":
            for trial in range(trials):
                bar.advance(piece(many, trial, trial + 1), int(pulls[trial].sum()))
        elif device == "cuda":
            from mfbandit import gpu

            gpu.launch(
                instance,
                ready.algorithm,
                ready.problem,
                law,
                ready.limits,
                ready.sizes,
                seed,
                (cost, best, stopped, pulls, mark_pulls, mark_best, traces),
                marked,
                bar.advance,
            )
        else:
            _on_threads(compiled(many), piece, trials, threads, bar, pulls, ready.limits)
    seconds = time.perf_counter() - started
    return Runs(
        instance=instance,
        policy=chosen,
        goal=goal,
        seed=seed,
        device=device,
        cost=cost,
        best=best,
        stopped=stopped.astype(bool),
        pulls=pulls,
        seconds=seconds,
        marks=marked,
        mark_pulls=mark_pulls,
        mark_best=mark_best,
        trace=traces,
    )


def _on_threads(
    run: Callable[..., Any],
    piece: Callable[[Callable[..., Any], int, int], int],
    trials: int,
    threads: int,
    bar: Any,
    pulls: npt.NDArray[np.int64],
    limits: Limits,
) -> None:
    """Play all pieces on a pool of threads; compiled code releases the interpreter lock."""
    with ThreadPoolExecutor(threads) as pool:
        running: dict[Future[int], tuple[int, int]] = {}
        try:
            for span in _pieces(trials, threads):
                running[pool.submit(piece, run, *span)] = span
                if len(running) >= 2 * threads:
                    _collect(running, bar, pulls)
            while running:
                _collect(running, bar, pulls)
        except BaseException:
            # Ctrl-C: the runs under way end at their next round instead of at their end.
            limits.halt[0] = 1
            for future in running:
                future.cancel()
            raise


def _collect(running: dict[Future[int], tuple[int, int]], bar: Any, pulls: npt.NDArray[np.int64]) -> None:
    done, _ = wait(running, return_when=FIRST_COMPLETED)
    for future in done:
        span = running.pop(future)
        bar.advance(future.result(), int(pulls[slice(*span)].sum()))
