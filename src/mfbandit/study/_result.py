"""The answer of a study."""

from __future__ import annotations

import math
import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mfbandit._optional import optional
from mfbandit.certificate import Certificate, GoalCertificate, RaceCertificate
from mfbandit.errors import StudyError
from mfbandit.model import counts_alike, read_question
from mfbandit.study._view import View
from mfbandit.study.report._goal_words import GoalAnswer, goal_answer
from mfbandit.study.report._page import write_report
from mfbandit.study.report._result_words import sentence, shown_so_far

if TYPE_CHECKING:
    from mfbandit.study._study import Study

__all__ = ["ArmResult", "Result"]


class Source:
    """Where the study of a result is: a result that is kept holds no files open.

    A study in memory is kept itself. One that is stored is opened again when it is needed, unless it is open.
    """

    def __init__(self, study: Study) -> None:
        self._kept = None if study.storage.url else study
        self._open = weakref.ref(study)
        self._reopen, self._identity = study.reopening(), study.identity

    @contextmanager
    def study(self) -> Iterator[Study | None]:
        """The study; None if it is no longer there."""
        study = self._kept or self._open()
        if study is not None and (self._kept or not study.closed):
            yield study
            return
        try:
            study = self._reopen()
        except StudyError:
            yield None
            return
        with study:
            yield study if study.identity == self._identity else None


@dataclass(frozen=True)
class ArmResult:
    """What a study knows of one arm."""

    arm: str
    low: float
    """Lower bound of the true mean."""
    high: float
    """Upper bound of the true mean."""
    pulls: dict[str, int]
    """Pulls by fidelity."""
    means: dict[str, float | None]
    """Mean reward by fidelity; None where there is none, and where all who agreed on a block were not measured."""
    cost: float
    retired: str | None = None
    """Why the arm was given up."""
    costs: dict[str, float] = field(default_factory=dict)
    """What its pulls have cost, by fidelity."""


