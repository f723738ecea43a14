"""Instances by name, from TOML files, or from folders of recorded data."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from mfbandit._checks import check_keys, closest
from mfbandit.errors import InstanceError, InvalidInput
from mfbandit.instances._instance import Instance
from mfbandit.instances._laws import BernoulliLaw, BetaLaw, GaussianLaw, RewardLaw, law_from_json
from mfbandit.instances.recorded._dataset import load_dataset
from mfbandit.model import Bernoulli, Bounded, Fidelity, Gaussian, Problem, RewardKind

__all__ = ["InstanceSummary", "builtin_instances", "describe_instances", "instance_file", "load_instance"]

_REQUIRED = ("reward", "costs", "biases", "means")
_OPTIONAL = ("name", "description", "arms", "fidelities", "strict", "blocks", "order", "pair_biases", "block_costs")
# What may be said of unlimited blocks, beside the keys of a reward law: how much of the noise they share.
_OF_BLOCKS = ("rho",)
# The keys each reward law asks for, and those it may have.
_LAW_KEYS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "bernoulli": ((), ("low", "high", "swing")),
    "gaussian": (("sigma",), ("caution", "resolution")),
    "beta": (("concentration",), ("low", "high", "swing")),
}


class InstanceSummary(NamedTuple):
    """One line about a built-in instance."""

    name: str
    description: str
    n_arms: int
    n_fidelities: int
    reward: str


def builtin_instances() -> list[str]:
    """Return the names of the built-in instances.

    Returns
    -------
    list of str

    Examples
    --------
    >>> "figure-1a" in builtin_instances()
    True
    """
    files = resources.files("mfbandit.instances").iterdir()
    return sorted(file.name[: -len(".toml")] for file in files if file.name.endswith(".toml"))


def describe_instances() -> list[InstanceSummary]:
    """Return one line about each built-in instance.

    Returns
    -------
    list of InstanceSummary
        Rows (name, description, n_arms, n_fidelities, reward).

    Examples
    --------
    >>> [row.n_arms for row in describe_instances() if row.name == "judges"]
    [5]
    """
    return [_summary(name) for name in builtin_instances()]


def load_instance(name_or_path: str | os.PathLike[str], *, strict: bool | None = None) -> Instance:
    """Load a built-in instance by its name, or one of your own from a TOML file or a data set.

    The page "What will it cost, and how long will it take?" says what such a file holds, in "An instance of your own";
    ``mfbandit instances NAME --toml`` prints one to begin with.

    Parameters
    ----------
    name_or_path
        One of :func:`builtin_instances`, the path of a TOML file, or a folder of recorded data: see
        `mfbandit.instances.recorded._dataset`.
    strict
        Whether a broken bias bound is an error rather than a warning; what the file says by
        default, and an error if it says nothing.

    Returns
    -------
    Instance

    Examples
    --------
    >>> load_instance("figure-1a")
    <Instance 'figure-1a': 5 arms, 3 fidelities, BernoulliLaw(), best arm 'a' with mean 0.9>
    >>> load_instance("figure-1")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    mfbandit.errors.InstanceError: there is no built-in instance 'figure-1' ...
    """
    if not isinstance(name_or_path, str | os.PathLike):
        raise InstanceError(f"an instance is loaded by its name or the path of a TOML file, got {name_or_path!r}")
    if isinstance(name_or_path, str) and name_or_path in builtin_instances():
        return _build(_parse(_builtin_text(name_or_path), name_or_path), name_or_path, strict)
    path = Path(name_or_path)
    if isinstance(name_or_path, str) and not _looks_like_path(name_or_path):
        raise InstanceError(_unknown_name(name_or_path))
    if path.is_dir():
        return load_dataset(path, strict=strict)
    return _build(_parse(_read(path), str(path)), str(path), strict)


def instance_file(name_or_path: str | os.PathLike[str]) -> str:
    """The text of the TOML file of an instance, to begin one of your own with.

    Examples
    --------
    >>> instance_file("loose-prior").splitlines()[0]
    'name = "loose-prior"'
    """
    load_instance(name_or_path)
    if str(name_or_path) in builtin_instances():
        return _builtin_text(str(name_or_path))
    if Path(name_or_path).is_dir():
        raise InstanceError(f"{str(name_or_path)!r} is a folder of recorded rewards, which no TOML file can hold")
    return _read(Path(name_or_path))


def _summary(name: str) -> InstanceSummary:
    data = _parse(_builtin_text(name), name)
    means = data["means"]
    return InstanceSummary(name, data["description"], len(means), len(means[0]), data["reward"])


def _builtin_text(name: str) -> str:
    return (resources.files("mfbandit.instances") / f"{name}.toml").read_text(encoding="utf-8")


def _looks_like_path(text: str) -> bool:
    return text.endswith(".toml") or os.path.dirname(text) != "" or os.path.exists(text)


def _unknown_name(name: str) -> str:
    known = builtin_instances()
    return (
        f"there is no built-in instance {name!r} (they are {', '.join(known)}) and no such file{closest(name, known)}"
    )


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InstanceError(f"there is no instance file {str(path)!r}") from None
    except OSError as error:
        reason = error.strerror or error
        raise InstanceError(f"the instance file {str(path)!r} cannot be read: {reason}") from None
    except ValueError:  # bytes that are no text, or a path that no file can have
        raise InstanceError(f"the instance file {str(path)!r} is not UTF-8 text") from None


def _parse(text: str, source: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        position = re.search(r"\s*\(at line (\d+), column (\d+)\)$", str(error))
        reason = re.sub(r"\s*\(at [^)]*\)$", "", str(error))
        line = int(position[1]) if position else text.count("\n") + 1
        raise InstanceError(f"{source}, line {line}: not valid TOML: {reason}") from None


def _build(data: dict[str, Any], source: str, strict: bool | None) -> Instance:
    """Build the instance a file describes; every error says which file it was."""
    try:
        law_keys = _law_keys(data)
        required, optional = (*_REQUIRED, *law_keys[0]), (*_OPTIONAL, *law_keys[1], *_OF_BLOCKS)
        keys = check_keys(data, required, optional, "an instance file", InstanceError)
        kind, law = _reward(keys)
        problem = _problem(keys, kind)
        said = _typed(keys, "strict", bool, True)
        _typed(keys, "description", str, "")
        name = _typed(keys, "name", str, Path(source).stem)
        return Instance(problem, keys["means"], law, name=name, strict=said if strict is None else strict)
    except InvalidInput as error:
        raise InstanceError(f"{source}: {error}") from None


def _law_keys(data: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the keys of the reward law, after refusing those of another one."""
    if "problem" in data:
        raise InstanceError("this is a study, not an instance; run it: mfbandit run FILE")
    if "reward" not in data:
        raise InstanceError("an instance file lacks the key 'reward'")
    reward = data["reward"]
    if not isinstance(reward, str) or reward not in _LAW_KEYS:
        raise InstanceError(f"reward is {reward!r}; it must be one of {', '.join(map(repr, _LAW_KEYS))}")
    own = {key for keys in _LAW_KEYS[reward] for key in keys}
    for other, groups in _LAW_KEYS.items():
        for key in (key for keys in groups for key in keys):
            if key in data and key not in own:
                raise InstanceError(f"the key {key!r} belongs to reward {other!r}, not to {reward!r}")
    return _LAW_KEYS[reward]


