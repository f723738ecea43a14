"""What a study was made with; stored with it and never changed."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mfbandit._checks import fraction, one_of, positive_number, whole_number
from mfbandit.algorithms import Policy, default_policy, read_policy
from mfbandit.confidence.pair import NEWEST
from mfbandit.core import Floats, Goal
from mfbandit.errors import InvalidInput, MfbanditError, StorageError, StudyError
from mfbandit.model import PerArm, Problem, Question, first_difference, read_question
from mfbandit.study._study_options import ON_FAILURE, ON_VIOLATION

__all__ = [
    "CHANGEABLE",
    "Header",
    "Settings",
    "as_limit",
    "check_same_for_all",
    "read_changes",
    "read_header",
    "write_header",
]

#: Settings that may change while a study goes on. What it has shown does not depend on the first; the others are what
#: evidence is judged by, and may only become stricter (see `Study.extend`).
CHANGEABLE = frozenset({"max_cost", "delta", "epsilon"})
#: What the log may change beside these: bounds of the problem that become wider (see `Study.widen`), and prices. A
#: problem keeps the costs that were declared, on which evidence rests.
_PARTS = frozenset({"biases", "prices", "joins", "retires", "arms_there", "arms_gone"})

#: Version of what headers and records mean; a newer one is refused. Studies with the first weights, or none, are of
#: version 3, and those without leaders of version 2.
FORMAT, _FIRST_WEIGHTS, _WITHOUT_LEADERS = 4, 3, 2
#: The origin of Gaussian rewards that the first reward of a study decides.
_FIRST = "first reward"


def as_limit(name: str, value: Any) -> float | None:
    """A limit; an infinite one is none."""
    number = None if value is None else positive_number(name, value)
    return None if number == math.inf else number


def _with_origin(problem: dict[str, Any]) -> dict[str, Any]:
    """Say of Gaussian rewards what their sums are relative to."""
    reward = problem["reward"]
    return {**problem, "reward": {"origin": _FIRST, **reward}} if reward["kind"] == "gaussian" else problem


def _read_origin(problem: dict[str, Any]) -> dict[str, Any]:
    """Read that again; studies that do not say it are older than origins, their sums are relative to 0."""
    reward = dict(problem["reward"])
    if reward.get("kind") == "gaussian":
        origin = reward.pop("origin", 0.0)
        reward = reward if origin == _FIRST else {**reward, "origin": origin}
    return {**problem, "reward": reward}


@dataclass(frozen=True)
class Settings:
    """The problem and everything that decides how a study goes."""

    problem: Problem
    policy: Policy
    delta: float = 0.05
    epsilon: float = 0.0
    budget: float | None = None
    max_cost: float | None = None
    seed: int = 0
    retries: int = 2
    on_failure: str = "stop"
    lease_seconds: float = 3600.0
    on_violation: str = "ignore"
    alarm_level: float = 0.05
    width: int = 1
    prices: tuple[tuple[str, PerArm], ...] = ()
    """What pulls cost from now on, by fidelity, where that has changed."""
    arms_there: int = 0
    """How many places for arms are taken, where some were kept free for arms that join later; else 0."""
    arms_gone: tuple[str, ...] = ()
    """The arms that were taken out of a race."""
    question: Question | None = None
    """What is asked, where it is not which arm is the best: the goal, as users call it."""
    leaders: bool | None = None
    """Whether evidence rests on declared leaders, from the first reward to the last; None: where it can."""
    weights: int | None = None
    """The number of the weights that the evidence of pairs has, likewise; None: the newest. 1 where there are none."""

    def __post_init__(self) -> None:
        if not isinstance(self.problem, Problem):
            raise InvalidInput(f"problem must be a Problem, got {self.problem!r}")
        put = object.__setattr__
        put(self, "policy", read_policy(default_policy(self.problem) if self.policy is None else self.policy))
        put(self, "delta", positive_number("delta", self.delta))
        put(self, "budget", as_limit("budget", self.budget))
        put(self, "max_cost", as_limit("max_cost", self.max_cost))
        put(self, "seed", whole_number("seed", self.seed, 0))
        put(self, "width", whole_number("width", self.width, 1))
        put(self, "retries", whole_number("retries", self.retries, 0))
        put(self, "lease_seconds", positive_number("lease_seconds", self.lease_seconds))
        if not self.lease_seconds < math.inf:
            raise InvalidInput("lease_seconds must be finite; a day is 86400")
        one_of("on_failure", self.on_failure, ON_FAILURE)
        one_of("on_violation", self.on_violation, ON_VIOLATION)
        put(self, "alarm_level", fraction("alarm_level", self.alarm_level))
        put(self, "prices", tuple((name, tuple(c) if isinstance(c, list) else c) for name, c in self.prices))
        asked = read_question(self.question)
        put(self, "question", asked and asked.for_problem(self.problem, self.epsilon))
        self.policy.check(self.problem, self.goal)
        self._check_blocks()
        wanted = self.epsilon == 0.0 and asked is None if self.leaders is None else self.leaders
        able = self.policy.declares_leaders and self.seen.blocks is None and self.problem.n_arms > 2
        put(self, "leaders", bool(wanted) and able)
        newest = NEWEST if self.policy.weighs_pairs else 1
        number = newest if self.weights is None else whole_number("weights", self.weights, 1)
        if number > newest:
            raise InvalidInput(f"weights {number} are not known to this mfbandit: install a newer one")
        put(self, "weights", number)
        if self.arms_there:
            self._check_open()

    def _check_open(self) -> None:
        """Refuse a race that no arms can join or leave."""
        problem = self.problem
        if self.question is not None:
            raise InvalidInput(f"most_arms is for races for the best arm, not for goal={self.question.name!r}")
        if self.seen.blocks is None:
            raise InvalidInput(
                "most_arms is for problems with blocks: without them, evidence is shared out among the arms there are"
            )
        check_same_for_all(problem)

    def _check_blocks(self) -> None:
        """Refuse what cannot be done on blocks, or only there."""
        if self.seen.blocks is None:
            if self.on_failure == "worst":
                raise InvalidInput(
                    "on_failure='worst' counts a failed cell of a race at its worst, and needs a problem with blocks: "
                    "choose 'stop' or 'retire'"
                )
            return
        if self.on_failure == "retire":
            raise InvalidInput(
                "on_failure='retire' is not for problems with blocks, where the others were compared with that arm: "
                "choose 'stop' or 'worst'"
            )
        if self.on_violation != "ignore":
            raise InvalidInput(
                f"on_violation must be 'ignore' for a problem with blocks, got {self.on_violation!r}: the alarm takes "
                "rewards for independent, which those on shared blocks are not"
            )

    @property
    def seen(self) -> Problem:
        """The problem as the policy sees it: without blocks if each pull draws its own."""
        return self.policy.seen(self.problem)

    def price_table(self) -> Floats:
        """What a pull costs if nobody tells, arms by fidelities: as declared, or as was said since."""
        table = np.array(self.seen.costs)
        names = [fidelity.name for fidelity in self.problem.fidelities]
        for name, cost in self.prices:
            column = names.index(name)
            # Where every pull draws its own block, it pays for that, too.
            opening = self.problem.fidelities[column].block_cost if self.policy.independent else 0.0
            table[:, column] = np.asarray(cost) + opening
        return table

    @property
    def goal(self) -> Goal:
        """What the policy is to reach."""
        budget, most = (math.inf if limit is None else limit for limit in (self.budget, self.max_cost))
        if not self.arms_there:
            pairs = not self.leaders
            return Goal(
                self.delta, self.epsilon, budget, most, question=self.question, pairs_only=pairs, weights=self.weights
            )
        # Which arm is the best of those there may depend on the data: every place has its share.
        return Goal(self.delta / self.problem.n_arms, self.epsilon, budget, most, open_arms=True)

    @cached_property
    def limit(self) -> float:
        """What may be spent in all."""
        limits = [limit for limit in (self.budget, self.max_cost) if limit is not None]
        return min(limits, default=math.inf)

    @property
    def judged_by(self) -> tuple[Any, ...]:
        """What evidence is judged by: arms that were beaten by another one are judged again."""
        arms = self.arms_there, self.arms_gone
        return self.delta, self.epsilon, arms, *((one.bias, one.pair_bias) for one in self.problem.fidelities)

    @property
    def spends(self) -> bool:
        """Whether the study is there to spend a budget well, not to identify the best arm."""
        return self.policy.spends

    def to_json(self) -> dict[str, Any]:
        """The settings as a plain JSON object."""
        plain = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name not in ("problem", "policy", "question")
        }
        if self.question is not None:
            plain["goal"] = self.question.to_json()
        if self.width == 1:
            del plain["width"]  # as it was before there was any other
        del plain["prices"], plain["arms_gone"]  # which no study is made with
        if not self.arms_there:
            del plain["arms_there"]
        if not self.leaders:
            del plain["leaders"]  # as it was before there were any
        if self.weights == 1:
            del plain["weights"]  # as it was before there were others
        # Every option is written down, so that a later version with other defaults reads the same policy.
        options = {
            field.name: getattr(self.policy, field.name)
            for field in dataclasses.fields(self.policy)
            if field.name not in self.policy.preset
        }
        policy = {"name": self.policy.name, **options}
        return {"problem": _with_origin(self.problem.to_json()), "policy": policy, **plain}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Settings:
        """Read back what `to_json` wrote."""
        rest = {key: value for key, value in data.items() if key not in ("problem", "policy", "goal")}
        # Evidence is of one kind from the first reward to the last: studies that do not say it declare no leaders.
        rest.setdefault("leaders", False)
        rest.setdefault("weights", 1)
        problem = Problem.from_json(_read_origin(data["problem"]))
        return cls(problem=problem, policy=read_policy(data["policy"]), question=data.get("goal"), **rest)

    def changed(self, changes: Mapping[str, Any]) -> Settings:
        """The settings from now on: those of `CHANGEABLE` can be others, and some bounds of the problem."""
        unknown = sorted(changes.keys() - CHANGEABLE - _PARTS - {"counted", "noted"})
        if unknown:
            raise StorageError(f"the log changes the setting {unknown[0]!r}, which this mfbandit does not know of")
        plain = {name: value for name, value in changes.items() if name in CHANGEABLE}
        problem = self.problem.with_biases(changes.get("biases", {}))
        prices = {**dict(self.prices), **changes.get("prices", {})}
        if "joins" in changes:
            names = list(problem.arms)
            names[self.arms_there] = changes["joins"]["arm"]
            problem, plain["arms_there"] = problem.with_arms(names), self.arms_there + 1
        if "retires" in changes:
            plain["arms_gone"] = (*self.arms_gone, changes["retires"])
        return dataclasses.replace(self, problem=problem, prices=tuple(prices.items()), **plain)

    @property
    def present(self) -> list[bool] | None:
        """Which places have an arm that is in the race, where arms may join and leave; None if they may not."""
        if not self.arms_there:
            return None
        return [k < self.arms_there and arm not in self.arms_gone for k, arm in enumerate(self.problem.arms)]

    def check_same(self, other: Settings, name: str) -> None:
        """Refuse settings that differ from those of a stored study, apart from those that can be changed."""
        for field in dataclasses.fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            if mine == theirs or field.name in CHANGEABLE | _PARTS | {"leaders", "weights"}:
                continue
            if field.name == "problem":
                different = first_difference(mine, theirs)
                raise StudyError(
                    f"study {name!r} exists with another problem: {different}; take another storage or name="
                )
            if field.name == "policy":
                mine, theirs = mine.label, theirs.label
            if field.name == "question":
                mine, theirs = ("best" if one is None else one.label for one in (mine, theirs))
                raise StudyError(f"study {name!r} exists with goal={mine!r}, not {theirs!r}")
            raise StudyError(f"study {name!r} exists with {field.name}={mine!r}, not {theirs!r}")


def check_same_for_all(problem: Problem) -> None:
    """Refuse a problem that arms may join, and that has costs or biases for each of those there."""
    for one in problem.fidelities:
        if isinstance(one.cost, tuple) or isinstance(one.bias, tuple):
            raise InvalidInput(f"most_arms needs one cost and one bias for all arms, and {one.name!r} has one for each")


def read_changes(text: str | None) -> dict[str, Any]:
    """The settings that a record changes."""
    try:
        changes = json.loads(text or "")
    except ValueError:
        changes = None
    if not isinstance(changes, dict):
        raise StorageError(f"the log holds settings that cannot be read: {text!r}")
    return changes


class Header(NamedTuple):
    """What a storage keeps of a study beside its log."""

    settings: Settings
    identity: str
    digest: str | None = None
    """`mfbandit.study._policy_digest` of the code that it was made with; None if that is not known."""


def write_header(header: Header) -> str:
    """The header of a study, as stored."""
    settings = header.settings
    version = FORMAT if settings.weights != 1 else _FIRST_WEIGHTS if settings.leaders else _WITHOUT_LEADERS
    plain = {"format": version, "identity": header.identity, "settings": header.settings.to_json()}
    return json.dumps(plain if header.digest is None else {**plain, "digest": header.digest})


def read_header(text: str, name: str) -> Header:
    """Read a stored header."""
    try:
        header = json.loads(text)
        version = header["format"]
    except (ValueError, KeyError, TypeError):
        raise StorageError(f"the header of study {name!r} is damaged: {text[:60]!r}") from None
    if not isinstance(version, int) or version > FORMAT:
        raise StorageError(
            f"study {name!r} has format {version!r}, which is newer than this mfbandit reads ({FORMAT}): "
            "install a newer mfbandit"
        )
    try:
        digest = header.get("digest")
        known = None if digest is None else str(digest)
        return Header(Settings.from_json(header["settings"]), str(header["identity"]), known)
    except (MfbanditError, KeyError, TypeError) as error:
        raise StorageError(f"the header of study {name!r} cannot be read: {error}") from error
