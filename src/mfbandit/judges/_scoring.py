"""The pulls of a study as answers to grade: what each is about, what it costs now, and what its score is."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mfbandit.errors import InvalidInput, StorageError, StudyError
from mfbandit.judges._equal_answers import EqualAnswers
from mfbandit.judges._grading import Grading, WantedGrade
from mfbandit.judges._paid_study import told_pulls
from mfbandit.judges._true_grades import EXPECTED, KEPT, Conditions, with_words
from mfbandit.judges.kept import Subject, metered
from mfbandit.model import Outcome, Problem, RewardKind, counting_alike

if TYPE_CHECKING:
    from mfbandit.model import Pull
    from mfbandit.study import Study

__all__ = ["Scoring"]

#: Rounding that a score may differ by from the same score in a log.
_SLACK = 1e-9


class _PaidFailure(StudyError):
    """A call failed that was paid for all the same."""

    def __init__(self, said: str, cost: float) -> None:
        super().__init__(said)
        self.cost = cost


@dataclass
class Scoring:
    """Scores the pulls of studies."""

    grading: Grading
    conditions: Conditions
    kind: RewardKind
    """What graders may say."""
    present: dict[str, float] = field(default_factory=dict)
    """What is added to the scores of a candidate, in a comparison."""
    races: dict[str, EqualAnswers] = field(default_factory=dict)
    """Studies in which nobody is asked where all answers are the same, by identity."""
    unshared: set[str] = field(default_factory=set)
    """Studies whose answers are not kept, so that every candidate has grades of its own."""
    _lost: set[tuple[str, int]] = field(default_factory=set)
    _ungraded: list[tuple[Subject, Subject | None]] | None = None

    @property
    def low(self) -> float:
        """What counts where nobody is asked."""
        return float(self.kind.low or 0.0)

    @property
    def by_people(self) -> bool:
        """Whether people grade, who are asked for every answer by itself."""
        return any(grader.by == "people" for grader in self.grading.graders.values())

    # Pulls

    async def shown(self, pull: Pull) -> dict[str, Any]:
        """What is shown to people for a pull: the item, and the answer or, for a preference, both."""
        task, opponent, _ = self._task(pull)
        subjects = [task.subject] if opponent is None else [task.subject, opponent]
        answers = [await self.grading.answer(subject, pull.study) for subject in subjects]
        item = self.grading.items[task.subject.item]
        return {"item": item, "answers": answers}

    async def outcome(self, pull: Pull) -> Outcome:
        """The score of a pull, with what was really paid for it where that is not its price."""
        with metered() as meter:
            try:
                score = await self.score(pull)
            except StorageError:
                raise
            except StudyError as error:
                # Others may wait for the same call: each says what it has paid itself.
                raise _PaidFailure(str(error), meter.paid) from error
        if abs(meter.paid - pull.cost) <= _SLACK * pull.cost:
            return Outcome(score)
        # What was there already, or serves others, says nothing of what the next pull costs.
        return Outcome(score, cost=meter.paid, usual=meter.paid == 0.0)

    async def score(self, pull: Pull) -> float:
        """The score of a pull."""
        task, opponent, race = self._task(pull)
        grading, grader = self.grading, task.grader
        same = grading.cache.equal(pull.study, grader.name, pull.index)
        if race is not None and same is None:
            await grading.answer(task.subject, pull.study)
            same = await race.on(pull, task.subject)
        if same:
            await self._check_same(task, same)
            grading.account.equal[grader.name] += grader.raters
            score = self.low
        elif opponent is None:
            score = await grading.grade(task)
        else:
            score = await grading.prefer(task, opponent)
        grading.account.count(grader, task.subject.item, grading.answering.price)
        return score + self.present.get(pull.arm, 0.0)

    async def _check_same(self, task: WantedGrade, same: str) -> None:
        """Refuse a candidate that was not compared where nobody was asked: its difference there is not known."""
        await self.grading.answer(task.subject, task.study)
        if self.grading.kept_as(task.subject, True).like != same:
            raise StudyError(
                f"candidate {task.subject.candidate!r} gives another answer to item {task.subject.item} than all who "
                "were compared there without a grade: whoever had lost by then cannot be measured on it"
            )

    def owed(self, pull: Pull) -> dict[Any, float]:
        """What is to be paid for a pull now, by what it is for."""
        task, opponent, race = self._task(pull)
        grading, subject = self.grading, task.subject
        same = None if race is None else race.known(pull)
        if same:
            return {}
        needed = {subject.candidate} | ({opponent.candidate} if opponent else set())
        if race is not None and same is None:
            needed |= set(race.worth(pull))
        unmade = [name for name in needed if not grading.made(subject._replace(candidate=name))]
        price = grading.answering.price
        return {("answer", name, subject.item): price for name in unmade if price} | grading.owed(task, opponent)

    def _task(self, pull: Pull) -> tuple[WantedGrade, Subject | None, EqualAnswers | None]:
        """What a pull wants graded, the opponent if it is a preference, and who knows of equal answers."""
        item, opponent = self.conditions.of(pull)
        anew = self.conditions.truth == EXPECTED
        subject = Subject(pull.arm, item, f"{pull.study} {pull.index}" if anew else "")
        race = self.races.get(pull.study)
        # Draws that have nothing in common must not share a grade; those of a race are on one item.
        shares = self.grading.answering.shares and pull.study not in self.unshared and (race is not None or not anew)
        task = WantedGrade(subject, self.grading.graders[pull.fidelity], pull.study, self.kind, shares)
        return task, None if opponent is None else subject._replace(candidate=opponent), race

    # Studies

    def can_spare(self, stored: bool) -> bool:
        """Whether nobody need be asked where all answers are the same.

        Whoever goes on with a stored study must find the answers that were compared.
        """
        return self.could_spare and (not stored or self.grading.cache.path is not None)

    @property
    def could_spare(self) -> bool:
        """Whether nobody need be asked where all answers are the same, if they are kept."""
        return self.grading.answering.shares and not self.by_people

    def sparing(self, problem: Problem) -> Problem:
        """The problem in which items that all candidates left answer alike need no grader; its truth says so."""
        return with_words(problem, counting_alike(problem.truth, self.low))

    def begin(self, study: Study, spares: bool) -> None:
        """Begin or go on with a study."""
        if spares:
            self.races[study.identity] = EqualAnswers(study, self.grading)
        elif self.by_people or (study.storage.url and self.grading.cache.path is None):
            self.unshared.add(study.identity)

    def end(self, study: Study) -> None:
        """Let go of a study; what was found out about its blocks is kept."""
        self.races.pop(study.identity, None)

    def paid(self, study: Study) -> float:
        """What was paid for a study, in all its runs."""
        return self.grading.cache.paid(study.identity)

    def recall(self, study: Study) -> None:
        """Take the grades of a stored study from its log, and see that they are one set of grades."""
        if not study.storage.url and not self.by_people:
            return
        answering, cache = self.grading.answering, self.grading.cache
        if self.conditions.truth == EXPECTED and answering.respond is not None and cache.path is None:
            raise InvalidInput(
                "the expected grade is about answers that are made once: a study that is stored needs "
                "cache='a file', where Judging keeps them from one run to the next"
            )
        for pull, score in told_pulls(study):
            task, opponent, race = self._task(pull)
            if race is not None and race.known(pull) is None:
                raise StudyError(
                    f"the cache has no answers to item {task.subject.item} that study {study.name!r} has compared: "
                    "resume it with the cache it was started with"
                )
            told = score - self.present.get(pull.arm, 0.0)
            same = race is not None and race.known(pull)
            known = self.low if same else self.grading.known(task, opponent)
            if known is None:
                self._recall_answer(task.subject, study.identity)
                self.grading.remember(task, opponent, told)
            elif abs(known - told) > _SLACK and not task.subject.draw:
                raise StudyError(
                    f"grader {pull.fidelity!r} gave candidate {pull.arm!r} {told:g} and {known:g} on item "
                    f"{task.subject.item}, so there is no one set of grades: resume study {study.name!r} with the "
                    "cache it was started with, and let all its processes share one"
                )

    def _recall_answer(self, subject: Subject, study: str) -> None:
        """Count an answer that must have been made and was not kept."""
        where = subject[:2]
        if not self.grading.made(subject) and where not in self._lost:
            self._lost.add(where)
            price = self.grading.answering.price
            self.grading.cache.keep_payment(study, price, "an answer that was not kept")

    # Policies that are no race

    def all_known(self, problem: Problem) -> bool:
        """Whether the truest grader graded every item for every candidate, once and for all."""
        if self.conditions.truth != KEPT:
            return False
        if self._ungraded is None:
            self._ungraded = [cell for name in problem.arms for cell in self._cells(name)]
        while self._ungraded:
            # The last one was not graded when it was last looked at.
            if self._kept(problem, *self._ungraded[-1]) is None:
                break
            self._ungraded.pop()
        return not self._ungraded

    def kept_mean(self, problem: Problem, candidate: str) -> float:
        """The mean of all grades of a candidate by the truest grader, all of which are known."""
        grades = [self._kept(problem, *cell) for cell in self._cells(candidate)]
        return math.fsum(grade for grade in grades if grade is not None) / len(grades)

    def _cells(self, candidate: str) -> Iterable[tuple[Subject, Subject | None]]:
        """What the true score of a candidate is the mean of."""
        for item in range(len(self.conditions.items)):
            for opponent in self.conditions.opponents or (None,):
                yield Subject(candidate, item), None if opponent is None else Subject(opponent, item)

    def _kept(self, problem: Problem, subject: Subject, opponent: Subject | None) -> float | None:
        grader = self.grading.graders[problem.fidelities[problem.truest].name]
        return self.grading.known(WantedGrade(subject, grader, "", self.kind, self.grading.answering.shares), opponent)
