"""What is known of a reward before any is seen: its range, or how much it spreads.

Inside the algorithms rewards are in unit scale: [0, 1] for kinds with a range, unchanged for
Gaussian rewards. A kind converts to that scale and back.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias, TypeVar

from mfbandit.errors import ProblemError
from mfbandit.validation import FloatArray, as_numbers, as_positive, check_keys, closest

__all__ = ["Bernoulli", "Bounded", "Gaussian", "RewardKind", "as_reward_kind"]

FloatOrArray = TypeVar("FloatOrArray", float, FloatArray)


@dataclass(frozen=True)
class Bernoulli:
    """Rewards that are 0 or 1, or any value between.

    Examples
    --------
    >>> Bernoulli().span
    1.0
    """

    low: ClassVar[float] = 0.0
    high: ClassVar[float] = 1.0
    span: ClassVar[float] = 1.0

    def to_unit(self, reward: FloatOrArray) -> FloatOrArray:
        """Return the reward in unit scale: itself."""
        return reward

    def from_unit(self, unit: FloatOrArray) -> FloatOrArray:
        """Return a value of the unit scale in reward units: itself."""
        return unit

    def to_json(self) -> dict[str, Any]:
        """Return what :func:`as_reward_kind` reads back."""
        return {"kind": "bernoulli"}


@dataclass(frozen=True, init=False)
class Bounded:
    """Rewards between two known numbers.

    Parameters
    ----------
    low, high
        The range, ``low < high``.

    Examples
    --------
    >>> scores = Bounded(low=1, high=5)
    >>> scores.to_unit(4.0), scores.from_unit(0.5), scores.span
    (0.75, 3.0, 4.0)
    """

    low: float
    high: float

    def __init__(self, low: float = 0.0, high: float = 1.0) -> None:
        object.__setattr__(self, "low", _as_end(low, "low"))
        object.__setattr__(self, "high", _as_end(high, "high"))
        if not self.low < self.high:
            raise ProblemError(f"the reward range is from {self.low} to {self.high}; low must be below high")
        if not math.isfinite(self.span):
            raise ProblemError(f"the reward range from {self.low} to {self.high} is too wide for a float")

    @property
    def span(self) -> float:
        """Width of the range: a bias divided by it is in unit scale."""
        return self.high - self.low

    def to_unit(self, reward: FloatOrArray) -> FloatOrArray:
        """Return the reward as a share of the range."""
        return (reward - self.low) / self.span

    def from_unit(self, unit: FloatOrArray) -> FloatOrArray:
        """Return a share of the range in reward units, exact at both ends."""
        return self.low * (1.0 - unit) + self.high * unit

    def to_json(self) -> dict[str, Any]:
        """Return what :func:`as_reward_kind` reads back."""
        return {"kind": "bounded", "low": self.low, "high": self.high}


@dataclass(frozen=True, init=False)
class Gaussian:
    """Rewards with normal noise, or noise no heavier, of a known standard deviation.

    Parameters
    ----------
    sigma
        The standard deviation, above 0.

    Examples
    --------
    >>> Gaussian(sigma=0.1)
    Gaussian(sigma=0.1)
    """

    sigma: float
    low: ClassVar[None] = None
    high: ClassVar[None] = None
    span: ClassVar[float] = 1.0

    def __init__(self, sigma: float) -> None:
        object.__setattr__(self, "sigma", as_positive(sigma, "sigma of a Gaussian reward", ProblemError))

    def to_unit(self, reward: FloatOrArray) -> FloatOrArray:
        """Return the reward unchanged: there is no range to scale by."""
        return reward

    def from_unit(self, unit: FloatOrArray) -> FloatOrArray:
        """Return the value unchanged."""
        return unit

    def to_json(self) -> dict[str, Any]:
        """Return what :func:`as_reward_kind` reads back."""
        return {"kind": "gaussian", "sigma": self.sigma}


RewardKind: TypeAlias = Bernoulli | Bounded | Gaussian

_KEYS: dict[str, tuple[str, ...]] = {
    "bernoulli": (),
    "bounded": ("low", "high"),
    "gaussian": ("sigma",),
}


def as_reward_kind(value: object) -> RewardKind:
    """Return the reward kind that an object, a word or the JSON form stands for.

    Parameters
    ----------
    value
        A kind, ``"bernoulli"``, ``"bounded"`` (the range [0, 1]), or what ``to_json`` wrote.

    Returns
    -------
    Bernoulli or Bounded or Gaussian

    Examples
    --------
    >>> as_reward_kind("bounded")
    Bounded(low=0.0, high=1.0)
    >>> as_reward_kind({"kind": "gaussian", "sigma": 2})
    Gaussian(sigma=2.0)
    """
    if isinstance(value, Bernoulli | Bounded | Gaussian):
        return value
    if isinstance(value, Mapping):
        return _from_mapping(value)
    if value == "bernoulli":
        return Bernoulli()
    if value == "bounded":
        return Bounded()
    if value == "gaussian":
        raise ProblemError("reward 'gaussian' needs its noise: pass Gaussian(sigma=...) instead")
    hint = closest(str(value), ["bernoulli", "bounded"])
    raise ProblemError(
        f"reward {value!r} is unknown: it must be 'bernoulli', 'bounded', Bounded(low, high) or Gaussian(sigma){hint}"
    )


def _from_mapping(data: Mapping[Any, Any]) -> RewardKind:
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in _KEYS:
        raise ProblemError(f"reward kind {kind!r} is unknown: it must be one of {', '.join(_KEYS)}")
    values = check_keys(data, ("kind", *_KEYS[kind]), (), f"the {kind} reward", ProblemError)
    if kind == "bounded":
        return Bounded(values["low"], values["high"])
    return Gaussian(values["sigma"]) if kind == "gaussian" else Bernoulli()


def _as_end(value: object, which: str) -> float:
    end = as_numbers(value, f"{which} of the reward range", ProblemError)
    if end.ndim or not math.isfinite(float(end)):
        raise ProblemError(f"{which} of the reward range is {value}; it must be one finite number")
    return float(end)
