"""Choosing a model or a prompt with graders: cheap judges, better judges, people.

One pull is one random item, graded by one grader for one candidate. The seed of the pull picks the item,
so that a repeated or resumed pull is the same one. What a grader said of a candidate's answer to an item is
kept: the same question is never paid for twice.
"""

from __future__ import annotations

import asyncio
import inspect
import math
import os
import random
import weakref
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mfbandit.errors import InvalidInput, RewardError, StudyError
from mfbandit.judges_bill import Bill, GraderBill
from mfbandit.judges_cache import GradeCache
from mfbandit.problem import Fidelity, Problem, RewardKind
from mfbandit.validation import as_list, as_name, as_names

if TYPE_CHECKING:
    from mfbandit.study.pull import Pull
    from mfbandit.study.result import Result

__all__ = ["Grader", "Judging", "Pace"]


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

    def __post_init__(self) -> None:
        as_name(self.name, "the name of a grader", InvalidInput)
        if not callable(self.grade):
            raise InvalidInput(f"grade of {self.name!r} must be a function of an answer and an item")
        for field in ("price", "per_second", "timeout", "at_once"):
            value = getattr(self, field)
            if value is None and field != "price":
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
                raise InvalidInput(f"{field} of grader {self.name!r} must be a number > 0, got {value!r}")
        if self.at_once is not None and int(self.at_once) != self.at_once:
            raise InvalidInput(f"at_once of grader {self.name!r} must be a whole number, got {self.at_once!r}")


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


