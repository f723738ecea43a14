"""`Judging`: candidates, items and graders as a problem with blocks. `mfbandit.judges` says which truth is meant."""

from __future__ import annotations

import asyncio
import inspect
import math
import os
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mfbandit._checks import as_list, as_positive
from mfbandit.algorithms import default_policy, read_policy
from mfbandit.errors import InvalidInput, RewardError, StorageError, StudyError
from mfbandit.judges._bill import Bill, GraderBill
from mfbandit.judges._grade_cache import GradeCache, Subject
from mfbandit.judges._graders import Calls, Grader, Pace, called, checked_score, named_candidates
from mfbandit.judges._paid_study import PaidStudy, told_pulls
from mfbandit.judges._true_grades import EXPECTED, KEPT, item_of, judged_problem
from mfbandit.model import RewardKind
from mfbandit.study.api import study_for
from mfbandit.study.run import optimize

if TYPE_CHECKING:
    from mfbandit.model import Pull
    from mfbandit.study import Result, Study

__all__ = ["Grader", "Judging", "Pace"]


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
    truth
        ``"these grades"``: every grade is made once and kept. ``"expected grade"``: every draw is graded
        anew, which graders that are not repeatable need if a second grading should agree. See the module.
    cache
        A file that keeps grades and answers from one run to the next (JSON lines). Several processes may
        share it. Grades are found again by the content of candidates and items and by the grader's name:
        rename a grader, or use another file, if you change what it does.
    currency
        What stands before amounts in a bill.

    Examples
    --------
    >>> def count(prompt, item):
    ...     return float(item in prompt)
    >>> judging = Judging({"a": "x", "b": "xyz"}, ["x", "y", "z"], [Grader("exact", count, price=1)])
    >>> from mfbandit.study import create_study
    >>> study = create_study(judging.problem)
    >>> while not study.done:
    ...     for pull in study.ask():
    ...         _ = study.tell(pull, judging.grade(pull))
    >>> study.best
    'b'
    >>> print(judging.bill().sentence)
    Paid $6.00 for 6 gradings. To grade every item for every candidate by 'exact' would cost $6.00.
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
        truth: str = "these grades",
        cache: str | os.PathLike[str] | None = None,
        currency: str = "$",
    ) -> None:
        self.candidates = named_candidates(candidates)
        self.items: Sequence[Any] = as_list(items, "items must be a list", InvalidInput)
        if not self.items:
            raise InvalidInput("items are empty; graders need something to grade")
        listed = as_list(graders, "graders must be a list of Grader objects", InvalidInput)
        for one in listed:
            if not isinstance(one, Grader):
                raise InvalidInput(f"graders must be Grader objects, got {one!r}")
        self.graders: dict[str, Grader] = {one.name: one for one in listed}
        if isinstance(answer_price, bool) or not 0.0 <= answer_price < math.inf:
            raise InvalidInput(f"answer_price must be a number >= 0, got {answer_price!r}")
        self.answer_price = float(answer_price)
        self.respond = respond
        self.currency = currency
        self.truth = truth
        fidelities = [one.fidelity(self.answer_price) for one in listed]
        self.problem = judged_problem(self.candidates, self.items, fidelities, reward, truth)
        self._truest = self.problem.fidelities[self.problem.truest].name
        self._cache = GradeCache(cache, self.candidates, self.items, answered=respond is not None)
        self._paces = {one.name: Pace(one.per_second) for one in listed}
        self._paid = dict.fromkeys(self.graders, 0)
        self._cached = dict.fromkeys(self.graders, 0)
        self._made = 0
        self._lost: set[tuple[str, int]] = set()
        #: Of these the truest grader may have graded some; the last one was not when it was last looked at.
        self._ungraded = [Subject(name, item) for name in self.candidates for item in range(len(self.items))]
        # Locks and running calls belong to one event loop each.
        self._loops: weakref.WeakKeyDictionary[Any, Calls] = weakref.WeakKeyDictionary()

    def item_of(self, pull: Pull) -> int:
        """The position of the item that a pull is about."""
        return item_of(pull, self.truth, len(self.items))

    async def evaluate(self, pull: Pull) -> float:
        """The score of a pull; pass this to `mfbandit.identify`, which runs many at once.

        A study that is stored and resumed needs its grades back: give a `cache`, or use
        `Judging.identify`, which finds them in the study.
        """
        subject, name = self._subject(pull), pull.fidelity
        known = self._cache.grade(subject, name)
        if known is not None:
            self._cached[name] += 1
            return known
        loop = self._loops.setdefault(asyncio.get_running_loop(), Calls(self.graders.values()))
        key = (subject, name)
        if key in loop.running:
            score = await asyncio.shield(loop.running[key])
            self._cached[name] += 1
            return score
        task = asyncio.ensure_future(self._ask(loop, subject, name, pull.study))
        loop.running[key] = task
        try:
            return await task
        finally:
            loop.running.pop(key, None)

    def grade(self, pull: Pull) -> float:
        """The score of a pull, outside of an event loop."""
        return asyncio.run(self.evaluate(pull))

    def identify(self, *, max_cost: float | None = None, **settings: Any) -> Result:
        """Find the best candidate; takes what `mfbandit.identify` takes, such as delta and workers.

        The policy is ``mf-race``. Others take rewards for independent: they need the option ``independent=true``
        (``policy="lucb-top:independent=true"``), and then draw an item of its own for every pull.

        Here `max_cost` and `result.cost` are money that is really paid for this study, in all its runs: a
        grade that was there already costs nothing, and a call that failed costs its price. The
        certificate counts every pull at its price, as studies do.

        Where grades are kept, a race that has seen all grades by the truest grader is certain, and names
        candidates that are tied in `result.tied`. Other policies may know all grades and still have no
        certificate. Then the best is found by counting, and the status is "complete".
        """
        limit = math.inf if max_cost in (None, math.inf) else as_positive(max_cost, "max_cost", InvalidInput)
        running = {name: settings.pop(name) for name in inspect.signature(optimize).parameters if name in settings}
        chosen = read_policy(settings.get("policy") or default_policy(self.problem))
        if chosen.objective == "regret":
            raise InvalidInput(
                f"policy {chosen.label!r} spends a budget: use mfbandit.allocate with judging.problem.without_blocks()"
            )
        study = study_for(self.problem, settings, running.get("workers", 1))
        self._recall(study)
        free_draws = 1000 + 10 * len(self.candidates) * len(self.items)
        paid_study: Any = PaidStudy(
            study,
            self._price,
            lambda: self._cache.paid(study.identity),
            limit,
            # A race uses no item twice, and is over when all are used.
            lambda: not chosen.on_blocks and self._all_known(),
            free_draws,
        )
        result: Result = optimize(paid_study, self.evaluate, **running)
        self._recall(study)
        said: dict[str, Any] = {"cost": self._cache.paid(study.identity)}
        if result.status == "complete":
            left = [name for name in self.candidates if name not in result.retired]
            said |= {"best": max(left, key=self._kept_mean), "confidence": 1.0}
        for name, value in said.items():  # the result is new, and nobody has seen it yet
            object.__setattr__(result, name, value)
        return result

    def bill(self) -> Bill:
        """What was paid so far, by grader."""
        return Bill(
            graders=tuple(
                GraderBill(name, one.price, self._paid[name], self._cached[name]) for name, one in self.graders.items()
            ),
            answers=self._made,
            answer_price=self.answer_price,
            truest=self._truest,
            everything=len(self.candidates) * len(self.items),
            currency=self.currency,
        )

    def _subject(self, pull: Pull) -> Subject:
        """What a pull is about; a draw of its own if every draw is graded anew."""
        anew = self.truth == EXPECTED
        return Subject(pull.arm, self.item_of(pull), f"{pull.study} {pull.index}" if anew else "")

    def _price(self, pull: Pull) -> float:
        """What a pull would cost now."""
        subject = self._subject(pull)
        if self._cache.grade(subject, pull.fidelity) is not None:
            return 0.0
        made = self.respond is None or self._cache.answer(subject) is not None
        return self.graders[pull.fidelity].price + (0.0 if made else self.answer_price)

    def _all_known(self) -> bool:
        """Whether the truest grader graded every item for every candidate, once and for all."""
        while self.truth == KEPT and self._ungraded:
            if self._cache.grade(self._ungraded[-1], self._truest) is None:
                break
            self._ungraded.pop()
        return not self._ungraded

    def _kept_mean(self, candidate: str) -> float:
        """The mean of all grades of a candidate by the truest grader, all of which are known."""
        grades = (self._cache.grade(Subject(candidate, item), self._truest) for item in range(len(self.items)))
        return math.fsum(grade for grade in grades if grade is not None) / len(self.items)

    def _recall(self, study: Study) -> None:
        """Take the grades of a stored study from its log, and see that they are one set of grades."""
        if not study.storage.url:
            return
        if self.truth == EXPECTED and self.respond is not None and self._cache.path is None:
            raise InvalidInput(
                "the expected grade is about answers that are made once: a study that is stored needs "
                "cache='a file', where Judging keeps them from one run to the next"
            )
        for pull, score in told_pulls(study):
            subject, name = self._subject(pull), pull.fidelity
            known = self._cache.grade(subject, name)
            if known is None:
                self._recall_answer(subject, study.identity)
                price = self.graders[name].price
                self._cache.keep_grade(subject, name, score, study=study.identity, price=price)
            elif known != score and not subject.draw:
                raise StudyError(
                    f"grader {name!r} gave candidate {pull.arm!r} {score:g} and {known:g} on item {subject.item}, so "
                    f"there is no one set of grades: resume study {study.name!r} with the cache it was started "
                    "with, and let all its processes share one"
                )

    def _recall_answer(self, subject: Subject, study: str) -> None:
        """Count an answer that must have been made and was not kept."""
        where = subject[:2]
        if self.respond is not None and self._cache.answer(subject) is None and where not in self._lost:
            self._lost.add(where)
            self._cache.keep_payment(study, self.answer_price, "an answer that was not kept")

    async def _ask(self, loop: Calls, subject: Subject, name: str, study: str) -> float:
        """Have an answer graded, and keep the grade."""
        grader = self.graders[name]
        answer = await self._answer(loop, subject, study)
        where = f"for candidate {subject.candidate!r}, item {subject.item}"
        limit = loop.at_once[name]
        paid = False
        if limit is not None:
            await limit.acquire()
        try:
            pause = self._paces[name].wait(asyncio.get_running_loop().time())
            if pause > 0.0:
                await asyncio.sleep(pause)
            self._paid[name] += 1
            paid = True
            score = await called(grader.grade, (answer, self.items[subject.item]), grader.timeout)
            value = checked_score(self.problem.reward, score, f"grader {name!r} gave {score!r} {where}")
            paid = False
        except RewardError:
            raise
        except TimeoutError:
            raise StudyError(f"grader {name!r} did not answer within {grader.timeout:g} s {where}") from None
        except Exception as error:
            raise StudyError(f"grader {name!r} raised {type(error).__name__}: {error} {where}") from error
        finally:
            if limit is not None:
                limit.release()
            if paid:  # for nothing: it failed, or was cancelled
                self._cache.keep_payment(study, grader.price, f"grader {name!r} {where}")
        return self._cache.keep_grade(subject, name, value, study=study, price=grader.price)

    async def _answer(self, loop: Calls, subject: Subject, study: str) -> Any:
        """The candidate's answer to an item; made once."""
        if self.respond is None:
            return self.candidates[subject.candidate]
        where = f"for candidate {subject.candidate!r}, item {subject.item}"
        async with loop.answering.setdefault(subject[:2], asyncio.Lock()):
            known = self._cache.answer(subject)
            if known is not None:
                return known[0]
            self._made += 1
            paid = True
            try:
                made = await called(self.respond, (self.candidates[subject.candidate], self.items[subject.item]), None)
                kept = self._cache.keep_answer(subject, made, study=study, price=self.answer_price)
                paid = False
            except StorageError as error:
                raise StorageError(f"respond {where}: {error}") from None
            except Exception as error:
                raise StudyError(f"respond raised {type(error).__name__}: {error} {where}") from error
            finally:
                if paid:  # for nothing: it failed, was cancelled, or cannot be kept
                    self._cache.keep_payment(study, self.answer_price, f"respond {where}")
            return kept
