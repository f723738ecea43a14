"""`Judging`: candidates, items and graders as a problem with blocks. `mfbandit.judges` says which truth is meant."""

from __future__ import annotations

import asyncio
import inspect
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mfbandit._checks import as_list, as_positive, is_number
from mfbandit.algorithms import default_policy, read_policy
from mfbandit.errors import InvalidInput
from mfbandit.judges._bill import Bill, GraderBill
from mfbandit.judges._comparison import Comparison, comparison_seed, present_problem
from mfbandit.judges._equal_answers import equal, guarded, refuse_return
from mfbandit.judges._graders import (
    Answering,
    Grader,
    Pace,
    as_graders,
    background_loop,
    named_candidates,
    opponents_of,
)
from mfbandit.judges._grading import Grading
from mfbandit.judges._paid_study import PaidStudy
from mfbandit.judges._refusals import (
    check_begun,
    check_function,
    check_graders,
    check_settings,
    warn_of_no_cache,
    with_texts,
)
from mfbandit.judges._scoring import Scoring
from mfbandit.judges._true_grades import KEPT, Conditions, judged_problem
from mfbandit.judges.kept import GradeCache
from mfbandit.model import Bounded, Problem, RewardKind
from mfbandit.study.api import study_for
from mfbandit.study.run import optimize

