"""Study files: a problem, settings and an evaluator as TOML, for ``mfbandit run``.

All paths in a study file are relative to the folder it is in.
"""

from __future__ import annotations

import importlib
import os
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mfbandit._checks import check_keys, closest
from mfbandit.errors import InvalidInput
from mfbandit.instances import Instance, builtin_instances, load_instance
from mfbandit.instances.recorded import read_table
from mfbandit.model import Problem
from mfbandit.workers import Command

__all__ = ["StudyFile", "load_function", "read_study_file"]

#: Keys that are passed on to `create_study`, and what they must be.
_SETTINGS: dict[str, str] = {
    "name": "text",
    "policy": "text",
    "goal": "text",
    "m": "whole number",
    "control": "text",
    "delta": "number",
    "epsilon": "number",
    "max_cost": "number",
    "budget": "number",
    "seed": "whole number",
    "width": "whole number",
    "most_arms": "whole number",
    "retries": "whole number",
    "on_failure": "text",
    "on_violation": "text",
    "alarm_level": "number",
    "lease_seconds": "number",
    "durable": "true or false",
    "patience": "number",
}
_RUNNING: dict[str, str] = {
    "workers": "whole number",
    "engine": "text",
    "timeout": "number",
    "failure_patience": "number",
    "folders": "text",
}
_TYPES: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "number": (int, float),
    "whole number": (int,),
    "true or false": (bool,),
}
#: Ways to evaluate, and the keys that may go with each.
_EVALUATORS: dict[str, tuple[str, ...]] = {
    "python": (),
    "command": ("timeout",),
    "table": ("seed",),
    "instance": ("seed",),
}


@dataclass(frozen=True)
class StudyFile:
    """What a study file says."""

    problem: Problem
    settings: dict[str, Any]
    storage: str
    running: dict[str, Any]
    evaluate: Callable[[Any], Any] | None
    """None if the file has no evaluator: then pulls are handed out by ``mfbandit ask``."""


