"""Every registered policy, and a newcomer, keeps the contract of policies; and the contract finds who does not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import pytest

import mfbandit as mf
from mfbandit.algorithms import REGISTRY, Policy
from mfbandit.core import PULLS, Algorithm
from mfbandit.errors import PolicyError
from mfbandit.kernel import kernel
from mfbandit.study.state._planner import Planner
from mfbandit.testing import PolicyContract

#: MF-GRAD solves an optimisation problem before every pull, which takes milliseconds in plain Python.
SLOW = {"mf-grad": 60}


@pytest.mark.parametrize("name", REGISTRY)
class TestRegistered(PolicyContract):
    """All tests of the contract, for every policy by name."""

    @pytest.fixture(autouse=True)
    def _choose(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        # Short studies are over before their policies are compiled.
        monkeypatch.setattr(Planner, "compile", lambda self, state: None)
        self.name, self.pulls = name, SLOW.get(name, PolicyContract.pulls)

    def policy(self) -> Policy:
        return mf.policy(REGISTRY[self.name].example)


class NoParams(NamedTuple):
    nothing: int = 0


@kernel
def plan_once(problem, params, state, out):
    if state.clock[PULLS] > 0:
        return 0
    for k in range(problem.cost.shape[0]):
        out[k, 0], out[k, 1], out[k, 2] = k, problem.truest, 1
    return problem.cost.shape[0]


@kernel
def recommend_and_write(problem, params, state):
    state.arm_flags[0] += 1
    return 0 if state.pulls[0, 0] > 0 else 1


@dataclass(frozen=True)
class Hasty(Policy):
    """Stops after one pull of every arm, claims a guarantee, and writes when it is asked for its answer."""

    guarantee: ClassVar[bool] = True

    @property
    def name(self):
        return "hasty"

    def algorithm(self, problem, goal, unit):
        return Algorithm(plan_once, recommend_and_write, NoParams(), problem.cost.shape[0] - self.lacking)

    lacking: int = 0


class Broken(PolicyContract):
    def policy(self):
        return Hasty()


class TooManyRows(PolicyContract):
    def policy(self):
        return Hasty(lacking=1)


@pytest.mark.parametrize(
    ("test", "says"),
    [
        ("test_recommend_only_looks", "recommend has written into the state"),
        ("test_answers_are_wrong_no_more_often_than_claimed", "of 300 runs were wrong"),
    ],
)
def test_a_policy_that_breaks_the_contract_is_found(test: str, says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        getattr(Broken(), test)()


def test_too_many_rows_are_found() -> None:
    with pytest.raises(IndexError):
        TooManyRows().test_plans_keep_within_their_rows()


def plan_unmarked(problem, params, state, out):
    return 0


def helper(state):
    return state.clock[PULLS] > 0


@kernel
def plan_by_helper(problem, params, state, out):
    return 0 if helper(state) else 1


@kernel
def plan_elsewhere(problem, params, state, out):
    out[0, 0], out[0, 1], out[0, 2] = 0, 7, 1
    return 1


PLANS = {"unmarked": plan_unmarked, "by helper": plan_by_helper, "elsewhere": plan_elsewhere}


@dataclass(frozen=True)
class Planned(Hasty):
    plan: str = "unmarked"

    def algorithm(self, problem, goal, unit):
        return Algorithm(PLANS[self.plan], recommend_and_write, NoParams(), problem.cost.shape[0])


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        ("unmarked", "plan of 'hasty' is no kernel: mark it with @kernel"),
        ("by helper", "plan of 'hasty' calls helper, which is no kernel: mark it with @kernel"),
    ],
)
def test_a_function_that_is_not_marked_is_named(plan: str, sentence: str) -> None:
    with pytest.raises(PolicyError, match=sentence):
        mf.simulate("figure-1a", Planned(plan=plan), trials=1)
    mf.simulate("figure-1a", Planned(plan="unmarked"), trials=1, device="python")


def test_a_fidelity_that_is_not_there_is_found() -> None:
    class Elsewhere(PolicyContract):
        def policy(self):
            return Planned(plan="elsewhere")

    with pytest.raises(IndexError):
        mf.simulate("figure-1a", Planned(plan="elsewhere"), trials=1, device="python")
    for test in ("test_plans_keep_within_their_rows", "test_plain_and_compiled_decide_the_same"):
        with pytest.raises((IndexError, AssertionError)):
            getattr(Elsewhere(), test)()


def test_a_newcomer_need_not_be_registered() -> None:
    Broken().test_it_says_what_it_is()
    Broken().test_bad_options_are_refused()
