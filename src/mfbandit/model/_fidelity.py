"""A fidelity: one way to measure the arms, with its cost and its bias bound."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from mfbandit._checks import Numbers, as_list, as_name, as_numbers, check_distinct, check_keys, is_whole
from mfbandit.errors import ProblemError

__all__ = ["Fidelity", "PerArm", "as_fidelities"]

PerArm: TypeAlias = float | tuple[float, ...]

#: What a fidelity may say beside its name, cost and bias: of blocks, of workers, and of how costs are known.
_MORE = ("pair_bias", "block_cost", "at_most", "measured", "continues", "by")

#: Words in place of a cost, and how it is then measured: what is told with each reward, or seconds.
_WORDS = {"measured": "told", "seconds": "seconds"}
#: What a pull is taken to cost where nobody has said it.
_UNSAID = 1.0

_RULES = {
    "cost": "a cost must be a positive finite number",
    "bias": "a bias must be a finite number of at least 0",
    "pair_bias": "a pair bias must be a finite number of at least 0",
    "block_cost": "the cost of opening a block must be a finite number of at least 0",
}


@dataclass(frozen=True, init=False, repr=False)
class Fidelity:
    """One way to measure every arm.

    Parameters
    ----------
    name
        What people call it.
    cost
        Price of one pull (the paper's lambda), above 0: one number, or one per arm. ``"measured"`` where it is known
        only afterwards and told with each reward, ``"seconds"`` where it is the time that an evaluation takes. Such a
        fidelity is taken to cost 1 until its first result.
    bias
        How far the mean of this fidelity may be from the truth (the paper's zeta), in reward
        units: one number, or one per arm. The default 0 says that it measures the truth.
    pair_bias
        For problems with blocks: how far the mean difference of two arms at this fidelity may be from that of
        the truth. What a judge adds to everybody cancels, so it may be less than the sum of two biases, which
        is the default.
    block_cost
        For problems with blocks: what it costs to open a block at this fidelity (a reference answer made once
        per question, say), paid by the pull that does it.
    at_most
        How many pulls of this fidelity may be out at once, where that is fewer than the workers: 4 for four people.
        It has no bearing on what is pulled, only on when.
    measured
        ``"told"`` or ``"seconds"``: what pulls cost is measured, and `cost` is a guess of it, in the same units.
    continues
        For problems with blocks in one order: whether it goes on from what cheaper fidelities left on the same block,
        as training for 9 epochs does after 3. It then costs what it costs beyond them.
    by
        ``"people"``: its pulls are handed to nobody but people, who grade them in the browser (``mfbandit serve``) or
        ask for them with ``people=True``. It has no bearing on what is pulled.

    Examples
    --------
    >>> Fidelity("small judge", cost=0.0002, bias=0.1)
    Fidelity('small judge', cost=0.0002, bias=0.1)
    >>> Fidelity("simulator", cost=[1, 2, 4]).cost
    (1.0, 2.0, 4.0)
    >>> Fidelity("training", cost="seconds"), Fidelity("training", cost=600, measured="seconds").cost
    (Fidelity('training', cost='seconds', bias=0.0), 600.0)
    """

    name: str
    cost: PerArm
    bias: PerArm
    pair_bias: float | None
    block_cost: float
    at_most: int | None = field(compare=False)
    by: str | None = field(compare=False)
    measured: str | None
    continues: bool
    guessed: bool
    """Whether `cost` was said; if not, it is 1 and means nothing."""

    def __init__(
        self,
        name: str | float,
        cost: Numbers | str,
        bias: Numbers = 0.0,
        *,
        pair_bias: float | None = None,
        block_cost: float = 0.0,
        at_most: int | None = None,
        measured: str | None = None,
        continues: bool = False,
        by: str | None = None,
    ) -> None:
        text = as_name(name, "the name of a fidelity", ProblemError)
        object.__setattr__(self, "name", text)
        cost, measured, guessed = _as_measured(cost, measured, text)
        object.__setattr__(self, "measured", measured)
        object.__setattr__(self, "guessed", guessed)
        object.__setattr__(self, "cost", _per_arm(cost, "cost", text))
        object.__setattr__(self, "bias", _per_arm(bias, "bias", text))
        object.__setattr__(self, "pair_bias", None if pair_bias is None else _one(pair_bias, "pair_bias", text))
        object.__setattr__(self, "block_cost", _one(block_cost, "block_cost", text))
        if not isinstance(continues, bool):
            raise ProblemError(f"continues of fidelity {text!r} must be True or False, got {continues!r}")
        object.__setattr__(self, "continues", continues)
        if at_most is not None and (not is_whole(at_most) or at_most < 1):
            raise ProblemError(f"at_most of fidelity {text!r} must be a whole number >= 1, got {at_most!r}")
        object.__setattr__(self, "at_most", None if at_most is None else int(at_most))
        if by not in (None, "people"):
            raise ProblemError(f"by of fidelity {text!r} must be 'people', or be left out, got {by!r}")
        object.__setattr__(self, "by", by)

    def __repr__(self) -> str:
        """Show it as one line."""
        more = "".join(f", {name}={value!r}" for name, value in self._said().items())
        return f"Fidelity({self.name!r}, cost={self._said_cost()!r}, bias={self.bias!r}{more})"

    def to_json(self) -> dict[str, Any]:
        """Return name, cost and bias, and what is said of blocks and workers; a value per arm becomes a list."""
        return {"name": self.name, "cost": _plain(self._said_cost()), "bias": _plain(self.bias), **self._said()}

    def with_bias(self, bias: Numbers, pair_bias: float | None) -> Fidelity:
        """Return the fidelity with other bias bounds."""
        return Fidelity(self.name, self._said_cost(), bias, **{**self._said(), "pair_bias": pair_bias})

    @property
    def terms(self) -> tuple[object, ...]:
        """What makes it another fidelity, beside its name, cost and bias."""
        return self.pair_bias, self.block_cost, self.measured, self.guessed, self.continues

    def _said_cost(self) -> Any:
        """The cost as it was declared."""
        words = {how: word for word, how in _WORDS.items()}
        return self.cost if self.guessed else words[self.measured or "told"]

    def _said(self) -> dict[str, Any]:
        """What is said of blocks, of workers and of costs, where it is not the default."""
        said = {
            "pair_bias": self.pair_bias,
            "block_cost": self.block_cost or None,
            "at_most": self.at_most,
            "measured": self.measured if self.guessed else None,
            "continues": self.continues or None,
            "by": self.by,
        }
        return {key: value for key, value in said.items() if value is not None}


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
    more: dict[str, Any] = {}
    if isinstance(entry, Fidelity):
        name, cost, bias = entry.name, entry._said_cost(), entry.bias
        more = entry._said()
    elif isinstance(entry, Mapping):
        what = f"the fidelity at position {position}"
        keys = check_keys(entry, ("name", "cost"), ("bias", *_MORE), what, ProblemError)
        name, cost, bias = keys["name"], keys["cost"], keys.get("bias", 0.0)
        more = {key: keys[key] for key in _MORE if key in keys}
    elif isinstance(entry, tuple | list) and len(entry) in (2, 3):
        name, cost, bias = (*entry, 0.0)[:3]
    else:
        raise ProblemError(
            f"the fidelity at position {position} must be a Fidelity, a (name, cost, bias) tuple "
            f"or a dict with these keys, got {reprlib.repr(entry)}"
        )
    name = as_name(name, f"the name of the fidelity at position {position}", ProblemError)
    cost = cost if isinstance(cost, str) else _per_arm(cost, "cost", name, arms)
    return Fidelity(name, cost, _per_arm(bias, "bias", name, arms), **more)


def _as_measured(cost: Any, measured: object, fidelity: str) -> tuple[Any, str | None, bool]:
    """What a pull costs as far as was said, how it is measured, and whether it was said at all."""
    if measured is not None and (not isinstance(measured, str) or measured not in _WORDS.values()):
        raise ProblemError(f"measured of fidelity {fidelity!r} must be 'told' or 'seconds', got {measured!r}")
    if not isinstance(cost, str):
        return cost, measured, True
    if cost not in _WORDS:
        raise ProblemError(
            f"the cost of fidelity {fidelity!r} must hold numbers only, got {cost!r}; 'measured' and 'seconds' say "
            "that it is known afterwards"
        )
    if measured not in (None, _WORDS[cost]):
        raise ProblemError(f"fidelity {fidelity!r} has cost={cost!r} and measured={measured!r}: say one of them")
    return _UNSAID, _WORDS[cost], False


def _plain(value: PerArm | str) -> float | str | list[float]:
    return list(value) if isinstance(value, tuple) else value


def _per_arm(value: object, quantity: str, fidelity: str, arms: tuple[str, ...] | None = None) -> PerArm:
    """Return a valid cost or bias of one fidelity, for all arms or per arm."""
    # Most are plain numbers that are what they should be: that takes no array to see.
    if type(value) is float and 0.0 <= value < math.inf and (value > 0.0 or quantity != "cost"):
        return value + 0.0  # turns -0.0 into 0.0
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


def _one(value: object, quantity: str, fidelity: str) -> float:
    """Return a valid number of one fidelity, the same for all arms."""
    number = _per_arm(value, quantity, fidelity)
    if isinstance(number, tuple):
        raise ProblemError(f"the {quantity} of fidelity {fidelity!r} must be one number, got {len(number)} of them")
    return number


def _check_length(length: int, quantity: str, fidelity: str, arms: tuple[str, ...] | None) -> None:
    if length == 0:
        raise ProblemError(f"the {quantity} of fidelity {fidelity!r} is empty; give a number")
    if arms is not None and length != len(arms):
        raise ProblemError(
            f"the {quantity} of fidelity {fidelity!r} has length {length} for {len(arms)} arms; "
            "it must be one number, or one number per arm"
        )