@dataclass(frozen=True)
class Result:
    """The answer of a study, final if the study was done.

    Examples
    --------
    >>> import mfbandit as mf
    >>> from mfbandit.study import create_study
    >>> study = create_study(mf.Problem(["a", "b"], [("exact", 1.0, 0.0)]), max_cost=10)
    >>> while not study.done:
    ...     for pull in study.ask():
    ...         _ = study.tell(pull, 0.5)
    >>> result = study.result()
    >>> result.status, result.cost, result.arms[0].pulls
    ('max_cost', 10.0, {'exact': 5})
    >>> print(result)
    All that may be spent is spent, on 10 pulls that cost 10; the best so far is 'a', with confidence 0%.
    More max_cost lets a study in a storage go on.
    0 of 2 arms are shown not to be the best.
    'b' may be better than 'a'.
    No arm is better than 'a' by more than 0.956.
    There is too little evidence yet to say what it takes to settle it.
    """

    study: str
    status: str
    best: str | None
    confidence: float
    cost: float
    pulls: int
    policy: str
    delta: float
    epsilon: float
    seed: int
    arms: tuple[ArmResult, ...]
    reasons: tuple[str, ...] = ()
    """Why the study failed, if it did."""
    violations: tuple[str, ...] = ()
    """Where the data contradict bias bounds, or look unlike what was assumed, and what was done about it."""
    tied: tuple[str, ...] = ()
    """The other arms that are known to be exactly as good as the best, on all blocks of a finite set."""
    left: tuple[str, ...] = ()
    """The arms that are not shown to be worse than another: the best, and those that may still be better."""
    regret_bound: float | None = None
    """By how much the best can at most be worse than another arm, with probability 1 - delta, whenever you look; None
    if nothing is known."""
    remaining_cost: float | None = None
    """About what it would take to be sure, if it goes on as so far; None if that is not known, or not needed."""
    differences: dict[str, tuple[float, float]] = field(default_factory=dict)
    """By how much the best (or the control) is ahead of each other arm, at least and at most; empty without blocks.
    All of them hold at once with probability 1 - delta."""
    unfinished: int = field(default=0, compare=False)
    """How many evaluations had begun when the study had its answer, and never got a result."""
    unfinished_cost: float = field(default=0.0, compare=False)
    """What these cost if they were paid for in full; no part of `cost`."""
    goal: str | None = None
    """What was asked, where it is not which arm is the best: as ``"top-m:m=3"``."""
    answer: tuple[str, ...] = ()
    """The arms that are chosen, as it seems so far, or shown to be better than the control; empty where the best arm is
    sought."""
    verdicts: dict[str, str] = field(default_factory=dict)
    """What is shown of each arm, where the goal is not the best arm; "open" where nothing is."""
    certificate: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """A plain JSON object from which anybody can check the answer again: see `mfbandit.certificate`."""
    _source: Source | None = field(default=None, init=False, repr=False, compare=False)
    # Where the study is, for the report only; no part of the result itself.

    @classmethod
    def of(cls, study: Study, view: View, status: str | None = None) -> Result:
        """The result of a study as it stands in a view."""
        settings = study.settings
        result = cls(
            study=study.name,
            status=status or view.status,
            best=view.best,
            confidence=view.confidence,
            cost=view.cost,
            pulls=view.pulls,
            policy=settings.policy.label,
            delta=settings.delta,
            epsilon=settings.epsilon,
            seed=settings.seed,
            arms=_arms(view),
            reasons=tuple(view.reasons),
            violations=tuple(view.violations()),
            tied=view.tied,
            left=view.left,
            regret_bound=view.regret_bound,
            remaining_cost=view.remaining_cost,
            differences=view.differences,
            goal=None if settings.question is None else settings.question.label,
            answer=view.chosen,
            verdicts=_verdicts(view),
            unfinished=view.unfinished,
            unfinished_cost=view.unfinished_cost,
            certificate=_certificate(view, study.known_digest()),
        )
        object.__setattr__(result, "_source", Source(study))
        return result

    def __str__(self) -> str:
        """Say what was found and, while the answer is not sure, what is shown so far."""
        return "\n".join([self.sentence, *shown_so_far(self)])

    @property
    def sentence(self) -> str:
        """What was found, in one sentence."""
        return sentence(self)

    def __getstate__(self) -> dict[str, Any]:
        """A copy in another process knows the result, not the study."""
        return {**self.__dict__, "_source": None}

    @property
    def goal_answer(self) -> GoalAnswer | None:
        """What was found in words, where it is not the best arm that was asked for; None before the first result."""
        question = read_question(self.certificate.get("goal"))
        if question is None or not self.verdicts:
            return None
        return goal_answer(question, self.epsilon, self.answer, self.verdicts)

    @property
    def reference(self) -> str | None:
        """The arm that `differences` are about: the best, or the control."""
        control: str | None = self.certificate.get("goal", {}).get("control", self.best)
        return control

    @property
    def on_blocks(self) -> bool:
        """Whether arms were compared on shared blocks."""
        return self.certificate.get("kind") == "blocks"

    @property
    def has_means(self) -> bool:
        """Whether means of single arms are known: not where blocks on which all arms agreed were not measured."""
        return not counts_alike(self.certificate.get("problem", {}).get("truth"))

    @property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """Bounds of the true means by arm."""
        return {arm.arm: (arm.low, arm.high) for arm in self.arms}

    @property
    def retired(self) -> dict[str, str]:
        """The arms that were given up, and why."""
        return {arm.arm: arm.retired for arm in self.arms if arm.retired is not None}

    def to_json(self) -> dict[str, Any]:
        """The result as a plain JSON object; a bound that is infinite becomes None.

        What only problems with blocks have is left out for others.
        """
        plain = asdict(replace(self))
        del plain["_source"]
        for arm in plain["arms"]:
            for end in ("low", "high"):
                arm[end] = arm[end] if math.isfinite(arm[end]) else None
        plain["differences"] = {
            arm: [end if math.isfinite(end) else None for end in ends] for arm, ends in self.differences.items()
        }
        if self.goal is None:
            plain = {name: value for name, value in plain.items() if name not in _GOALS_ONLY}
        else:
            plain["answer"] = list(self.answer)
        if not self.on_blocks:
            plain = {name: value for name, value in plain.items() if name not in _BLOCKS_ONLY}
        else:
            plain["tied"] = list(self.tied)
        return {
            **plain,
            "arms": list(plain["arms"]),
            "left": list(self.left),
            "reasons": list(self.reasons),
            "violations": list(self.violations),
        }

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write the result as one self-contained HTML page."""
        if self._source is None:
            write_report(self, path)
            return
        with self._source.study() as study:
            write_report(self, path, study)

    def to_frame(self) -> Any:
        """One row per arm, as a pandas data frame; on blocks with how far the best is ahead of it."""
        nothing = (0.0, 0.0)
        rows = [
            {
                "arm": arm.arm,
                "best": arm.arm == self.best,
                **({} if self.goal is None else {"verdict": self.verdicts.get(arm.arm, "")}),
                "low": arm.low,
                "high": arm.high,
                **(dict(zip(_AHEAD, self.differences.get(arm.arm, nothing), strict=True)) if self.differences else {}),
                "cost": arm.cost,
                "pulls": sum(arm.pulls.values()),
                **{f"pulls at {name}": count for name, count in arm.pulls.items()},
                **{f"mean at {name}": mean for name, mean in arm.means.items()},
                "retired": arm.retired,
            }
            for arm in self.arms
        ]
        return optional("pandas", "data frames need pandas", "pandas").DataFrame(rows)


#: What is said only of studies on blocks.
_AHEAD = ("ahead at least", "ahead at most")
_BLOCKS_ONLY = ("tied", "differences")
#: What is said only where another goal is asked for than the best arm.
_GOALS_ONLY = ("goal", "answer", "verdicts")


def _verdicts(view: View) -> dict[str, str]:
    """What is shown of each arm, where the goal is not the best arm."""
    names = view.settings.problem.arms
    return {} if view.verdicts is None else {names[arm]: word for arm, word in view.verdicts.words.items()}


def _certificate(view: View, digest: str) -> dict[str, Any]:
    """The certificate of a study as it stands."""
    if not view.on_blocks:
        return Certificate.of(view, digest).to_json()
    kind = RaceCertificate if view.settings.question is None else GoalCertificate
    return kind.of(view, digest).to_json()


def _arms(view: View) -> tuple[ArmResult, ...]:
    problem = view.settings.problem
    bounds = view.intervals()
    widest = (-math.inf, math.inf) if problem.reward.low is None else (problem.reward.low, problem.reward.high)
    # All arms and fidelities of the problem: those that are not in play have no rewards.
    counts = np.zeros(problem.costs.shape, dtype=np.int64)
    sums = np.zeros(problem.costs.shape)
    counts[np.ix_(view.arms, view.columns)] = view.state.pulls
    sums[np.ix_(view.arms, view.columns)] = view.state.sums
    missing = np.zeros(problem.costs.shape, dtype=np.int64)
    openings = np.zeros(problem.costs.shape)
    if view.on_blocks:
        missing[np.ix_(view.arms, view.columns)] = view.state.blocks.missing
        openings = view.openings * np.array([fidelity.block_cost for fidelity in problem.fidelities])
    names = [fidelity.name for fidelity in problem.fidelities]
    found = []
    spent = counts * view.settings.seen.costs + openings
    if view.beyond is not None:
        spent += view.beyond
    # Places that are free have nothing to tell of.
    there = view.settings.arms_there or problem.n_arms
    # Where blocks were not measured on which all arms are equal, a mean would lack them.
    unknown = counts_alike(problem.truth)
    plain: list[Any] = [counts.tolist(), (counts - missing).tolist(), sums.tolist(), spent.tolist()]
    for arm, (name, pulled, known, totals, costs) in enumerate(
        zip(problem.arms[:there], *(part[:there] for part in plain), strict=True)
    ):
        pulls = dict(zip(names, pulled, strict=True))
        means = {
            fidelity: float(view.problem.reward.from_unit(total / count)) if count and not unknown else None
            for fidelity, count, total in zip(names, known, totals, strict=True)
        }
        low, high = bounds.get(name, widest)
        by_fidelity = dict(zip(names, costs, strict=True))
        found.append(ArmResult(name, low, high, pulls, means, sum(costs), view.retired.get(arm), by_fidelity))
    return tuple(found)
