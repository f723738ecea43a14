"""What all policies share: options, validation, JSON, and the string form ``name:key=value,...``."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from mfbandit import _checks as validation
from mfbandit.core import Algorithm, Arrays, Goal
from mfbandit.errors import PolicyError
from mfbandit.model import Gaussian, Problem

__all__ = ["Policy", "one_of", "positive"]


def one_of(field: str, value: object, allowed: Iterable[str]) -> None:
    """Refuse a value that is not among the allowed ones."""
    validation.one_of(field, value, allowed, PolicyError)


def positive(field: str, value: object) -> None:
    """Refuse what is not a finite number above zero."""
    if not validation.is_number(value) or not 0 < value < math.inf:
        raise PolicyError(f"{field} must be a finite number > 0, got {value!r}")


@dataclass(frozen=True)
class Policy:
    """A policy and its options; a frozen dataclass that validates itself.

    Parameters
    ----------
    fidelities : str
        "all", "top" (the truest only), or columns joined by "+" such as "0+2". The truest fidelity
        must be among them.
    batch : int
        Pulls per planned row; part of the policy, so that decisions never depend on the number of
        workers.
    independent : bool
        For problems with blocks and a policy that takes rewards for independent: every pull draws a block of its
        own, so that they are.
    """

    fidelities: str = "all"
    batch: int = 1
    independent: bool = field(default=False, kw_only=True)

    #: "identify" (best arm with confidence) or "regret" (spend a budget).
    objective: ClassVar[str] = "identify"
    #: Whether there is a proof that its answers are right with the confidence asked for (or that its regret is
    #: bounded). A policy has to say so itself; even then a study is "certified" only if its certificate holds.
    guarantee: ClassVar[bool] = False
    #: Whether it compares arms on shared blocks; such a policy needs them, and no other can do with them.
    on_blocks: ClassVar[bool] = False
    #: Whether it answers other questions than which arm is the best: see `mfbandit.model.Question`.
    answers_questions: ClassVar[bool] = False
    #: Whether it plans every round with the costs that are expected then, so that they may be measured.
    follows_costs: ClassVar[bool] = False
    #: Whether it declares leaders before their pulls, on which evidence may rest.
    declares_leaders: ClassVar[bool] = False

    def __post_init__(self) -> None:
        validation.whole_number("batch", self.batch, 1, PolicyError)
        self._check_independent()
        self._columns_text()

    def _check_independent(self) -> None:
        if not isinstance(self.independent, bool):
            raise PolicyError(f"independent must be True or False, got {self.independent!r}")
        if self.independent and self.on_blocks:
            raise PolicyError(f"{self.name} compares arms on shared blocks: independent must be False")

    def _columns_text(self) -> list[int] | None:
        """The columns that the text of `fidelities` names; None for all or top."""
        if self.fidelities in ("all", "top"):
            return None
        try:
            columns = [int(part) for part in str(self.fidelities).split("+")]
        except ValueError:
            columns = []
        if not columns or len(set(columns)) < len(columns) or min(columns) < 0:
            raise PolicyError(
                f"fidelities must be all, top, or distinct columns counted from 0 such as 0+2, got {self.fidelities!r}"
            )
        return sorted(columns)

    @property
    def name(self) -> str:
        """The registered name."""
        raise PolicyError(f"{type(self).__name__} has no registered name")

    @property
    def proven(self) -> bool:
        """Whether stopping by itself means that the answer is right with probability 1 - delta."""
        return self.guarantee

    def proven_for(self, problem: Problem) -> bool:
        """Whether that is so for a problem with these rewards."""
        return self.proven

    @property
    def spends(self) -> bool:
        """Whether it is there to spend a budget well, not to identify the best arm."""
        return self.objective == "regret"

    @property
    def weighs_pairs(self) -> bool:
        """Whether it stops by evidence that has weights: see `mfbandit.confidence.pair`."""
        return False

    @property
    def preset(self) -> frozenset[str]:
        """Fields that the name itself says."""
        return frozenset()

    @property
    def truest_only(self) -> bool:
        """Whether the policy by definition uses the truest fidelity only."""
        return False

    def seen(self, problem: Problem) -> Problem:
        """What this policy sees of a problem: no blocks, where every pull draws its own."""
        return problem.without_blocks() if self.independent else problem

    def columns(self, problem: Problem) -> list[int]:
        """The fidelities of a problem that this policy uses."""
        problem = self.seen(problem)
        if self.truest_only or self.fidelities == "top":
            return [problem.truest]
        columns = self._columns_text()
        if columns is None:
            return list(range(problem.n_fidelities))
        if columns[-1] >= problem.n_fidelities:
            raise PolicyError(
                f"fidelities names column {columns[-1]}, "
                f"but the problem has {problem.n_fidelities} (columns count from 0)"
            )
        return columns

    def ready(self, problem: Problem, seen: Arrays, goal: Goal) -> Algorithm:
        """Make the algorithm for a problem whose arrays (all arms or some) are `seen`.

        The goal is in units of the reward, as users give it; algorithms work in unit scale.
        """
        return self.algorithm(seen, self.in_units(problem, goal), lambda x: float(problem.reward.to_unit(x)))

    def in_units(self, problem: Problem, goal: Goal) -> Goal:
        """The goal in unit scale."""
        span, asked = problem.reward.span, goal.question
        return dataclasses.replace(goal, epsilon=goal.epsilon / span, question=asked and asked.scaled(span))

    def algorithm(self, problem: Arrays, goal: Goal, unit: Callable[[float], float]) -> Algorithm:
        """Make the kernels and parameters for one problem; `unit` scales a reward to [0, 1]."""
        raise PolicyError(f"{type(self).__name__} cannot be run")

    def check(self, problem: Problem, goal: Goal) -> None:
        """Refuse a problem, as its user declared it, or a goal that this policy is not made for."""
        if goal.question is not None:
            goal.question.for_problem(problem, goal.epsilon)
            if not self.answers_questions:
                raise PolicyError(f"{self.name} finds one best arm: use mf-race for goal={goal.question.name!r}")
        self._check_blocks(problem)
        self._check_costs(problem)
        if self.spends:
            if not goal.budget < math.inf:
                raise PolicyError(f"{self.name} spends a budget: give a finite budget")
            if problem.costs_per_arm:
                raise PolicyError(
                    f"{self.name} minimises regret, which is defined for costs per fidelity only; "
                    "this problem has costs that differ between arms"
                )

    def _check_costs(self, problem: Problem) -> None:
        """Refuse costs that are known only afterwards, if this policy decides by them before."""
        measured = [one for one in problem.fidelities if one.measured is not None]
        if measured and not self.follows_costs:
            raise PolicyError(
                f"{self.name} takes costs for known, but fidelity {measured[0].name!r} has a measured one: declare it, "
                "or use mf-toptwo, a lucb policy or, on blocks, mf-race"
            )
        unsaid = [problem.fidelities[m].name for m in self.columns(problem) if not problem.fidelities[m].guessed]
        if unsaid and self.on_blocks and len(self.columns(problem)) > 1:
            raise PolicyError(
                f"{self.name} chooses among several fidelities by what they cost, and nothing is said of "
                f"{unsaid[0]!r}: give a guess, as cost=3.0, measured='seconds'"
            )

    def _check_blocks(self, problem: Problem) -> None:
        """Refuse blocks that this policy cannot do with, or the lack of them."""
        if problem.blocks is None:
            if self.on_blocks:
                raise PolicyError(
                    f"{self.name} compares arms on shared blocks, and this problem has none: pass blocks= to Problem, "
                    "or use mf-toptwo"
                )
            if self.independent:
                raise PolicyError(
                    "independent=True draws a block of its own for every pull, and this problem has no blocks: "
                    "leave it out"
                )
        elif self.spends:
            raise PolicyError(
                f"{self.name} spends a budget, which cannot be done on shared blocks: leave blocks out, and draw what "
                "each pull is tested on from pull.seed"
            )
        elif not (self.on_blocks or self.independent):
            raise PolicyError(
                f"{self.name} takes the rewards of different arms for independent, but arms that share blocks share "
                "their luck, so its certificate would be void: use mf-race, or pass independent=True to draw a block "
                "of its own for every pull"
            )
        elif self.independent and any(fidelity.continues for fidelity in problem.fidelities):
            raise PolicyError(
                f"{self.name} with independent=True draws a block of its own for every pull, on which there is nothing "
                "to go on from: leave continues out, or use mf-race"
            )
        elif self.independent and isinstance(problem.reward, Gaussian):
            raise PolicyError(
                f"{self.name} with independent=True needs the noise of single rewards, which {problem.reward} does not "
                "say: declare their range, as Bounded(low, high), or use mf-race"
            )

    def options(self) -> dict[str, Any]:
        """The options that differ from their defaults and are not in the name."""
        return {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name not in self.preset and getattr(self, field.name) != field.default
        }

    @property
    def label(self) -> str:
        """The string form, which `mfbandit.policy` reads back."""
        options = ",".join(f"{key}={value}" for key, value in self.options().items())
        return f"{self.name}:{options}" if options else self.name

    def to_json(self) -> dict[str, Any]:
        """The policy as a plain JSON object."""
        return {"name": self.name, **self.options()}
