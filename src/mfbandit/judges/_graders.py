"""Graders, the pace at which they may be called, and what their calls return."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mfbandit._checks import as_name, as_names, is_number
from mfbandit.errors import InvalidInput, RewardError
from mfbandit.model import Fidelity, RewardKind

__all__ = ["Calls", "Grader", "Pace", "called", "checked_score", "named_candidates"]


@dataclass(frozen=True)
class Grader:
    """Someone or something that grades answers.

    Parameters
    ----------
    name
        What people call it.
    grade
        A function, or coroutine function, of an answer and an item; returns the score.
    price
        What one grading costs, above 0.
    bias
        How far its mean score may be from the truth; 0 for the grader that is the truth.
    per_second
        Calls that may start in a second; any number by default.
    at_once
        Calls that may run at the same time; any number by default.
    timeout
        Seconds after which a call is given up.
    pair_bias
        How far the difference of two candidates' mean scores may be from the true one. What a grader adds to
        everybody cancels, so it may be less than two biases, which is the default.

    Examples
    --------
    >>> Grader("length", lambda answer, item: min(1.0, len(answer) / 100), price=0.001, bias=0.2).name
    'length'
    """

    name: str
    grade: Callable[[Any, Any], float | Awaitable[float]]
    price: float
    bias: float = 0.0
    per_second: float | None = None
    at_once: int | None = None
    timeout: float | None = None
    pair_bias: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        as_name(self.name, "the name of a grader", InvalidInput)
        if not callable(self.grade):
            raise InvalidInput(f"grade of {self.name!r} must be a function of an answer and an item")
        for name in ("price", "per_second", "timeout", "at_once"):
            value = getattr(self, name)
            if value is None and name != "price":
                continue
            if not is_number(value) or not 0 < value < math.inf:
                raise InvalidInput(f"{name} of grader {self.name!r} must be a number > 0, got {value!r}")
        if self.at_once is not None and int(self.at_once) != self.at_once:
            raise InvalidInput(f"at_once of grader {self.name!r} must be a whole number, got {self.at_once!r}")

    def fidelity(self, answer_price: float) -> Fidelity:
        """The grader as a fidelity; a pull is counted with the answer that it grades."""
        return Fidelity(self.name, self.price + answer_price, self.bias, pair_bias=self.pair_bias)


class Pace:
    """Spaces calls evenly: says how long each has to wait.

    Examples
    --------
    >>> pace = Pace(per_second=4)
    >>> [pace.wait(now) for now in (10.0, 10.0, 10.1, 20.0)]
    [0.0, 0.25, 0.4, 0.0]
    """

    def __init__(self, per_second: float | None) -> None:
        self._gap = 0.0 if per_second is None else 1.0 / per_second
        self._next = -math.inf

    def wait(self, now: float) -> float:
        """Seconds until the call that is due now may start; its place is taken."""
        start = max(now, self._next)
        self._next = start + self._gap
        return round(start - now, 9)


class Calls:
    """What belongs to one event loop: limits, and calls that run."""

    def __init__(self, graders: Iterable[Grader]) -> None:
        self.at_once = {
            one.name: None if one.at_once is None else asyncio.Semaphore(int(one.at_once)) for one in graders
        }
        #: By what is graded and by whom.
        self.running: dict[Any, asyncio.Future[float]] = {}
        #: By candidate and item.
        self.answering: dict[Any, asyncio.Lock] = {}


async def called(function: Callable[..., Any], arguments: tuple[Any, ...], timeout: float | None) -> Any:
    """Call a function or a coroutine function; what blocks does so in a thread of its own."""
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
        return await asyncio.wait_for(function(*arguments), timeout)
    found = await asyncio.wait_for(asyncio.to_thread(function, *arguments), timeout)
    return await asyncio.wait_for(found, timeout) if inspect.isawaitable(found) else found


def checked_score(kind: RewardKind, score: Any, said: str) -> float:
    """A score as a number in the range of scores; `said` is who gave it, for a refusal."""
    try:
        value = float(score)
    except (TypeError, ValueError):
        raise RewardError(f"{said}; a score must be a number") from None
    low, high = (-math.inf, math.inf) if kind.low is None else (kind.low, kind.high)
    if not math.isfinite(value) or not low <= value <= high:
        span = "finite" if kind.low is None else f"between {low:g} and {high:g}"
        raise RewardError(f"{said}; a score must be {span}")
    return value


def named_candidates(candidates: Iterable[str] | Mapping[str, Any]) -> dict[str, Any]:
    """Candidates by name; those without a value of their own are their names."""
    names = as_names(candidates, "candidates", InvalidInput)
    if not names:
        raise InvalidInput("candidates are empty; give at least one")
    values = list(candidates.values()) if isinstance(candidates, Mapping) else list(names)
    return dict(zip(names, values, strict=True))