def _problem(keys: dict[str, Any], kind: RewardKind) -> Problem:
    """The problem, with what the file says of its blocks."""
    problem = Problem.from_arrays(
        keys["costs"],
        keys["biases"],
        arms=keys.get("arms", _row_count(keys["means"])),
        fidelities=keys.get("fidelities"),
        reward=kind,
        blocks=keys.get("blocks"),
        order=keys.get("order", "own"),
    )
    names = [one.name for one in problem.fidelities]
    pairs, opening = _by_fidelity(keys, "pair_biases", names), _by_fidelity(keys, "block_costs", names)
    if not pairs and not opening:
        return problem
    fidelities = [
        Fidelity(one.name, one.cost, one.bias, pair_bias=pairs.get(one.name), block_cost=opening.get(one.name, 0.0))
        for one in problem.fidelities
    ]
    return Problem(problem.arms, fidelities, kind, blocks=problem.blocks, order=problem.order)


def _by_fidelity(keys: dict[str, Any], key: str, names: list[str]) -> dict[str, Any]:
    """What a file says of some fidelities, by their names."""
    said = keys.get(key, {})
    if not isinstance(said, dict):
        raise InstanceError(f"{key} is {said!r}; it must be a table of numbers by the names of fidelities")
    for name in said:
        if name not in names:
            raise InstanceError(f"{key} names {name!r}, which is no fidelity{closest(name, names)}")
    return said


def _reward(keys: dict[str, Any]) -> tuple[RewardKind, RewardLaw]:
    """The kind of reward and its law; on blocks the law says how much of the noise all arms share."""
    blocks = "blocks" in keys
    if "rho" in keys and not blocks:
        raise InstanceError("rho is the share of the noise that is the block's, but there are no blocks: say blocks =")
    if keys["reward"] == "gaussian":
        said = {key: keys[key] for key in ("caution", "resolution") if key in keys}
        if blocks:
            return Gaussian(**said), _on_blocks(keys, keys["sigma"])
        return Gaussian(keys["sigma"], **said), GaussianLaw(keys["sigma"])
    bounded = Bounded(keys.get("low", 0.0), keys.get("high", 1.0), swing=keys.get("swing"))
    if keys["reward"] == "beta":
        if blocks:
            raise InstanceError("reward 'beta' is no law of rewards on blocks; it must be 'bernoulli' or 'gaussian'")
        return bounded, BetaLaw(keys["concentration"])
    unit = bounded == Bounded()
    return (Bernoulli() if unit else bounded), _on_blocks(keys, None) if blocks else BernoulliLaw()


def _on_blocks(keys: dict[str, Any], sigma: float | None) -> RewardLaw:
    return law_from_json({"law": "block_effect", "rho": keys.get("rho", 0.0), "sigma": sigma})


def _row_count(means: object) -> int:
    if not isinstance(means, list):
        raise InstanceError(f"means is {means!r}; it must be a list with one row per arm")
    return len(means)


def _typed(keys: dict[str, Any], key: str, expected: type, default: Any) -> Any:
    value = keys.get(key, default)
    if not isinstance(value, expected):
        wanted = "true or false" if expected is bool else "a text"
        raise InstanceError(f"{key} is {value!r}; it must be {wanted}")
    return value
