"""What is known of a reward before any is seen: its range, or how much it spreads.

Inside the algorithms rewards are in unit scale: [0, 1] for kinds with a range, the distance from an origin
for Gaussian rewards. A kind converts to that scale and back.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias, TypeVar

from mfbandit._checks import FloatArray, as_numbers, as_positive, check_keys, closest
from mfbandit.errors import ProblemError

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
        """Return what ``as_reward_kind`` reads back."""
        return {"kind": "bernoulli"}


@dataclass(frozen=True, init=False)
class Bounded:
    """Rewards between two known numbers.

    Parameters
    ----------
    low, high
        The range, ``low < high``.
    swing
        For problems with an unlimited number of blocks: the difference of two arms on one block never strays more
        than this from its mean. It is often much less than the width of the range.

    Examples
    --------
    >>> scores = Bounded(low=1, high=5)
    >>> scores.to_unit(4.0), scores.from_unit(0.5), scores.span
    (0.75, 3.0, 4.0)
    """

    low: float
    high: float
    swing: float | None = field(default=None, repr=False)

    def __init__(self, low: float = 0.0, high: float = 1.0, *, swing: float | None = None) -> None:
        object.__setattr__(self, "low", as_finite(low, "low of the reward range"))
        object.__setattr__(self, "high", as_finite(high, "high of the reward range"))
        if not self.low < self.high:
            raise ProblemError(f"the reward range is from {self.low} to {self.high}; low must be below high")
        if not math.isfinite(self.span):
            raise ProblemError(f"the reward range from {self.low} to {self.high} is too wide for a float")
        most = None if swing is None else as_positive(swing, "swing of the rewards", ProblemError)
        if most is not None and most > 2.0 * self.span:
            raise ProblemError(
                f"swing is {most}; no difference of rewards from {self.low} to {self.high} is farther than "
                f"{2.0 * self.span} from its mean"
            )
        object.__setattr__(self, "swing", most)

    def __repr__(self) -> str:
        """Show it as one line."""
        more = "" if self.swing is None else f", swing={self.swing}"
        return f"Bounded(low={self.low}, high={self.high}{more})"

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
        """Return what ``as_reward_kind`` reads back."""
        plain = {"kind": "bounded", "low": self.low, "high": self.high}
        return plain if self.swing is None else {**plain, "swing": self.swing}


@dataclass(frozen=True, init=False, repr=False)
class Gaussian:
    """Rewards with normal noise, or noise no heavier, of a known standard deviation.

    Without `sigma`, for problems with blocks: the difference of two arms on a block is normal, with a variance that
    nobody knows and that may be another for every pair of arms.

    Parameters
    ----------
    sigma
        The standard deviation, above 0.
    origin
        Rewards are summed as distances from this number; 0 unless rewards are large against sigma.
        By default a study takes it from its first reward. No result depends on it but by rounding, so
        two kinds that differ in it alone are equal.
    caution
        Without `sigma`: how large a bad block that was not seen is allowed for, in standard deviations of
        differences. 0 trusts in normality; 5 is for simulations with rare disasters.
    resolution
        Without `sigma`: the least step between two rewards (1/114 for an accuracy on 114 cases). By default the
        least difference that was seen.

    Examples
    --------
    >>> Gaussian(sigma=0.1), Gaussian(), Gaussian(caution=0)
    (Gaussian(sigma=0.1), Gaussian(), Gaussian(caution=0.0))
    >>> Gaussian(sigma=0.5, origin=1e9).to_unit(1e9 + 2.0)
    2.0
    """

    sigma: float | None
    origin: float | None = field(default=None, compare=False)
    caution: float = 1.0
    resolution: float | None = None
    low: ClassVar[None] = None
    high: ClassVar[None] = None
    span: ClassVar[float] = 1.0

    def __init__(
        self,
        sigma: float | None = None,
        origin: float | None = None,
        *,
        caution: float = 1.0,
        resolution: float | None = None,
    ) -> None:
        known = None if sigma is None else as_positive(sigma, "sigma of a Gaussian reward", ProblemError)
        start = None if origin is None else as_finite(origin, "origin of a Gaussian reward")
        step = None if resolution is None else as_positive(resolution, "resolution of a Gaussian reward", ProblemError)
        careful = as_finite(caution, "caution of a Gaussian reward")
        if careful < 0.0:
            raise ProblemError(f"caution of a Gaussian reward is {careful}; it must be a number of at least 0")
        if known is not None and (careful != 1.0 or step is not None):
            raise ProblemError("caution and resolution are for Gaussian rewards without sigma; this one has both")
        object.__setattr__(self, "sigma", known)
        object.__setattr__(self, "origin", start)
        object.__setattr__(self, "caution", careful)
        object.__setattr__(self, "resolution", step)

    def __repr__(self) -> str:
        """Show it as one line."""
        said = [("sigma", self.sigma), ("resolution", self.resolution)]
        shown = [f"{name}={value}" for name, value in said if value is not None]
        return f"Gaussian({', '.join(shown + ([f'caution={self.caution}'] if self.caution != 1.0 else []))})"

    @property
    def scale(self) -> float:
        """The standard deviation, or 1 where it is not known."""
        return 1.0 if self.sigma is None else self.sigma

    def near(self, reward: float) -> Gaussian:
        """Return the kind with an origin near a typical reward, if it has none and the reward needs one.

        A sum of n rewards of size r is off by about n r 2^-53, which must be little beside sigma.
        The origin lies on a grid of powers of two, so that rewards near it are converted exactly.

        Examples
        --------
        >>> Gaussian(sigma=1e-3).near(1.7e9).origin, Gaussian(sigma=0.1).near(20.0).origin
        (1700000000.0, None)
        """
        if self.sigma is None or self.origin is not None or abs(reward) <= _LARGE * self.sigma:
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
        """Return what ``as_reward_kind`` reads back."""
        said = [("sigma", self.sigma), ("origin", self.origin), ("resolution", self.resolution)]
        plain = {"kind": "gaussian"} | {name: value for name, value in said if value is not None}
        return plain if self.caution == 1.0 else {**plain, "caution": self.caution}


RewardKind: TypeAlias = Bernoulli | Bounded | Gaussian

#: What the JSON form of a kind must have, and what it may have.
_KEYS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "bernoulli": ((), ()),
    "bounded": (("low", "high"), ("swing",)),
    "gaussian": ((), ("sigma", "origin", "caution", "resolution")),
}


def as_reward_kind(value: object) -> RewardKind:
    """Return the reward kind that an object, a word or the JSON form stands for.

    Parameters
    ----------
    value
        A kind, ``"bernoulli"``, ``"bounded"`` (the range [0, 1]), ``"gaussian"`` (variance unknown), or what
        ``to_json`` wrote.

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
        return Gaussian()
    hint = closest(str(value), ["bernoulli", "bounded", "gaussian"])
    raise ProblemError(
        f"reward {value!r} is unknown: it must be 'bernoulli', 'bounded', 'gaussian', Bounded(low, high) or "
        f"Gaussian(sigma){hint}"
    )


def _from_mapping(data: Mapping[Any, Any]) -> RewardKind:
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in _KEYS:
        raise ProblemError(f"reward kind {kind!r} is unknown: it must be one of {', '.join(_KEYS)}")
    required, optional = _KEYS[kind]
    values = dict(check_keys(data, ("kind", *required), optional, f"the {kind} reward", ProblemError))
    del values["kind"]
    makers: dict[str, Any] = {"bernoulli": Bernoulli, "bounded": Bounded, "gaussian": Gaussian}
    kind_of_reward: RewardKind = makers[kind](**values)
    return kind_of_reward


def as_finite(value: object, what: str) -> float:
    """Return one finite number, or refuse what is none."""
    number = as_numbers(value, what, ProblemError)
    if number.ndim or not math.isfinite(float(number)):
        raise ProblemError(f"{what} is {value}; it must be one finite number")
    return float(number)