class Judging:
    """Candidates, items and graders as a problem with an evaluation.

    Parameters
    ----------
    candidates
        What to choose from: names, or a mapping from names to whatever `respond` or the graders need.
    items
        The questions, texts or tasks; a candidate's true score is its mean over all of them, graded by the
        truest grader.
    graders
        Graders, one of which has bias 0.
    respond
        A function, or coroutine function, of a candidate and an item that makes the answer to grade; each
        answer is made once. Without it graders get the candidate itself.
    answer_price
        What `respond` costs; part of the price of every pull.
    reward
        The range of scores, as for `Problem`: [0, 1] by default.
    cache
        A file that keeps grades from one run to the next (JSON lines).
    currency
        What stands before amounts in a bill.

    Examples
    --------
    >>> def count(prompt, item):
    ...     return float(item in prompt)
    >>> judging = Judging({"a": "x", "b": "xyz"}, ["x", "y", "z"], [Grader("exact", count, price=1)])
    >>> from mfbandit.study import create_study
    >>> study = create_study(judging.problem, policy="lucb-top", max_cost=20)
    >>> while not study.done:
    ...     for pull in study.ask():
    ...         _ = study.tell(pull, judging.grade(pull))
    >>> study.best
    'b'
    >>> print(judging.bill().sentence)
    Paid $6.00 for 6 gradings; 14 more came from the cache. To grade every item for every candidate by
    'exact' would cost $6.00.
    """

    def __init__(
        self,
        candidates: Iterable[str] | Mapping[str, Any],
        items: Iterable[Any],
        graders: Iterable[Grader],
        *,
        respond: Callable[[Any, Any], Any] | None = None,
        answer_price: float = 0.0,
        reward: str | RewardKind = "bounded",
        cache: str | os.PathLike[str] | None = None,
        currency: str = "$",
    ) -> None:
        self.candidates = _named(candidates)
        self.items: Sequence[Any] = as_list(items, "items must be a list", InvalidInput)
        if not self.items:
            raise InvalidInput("items are empty; graders need something to grade")
        listed = as_list(graders, "graders must be a list of Grader objects", InvalidInput)
        for one in listed:
            if not isinstance(one, Grader):
                raise InvalidInput(f"graders must be Grader objects, got {one!r}")
        self.graders = {one.name: one for one in listed}
        if isinstance(answer_price, bool) or not 0.0 <= answer_price < math.inf:
            raise InvalidInput(f"answer_price must be a number >= 0, got {answer_price!r}")
        self.answer_price = float(answer_price)
        self.respond = respond
        self.currency = currency
        fidelities = [Fidelity(one.name, one.price + self.answer_price, one.bias) for one in listed]
        self.problem = Problem(list(self.candidates), fidelities, reward)
        self._grades = GradeCache(cache, self.candidates, self.items)
        self._answers: dict[tuple[str, int], Any] = {}
        self._paces = {one.name: Pace(one.per_second) for one in listed}
        self._paid = dict.fromkeys(self.graders, 0)
        self._cached = dict.fromkeys(self.graders, 0)
        self._made = 0
        # Locks and running calls belong to one event loop each.
        self._loops: weakref.WeakKeyDictionary[Any, _Loop] = weakref.WeakKeyDictionary()

    def item_of(self, pull: Pull) -> int:
        """The position of the item that a pull is about."""
        return random.Random(pull.seed).randrange(len(self.items))

    async def evaluate(self, pull: Pull) -> float:
        """The score of a pull; pass this to `identify`, which runs many at once."""
        item = self.item_of(pull)
        known = self._grades.get(pull.arm, item, pull.fidelity)
        if known is not None:
            self._cached[pull.fidelity] += 1
            return known
        loop = self._loops.setdefault(asyncio.get_running_loop(), _Loop(self.graders))
        key = (pull.arm, item, pull.fidelity)
        if key in loop.running:
            score = await asyncio.shield(loop.running[key])
            self._cached[pull.fidelity] += 1
            return score
        task = asyncio.ensure_future(self._ask(loop, *key))
        loop.running[key] = task
        try:
            return await task
        finally:
            loop.running.pop(key, None)

    def grade(self, pull: Pull) -> float:
        """The score of a pull, outside of an event loop."""
        return asyncio.run(self.evaluate(pull))

    def identify(self, **settings: Any) -> Result:
        """Find the best candidate; takes what `mfbandit.identify` takes, such as delta and workers."""
        from mfbandit.engines import identify

        return identify(self.problem, self.evaluate, **settings)

    def bill(self) -> Bill:
        """What was paid so far, by grader."""
        truest = self.problem.fidelities[self.problem.truest].name
        return Bill(
            graders=tuple(
                GraderBill(name, one.price, self._paid[name], self._cached[name]) for name, one in self.graders.items()
            ),
            answers=self._made,
            answer_price=self.answer_price,
            truest=truest,
            everything=len(self.candidates) * len(self.items),
            currency=self.currency,
        )

    async def _ask(self, loop: _Loop, candidate: str, item: int, name: str) -> float:
        """Have an answer graded, and keep the grade."""
        grader = self.graders[name]
        answer = await self._answer(loop, candidate, item)
        where = f"for candidate {candidate!r}, item {item}"
        limit = loop.at_once[name]
        if limit is not None:
            await limit.acquire()
        try:
            pause = self._paces[name].wait(asyncio.get_running_loop().time())
            if pause > 0.0:
                await asyncio.sleep(pause)
            self._paid[name] += 1
            score = await _called(grader.grade, (answer, self.items[item]), grader.timeout)
        except TimeoutError:
            raise StudyError(f"grader {name!r} did not answer within {grader.timeout:g} s {where}") from None
        except Exception as error:
            raise StudyError(f"grader {name!r} raised {type(error).__name__}: {error} {where}") from error
        finally:
            if limit is not None:
                limit.release()
        value = self._checked(score, f"grader {name!r} gave {score!r} {where}")
        self._grades.put(candidate, item, name, value)
        return value

    async def _answer(self, loop: _Loop, candidate: str, item: int) -> Any:
        """The candidate's answer to an item; made once."""
        if self.respond is None:
            return self.candidates[candidate]
        key = (candidate, item)
        async with loop.answering.setdefault(key, asyncio.Lock()):
            if key not in self._answers:
                try:
                    made = await _called(self.respond, (self.candidates[candidate], self.items[item]), None)
                except Exception as error:
                    where = f"for candidate {candidate!r}, item {item}"
                    raise StudyError(f"respond raised {type(error).__name__}: {error} {where}") from error
                self._answers[key] = made
                self._made += 1
        return self._answers[key]

    def _checked(self, score: Any, said: str) -> float:
        kind = self.problem.reward
        try:
            value = float(score)
        except (TypeError, ValueError):
            raise RewardError(f"{said}; a score must be a number") from None
        low, high = (-math.inf, math.inf) if kind.low is None else (kind.low, kind.high)
        if not math.isfinite(value) or not low <= value <= high:
            span = "finite" if kind.low is None else f"between {low:g} and {high:g}"
            raise RewardError(f"{said}; a score must be {span}")
        return value


class _Loop:
    """What belongs to one event loop: limits, and calls that run."""

    def __init__(self, graders: Mapping[str, Grader]) -> None:
        self.at_once = {
            name: None if one.at_once is None else asyncio.Semaphore(int(one.at_once)) for name, one in graders.items()
        }
        self.running: dict[tuple[str, int, str], asyncio.Future[float]] = {}
        self.answering: dict[tuple[str, int], asyncio.Lock] = {}


async def _called(function: Callable[..., Any], arguments: tuple[Any, ...], timeout: float | None) -> Any:
    """Call a function or a coroutine function; what blocks does so in a thread of its own."""
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
        return await asyncio.wait_for(function(*arguments), timeout)
    found = await asyncio.wait_for(asyncio.to_thread(function, *arguments), timeout)
    return await asyncio.wait_for(found, timeout) if inspect.isawaitable(found) else found


def _named(candidates: Iterable[str] | Mapping[str, Any]) -> dict[str, Any]:
    names = as_names(candidates, "candidates", InvalidInput)
    if not names:
        raise InvalidInput("candidates are empty; give at least one")
    values = list(candidates.values()) if isinstance(candidates, Mapping) else list(names)
    return dict(zip(names, values, strict=True))
