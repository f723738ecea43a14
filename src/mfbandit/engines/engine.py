"""What an engine is: something that takes a pull and promises its reward."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from typing import Any, Protocol, TypeAlias

from mfbandit.errors import InvalidInput, StudyError
from mfbandit.problem import Problem
from mfbandit.study.pull import Pull
from mfbandit.validation import closest

__all__ = [
    "ENGINES",
    "Engine",
    "Evaluate",
    "Resources",
    "WorkerDied",
    "call",
    "is_async",
    "make_engine",
    "reason",
]

#: A function of a pull that returns its reward, or a coroutine of it.
Evaluate: TypeAlias = Callable[[Pull], Any]
#: What a pull needs, by the name of its fidelity.
Resources: TypeAlias = Mapping[str, Mapping[str, Any]]

#: Engines by name.
ENGINES = ("threads", "processes", "ray")


class WorkerDied(StudyError):
    """The process that evaluated a pull ended before the evaluation did."""


class Engine(Protocol):
    """Evaluates pulls, each of them elsewhere."""

    def submit(self, pull: Pull) -> Future[Any]:
        """Start an evaluation; its future brings the reward, or what went wrong."""

    def close(self) -> None:
        """Let go of everything; evaluations that still run are given up."""


def call(evaluate: Evaluate, pull: Pull) -> Any:
    """Evaluate a pull to the end, in this thread."""
    reward = evaluate(pull)
    return asyncio.run(_awaited(reward)) if inspect.isawaitable(reward) else reward


async def _awaited(reward: Any) -> Any:
    return await reward


def is_async(evaluate: Evaluate) -> bool:
    """Whether a call of it only makes a coroutine."""
    return inspect.iscoroutinefunction(evaluate) or inspect.iscoroutinefunction(type(evaluate).__call__)


def reason(error: BaseException) -> str:
    """Say in words what an exception is.

    Examples
    --------
    >>> reason(ValueError("no answer")), reason(KeyError()), reason(StudyError("it took too long"))
    ('ValueError: no answer', 'KeyError', 'it took too long')
    """
    cause = getattr(error, "cause", None)
    if isinstance(cause, BaseException):  # Ray wraps what was raised on another machine.
        error = cause
    if isinstance(error, StudyError):
        return str(error)
    text = str(error).strip()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def make_engine(engine: str | Executor, evaluate: Evaluate, problem: Problem, resources: Resources | None) -> Engine:
    """Make the engine that a name or an executor stands for."""
    if not callable(evaluate):
        raise InvalidInput(f"evaluate must be a function of a pull, got {evaluate!r}")
    if resources is not None and engine != "ray":
        raise InvalidInput("resources are for engine='ray': other engines cannot reserve them")
    if isinstance(engine, Executor):
        from mfbandit.engines.executor import Borrowed

        return Borrowed(engine, evaluate)
    if engine == "threads":
        from mfbandit.engines.threads import Loop, Threads

        return Loop(evaluate) if is_async(evaluate) else Threads(evaluate)
    if engine == "processes":
        from mfbandit.engines.processes import Processes

        return Processes(evaluate)
    if engine == "ray":
        from mfbandit.engines.ray_tasks import RayTasks

        return RayTasks(evaluate, _by_fidelity(resources or {}, problem))
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