if TYPE_CHECKING:
    from mfbandit.model import Outcome, Pull
    from mfbandit.study import Result

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
        `Grader` objects, one of which has bias 0, or `Preference` objects.
    respond
        A function, or coroutine function, of a candidate and an item that makes the answer to grade; each
        answer is made once. Without it graders get the candidate itself.
    answer_price
        What `respond` costs; part of the price of every pull.
    same
        A function of two answers that says whether all graders would treat them alike; by default whether they are
        equal. Answers that are the same have one grade, and where all candidates left give the same answer
        nobody is asked. None, and with scores that have no range: every answer is graded.
    raters
        How many different people give each grade that is the truth, which is their mean: `raters` of the grader that
        has bias 0. By default what the grader says itself.
    reward
        The range of scores, as for `Problem`: [0, 1] by default, ``mf.Bounded(1, 5)`` for scores from 1 to 5.
    truth
        ``"these grades"``: every grade is made once and kept. ``"expected grade"``: every draw is graded
        anew, which graders that are not repeatable need if a second grading should agree. The page about judges
        has an example.
    cache
        A file that keeps grades and answers from one run to the next (JSON lines). A study in a storage needs it:
        without it every answer is graded, equal or not. Several processes may share it. Grades are found again by
        the content of candidates and items and by the grader's name: rename a grader, or use another file, if you
        change what it does.
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
        same: Callable[[Any, Any], bool] | None = equal,
        raters: int | None = None,
        reward: str | RewardKind = "bounded",
        truth: str = "these grades",
        cache: str | os.PathLike[str] | None = None,
        currency: str = "$",
    ) -> None:
        self.candidates = named_candidates(candidates)
        self.items: Sequence[Any] = as_list(items, "items must be a list", InvalidInput)
        if not self.items:
            raise InvalidInput("items are empty; graders need something to grade")
        self.graders = as_graders(graders, self.candidates, raters)
        check_graders(self.graders)
        if respond is not None:
            check_function(respond, "respond", ["a candidate", "an item"])
        if not is_number(answer_price) or not 0.0 <= answer_price < math.inf:
            raise InvalidInput(f"answer_price must be a number >= 0, got {answer_price!r}")
        if free := [name for name, one in self.graders.items() if one.full_price + answer_price == 0.0]:
            raise InvalidInput(f"{free[0]!r} costs nothing, and answers neither: say answer_price=1 to count answers")
        if same is not None and (not callable(same) or inspect.iscoroutinefunction(same)):
            raise InvalidInput(f"same must be a plain function of two answers, or None, got {same!r}")
        if same is not None:
            check_function(same, "same", ["an answer", "another answer"])
        self.currency = currency
        self.truth = truth
        self._in_all_runs: float | None = None
        conditions = Conditions(truth, self.items, opponents_of(self.graders, self.candidates))
        fidelities = [one.fidelity(float(answer_price)) for one in self.graders.values()]
        self.problem = judged_problem(self.candidates, fidelities, reward, conditions)
        if conditions.opponents and self.problem.reward != Bounded(0.0, 1.0):
            raise InvalidInput(f"preferences are shares between 0 and 1: leave reward out, got {reward!r}")
        # Differences of scores without a range are taken for normal, which those of shared grades, often 0, are not.
        ranged = self.problem.reward.low is not None
        answering = Answering(respond, float(answer_price), guarded(same) if same is not None and ranged else None)
        kept = GradeCache(cache, self.candidates, self.items, answered=respond is not None)
        grading = Grading(self.candidates, self.items, self.graders, answering, kept)
        self._scoring = Scoring(grading, conditions, self.problem.reward)

    def item_of(self, pull: Pull) -> int:
        """The position of the item that a pull is about."""
        return self._scoring.conditions.of(pull)[0]

    async def evaluate(self, pull: Pull) -> float:
        """The score of a pull; pass this to `mfbandit.identify`, which runs many at once.

        A study that is stored and resumed needs its grades back: give a `cache`, or use
        `Judging.identify`, which finds them in the study. Only `Judging.identify` knows which candidates are left, and
        asks nobody where all of these give the same answer.
        """
        return await self._scoring.score(pull)

    async def outcome(self, pull: Pull) -> Outcome:
        """The score of a pull, with what was really paid for it: 0 for a grade that was there already.

        Pass this to `mfbandit.identify`, in place of `evaluate`, for a `max_cost` that counts money really paid.
        """
        return await self._scoring.outcome(pull)

    def grade(self, pull: Pull) -> float:
        """The score of a pull, outside of an event loop; may be called by many threads at once."""
        running = asyncio.run_coroutine_threadsafe(self.evaluate(pull), background_loop())
        try:
            return running.result()
        except BaseException:
            running.cancel()
            raise

    def show(self, pull: Pull) -> dict[str, Any]:
        """What people are shown who grade a pull: its item and its answer, which is made if it is not there yet.

        Pass it to `mfbandit.serve.app`, in the process that runs the study.

        Examples
        --------
        >>> from mfbandit.study import create_study
        >>> people = Grader("people", None, price=0.5, by="people")
        >>> judging = Judging({"a": "short", "b": "long"}, ["x", "y"], [people], respond=lambda c, item: f"{c} {item}")
        >>> judging.show(create_study(judging.problem).ask(people=True)[0])["answers"]
        ['short ...']
        """
        running = asyncio.run_coroutine_threadsafe(self._scoring.shown(pull), background_loop())
        return running.result()

    def identify(self, *, max_cost: float | None = None, **settings: Any) -> Result:
        """Find the best candidate; takes what `mfbandit.identify` takes, such as delta and workers.

        The policy is ``mf-race``. Others take rewards for independent: they need the option ``independent=true``
        (``policy="lucb-top:independent=true"``), and then draw an item of its own for every pull.

        Here `max_cost` and `result.cost` are money that is really paid for this study, in all its runs: a
        grade that was there already costs nothing, and a call that failed costs its price. The study is told what
        each pull has really cost, so that `mfbandit status` and `Study.to_frame` say the same, but for calls that were
        under way when it had its answer. `Judging.bill` also says what all pulls would have cost at their prices.

        Where grades are kept, a race that has seen all grades by the truest grader is certain, and names
        candidates that are tied in `result.tied`. Other policies may know all grades and still have no
        certificate. Then the best is found by counting, and the status is "complete".

        On an item that all candidates left answer alike, a race asks nobody and counts the low end of the range for
        all of them. `result.differences` is not touched by that. Means would be too low, and are None.
        """
        return self._run(self.problem, self._scoring, max_cost, settings)

    def compare(
        self, new: str, old: str, margin: float = 0.02, *, max_cost: float | None = None, **settings: Any
    ) -> Comparison:
        """Whether a new candidate is not worse than an old one by more than a margin.

        Parameters
        ----------
        new, old
            Names of two candidates.
        margin
            How much worse the new one may be, in units of the score, at least 0.
        max_cost
            Never pay more than this; whoever has shown nothing by then has not passed.
        settings
            As for `identify`; delta (0.05) is the probability with which the verdict may be wrong. The seed is made
            from the content of the two and of the items, so that a changed candidate meets the items in a new order.
            A candidate without content (a function, a model) has a new order in every run, unless you state a seed.

        Returns
        -------
        Comparison
            True if the new candidate was shown not to be worse by more than the margin. It ends as soon as that, or
            the opposite, is shown.

        Examples
        --------
        >>> grader = Grader("exact", lambda answer, item: float(item % 10 < answer), price=1.0)
        >>> judging = Judging({"v1": 8, "v2": 9, "v3": 2}, range(200), [grader])
        >>> bool(judging.compare("v2", "v1", progress=False)), judging.compare("v3", "v1", progress=False).verdict
        (True, 'worse')
        """
        if not is_number(margin) or not 0.0 <= margin < math.inf:
            raise InvalidInput(f"margin must be a number >= 0, got {margin!r}")
        if settings.get("epsilon"):
            raise InvalidInput("compare takes a margin, and no epsilon")
        if not read_policy(settings.get("policy") or default_policy(self.problem)).on_blocks:
            raise InvalidInput(
                f"compare is a race of two candidates on shared items, got policy {settings['policy']!r}"
            )
        present_problem(self.problem, new, old, 0.0)  # refuses names that are none
        stored = settings.get("storage") is not None
        if settings.get("seed") is None:
            settings["seed"] = comparison_seed(self.candidates, new, old, self.items, stored)
        if stored:
            settings.setdefault("name", f"compare {new} with {old}")
        problem = present_problem(self.problem, new, old, float(margin))
        scoring = replace(self._scoring, present={new: float(margin)})
        return Comparison.of(new, old, float(margin), self._run(problem, scoring, max_cost, settings))

    def bill(self) -> Bill:
        """What was paid since this `Judging` was made, by grader; its sentence says what all runs of a study cost."""
        account, answering = self._scoring.grading.account, self._scoring.grading.answering
        return Bill(
            graders=tuple(
                GraderBill(
                    name,
                    one.price,
                    account.paid[name],
                    account.cached[name],
                    account.equal[name],
                    one.raters,
                    one.per_item,
                )
                for name, one in self.graders.items()
            ),
            answers=account.answers,
            answer_price=answering.price,
            truest=self.problem.fidelities[self.problem.truest].name,
            everything=len(self.candidates) * len(self.items) * max(1, len(self._scoring.conditions.opponents)),
            currency=self.currency,
            items=len(self.items),
            all_answers=len(self.candidates) * len(self.items),
            at_full_price=account.at_full_price,
            in_all_runs=self._in_all_runs,
        )

    def _check_people(self, scoring: Scoring, is_race: bool) -> None:
        if scoring.present:
            raise InvalidInput("compare adds a margin to grades, which those of people do not have: use identify")
        if self.truth == KEPT and not is_race:
            raise InvalidInput(
                "people grade each answer once in a race; other policies draw answers again: say truth='expected grade'"
            )

    def _run(self, problem: Problem, scoring: Scoring, max_cost: float | None, settings: dict[str, Any]) -> Result:
        """Run a study of a problem whose pulls are scored."""
        limit = math.inf if max_cost in (None, math.inf) else as_positive(max_cost, "max_cost", InvalidInput)
        running = {name: settings.pop(name) for name in inspect.signature(optimize).parameters if name in settings}
        check_settings(settings)
        chosen = read_policy(settings.get("policy") or default_policy(problem))
        if chosen.spends:
            raise InvalidInput(
                f"policy {chosen.label!r} spends a budget: use mfbandit.allocate with judging.problem.without_blocks()"
            )
        if scoring.by_people:
            self._check_people(scoring, chosen.on_blocks)
            # People are asked by the page: the study itself keeps the limit, with every pull at its full price.
            settings, limit = {**settings, "max_cost": max_cost}, math.inf
        stored = bool(getattr(settings.get("storage"), "url", settings.get("storage")))
        if stored:
            problem = with_texts(problem, self.candidates, settings["storage"], settings.get("name"))
        spares = chosen.on_blocks and scoring.can_spare(stored)
        if spares:
            refuse_return(settings.get("storage"), settings.get("name"), settings)
        if stored:
            where = settings["storage"], settings.get("name")
            begun = check_begun(*where, problem, scoring.sparing(problem), spares)
            if chosen.on_blocks and self.truth == KEPT and scoring.could_spare and not (begun or spares):
                warn_of_no_cache()
        study = study_for(scoring.sparing(problem) if spares else problem, settings, running.get("workers", 1))
        scoring.begin(study, spares)
        scoring.recall(study)
        paid_study: Any = PaidStudy(
            study,
            scoring.owed,
            lambda: scoring.paid(study),
            limit,
            # A race uses no item twice, and is over when all are used.
            lambda: not chosen.on_blocks and scoring.all_known(problem),
            1000 + 10 * len(self.candidates) * len(self.items),
        )
        try:
            result: Result = optimize(paid_study, scoring.outcome, **running)
            scoring.recall(study)
        finally:
            scoring.end(study)
        self._in_all_runs = scoring.paid(study)
        said: dict[str, Any] = {"cost": self._in_all_runs}
        if result.status == "complete":
            left = [name for name in problem.arms if name not in result.retired]
            said |= {"best": max(left, key=lambda name: scoring.kept_mean(problem, name)), "confidence": 1.0}
        for name, value in said.items():  # the result is new, and nobody has seen it yet
            object.__setattr__(result, name, value)
        return result
