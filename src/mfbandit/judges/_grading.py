"""Making answers and having them graded: each once, at its pace, paid for and kept.

An answer is made once for a candidate and an item, and all graders grade it. A label is made once for an item, and
serves all candidates. What runs at the same time for the same thing is one call.
"""

from __future__ import annotations

import asyncio
import math
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from mfbandit.errors import RewardError, StorageError, StudyError
from mfbandit.judges._bill import Account
from mfbandit.judges._graders import Answering, Calls, Grader, Pace, called, checked_score
from mfbandit.judges.kept import GradeCache, Subject, content_key
from mfbandit.model import RewardKind

__all__ = ["HALF", "Grading", "WantedGrade"]

#: What a candidate scores against its own answer.
HALF = 0.5


class WantedGrade(NamedTuple):
    """A grade that is wanted."""

    subject: Subject
    grader: Grader
    study: str
    """Which study pays."""
    kind: RewardKind
    """What scores can be."""
    shares: bool
    """Whether answers that are the same have one grade."""


class Call(NamedTuple):
    """What to call, and what it costs."""

    function: Any
    arguments: tuple[Any, ...]
    price: float | None
    """None for what is neither paid for nor limited."""


class Grading:
    """Makes answers and has them graded."""

    def __init__(
        self,
        candidates: Mapping[str, Any],
        items: Sequence[Any],
        graders: Mapping[str, Grader],
        answering: Answering,
        cache: GradeCache,
    ) -> None:
        self.candidates, self.items, self.graders = candidates, items, graders
        self.answering, self.cache = answering, cache
        self.account = Account.of(graders)
        #: Items of which a log says that a grader was paid for them.
        self._remembered: set[tuple[str, int]] = set()
        self._paces = {name: Pace(one.per_second) for name, one in graders.items()}
        # Locks and running calls belong to one event loop each.
        self._loops: weakref.WeakKeyDictionary[Any, Calls] = weakref.WeakKeyDictionary()

    @property
    def calls(self) -> Calls:
        """The calls of the event loop that runs."""
        return self._loops.setdefault(asyncio.get_running_loop(), Calls(self.graders.values()))

    # What is known

    def made(self, subject: Subject) -> bool:
        """Whether the answer is there."""
        return self.answering.respond is None or self.cache.answer(subject) is not None

    def kept_as(self, subject: Subject, shares: bool) -> Subject:
        """The subject under which its grades are kept: if they are shared, the first with the same answer."""
        if not shares or self.answering.same is None or self.cache.answer(subject) is None:
            return subject
        return self.cache.alike(subject, self.answering.same)

    def pair(self, subject: Subject, opponent: Subject) -> tuple[Subject, bool] | None:
        """Under which subject the preference of two answers is kept, and whether the first is shown first.

        None if they are the same, so that there is nothing to prefer. The toss for who is shown first depends on the
        two and the item alone.
        """
        mine, other = (one.like or self.cache.own_key(one) for one in (subject, opponent))
        if mine == other:
            return None
        low, high = sorted((mine, other))
        tossed = int(content_key("pair", low, high, self.cache.item_key(subject))[:8], 16) % 2
        first, second = (low, high) if tossed else (high, low)
        return subject._replace(like=f"{first} {second}"), mine == first

    def kept_under(self, task: WantedGrade, opponent: Subject | None) -> tuple[Subject, bool] | None:
        """Under which subject a grade is kept, and whether it is the candidate's own; None for one half."""
        kept = self.kept_as(task.subject, task.shares)
        if opponent is None:
            return kept, True
        return self.pair(kept, self.kept_as(opponent, task.shares))

    def known(self, task: WantedGrade, opponent: Subject | None) -> float | None:
        """The grade of an answer, if it is known."""
        needed = (task.subject, opponent or task.subject) if task.shares else ()
        if any(self.cache.answer(one) is None for one in needed):
            return None
        found = self.kept_under(task, opponent)
        if found is None:
            return HALF
        kept, own = found
        score = self.cache.grade(kept, task.grader.name)
        return score if score is None or own else 1.0 - score

    def remember(self, task: WantedGrade, opponent: Subject | None, score: float) -> None:
        """Keep a grade that a log holds, as if it were paid for now."""
        found, grader = self.kept_under(task, opponent), task.grader
        if found is None:
            return
        kept, own = found
        opened = grader.per_item and (grader.name, kept.item) in self._remembered
        self._remembered.add((grader.name, kept.item))
        price = 0.0 if opened else grader.full_price
        score = score if own else 1.0 - score
        self.cache.keep_grade(kept, grader.name, score, study=task.study, price=price)

    def owed(self, task: WantedGrade, opponent: Subject | None) -> dict[Any, float]:
        """What is still to be paid for a grade, answers apart, by what it is for."""
        grader, found = task.grader, self.kept_under(task, opponent)
        if found is None or self.cache.grade(found[0], grader.name) is not None:
            return {}
        owed = {}
        for rater in _raters(grader):
            key = self.cache.grade_key(found[0], grader.name, rater)
            known: Any = self.cache.label(found[0], grader.name, rater) if grader.per_item else None
            if known is None and self.cache.grade(found[0], grader.name, rater) is None:
                owed[key[1:] if grader.per_item else key] = grader.price
        return owed

    # Answers

    async def answer(self, subject: Subject, study: str) -> Any:
        """The candidate's answer to an item; made once."""
        respond = self.answering.respond
        if respond is None:
            return self.candidates[subject.candidate]
        known = self.cache.answer(subject)
        if known is not None:
            return known[0]
        where = _where(subject)
        async with self.calls.lock("answer", *subject[:2]):
            known = self.cache.answer(subject)
            if known is not None:
                return known[0]
            self.account.answers += 1
            paid = True
            try:
                made = await called(respond, (self.candidates[subject.candidate], self.items[subject.item]), None)
                kept = self.cache.keep_answer(subject, made, study=study, price=self.answering.price)
                paid = False
            except StorageError as error:
                raise StorageError(f"respond {where}: {error}") from None
            except Exception as error:
                raise StudyError(f"respond raised {type(error).__name__}: {error} {where}") from error
            finally:
                if paid:  # for nothing: it failed, was cancelled, or cannot be kept
                    self.cache.keep_payment(study, self.answering.price, f"respond {where}")
            return kept

    # Grades

    async def grade(self, task: WantedGrade) -> float:
        """The grade of an answer; made once."""
        if task.shares:  # the answer says under whose name its grade is kept
            await self.answer(task.subject, task.study)
        kept = self.kept_as(task.subject, task.shares)
        return await self._once(task._replace(subject=kept), (task.subject,))

    async def prefer(self, task: WantedGrade, opponent: Subject) -> float:
        """How often an answer is preferred to an opponent's."""
        subject = task.subject
        for one in (subject, opponent) if task.shares else ():
            await self.answer(one, task.study)
        found = self.pair(*(self.kept_as(one, task.shares) for one in (subject, opponent)))
        if found is None:
            self.account.equal[task.grader.name] += task.grader.raters
            return HALF
        kept, first = found
        value = await self._once(task._replace(subject=kept), (subject, opponent) if first else (opponent, subject))
        return value if first else 1.0 - value

    async def _once(self, task: WantedGrade, shown: Sequence[Subject]) -> float:
        """A grade that is there, or is being made, or that is asked for now."""
        subject, name = task.subject, task.grader.name
        key = self.cache.grade_key(subject, name)
        known, running = self.cache.grade(subject, name), self.calls.running
        if known is None and key not in running:
            running[key] = asyncio.ensure_future(self._rated(task, shown))
            try:
                return await running[key]
            finally:
                running.pop(key, None)
        score = known if known is not None else await asyncio.shield(running[key])
        others = len(shown) == 1 and subject.like not in ("", self.cache.own_key(subject))
        (self.account.equal if others else self.account.cached)[name] += task.grader.raters
        return score

    async def _rated(self, task: WantedGrade, shown: Sequence[Subject]) -> float:
        """Have answers graded by all raters, and keep the mean."""
        answers = [await self.answer(one, task.study) for one in shown]
        ratings = [self._rating(task, answers, rater) for rater in _raters(task.grader)]
        if len(ratings) == 1:
            return await ratings[0]
        found = await asyncio.gather(*ratings, return_exceptions=True)
        scores = []
        for one in found:
            if isinstance(one, BaseException):
                raise one
            scores.append(one)
        mean = math.fsum(scores) / len(scores)
        return self.cache.keep_grade(task.subject, task.grader.name, mean, study=task.study, price=0.0)

    async def _rating(self, task: WantedGrade, answers: Sequence[Any], rater: int | None) -> float:
        """What one rater says."""
        subject, grader, name = task.subject, task.grader, task.grader.name
        known = self.cache.grade(subject, name, rater)
        if known is not None:
            self.account.cached[name] += 1
            return known
        item = self.items[subject.item]
        if grader.label is not None:
            # A comparison with a label is no call that is limited or paid for.
            arguments = (*answers, await self._label(task, rater))
            return await self._scored(task, Call(grader.grade, arguments, None), rater)
        call = Call(grader.grade, (*answers, item, *_number(rater)), grader.price)
        if not grader.per_item:
            return await self._scored(task, call, rater)
        async with self.calls.lock("item", name, subject.item, subject.draw, rater):
            if self.cache.label(subject, name, rater) is None:
                score = await self._scored(task, call, rater)
                self.cache.keep_label(subject, name, rater, None, study=task.study, price=0.0)
                return score
        return await self._scored(task, call._replace(price=0.0), rater)

    async def _scored(self, task: WantedGrade, call: Call, rater: int | None) -> float:
        """Have a score given, see that it is one, and keep it."""
        subject, name = task.subject, task.grader.name

        def checked(score: Any) -> float:
            return checked_score(task.kind, score, f"grader {name!r} gave {score!r} {_where(subject)}")

        score = await self._call(task, call, checked)
        return self.cache.keep_grade(subject, name, score, study=task.study, price=call.price or 0.0, rater=rater)

    async def _label(self, task: WantedGrade, rater: int | None) -> Any:
        """The label of an item; made once."""
        subject, grader = task.subject, task.grader
        async with self.calls.lock("item", grader.name, subject.item, subject.draw, rater):
            known = self.cache.label(subject, grader.name, rater)
            if known is not None:
                return known[0]

            def kept(label: Any) -> Any:
                return self.cache.keep_label(subject, grader.name, rater, label, study=task.study, price=grader.price)

            call = Call(grader.label, (self.items[subject.item], *_number(rater)), grader.price)
            return await self._call(task, call, kept)

    async def _call(self, task: WantedGrade, call: Call, take: Callable[[Any], Any]) -> Any:
        """Call a grader at its pace, and take what it says; a call that fails is paid for, too."""
        grader, name, where = task.grader, task.grader.name, _where(task.subject)
        limit = None if call.price is None else self.calls.at_once[name]
        paid = False
        if limit is not None:
            await limit.acquire()
        try:
            pause = 0.0 if call.price is None else self._paces[name].wait(asyncio.get_running_loop().time())
            if pause > 0.0:
                await asyncio.sleep(pause)
            if call.price is not None and call.price == grader.price:
                self.account.paid[name] += 1
                paid = call.price > 0.0
            taken = take(await called(call.function, call.arguments, grader.timeout))
            paid = False
            return taken
        except RewardError:
            raise
        except StorageError as error:
            raise StorageError(f"grader {name!r} {where}: {error}") from None
        except Exception as error:
            if isinstance(error, TimeoutError) and grader.timeout is not None:
                raise StudyError(f"grader {name!r} did not answer within {grader.timeout:g} s {where}") from None
            raise StudyError(f"grader {name!r} raised {type(error).__name__}: {error} {where}") from error
        finally:
            if limit is not None:
                limit.release()
            if paid:  # for nothing: it failed, or was cancelled
                self.cache.keep_payment(task.study, grader.price, f"grader {name!r} {where}")


def _raters(grader: Grader) -> Sequence[int | None]:
    """The numbers of a grader's raters; one alone needs none."""
    return (None,) if grader.raters == 1 else range(grader.raters)


def _number(rater: int | None) -> tuple[int, ...]:
    """The number of a rater as an argument, where there are several."""
    return () if rater is None else (rater,)


def _where(subject: Subject) -> str:
    return f"for candidate {subject.candidate!r}, item {subject.item}"
