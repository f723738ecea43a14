"""A fidelity: one way to measure the arms, with its cost and its bias bound."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from mfbandit.errors import ProblemError
from mfbandit.validation import Numbers, as_list, as_name, as_numbers, check_distinct, check_keys

__all__ = ["Fidelity", "PerArm", "as_fidelities"]

PerArm: TypeAlias = float | tuple[float, ...]

_RULES = {
    "cost": "a cost must be a positive finite number",
    "bias": "a bias must be a finite number of at least 0",
}


@dataclass(frozen=True, init=False, repr=False)
class Fidelity:
    """One way to measure every arm.

    Parameters
    ----------
    name
        What people call it.
    cost
        Price of one pull (the paper's lambda), above 0: one number, or one per arm.
    bias
        How far the mean of this fidelity may be from the truth (the paper's zeta), in reward
        units: one number, or one per arm. The default 0 says that it measures the truth.

    Examples
    --------
    >>> Fidelity("small judge", cost=0.0002, bias=0.1)
    Fidelity('small judge', cost=0.0002, bias=0.1)
    >>> Fidelity("simulator", cost=[1, 2, 4]).cost
    (1.0, 2.0, 4.0)
    """

    name: str
    cost: PerArm
    bias: PerArm

    def __init__(self, name: str | float, cost: Numbers, bias: Numbers = 0.0) -> None:
        text = as_name(name, "the name of a fidelity", ProblemError)
        object.__setattr__(self, "name", text)
        object.__setattr__(self, "cost", _per_arm(cost, "cost", text))
        object.__setattr__(self, "bias", _per_arm(bias, "bias", text))

    def __repr__(self) -> str:
        """Show it as one line."""
        return f"Fidelity({self.name!r}, cost={self.cost!r}, bias={self.bias!r})"

    def to_json(self) -> dict[str, Any]:
        """Return name, cost and bias; a value per arm becomes a list."""
        return {"name": self.name, "cost": _plain(self.cost), "bias": _plain(self.bias)}


def as_fidelities(entries: object, arms: tuple[str, ...]) -> tuple[Fidelity, ...]:
    """Return Fidelity objects, tuples or dicts as fidelities of these arms."""
    listed = as_list(entries, "fidelities must be a list of Fidelity objects", ProblemError)
    fidelities = tuple(_as_fidelity(entry, m, arms) for m, entry in enumerate(listed))
    if not fidelities:
        raise ProblemError("a problem needs at least one fidelity, got none")
    check_distinct([fidelity.name for fidelity in fidelities], "fidelities", ProblemError)
    return fidelities


def _as_fidelity(entry: object, position: int, arms: tuple[str, ...]) -> Fidelity:
    """Return one entry as a Fidelity; messages can name the arms here."""
    if isinstance(entry, Fidelity):
        name, cost, bias = entry.name, entry.cost, entry.bias
    elif isinstance(entry, Mapping):
        what = f"the fidelity at position {position}"
        keys = check_keys(entry, ("name", "cost"), ("bias",), what, ProblemError)
        name, cost, bias = keys["name"], keys["cost"], keys.get("bias", 0.0)
    elif isinstance(entry, tuple | list) and len(entry) in (2, 3):
        name, cost, bias = (*entry, 0.0)[:3]
    else:
        raise ProblemError(
            f"the fidelity at position {position} must be a Fidelity, a (name, cost, bias) tuple "
            f"or a dict with these keys, got {reprlib.repr(entry)}"
        )
    name = as_name(name, f"the name of the fidelity at position {position}", ProblemError)
    return Fidelity(name, _per_arm(cost, "cost", name, arms), _per_arm(bias, "bias", name, arms))


def _plain(value: PerArm) -> float | list[float]:
    return list(value) if isinstance(value, tuple) else value


def _per_arm(value: object, quantity: str, fidelity: str, arms: tuple[str, ...] | None = None) -> PerArm:
    """Return a valid cost or bias of one fidelity, for all arms or per arm."""
    array = as_numbers(value, f"the {quantity} of fidelity {fidelity!r}", ProblemError)
    if array.ndim > 1:
        raise ProblemError(
            f"the {quantity} of fidelity {fidelity!r} has shape {array.shape}; it must be one "
            "number, or one number per arm"
        )
    if array.ndim:
        _check_length(len(array), quantity, fidelity, arms)
    valid = np.isfinite(array) & (array > 0 if quantity == "cost" else array >= 0)
    for (k,) in np.argwhere(np.atleast_1d(~valid)):
        name = k if arms is None else repr(arms[k])
        where = f"arm {name}, fidelity {fidelity!r}" if array.ndim else f"fidelity {fidelity!r}"
        number = float(np.atleast_1d(array)[k])
        raise ProblemError(f"the {quantity} of {where} is {number}; {_RULES[quantity]}")
    return tuple(array.tolist()) if array.ndim else float(array)


def _check_length(length: int, quantity: str, fidelity: str, arms: tuple[str, ...] | None) -> None:
    if length == 0:
        raise ProblemError(f"the {quantity} of fidelity {fidelity!r} is empty; give a number")
    if arms is not None and length != len(arms):
        raise ProblemError(
            f"the {quantity} of fidelity {fidelity!r} has length {length} for {len(arms)} arms; "
            "it must be one number, or one number per arm"
        )