def read_study_file(path: str | os.PathLike[str]) -> StudyFile:
    """Read a study file; every error says which file it was."""
    file = Path(path)
    try:
        with open(file, "rb") as stream:
            data = tomllib.load(stream)
    except FileNotFoundError:
        raise InvalidInput(f"there is no study file {str(file)!r}") from None
    except OSError as error:
        raise InvalidInput(f"the study file {str(file)!r} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"the study file {str(file)!r} is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{file}: not valid TOML: {error}") from None
    try:
        return _build(data, file)
    except InvalidInput as error:
        raise InvalidInput(f"{file}: {error}") from None


def _build(data: dict[str, Any], file: Path) -> StudyFile:
    own = ("problem", "storage", "evaluator", "resources", "use_costs")
    if "means" in data and "problem" not in data:
        raise InvalidInput("this is an instance, not a study; simulate it: mfbandit simulate FILE")
    keys = check_keys(data, (), (*_SETTINGS, *_RUNNING, *own), "a study file", InvalidInput)
    for key, kind in (_SETTINGS | _RUNNING).items():
        _check_type(keys, key, kind)
    _check_type(keys, "storage", "text")
    folder = file.absolute().parent
    problem, evaluate = _problem_and_evaluator(keys, folder)
    running = {key: keys[key] for key in (*_RUNNING, "resources") if key in keys}
    if "folders" in running:
        running["folders"] = str(folder / running["folders"])
    settings = {key: keys[key] for key in _SETTINGS if key in keys}
    if "use_costs" in keys:
        settings["use_costs"] = keys["use_costs"]
    settings.setdefault("name", file.stem)
    return StudyFile(problem, settings, _storage(keys.get("storage"), file), running, evaluate)


def _check_type(keys: dict[str, Any], key: str, kind: str) -> None:
    value = keys.get(key)
    right = isinstance(value, _TYPES[kind]) and (kind == "true or false" or not isinstance(value, bool))
    if key in keys and not right:
        raise InvalidInput(f"{key} is {value!r}; it must be a {kind}".replace("a true", "true"))


def _storage(where: str | None, file: Path) -> str:
    """The URL of the storage: a SQLite file beside the study file by default."""
    folder = file.absolute().parent
    if where is None:
        return f"sqlite:///{folder / file.stem}.db"
    plain = where.removeprefix("sqlite:///")
    return where if "://" in plain else f"sqlite:///{folder / plain}"


def _problem_and_evaluator(keys: dict[str, Any], folder: Path) -> tuple[Problem, Callable[[Any], Any] | None]:
    said = keys.get("evaluator")
    if said is None:
        return _problem(keys.get("problem"), folder), None
    kinds = [kind for kind in _EVALUATORS if isinstance(said, dict) and kind in said]
    if len(kinds) != 1:
        raise InvalidInput(f"[evaluator] must have exactly one of the keys {', '.join(_EVALUATORS)}")
    kind = kinds[0]
    options = check_keys(said, (kind,), _EVALUATORS[kind], "[evaluator]", InvalidInput)
    if kind == "instance":
        instance = _instance(options["instance"], folder)
        problem = _problem(keys["problem"], folder) if "problem" in keys else instance.problem
        return problem, _replay(instance, problem, options)
    problem = _problem(keys.get("problem"), folder)
    if kind == "table":
        return problem, _replay(_table(options["table"], problem, folder), problem, options)
    if kind == "python":
        return problem, load_function(options["python"], folder)
    command = Command(options["command"], options.get("timeout"), folder)
    if command.asks_for_blocks and problem.blocks is None:
        raise InvalidInput("the command asks for the block of a pull, but [problem] has no blocks: say blocks =")
    return problem, command


def _problem(said: Any, folder: Path) -> Problem:
    """A problem: inline, or that of an instance."""
    if isinstance(said, str):
        return _instance(said, folder).problem
    if said is None:
        raise InvalidInput("a study file needs a problem: [problem] with arms and fidelities, or an instance")
    optional = ("reward", "truth", "blocks", "order")
    keys = check_keys(said, ("arms", "fidelities"), optional, "[problem]", InvalidInput)
    return Problem(**keys)


def _instance(name: Any, folder: Path) -> Instance:
    if not isinstance(name, str):
        raise InvalidInput(f"an instance is a name or a path, got {name!r}")
    known = name in builtin_instances() or not (name.endswith(".toml") or (folder / name).exists())
    return load_instance(name if known else str(folder / name))


def _table(path: Any, problem: Problem, folder: Path) -> Instance:
    if not isinstance(path, str):
        raise InvalidInput(f"table must be a path, got {path!r}")
    return read_table(
        str(folder / path),
        costs=problem.costs,
        biases=problem.biases,
        arms=problem.arms,
        fidelities=[fidelity.name for fidelity in problem.fidelities],
        reward=problem.reward,
    )


def _replay(instance: Instance, problem: Problem, options: dict[str, Any]) -> Callable[[Any], float]:
    """Rewards drawn from an instance, which must know all that the problem names."""
    names = [fidelity.name for fidelity in problem.fidelities]
    known = [fidelity.name for fidelity in instance.problem.fidelities]
    for what, wanted, there in (("arm", problem.arms, instance.problem.arms), ("fidelity", names, known)):
        for name in wanted:
            if name not in there:
                raise InvalidInput(f"the instance has no {what} {name!r}{closest(name, there)}")
    if instance.problem.blocks != problem.blocks:
        # Rewards that are not those of the pull's block would pass for it.
        raise InvalidInput(
            f"[evaluator] replays rewards with blocks = {instance.problem.blocks}, but [problem] has blocks = "
            f"{problem.blocks}: both must be the same"
        )
    return instance.evaluator(options.get("seed", 0))


def load_function(path: Any, folder: Path | None = None) -> Callable[[Any], Any]:
    """The function that ``module:function`` names; modules in `folder` are found too.

    Examples
    --------
    >>> load_function("math:sqrt")(4.0)
    2.0
    >>> load_function("math.sqrt")
    Traceback (most recent call last):
    mfbandit.errors.InvalidInput: python must be 'module:function', got 'math.sqrt'
    """
    module, colon, name = path.partition(":") if isinstance(path, str) else ("", "", "")
    if not (module and colon and name):
        raise InvalidInput(f"python must be 'module:function', got {path!r}")
    if folder is not None and str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        found: Any = importlib.import_module(module)
    except Exception as error:
        raise InvalidInput(f"module {module!r} cannot be imported: {type(error).__name__}: {error}") from error
    for part in name.split("."):
        if not hasattr(found, part):
            raise InvalidInput(f"module {module!r} has no {name!r}{closest(part, dir(found))}")
        found = getattr(found, part)
    if not callable(found):
        raise InvalidInput(f"{path!r} is not a function but {found!r}")
    return found  # type: ignore[no-any-return]
