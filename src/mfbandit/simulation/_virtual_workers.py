"""Workers on a virtual clock: how many there are, how long a pull takes, and who is free when."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from mfbandit._checks import as_list, check_keys, is_number
from mfbandit.core import Floats, Ints, kernel, normal, uniform
from mfbandit.errors import InvalidInput
from mfbandit.model import Problem

__all__ = [
    "ANY",
    "MOST_WORKERS",
    "Durations",
    "GivenDurations",
    "Timing",
    "Workers",
    "as_durations",
    "duration",
    "employ",
    "most_out",
]

#: Each pull looks for a worker that is free.
MOST_WORKERS = 65_536
#: More pulls than anybody can make.
ANY = 2**62
#: Tells the draw of a duration apart from the draws of rewards.
_DURATION = -1_000_003


@dataclass(frozen=True)
class Durations:
    """How long pulls take in a simulation.

    Parameters
    ----------
    mean : float, mapping or sequence
        What a pull takes on average, in any unit of time: one number, one for each fidelity by its name, or one for
        each fidelity in the order of the problem.
    spread : float
        The standard deviation of the logarithm: 0 if all pulls of a fidelity take equally long, 1 if every sixth
        takes 2.7 times as long as the one in the middle, or longer. Durations are lognormal, with the given mean.

    Examples
    --------
    >>> Durations({"judge": 1.0, "human": 3600.0}, spread=0.5)
    Durations(mean={'judge': 1.0, 'human': 3600.0}, spread=0.5)
    """

    mean: float | Mapping[str, float] | Sequence[float] = 1.0
    spread: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.mean, Mapping):
            checked: Any = {name: _time(value, f" at {name!r}") for name, value in self.mean.items()}
        elif is_number(self.mean):
            checked = _time(self.mean, "")
        else:
            listed = as_list(self.mean, "durations must be a number, or one for each fidelity", InvalidInput)
            checked = tuple(_time(value, f" at position {m}") for m, value in enumerate(listed))
        object.__setattr__(self, "mean", checked)
        if not is_number(self.spread) or not 0.0 <= self.spread < math.inf:
            raise InvalidInput(f"the spread of durations must be a number >= 0, got {self.spread!r}")
        object.__setattr__(self, "spread", float(self.spread))

    def means(self, problem: Problem) -> Floats:
        """What a pull takes on average at each fidelity of a problem."""
        names = [fidelity.name for fidelity in problem.fidelities]
        if isinstance(self.mean, Mapping):
            given = check_keys(self.mean, tuple(names), (), "durations", InvalidInput)
            return np.array([given[name] for name in names])
        if isinstance(self.mean, Sequence):
            if len(self.mean) != len(names):
                raise InvalidInput(f"durations are {len(self.mean)} numbers for {len(names)} fidelities")
            return np.array(self.mean)
        return np.full(len(names), float(self.mean))


GivenDurations: TypeAlias = Durations | float | Mapping[str, float] | Sequence[float]


def as_durations(given: GivenDurations | None) -> Durations | None:
    """Durations as a user gave them: anything but an object is taken for means."""
    return given if given is None or isinstance(given, Durations) else Durations(given)


def _time(value: Any, where: str) -> float:
    if not is_number(value) or not 0.0 < value < math.inf:
        raise InvalidInput(f"a duration must be a finite number > 0, got {value!r}{where}")
    return float(value)


class Workers(NamedTuple):
    """Who evaluates pulls, and how long that takes."""

    width: int
    """How many pulls may be out at once."""
    most: Ints
    """How many of them at each fidelity of the user's problem, (M,)."""
    mean: Floats
    """What a pull takes on average at each of these, (M,)."""
    spread: float
    """The standard deviation of the logarithm of what a pull takes."""
    row_limit: int
    """A row of a plan has at most so many pulls."""
    rows_limit: int
    """So many rows of a plan are asked for before the next one is made."""
    sharing: int
    """So many arms share the pulls evenly."""
    held: int
    """There is room for so many pulls that have not counted yet; `ANY` if they all count before the next plan."""


class Timing(NamedTuple):
    """When trials ended, and how long their workers were busy until then: arrays with one entry per trial."""

    time: Floats
    busy: Floats


def most_out(problem: Problem, width: int) -> Ints:
    """How many pulls may be out at once at each fidelity of a problem."""
    limits = [fidelity.at_most for fidelity in problem.fidelities]
    return np.array([width if most is None else min(most, width) for most in limits], dtype=np.int64)


@kernel
def duration(workers: Workers, key: int, number: int, column: int) -> float:
    """How long a pull takes."""
    mean, spread = float(workers.mean[column]), workers.spread
    if spread == 0.0:
        return mean
    return mean * math.exp(spread * normal(uniform(key, _DURATION, number, 0)) - 0.5 * spread * spread)


@kernel
def employ(workers: Workers, free: Floats, slots: Floats, now: float, lasts: float) -> float:
    """Give a pull to a worker, from `now` on; returns when it begins.

    `free` says when each worker is free, `slots` when each of the places is that a fidelity has.
    """
    first = 0
    for i in range(1, slots.shape[0]):
        if slots[i] < slots[first]:
            first = i
    at = max(now, slots[first])
    # Whoever is free just before that, so that others who are free earlier can begin something else.
    chosen = 0
    for i in range(1, workers.width):
        so_far = free[chosen]
        if (free[i] <= at and (so_far > at or free[i] > so_far)) or (free[i] > at and free[i] < so_far):
            chosen = i
    at = max(at, free[chosen])
    free[chosen] = slots[first] = at + lasts
    return float(at)
