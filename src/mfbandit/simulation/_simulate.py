"""Simulations: thousands of independent trials of a policy on an instance, on CPU threads, a GPU or a cluster."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from mfbandit.algorithms import Policy, default_policy, read_policy
from mfbandit.core import Goal
from mfbandit.errors import InvalidInput
from mfbandit.instances import Instance, load_instance
from mfbandit.model import Question, read_question
from mfbandit.simulation._block_trials import OUT_OF_ROOM
from mfbandit.simulation._progress_bar import Progress
from mfbandit.simulation._ray_trials import run_on_ray
from mfbandit.simulation._runs import Runs
from mfbandit.simulation._trials import Advance, Simulation, Simulator, limit, pieces, run_all, whole
from mfbandit.simulation._virtual_workers import MOST_WORKERS, GivenDurations, as_durations
from mfbandit.simulation._wide_simulator import simulator_of

__all__ = ["simulate"]

DEVICES = ("cpu", "cuda", "python")
ENGINES = ("threads", "ray")


def simulate(
    instance: Instance | str,
    policy: Policy | str | None = None,
    *,
    delta: float = 0.05,
    epsilon: float = 0.0,
    goal: Question | str | None = None,
    budget: float | None = None,
    trials: int = 100,
    seed: int = 0,
    max_cost: float | None = None,
    max_pulls: int | None = None,
    threads: int | None = None,
    device: str = "cpu",
    engine: str = "threads",
    marks: Sequence[float] = (),
    trace: int = 0,
    progress: bool = False,
    width: int = 1,
    durations: GivenDurations | None = None,
) -> Runs:
    """Run a policy on an instance many times.

    Parameters
    ----------
    instance : Instance or str
        What is simulated; a string is a built-in's name or a TOML file.
    policy : Policy or str, optional
        The policy, as an object or as ``name:key=value,...``; by default "mf-race" for a problem with blocks, else
        "mf-toptwo".
    delta : float
        Probability of a wrong answer that is allowed.
    epsilon : float
        An answer within this of the best is good enough (0: the best).
    goal : TopM, BetterThan, CheapestWithin or str, optional
        What is asked, where it is not which arm is the best: an object, or ``name:key=value`` as ``"top-m:m=3"``. For
        instances with blocks. `Runs.sides` says where each arm stands at the end of each run.
    budget : float, optional
        What to spend, for policies that minimise regret.
    trials : int
        How many independent runs.
    seed : int
        Rewards are a function of the seed, the trial, the arm, the fidelity and the number of the
        pull (with blocks: of the block), so results do not depend on the number of threads or machines,
        and two policies share their luck.
    max_cost, max_pulls : optional
        Where a run ends without an answer. With unlimited blocks it ends so too where the rewards of
        one run would take more than 64 MB: see `Runs.out_of_room`.
    threads : int, optional
        CPU threads; all cores by default.
    device : {"cpu", "cuda", "python"}
        "cuda" runs one trial per thread of an NVIDIA GPU (needs the ``cuda`` extra); "python" runs the
        same text uncompiled, to be stepped through by a debugger.
    engine : {"threads", "ray"}
        "threads" stays on this machine; "ray" spreads the trials over every core (or every GPU) of a Ray
        cluster (needs the ``ray`` extra): the one this process is connected to, else that of
        ``RAY_ADDRESS``, else one that is started here.
    marks : sequence of float
        Costs at which each run is noted: see `Runs.marks`.
    trace : int
        How many of the first rows (arm, fidelity, count) each run records in `Runs.trace`.
    progress : bool
        Show progress on stderr, if it is a terminal and the run is long.
    width : int
        How many workers there are: a study of this width, on a virtual clock. `Runs.time` says when each run would
        have had its answer. No more pulls of a fidelity are out than its `at_most`. A policy that does not plan
        while pulls are out is played round by round. Not for device "cuda".
    durations : Durations, float, mapping or sequence, optional
        How long a pull takes: a number, one for each fidelity by its name or in their order, or `Durations`, with
        which they can differ from pull to pull; 1 by default.

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
    >>> mf.simulate("loose-prior", "lucb-top", trials=1, max_pulls=80, width=8, device="python").time.tolist()
    [12.0]
    """
    if isinstance(instance, str):
        instance = load_instance(instance)
    if not isinstance(instance, Instance):
        raise InvalidInput(f"instance must be an Instance, a name or a file, got {instance!r}")
    for name, value, known in (("device", device, DEVICES), ("engine", engine, ENGINES)):
        if value not in known:
            raise InvalidInput(f"{name} must be one of {', '.join(known)}, got {value!r}")
    if device == "cuda" and instance.problem.blocks is not None:
        raise InvalidInput(
            "device='cuda' has no room for the rewards of all blocks: use device='cpu' for an instance with blocks"
        )
    if engine == "ray" and threads is not None:
        raise InvalidInput("threads are for engine='threads': with engine='ray' every core of the cluster is used")
    threads = os.cpu_count() or 1 if threads is None else whole("threads", threads, 1)
    trials = whole("trials", trials, 1)
    marked = sorted(float(mark) for mark in marks)
    for mark in marked:
        if not mark > 0:
            raise InvalidInput(f"marks must be costs > 0, got {mark:g}")
    asked = read_question(goal)
    simulation = Simulation(
        instance=instance,
        policy=read_policy(default_policy(instance.problem) if policy is None else policy),
        goal=Goal(
            delta=delta,
            epsilon=epsilon,
            budget=limit("budget", budget),
            question=asked and asked.for_problem(instance.problem, epsilon),
        ),
        seed=whole("seed", seed, 0),
        max_cost=max_cost,
        max_pulls=max_pulls,
        marks=tuple(marked),
        trace=whole("trace", trace, 0),
        width=whole("width", width, 1),
        durations=as_durations(durations),
    )
    if simulation.width > MOST_WORKERS:
        raise InvalidInput(f"width must be at most {MOST_WORKERS:,} in a simulation, got {width!r}")
    if device == "cuda" and simulation.on_clock:
        raise InvalidInput("device='cuda' has no virtual clock: use device='cpu' for a width or durations")
    simulator = simulator_of(simulation, device)
    results = simulator.results(trials)
    if engine == "threads":
        simulator.compile()
    started = time.perf_counter()
    title = f"{simulation.policy.name} on {instance.name or 'instance'}"
    with Progress(title, trials, quiet=not progress) as bar:
        if engine == "ray":
            run_on_ray(simulator, results, bar.advance)
        elif device == "cpu":
            _run_on_threads(simulator, results, threads, bar.advance)
        elif device == "cuda":
            simulator.play(0, results, bar.advance)
        else:
            for trial in range(trials):
                simulator.play(trial, results.part(trial, trial + 1), bar.advance)
    seconds = time.perf_counter() - started
    # One after the other, pulls that take 1 each keep the one worker busy all the time.
    one_by_one = results.pulls.sum(axis=(1, 2)).astype(np.float64)
    return Runs(
        instance=instance,
        policy=simulation.policy,
        goal=simulation.goal,
        seed=simulation.seed,
        device=device,
        cost=results.cost,
        best=results.best,
        stopped=results.stopped == 1,
        pulls=results.pulls,
        seconds=seconds,
        marks=simulator.prepared.setting.marks,
        mark_pulls=results.mark_pulls,
        mark_best=results.mark_best,
        trace=results.trace,
        sides=results.sides,
        out_of_room=results.stopped == OUT_OF_ROOM,
        time=results.time if simulation.on_clock else one_by_one,
        busy=results.busy if simulation.on_clock else one_by_one,
        width=simulation.width,
        durations=simulation.durations,
    )


def _run_on_threads(simulator: Simulator, results: Any, threads: int, advance: Advance) -> None:
    """Play all trials on a pool of threads; compiled code releases the interpreter lock."""

    def take(first: int, last: int, played: None) -> None:
        advance(last - first, int(results.pulls[first:last].sum()))

    with ThreadPoolExecutor(threads) as pool:
        try:
            run_all(
                lambda first, last: pool.submit(simulator.play, first, results.part(first, last)),
                pieces(len(results.cost), threads),
                lambda: 2 * threads,
                take,
            )
        except BaseException:
            # Ctrl-C: the runs under way end at their next round instead of at their end.
            simulator.halt()
            raise
