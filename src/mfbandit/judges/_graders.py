"""Graders and preferences, the pace at which they may be called, and what their calls return."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import math
import os
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from mfbandit._checks import as_list, as_name, as_names, check_distinct, is_number, is_whole
from mfbandit.errors import InvalidInput, RewardError
from mfbandit.model import Fidelity, RewardKind

__all__ = [
    "Answering",
    "Calls",
    "Grader",
    "Pace",
    "Preference",
    "as_graders",
    "background_loop",
    "called",
    "checked_score",
    "named_candidates",
    "opponents_of",
]

#: What a study counts for comparing an answer with a label, as a part of what the label costs.
_COMPARISON = 1e-6


@dataclass(frozen=True)
class Grader:
    """Someone or something that grades answers.

    Parameters
    ----------
    name
        What people call it.
    grade
        A function, or coroutine function, of an answer and an item; returns the score. With `label`, of an answer
        and a label. With several `raters`, the number of the rater comes third.
    price
        What one grading costs, 0 for a comparison with known answers; with `per_item` what one item costs, whoever's
        answers to it are graded.
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
    per_item
        Whether the price is paid once for an item and serves all candidates, as that of a reference label does.
    label
        With `per_item`: a function, or coroutine function, of an item that makes its label, once. It is kept, and
        `grade` compares answers with it, which costs nothing. With several `raters`, the number of the rater comes
        second.
    raters
        How many different people grade each answer, or label each item. The score is their mean. Each costs
        `price`, and gets a number from 0 on, by which `grade` or `label` finds a person.
    by
        ``"people"``: people grade in the browser (`mfbandit.serve`, with ``show=judging.show``), and `grade` is None.

    Examples
    --------
    >>> Grader("length", lambda answer, item: min(1.0, len(answer) / 100), price=0.001, bias=0.2).name
    'length'
    >>> def ask_expert(question):
    ...     return {"2 + 2": "4"}[question]
    >>> expert = Grader("expert", lambda answer, label: float(answer == label), 5.0, per_item=True, label=ask_expert)
    >>> expert.fidelity(answer_price=0.01)
    Fidelity('expert', cost=0.01, bias=0.0, block_cost=5.0)
    """

    name: str
    grade: Callable[..., float | Awaitable[float]] | None
    price: float
    bias: float = 0.0
    per_second: float | None = None
    at_once: int | None = None
    timeout: float | None = None
    pair_bias: float | None = field(default=None, kw_only=True)
    per_item: bool = field(default=False, kw_only=True)
    label: Callable[..., Any] | None = field(default=None, kw_only=True)
    raters: int = field(default=1, kw_only=True)
    by: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        as_name(self.name, "the name of a grader", InvalidInput)
        if self.by is not None:
            self._check_people()
        elif not callable(self.grade):
            raise InvalidInput(f"grade of {self.name!r} must be a function of {self._graded}")
        if not is_number(self.price) or not 0 <= self.price < math.inf:
            raise InvalidInput(f"price of grader {self.name!r} must be a number >= 0, got {self.price!r}")
        for name in ("per_second", "timeout", "at_once"):
            value = getattr(self, name)
            if value is None:
                continue
            if not is_number(value) or not 0 < value < math.inf:
                raise InvalidInput(f"{name} of grader {self.name!r} must be a number > 0, got {value!r}")
        if self.at_once is not None and int(self.at_once) != self.at_once:
            raise InvalidInput(f"at_once of grader {self.name!r} must be a whole number, got {self.at_once!r}")
        if not is_whole(self.raters) or self.raters < 1:
            raise InvalidInput(f"raters of grader {self.name!r} must be a whole number >= 1, got {self.raters!r}")
        if not isinstance(self.per_item, bool):
            raise InvalidInput(f"per_item of grader {self.name!r} must be True or False, got {self.per_item!r}")
        if self.label is not None and not callable(self.label):
            raise InvalidInput(f"label of grader {self.name!r} must be a function of an item, got {self.label!r}")
        if self.label is not None and not self.per_item:
            raise InvalidInput(f"grader {self.name!r} has a label, which is made once per item: say per_item=True")

    def _check_people(self) -> None:
        if self.by != "people":
            raise InvalidInput(f"by of grader {self.name!r} must be 'people', or be left out, got {self.by!r}")
        if self.grade is not None or self.per_item or self.raters != 1:
            raise InvalidInput(
                f"people who grade as {self.name!r} need no function, and give one grade each: grade=None"
            )

    @property
    def _graded(self) -> str:
        """What `grade` is a function of, in words."""
        return "an answer and an item"

    @property
    def full_price(self) -> float:
        """What all raters cost together."""
        return self.price * self.raters

    def fidelity(self, answer_price: float) -> Fidelity:
        """The grader as a fidelity; a pull is counted with the answer that it grades."""
        if not self.per_item:
            return Fidelity(self.name, self.full_price + answer_price, self.bias, pair_bias=self.pair_bias, by=self.by)
        # Every pull of a study costs something, if next to nothing.
        cost = answer_price or _COMPARISON * self.full_price
        return Fidelity(self.name, cost, self.bias, pair_bias=self.pair_bias, block_cost=self.full_price)


@dataclass(frozen=True)
class Preference(Grader):
    """Someone or something that says which of two answers is better.

    A candidate's true score is how often its answer is preferred to an opponent's: that of one baseline, or of every
    candidate in turn. Against itself, or an answer that is the same, a candidate scores one half, and nobody is asked.
    Which of the two answers is shown first is tossed for each pair and item, so that whoever favours the first favours
    nobody.

    Parameters
    ----------
    name, price, bias, per_second, at_once, timeout, pair_bias, raters
        As for `Grader`.
    grade
        A function, or coroutine function, of two answers and an item; returns 1 if the first is better, 0 if the
        second is, 0.5 for a tie, or a share in between. With several `raters`, the number of the rater comes fourth.
    against
        The candidate to compare all others with; by default every candidate in turn.

    Examples
    --------
    >>> longer = Preference("longer", lambda first, second, item: float(len(first) > len(second)), price=0.1)
    >>> longer.against is None
    True
    """

    against: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.per_item or self.label is not None:
            raise InvalidInput(f"preference {self.name!r} compares two answers: it cannot be priced per item")

    @property
    def _graded(self) -> str:
        return "two answers and an item"


@dataclass(frozen=True)
class Answering:
    """How answers are made, what they cost, and when two are the same."""

    respond: Callable[[Any, Any], Any] | None
    price: float
    same: Callable[[Any, Any], bool] | None

    @property
    def shares(self) -> bool:
        """Whether answers that are the same have one grade."""
        return self.respond is not None and self.same is not None


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
        #: By candidate and item, and by item and grader.
        self.locks: dict[Any, asyncio.Lock] = {}
        #: Blocks of which it is being found out whether all answers are the same.
        self.deciding: dict[Any, asyncio.Event] = {}
        self._kept: set[asyncio.Future[Any]] = set()

    def keep(self, task: asyncio.Future[str]) -> asyncio.Future[str]:
        """Let a task end by itself, even if nobody waits for it any more."""

        def ended(one: asyncio.Future[str]) -> None:
            self._kept.discard(one)
            if not one.cancelled():
                one.exception()  # whoever waited was told

        self._kept.add(task)
        task.add_done_callback(ended)
        return task

    def lock(self, *key: Any) -> asyncio.Lock:
        """The lock of what is to be done once."""
        return self.locks.setdefault(key, asyncio.Lock())


#: As many functions that block may run at once; who wants fewer says `workers` or `at_once`.
_MOST_THREADS = 512
# By process: one that was forked has the objects of its parent, but not the threads that make them work.
_loops: dict[int, asyncio.AbstractEventLoop] = {}
_crews: dict[int, ThreadPoolExecutor] = {}
_first_use = threading.Lock()


def background_loop() -> asyncio.AbstractEventLoop:
    """The event loop of this process for calls from threads: only in one loop are calls of the same thing one call."""
    with _first_use:
        if os.getpid() not in _loops:
            _loops[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=_loops[os.getpid()].run_forever, name="mfbandit-judges", daemon=True).start()
        return _loops[os.getpid()]


def _crew() -> ThreadPoolExecutor:
    """The threads of this process for functions that block; those of an event loop are hardly more than its cores."""
    with _first_use:
        if os.getpid() not in _crews:
            _crews[os.getpid()] = ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="mfbandit-judges")
        return _crews[os.getpid()]


async def called(function: Callable[..., Any], arguments: tuple[Any, ...], timeout: float | None) -> Any:
    """Call a function or a coroutine function; what blocks does so in a thread of its own."""
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
        return await asyncio.wait_for(function(*arguments), timeout)
    blocking = partial(contextvars.copy_context().run, function, *arguments)
    running = asyncio.get_running_loop().run_in_executor(_crew(), blocking)
    found = await asyncio.wait_for(running, timeout)
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


def as_graders(graders: object, candidates: Mapping[str, Any], raters: int | None = None) -> dict[str, Grader]:
    """Graders by name, the true one with its raters, or a refusal of those that do not grade the same thing."""
    listed = as_list(graders, "graders must be a list of Grader objects", InvalidInput)
    for one in listed:
        if not isinstance(one, Grader):
            raise InvalidInput(f"graders must be Grader objects, got {one!r}")
    check_distinct([one.name for one in listed], "graders", InvalidInput)
    preferences = [one for one in listed if isinstance(one, Preference)]
    if preferences and len(preferences) < len(listed):
        raise InvalidInput(
            "graders must be all Grader or all Preference: scores and preferences are about different truths"
        )
    opponents = {one.against for one in preferences}
    if len(opponents) > 1:
        said = ", ".join(map(repr, sorted(map(str, opponents))))
        raise InvalidInput(f"all preferences must be against the same opponent, got {said}")
    for name in opponents - {None, *candidates}:
        raise InvalidInput(f"preferences are against {name!r}, which is none of the candidates")
    if raters is not None:
        # The truth is the mean over raters: whoever is only near it is asked once.
        listed = [replace(one, raters=raters) if one.bias == 0.0 else one for one in listed]
    return {one.name: one for one in listed}


def opponents_of(graders: Mapping[str, Grader], candidates: Mapping[str, Any]) -> tuple[str, ...]:
    """Whom preferences are against; empty for scores."""
    for one in graders.values():
        if isinstance(one, Preference):
            return tuple(candidates) if one.against is None else (one.against,)
    return ()


def named_candidates(candidates: Iterable[str] | Mapping[str, Any]) -> dict[str, Any]:
    """Candidates by name; those without a value of their own are their names."""
    names = as_names(candidates, "candidates", InvalidInput)
    if not names:
        raise InvalidInput("candidates are empty; give at least one")
    values = list(candidates.values()) if isinstance(candidates, Mapping) else list(names)
    return dict(zip(names, values, strict=True))
