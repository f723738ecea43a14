"""Which engine a name or an executor stands for."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from typing import Any

from mfbandit._checks import closest
from mfbandit.errors import InvalidInput
from mfbandit.model import Problem
from mfbandit.workers._engine import ENGINES, Engine, Evaluate, Ray, Resources, is_async
from mfbandit.workers._executor import UserExecutor
from mfbandit.workers._ray_tasks import RayTasks
from mfbandit.workers._threads import AsyncioLoop, Threads
from mfbandit.workers._worker_processes import Processes

__all__ = ["make_engine"]


def make_engine(
    engine: str | Executor | Ray,
    evaluate: Evaluate,
    problem: Problem,
    resources: Resources | None,
    timeout: float | None = None,
) -> Engine:
    """Make the engine that a name or an executor stands for."""
    if not callable(evaluate):
        raise InvalidInput(f"evaluate must be a function of a pull, got {evaluate!r}")
    if isinstance(engine, Ray):
        if resources is not None:
            raise InvalidInput("engine and resources say the same: pass engine=Ray(resources=...) alone")
        resources = engine.resources
        engine = "ray"
    if resources is not None and engine != "ray":
        raise InvalidInput("resources are for engine='ray': other engines cannot reserve them")
    if isinstance(engine, Executor):
        return UserExecutor(engine, evaluate, timeout)
    if engine == "threads":
        return AsyncioLoop(evaluate) if is_async(evaluate) else Threads(evaluate)
    if engine == "processes":
        return Processes(evaluate)
    if engine == "ray":
        return RayTasks(evaluate, _by_fidelity(resources or {}, problem), timeout)
    hint = closest(engine, ENGINES) if isinstance(engine, str) else ""
    raise InvalidInput(
        f"engine must be one of {', '.join(map(repr, ENGINES))} or a concurrent.futures.Executor, got {engine!r}{hint}"
    )


def _by_fidelity(resources: Resources, problem: Problem) -> dict[str, dict[str, Any]]:
    """Check that resources are given for fidelities of the problem."""
    if not isinstance(resources, Mapping):
        raise InvalidInput(f"resources must map fidelities to options such as num_cpus, got {resources!r}")
    names = [fidelity.name for fidelity in problem.fidelities]
    for name, options in resources.items():
        if name not in names:
            raise InvalidInput(f"resources name the unknown fidelity {name!r}{closest(str(name), names)}")
        if not isinstance(options, Mapping):
            raise InvalidInput(f"the resources of fidelity {name!r} must be options such as num_cpus, got {options!r}")
    return {str(name): dict(options) for name, options in resources.items()}
