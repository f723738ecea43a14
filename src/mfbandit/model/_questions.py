"""What is asked of a study on blocks, where it is not which arm is the best: the `goal` of a study.

Each question says how many statements about two arms may be wrong, which is what delta is shared among: the proofs
are in docs/goals.md.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from mfbandit._checks import closest, is_number, whole_number
from mfbandit.errors import InvalidInput
from mfbandit.model._problem import Problem
from mfbandit.model._reward_kinds import Gaussian

__all__ = ["QUESTIONS", "BetterThan", "CheapestWithin", "Question", "TopM", "read_question"]

#: Where all pairs of arms are followed, there are no more arms than that.
_MOST_ARMS = 300
#: The name of the question that needs no object.
_BEST = "best"


@dataclass(frozen=True)
class Question:
    """What a study is to find out; a frozen dataclass that validates itself."""

    name: ClassVar[str] = ""

    @property
    def label(self) -> str:
        """The string form, which `goal=` reads back."""
        options = ",".join(f"{key}={value}" for key, value in self.to_json().items() if key != "goal")
        return f"{self.name}:{options}"

    def to_json(self) -> dict[str, Any]:
        """The question as a plain JSON object."""
        return {"goal": self.name, **dataclasses.asdict(self)}

    def for_problem(self, problem: Problem, epsilon: float) -> Self:
        """The same about the arms of a problem; refuses one that it cannot be asked of."""
        if problem.blocks is None:
            raise InvalidInput(
                f"goal={self.name!r} compares arms on shared blocks, and this problem has none: pass blocks= to Problem"
            )
        if problem.n_arms < 2:
            raise InvalidInput(f"goal={self.name!r} needs two arms at least, and the problem has {problem.n_arms}")
        return self

    def at_risk(self, arms: int) -> int:
        """How many statements about two arms delta is shared among."""
        raise NotImplementedError

    def scaled(self, span: float) -> Self:
        """The same for rewards that are divided by `span`."""
        return self

    def _check_pairs(self, problem: Problem) -> None:
        if problem.n_arms > _MOST_ARMS:
            raise InvalidInput(
                f"goal={self.name!r} follows all pairs of arms, which is for at most {_MOST_ARMS} arms; "
                f"the problem has {problem.n_arms}"
            )


@dataclass(frozen=True)
class BetterThan(Question):
    """Which arms are better than a control, and which are not (by more than epsilon).

    Parameters
    ----------
    control : str
        The arm that all others are compared with.

    Examples
    --------
    >>> import mfbandit as mf
    >>> problem = mf.Problem(["old", "new", "odd"], [("test", 1.0)], reward="bernoulli", blocks=200)
    >>> right = {"old": 0.5, "new": 0.9, "odd": 0.1}
    >>> result = mf.identify(problem, lambda pull: float(pull.block % 10 < 10 * right[pull.arm]),
    ...                      goal=mf.BetterThan("old"), progress=False)
    >>> result.verdicts
    {'new': 'better', 'odd': 'not better'}
    """

    control: str

    name: ClassVar[str] = "better-than"

    def __post_init__(self) -> None:
        if not isinstance(self.control, str):
            raise InvalidInput(f"control must be the name of an arm, got {self.control!r}")

    def for_problem(self, problem: Problem, epsilon: float) -> Self:
        """The same about the arms of a problem; refuses one without the control."""
        super().for_problem(problem, epsilon)
        if self.control not in problem.arms:
            raise InvalidInput(f"there is no arm {self.control!r} for a control{closest(self.control, problem.arms)}")
        if isinstance(problem.reward, Gaussian):
            self._check_pairs(problem)  # by which the typical spread of differences is known
        return self

    def at_risk(self, arms: int) -> int:
        """One for each other arm: it is better, or it is not, so that one of the two verdicts can be wrong."""
        return max(1, arms - 1)


@dataclass(frozen=True)
class TopM(Question):
    """Which arms are the m best.

    Parameters
    ----------
    m : int
        How many, fewer than there are.

    Examples
    --------
    >>> import mfbandit as mf
    >>> problem = mf.Problem(["a", "b", "c"], [("test", 1.0)], reward="bernoulli", blocks=200)
    >>> right = {"a": 0.8, "b": 0.9, "c": 0.1}
    >>> result = mf.identify(problem, lambda pull: float(pull.block % 10 < 10 * right[pull.arm]),
    ...                      goal=mf.TopM(2), progress=False)
    >>> result.answer, result.status
    (('a', 'b'), 'certified')
    """

    m: int

    name: ClassVar[str] = "top-m"

    def __post_init__(self) -> None:
        object.__setattr__(self, "m", whole_number("m", self.m, 1))

    def for_problem(self, problem: Problem, epsilon: float) -> Self:
        """The same about the arms of a problem; refuses one with too few."""
        super().for_problem(problem, epsilon)
        if self.m >= problem.n_arms:
            raise InvalidInput(f"m must be below the number of arms, {problem.n_arms}, got {self.m}")
        self._check_pairs(problem)
        return self

    def at_risk(self, arms: int) -> int:
        """One for each of the m best and each of the others: that it is worse than it."""
        return max(1, self.m * (arms - self.m))


@dataclass(frozen=True)
class CheapestWithin(Question):
    """Which arm is the cheapest to use of those within epsilon of the best.

    Parameters
    ----------
    use_costs : mapping or sequence
        What it costs to use each arm, by name or in the order of arms: a price per answer, seconds, bytes. It is not
        what it costs to measure it.
    slack : float
        An arm that is so close to being more than epsilon worse than the best may be passed over although it is
        cheaper: between 0 (the default) and epsilon. Without it, and without a last block, an arm that is worse by
        exactly epsilon would be measured for ever.

    Examples
    --------
    >>> import mfbandit as mf
    >>> problem = mf.Problem(["large", "small", "tiny"], [("test", 1.0)], reward="bernoulli", blocks=200)
    >>> right = {"large": 0.9, "small": 0.9, "tiny": 0.3}
    >>> result = mf.identify(problem, lambda pull: float(pull.block % 10 < 10 * right[pull.arm]), epsilon=0.05,
    ...                      goal=mf.CheapestWithin({"large": 30, "small": 2, "tiny": 1}), progress=False)
    >>> result.best
    'small'
    """

    use_costs: Any
    slack: float = 0.0

    name: ClassVar[str] = "cheapest-within"

    def __post_init__(self) -> None:
        given = self.use_costs
        if isinstance(given, Mapping):
            kept: Any = tuple((str(arm), _use_cost(cost, str(arm))) for arm, cost in given.items())
        elif isinstance(given, Sequence) and not isinstance(given, str):
            pairs = bool(given) and all(isinstance(one, (list, tuple)) and len(one) == 2 for one in given)
            kept = (
                tuple((str(arm), _use_cost(cost, str(arm))) for arm, cost in given)
                if pairs
                else tuple(_use_cost(cost, f"arm {index}") for index, cost in enumerate(given))
            )
        else:
            raise InvalidInput(f"use_costs must say what it costs to use each arm, by name or in order, got {given!r}")
        object.__setattr__(self, "use_costs", kept)
        if not is_number(self.slack) or not 0.0 <= self.slack < math.inf:
            raise InvalidInput(f"slack must be a number >= 0, got {self.slack!r}")
        object.__setattr__(self, "slack", float(self.slack))

    @property
    def label(self) -> str:
        """The string form, which `goal=` reads back once a problem has put the costs in the order of its arms."""
        costs = "+".join(_digits(one[1] if isinstance(one, tuple) else one) for one in self.use_costs)
        return f"{self.name}:use_costs={costs}" + (f",slack={_digits(self.slack)}" if self.slack else "")

    def to_json(self) -> dict[str, Any]:
        """The question as a plain JSON object."""
        named = bool(self.use_costs) and isinstance(self.use_costs[0], tuple)
        return {
            "goal": self.name,
            "use_costs": dict(self.use_costs) if named else list(self.use_costs),
            "slack": self.slack,
        }

    def for_problem(self, problem: Problem, epsilon: float) -> Self:
        """The same with costs in the order of the arms of a problem."""
        super().for_problem(problem, epsilon)
        self._check_pairs(problem)
        if not epsilon > 0.0:
            raise InvalidInput(
                f"goal={self.name!r} needs an epsilon > 0: an arm within it of the best is good enough, got {epsilon!r}"
            )
        if self.slack > epsilon:
            raise InvalidInput(f"slack must be at most epsilon, {epsilon!r}, got {self.slack!r}")
        costs = self.use_costs
        if costs and isinstance(costs[0], tuple):
            known = dict(costs)
            for arm in known:
                if arm not in problem.arms:
                    raise InvalidInput(f"use_costs names {arm!r}, which is no arm{closest(arm, problem.arms)}")
            for arm in problem.arms:
                if arm not in known:
                    raise InvalidInput(f"use_costs does not say what it costs to use {arm!r}")
            costs = tuple(known[arm] for arm in problem.arms)
        if len(costs) != problem.n_arms:
            raise InvalidInput(f"use_costs has {len(costs)} numbers for {problem.n_arms} arms")
        return dataclasses.replace(self, use_costs=costs)

    def at_risk(self, arms: int) -> int:
        """Two for each other arm: that the best is worse than it, and that the cheapest good one is too far behind."""
        return max(1, 2 * (arms - 1))

    def scaled(self, span: float) -> Self:
        """The same for rewards that are divided by `span`."""
        return dataclasses.replace(self, slack=self.slack / span)


def _use_cost(value: Any, arm: str) -> float:
    if not is_number(value) or not 0.0 <= value < math.inf:
        raise InvalidInput(f"use_costs must be finite numbers >= 0, got {value!r} for {arm!r}")
    return float(value)


def _digits(number: float) -> str:
    """A number with all its digits, and without a plus, which separates costs."""
    return repr(number).removesuffix(".0").replace("e+", "e")


QUESTIONS: dict[str, type[Question]] = {kind.name: kind for kind in (BetterThan, TopM, CheapestWithin)}


def read_question(
    goal: Question | str | Mapping[str, Any] | None,
    m: int | None = None,
    control: str | None = None,
    use_costs: Any = None,
) -> Question | None:
    """Read a goal from an object, its string form, its JSON object, or its name and keywords; None is the best arm.

    Examples
    --------
    >>> read_question("top-m", m=3), read_question("better-than:control=old"), read_question("best")
    (TopM(m=3), BetterThan(control='old'), None)
    >>> read_question(TopM(3).to_json()) == read_question(TopM(3).label) == TopM(3)
    True
    """
    given = {"m": m, "control": control, "use_costs": use_costs}
    said = {key: value for key, value in given.items() if value is not None}
    options: dict[str, Any] = {}
    if isinstance(goal, Question):
        name = goal.name
        if not said:
            return goal
    elif goal is None:
        name = _BEST
    elif isinstance(goal, Mapping):
        name, options = str(goal.get("goal", "")), {str(key): value for key, value in goal.items() if key != "goal"}
    elif isinstance(goal, str):
        name, _, rest = goal.partition(":")
        name, options = name.strip(), _options(name.strip(), rest)
    else:
        raise InvalidInput(f"goal must be a name, as 'top-m', or an object, as TopM(3), got {goal!r}")
    if name not in (_BEST, *QUESTIONS):
        known = ", ".join((_BEST, *QUESTIONS))
        raise InvalidInput(f"no goal is called {name!r}{closest(name, QUESTIONS)}; the goals are {known}")
    fields = [] if name == _BEST else [field.name for field in dataclasses.fields(QUESTIONS[name])]
    for key in (*options, *said):
        if key not in fields:
            raise InvalidInput(f"goal={name!r} has no {key!r}" + (f"; it has {', '.join(fields)}" if fields else ""))
        if isinstance(goal, Question) or (key in options and key in said):
            raise InvalidInput(f"goal={goal!r} and {key}={said[key]!r} are both given: say it once")
    if name == _BEST:
        return None
    options |= said
    if fields[0] not in options:
        raise InvalidInput(f"goal={name!r} needs {fields[0]}=")
    return QUESTIONS[name](**options)


def _options(name: str, text: str) -> dict[str, Any]:
    """The options of a goal in its string form."""
    if not text.strip():
        return {}
    if name == BetterThan.name:
        # The name of an arm may hold anything.
        key, equals, value = text.partition("=")
        pairs = [(key, equals, value)]
    else:
        pairs = [part.partition("=") for part in text.split(",")]
    found: dict[str, Any] = {}
    for key, equals, value in pairs:
        if not equals or not key.strip() or not value.strip():
            raise InvalidInput(f"options of a goal are written key=value, got {text!r}")
        if key.strip() in found:
            raise InvalidInput(f"{key.strip()} of goal={name!r} is given twice, in {text!r}: say it once")
        try:
            found[key.strip()] = _option(name, key.strip(), value.strip())
        except ValueError:
            kind = "whole number" if key.strip() == "m" else "number"
            raise InvalidInput(f"{key.strip()} of goal={name!r} must be a {kind}, got {value.strip()!r}") from None
    return found


def _option(name: str, key: str, text: str) -> Any:
    if name == BetterThan.name:
        return text
    if key == "use_costs":
        return [float(one) for one in re.split(r"(?<![eE])\+", text)]
    return int(text) if key == "m" else float(text)
