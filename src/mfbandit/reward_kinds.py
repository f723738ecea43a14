"""What is known of a reward before any is seen: its range, or how much it spreads.

Inside the algorithms rewards are in unit scale: [0, 1] for kinds with a range, the distance from an origin
for Gaussian rewards. A kind converts to that scale and back.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias, TypeVar

from mfbandit.errors import ProblemError
from mfbandit.validation import FloatArray, as_numbers, as_positive, check_keys, closest

__all__ = ["Bernoulli", "Bounded", "Gaussian", "RewardKind", "as_reward_kind"]

FloatOrArray = TypeVar("FloatOrArray", float, FloatArray)

#: Gaussian rewards beyond this many sigmas get an origin, on a grid of 2^_GRID times sigma, nearly.
_LARGE, _GRID = 1024.0, 8


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
        object.__setattr__(self, "low", as_finite(low, "low of the reward range"))
        object.__setattr__(self, "high", as_finite(high, "high of the reward range"))
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
    origin
        Rewards are summed as distances from this number; 0 unless rewards are large against sigma.
        By default a study takes it from its first reward. No result depends on it but by rounding, so
        two kinds that differ in it alone are equal.

    Examples
    --------
    >>> Gaussian(sigma=0.1)
    Gaussian(sigma=0.1)
    >>> Gaussian(sigma=0.5, origin=1e9).to_unit(1e9 + 2.0)
    2.0
    """

    sigma: float
    origin: float | None = field(default=None, compare=False, repr=False)
    low: ClassVar[None] = None
    high: ClassVar[None] = None
    span: ClassVar[float] = 1.0

    def __init__(self, sigma: float, origin: float | None = None) -> None:
        object.__setattr__(self, "sigma", as_positive(sigma, "sigma of a Gaussian reward", ProblemError))
        start = None if origin is None else as_finite(origin, "origin of a Gaussian reward")
        object.__setattr__(self, "origin", start)

    def near(self, reward: float) -> Gaussian:
        """Return the kind with an origin near a typical reward, if it has none and the reward needs one.

        A sum of n rewards of size r is off by about n r 2^-53, which must be little beside sigma.
        The origin lies on a grid of powers of two, so that rewards near it are converted exactly.

        Examples
        --------
        >>> Gaussian(sigma=1e-3).near(1.7e9).origin, Gaussian(sigma=0.1).near(20.0).origin
        (1700000000.0, None)
        """
        if self.origin is not None or abs(reward) <= _LARGE * self.sigma:
            return self
        step = math.ldexp(1.0, math.frexp(self.sigma)[1] + _GRID)
        steps = reward / step
        return Gaussian(self.sigma, round(steps) * step if abs(steps) < 2.0**52 else reward)

    def to_unit(self, reward: FloatOrArray) -> FloatOrArray:
        """Return the distance from the origin: there is no range to scale by."""
        return reward if not self.origin else reward - self.origin

    def from_unit(self, unit: FloatOrArray) -> FloatOrArray:
        """Return the reward at a distance from the origin."""
        return unit if not self.origin else unit + self.origin

    def to_json(self) -> dict[str, Any]:
        """Return what :func:`as_reward_kind` reads back."""
        plain = {"kind": "gaussian", "sigma": self.sigma}
        return plain if self.origin is None else {**plain, "origin": self.origin}


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
    optional = ("origin",) if kind == "gaussian" else ()
    values = check_keys(data, ("kind", *_KEYS[kind]), optional, f"the {kind} reward", ProblemError)
    if kind == "bounded":
        return Bounded(values["low"], values["high"])
    return Gaussian(values["sigma"], values.get("origin")) if kind == "gaussian" else Bernoulli()


def as_finite(value: object, what: str) -> float:
    """Return one finite number, or refuse what is none."""
    number = as_numbers(value, what, ProblemError)
    if number.ndim or not math.isfinite(float(number)):
        raise ProblemError(f"{what} is {value}; it must be one finite number")
    return float(number)
