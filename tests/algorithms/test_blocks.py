"""Which policies run on problems with blocks, which see them without, and which refuse them."""

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

import pytest

import mfbandit as mf
from mfbandit.algorithms import REGISTRY, Policy, default_policy
from mfbandit.core import Goal
from mfbandit.errors import PolicyError

GOAL = Goal(0.05, 0.0)
BUDGET = Goal(0.05, 0.0, 100.0)
FIDELITIES = [mf.Fidelity("judge", 1.0, 0.1, pair_bias=0.05, block_cost=2.0), mf.Fidelity("human", 9.0)]
PLAIN = mf.Problem(3, [("judge", 1.0, 0.1), ("human", 9.0)])
FINITE = mf.Problem(3, FIDELITIES, blocks=40)
UNLIMITED = mf.Problem(3, FIDELITIES, mf.Bounded(0, 2, swing=0.5), blocks="unlimited", order="shared")
NORMAL = mf.Problem(3, FIDELITIES, mf.Gaussian(), blocks="unlimited")

ALONE = [name for name, entry in REGISTRY.items() if not entry.kind.on_blocks]
IDENTIFY = [name for name in ALONE if REGISTRY[name].kind.objective == "identify"]
REGRET = [name for name in ALONE if REGISTRY[name].kind.objective == "regret"]


def plain(name):
    """The policy of the registry's example, with what it must be told."""
    return mf.policy(REGISTRY[name].example)


def drawing(name):
    """The same, drawing a block of its own for every pull."""
    return dataclasses.replace(plain(name), independent=True)


@dataclass(frozen=True)
class Racing(Policy):
    """A policy that is made for blocks."""

    on_blocks: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """Its name."""
        return "racing"


@pytest.mark.parametrize("name", IDENTIFY)
@pytest.mark.parametrize("problem", [FINITE, UNLIMITED, NORMAL], ids=["finite", "unlimited", "normal"])
def test_policies_that_take_rewards_for_independent_refuse_blocks(name, problem):
    with pytest.raises(PolicyError, match=f"{name} takes the rewards of different arms for independent, but arms that"):
        plain(name).check(problem, GOAL)
    with pytest.raises(PolicyError, match="use mf-race, or pass independent=True to draw a block of its own"):
        mf.create_study(problem, policy=plain(name))


@pytest.mark.parametrize("name", IDENTIFY)
def test_with_independent_they_see_the_problem_without_blocks(name):
    policy = drawing(name)
    for problem in (FINITE, UNLIMITED):
        policy.check(problem, GOAL)
        seen = policy.seen(problem)
        assert seen == problem.without_blocks()
        assert seen.blocks is None
        assert policy.seen(seen) is seen
        assert policy.columns(problem) == policy.columns(seen)
    assert plain(name).seen(FINITE) is FINITE


@pytest.mark.parametrize("name", ALONE)
def test_independent_is_part_of_the_forms_of_a_policy(name):
    policy = drawing(name)
    assert policy != plain(name)
    assert "independent=True" in policy.label
    assert mf.policy(policy.label) == policy
    assert mf.policy(policy.to_json()) == policy
    assert "independent=True" in repr(policy)
    assert "independent" not in plain(name).label


@pytest.mark.parametrize("name", ALONE)
def test_there_is_nothing_to_draw_without_blocks(name):
    with pytest.raises(PolicyError, match="this problem has no blocks: leave it out"):
        drawing(name).check(PLAIN, BUDGET)


@pytest.mark.parametrize("name", IDENTIFY)
def test_single_rewards_of_unknown_variance_prove_nothing(name):
    with pytest.raises(PolicyError, match=r"needs the noise of single rewards, which Gaussian\(\) does not say"):
        drawing(name).check(NORMAL, GOAL)


@pytest.mark.parametrize("name", REGRET)
@pytest.mark.parametrize("make", [plain, drawing])
def test_a_budget_is_not_spent_on_blocks(name, make):
    with pytest.raises(PolicyError, match=f"{name} spends a budget, which cannot be done on shared blocks"):
        mf.allocate(FINITE, lambda pull: 0.5, 100.0, policy=make(name), progress=False)


def test_independent_is_true_or_false():
    for wrong in (1, "yes", None):
        with pytest.raises(PolicyError, match="independent must be"):
            mf.policy({"name": "mf-toptwo", "independent": wrong})
        with pytest.raises(PolicyError, match="independent must be True or False"):
            mf.MFTopTwo(independent=wrong)


def test_a_policy_made_for_blocks_needs_them():
    Racing().check(FINITE, GOAL)
    Racing().check(NORMAL, GOAL)
    assert Racing().seen(FINITE) is FINITE
    with pytest.raises(PolicyError, match="racing compares arms on shared blocks, and this problem has none"):
        Racing().check(PLAIN, GOAL)
    with pytest.raises(PolicyError, match="racing compares arms on shared blocks: independent must be False"):
        Racing(independent=True)


def test_every_pull_pays_for_its_block_when_it_draws_its_own():
    expensive = mf.Problem(2, [mf.Fidelity("labelled", cost=[1.0, 3.0], block_cost=4.0)], blocks=10)
    assert mf.MFTopTwo(independent=True).seen(expensive).costs.tolist() == [[5.0], [7.0]]


def test_which_fidelities_are_used_is_decided_on_what_is_seen():
    # Drawing blocks of its own makes the second unbiased fidelity the more expensive one.
    problem = mf.Problem(2, [mf.Fidelity("a", 5.0), mf.Fidelity("b", 3.0, block_cost=4.0)], blocks=10)
    policy = mf.MFTopTwo("top", independent=True)
    assert policy.columns(problem) == policy.columns(policy.seen(problem)) == [1]
    assert mf.policy("iise:independent=true").columns(problem) == mf.IISE().columns(problem.without_blocks())


@pytest.mark.parametrize(("problem", "name"), [(PLAIN, "mf-toptwo"), (FINITE, "mf-race"), (NORMAL, "mf-race")])
def test_the_default_depends_on_blocks(problem, name):
    assert default_policy(problem) == name


def test_nothing_said_means_the_default():
    assert mf.create_study(PLAIN).settings.policy == mf.MFTopTwo()
    runs = mf.simulate("judges", trials=1, device="python", max_cost=1.0)
    assert runs.policy == mf.MFTopTwo()
    result = mf.identify(PLAIN, lambda pull: float(pull.arm == "arm 1"), progress=False)
    assert (result.best, result.status) == ("arm 1", "certified")
