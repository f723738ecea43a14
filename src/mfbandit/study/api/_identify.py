"""The whole of it in one call: `identify` the best arm, or `allocate` a budget."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from mfbandit._checks import given_once, whole_number
from mfbandit.algorithms import Policy, read_policy
from mfbandit.errors import InvalidInput
from mfbandit.model import Problem, Question
from mfbandit.storage import PATIENCE_SECONDS, Storage
from mfbandit.study._study_options import BiasAlarm, Failures
from mfbandit.study.api._open_study import NameTaken, create_study
from mfbandit.study.run import Folders, refuse_to_block
from mfbandit.workers import Batches, Evaluate, Ray, Resources

if TYPE_CHECKING:
    from mfbandit.study._result import Result
    from mfbandit.study._study import Study
    from mfbandit.study._view import View

__all__ = ["allocate", "identify", "identify_async", "study_for"]


def identify(
    problem: Problem,
    evaluate: Evaluate,
    *,
    delta: float | None = None,
    policy: Policy | str | None = None,
    epsilon: float | None = None,
    max_cost: float | None = None,
    storage: str | Storage | None = None,
    name: str | None = None,
    seed: int = 0,
    workers: int = 1,
    engine: str | Executor | Ray = "threads",
    progress: bool = True,
    callback: Callable[[View], Any] | None = None,
    failures: Failures | None = None,
    bias_alarm: BiasAlarm | None = None,
    resources: Resources | None = None,
    timeout: float | None = None,
    failure_patience: float = 60.0,
    retries: int = 2,
    on_failure: str = "stop",
    on_violation: str = "ignore",
    alarm_level: float = 0.05,
    patience: float = PATIENCE_SECONDS,
    allow_changed_policy: bool = False,
    width: int | None = None,
    folders: str | os.PathLike[str] | Folders | None = None,
    most_arms: int | None = None,
    goal: Question | str | None = None,
    m: int | None = None,
    control: str | None = None,
    use_costs: Any = None,
) -> Result:
    """Find the best arm by real evaluations.

    With a storage, a run that was ended goes on where it stopped when it is called again with the same
    problem and settings; with others it is refused. Only `max_cost` may be another, and `delta` and `epsilon` may be
    smaller: they hold from then on (see `Study.extend`).

    Parameters
    ----------
    problem : Problem
        What to choose from, and how it can be measured.
    evaluate : callable
        Gets a `Pull` (``pull.arm`` and ``pull.fidelity`` are names, ``pull.seed`` is a whole number) and
        returns a reward. May be a coroutine function.
    delta : float
        Probability of a wrong answer that is allowed, 0.05 by default.
    policy : Policy or str, optional
        The policy, as an object or as ``name:key=value,...``; by default "mf-race" for a problem with blocks, else
        "mf-toptwo".
    epsilon : float
        An answer within this of the best is good enough; by default 0: the best.
    max_cost : float, optional
        Never spend more than this, whatever the number of workers.
    storage : str or Storage, optional
        ``sqlite:///file.db``, a path of a SQLite file, ``postgresql://...``, or a storage object; by
        default the study lives in memory.
    name : str, optional
        Its name in the storage, "study" by default.
    seed : int
        Seeds of pulls are derived from it.
    workers : int
        How many evaluations run at once.
    engine, progress, callback, resources, timeout, failure_patience, folders
        As for `Study.optimize`.
    width : int, optional
        How many pulls may be out at once: as many as `workers` when the study is made. See `create_study`.
    failures : Failures, optional
        `retries`, `on_failure`, `failure_patience` and `timeout` as one object.
    bias_alarm, retries, on_failure, on_violation, alarm_level, patience, allow_changed_policy, most_arms
        As for `create_study`.
    goal : {"best", "top-m", "better-than", "cheapest-within"} or an object, optional
        What is asked of a problem with blocks, the best arm by default: see docs/goals.md. As a name, as
        ``name:key=value``, or as `TopM`, `BetterThan` or `CheapestWithin`.
    m : int, optional
        How many arms, for ``goal="top-m"``.
    control : str, optional
        The arm that others are compared with, for ``goal="better-than"``.
    use_costs : mapping or sequence, optional
        What it costs to use each arm, for ``goal="cheapest-within"``; it is not what it costs to measure it.

    Returns
    -------
    Result

    Examples
    --------
    >>> import mfbandit as mf
    >>> problem = mf.Problem(["a", "b"], [("quick", 1.0, 0.1), ("exact", 9.0, 0.0)])
    >>> rewards = {"a": 0.2, "b": 0.9}
    >>> result = identify(problem, lambda pull: rewards[pull.arm], progress=False)
    >>> result.best, result.status, result.confidence >= 0.95
    ('b', 'certified', True)
    """
    return _run(
        problem,
        evaluate,
        delta=delta,
        policy=_to_identify(policy),
        epsilon=epsilon,
        max_cost=max_cost,
        storage=storage,
        name=name,
        seed=seed,
        workers=workers,
        engine=engine,
        progress=progress,
        callback=callback,
        failures=failures,
        bias_alarm=bias_alarm,
        resources=resources,
        timeout=timeout,
        failure_patience=failure_patience,
        retries=retries,
        on_failure=on_failure,
        on_violation=on_violation,
        alarm_level=alarm_level,
        patience=patience,
        allow_changed_policy=allow_changed_policy,
        width=width,
        folders=folders,
        most_arms=most_arms,
        goal=goal,
        m=m,
        control=control,
        use_costs=use_costs,
    )


async def identify_async(problem: Problem, evaluate: Evaluate, **settings: Any) -> Result:
    """Find the best arm by real evaluations inside an event loop, which goes on meanwhile.

    Parameters
    ----------
    problem, evaluate
        As for `identify`. A coroutine function runs in this loop.
    **settings
        What `identify` takes.

    Returns
    -------
    Result

    Examples
    --------
    >>> import asyncio, mfbandit as mf
    >>> async def evaluate(pull):
    ...     await asyncio.sleep(0.0)
    ...     return {"a": 0.2, "b": 0.9}[pull.arm]
    >>> problem = mf.Problem(["a", "b"], [("quick", 1.0, 0.1), ("exact", 9.0, 0.0)])
    >>> asyncio.run(identify_async(problem, evaluate, workers=4, progress=False)).best
    'b'
    """
    given = inspect.signature(identify).bind(problem, evaluate, **settings)
    given.apply_defaults()
    options = dict(given.arguments, policy=_to_identify(given.arguments["policy"]))
    del options["problem"], options["evaluate"]
    study, running = await asyncio.to_thread(_prepared, problem, evaluate, **options)
    with study:
        return await study.optimize_async(evaluate, **running)


def allocate(
    problem: Problem,
    evaluate: Evaluate,
    budget: float,
    *,
    policy: Policy | str = "elimination",
    storage: str | Storage | None = None,
    name: str | None = None,
    seed: int = 0,
    workers: int = 1,
    engine: str | Executor | Ray = "threads",
    progress: bool = True,
    callback: Callable[[View], Any] | None = None,
    failures: Failures | None = None,
    bias_alarm: BiasAlarm | None = None,
    resources: Resources | None = None,
    timeout: float | None = None,
    failure_patience: float = 60.0,
    retries: int = 2,
    on_failure: str = "stop",
    on_violation: str = "ignore",
    alarm_level: float = 0.05,
    patience: float = PATIENCE_SECONDS,
    allow_changed_policy: bool = False,
    width: int | None = None,
) -> Result:
    """Spend a fixed budget so that the rewards add up to as much as possible (regret minimisation).

    Parameters
    ----------
    problem, evaluate, storage, name, seed, failures
        As for `identify`.
    budget : float
        What to spend; never more.
    policy : Policy or str
        A policy for regret, as an object or as ``name:key=value,...``.
    workers, width
        As for `identify`.
    engine, progress, callback, resources, timeout, failure_patience
        As for `Study.optimize`.
    bias_alarm, retries, on_failure, on_violation, alarm_level, patience, allow_changed_policy
        As for `create_study`.

    Returns
    -------
    Result
        Its status is "budget" when the budget is spent.

    Examples
    --------
    >>> import mfbandit as mf
    >>> problem = mf.Problem(["a", "b"], [("quick", 1.0, 0.1), ("exact", 2.0, 0.0)])
    >>> rewards = {"a": 0.2, "b": 0.9}
    >>> result = allocate(problem, lambda pull: rewards[pull.arm], 500.0, progress=False)
    >>> result.status, result.cost, result.best
    ('budget', 500.0, 'b')
    """
    chosen = read_policy(policy)
    if not chosen.spends:
        raise InvalidInput(f"policy {chosen.label!r} identifies the best arm: use identify, not allocate")
    return _run(
        problem,
        evaluate,
        policy=chosen,
        budget=budget,
        storage=storage,
        name=name,
        seed=seed,
        workers=workers,
        engine=engine,
        progress=progress,
        callback=callback,
        failures=failures,
        bias_alarm=bias_alarm,
        resources=resources,
        timeout=timeout,
        failure_patience=failure_patience,
        retries=retries,
        on_failure=on_failure,
        on_violation=on_violation,
        alarm_level=alarm_level,
        patience=patience,
        allow_changed_policy=allow_changed_policy,
        width=width,
    )


#: Keywords of `Study.optimize`, and those that `Failures` says for it; all others are of `create_study`.
_OF_RUNS = ("workers", "engine", "progress", "callback", "resources", "folders")
_FAILURES = {"retries": "retries", "then": "on_failure", "patience": "failure_patience", "timeout": "timeout"}


def _to_identify(policy: Policy | str | None) -> Policy | None:
    """A policy that is to identify the best arm; None is the default one."""
    chosen = None if policy is None else read_policy(policy)
    if chosen is not None and chosen.spends:
        raise InvalidInput(f"policy {chosen.label!r} spends a budget: use allocate, not identify")
    return chosen


def _run(problem: Problem, evaluate: Evaluate, **given: Any) -> Result:
    """Make a study, or go on with it, and evaluate its pulls until it is done."""
    refuse_to_block()
    study, running = _prepared(problem, evaluate, **given)
    with study:
        return study.optimize(evaluate, **running)


def _prepared(
    problem: Problem, evaluate: Evaluate, *, failures: Failures | None, **given: Any
) -> tuple[Study, dict[str, Any]]:
    """Make a study, or go on with it; with it what is for the run alone."""
    keywords = {field: (keyword, given.pop(keyword)) for field, keyword in _FAILURES.items()}
    failing = given_once("failures", failures, Failures, keywords)
    running = {key: given.pop(key) for key in _OF_RUNS if key in given}
    running |= {"timeout": failing["timeout"], "failure_patience": failing["patience"]}
    settings = given | {"retries": failing["retries"], "on_failure": failing["then"]}
    # A round has pulls for many batches: nothing is planned while others are out.
    wide = 1 if isinstance(evaluate, Batches) else running["workers"]
    return study_for(problem, settings, wide), running


def study_for(problem: Problem, settings: dict[str, Any], workers: int) -> Study:
    """Make a study as wide as there are workers, or go on with one that exists and keeps its width."""
    if settings.get("width") is None:
        whole_number("workers", workers, 1)
        with suppress(NameTaken):
            return create_study(problem, **{**settings, "width": workers})
    return create_study(problem, load_if_exists=True, **settings)
