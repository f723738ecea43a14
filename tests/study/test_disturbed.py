"""Guarantees hold when arms are retired and bounds widened while a study runs.

The bias bounds of these instances hold and failures are independent of rewards, so each proven policy must
still be right, about the arms that are left, with probability 1 - delta. What is disturbed: the algorithm
starts its notes anew, with the statistics kept, so that arms it had dropped return with few pulls.
"""

import random

import numpy as np
import pytest
from scipy.stats import binomtest

import mfbandit as mf
from mfbandit.algorithms import REGISTRY
from mfbandit.confidence import BrokenBound
from mfbandit.study._settings import Settings
from mfbandit.study.state import StudyState, _planner
from mfbandit.study.state import _study_statistics as standing

pytestmark = pytest.mark.usefixtures("compiled_plans")

#: How many studies are made of the policy that is disturbed most.
STUDIES = 40
DELTA = 0.02

#: Two arms that take long to tell apart, with biases as large as they may be, and many that are dropped early.
TRUTHS = (0.5, 0.0, *[-0.35] * 10)
CHEAP_BIAS = (-0.1, 0.1, *[0.0] * 10)
PROBLEM = mf.Problem(12, [("cheap", 1.0, 0.1), ("exact", 2.0, 0.0)], reward=mf.Gaussian(1.0))

PRIOR = "top=0.6,second=-0.1,bound=gaussian"
OPTIONS = {
    "lucb-a": [f"lucb-a-stop:{PRIOR}"],
    "lucb-b": [f"lucb-b-stop:{PRIOR}"],
    "lucb-c": ["lucb-c:batch=8", "lucb-c:bound=gaussian"],
    "lucb-top": ["lucb-top:bound=gaussian"],
    "lucb-a-stop": [],
    "lucb-b-stop": [],
    "mf-grad": ["mf-grad:threshold=theory,batch=64", "mf-grad:threshold=ours,batch=64"],
}


def proven_policies() -> list[str]:
    """Every policy of the registry that certifies answers; -A and -B in the form that always stops."""
    labels = [label for name in REGISTRY for label in OPTIONS.get(name, [REGISTRY[name].example])]
    chosen = [mf.policy(label) for label in labels]
    # On blocks no arm is retired and no bound widened.
    return [one.label for one in chosen if one.objective == "identify" and one.proven and not one.on_blocks]


def widened_now(arm: int) -> list[BrokenBound]:
    return [BrokenBound(arm=arm, fidelities=(0, 1), difference=0.6, allowed=0.2, evidence=9.0, false_alarm=1e-3)]


def play(policy: str, seed: int, monkeypatch: pytest.MonkeyPatch, action: str) -> tuple[str, bool]:
    """Play a study that is disturbed at random moments; how it ended, and whether its answer is wrong."""
    luck, noise = random.Random(seed), random.Random(-seed - 1)
    # Some early, most when arms were dropped long ago.
    exponents = (0.5, 2.5) if seed % 4 == 0 else (2.9, 3.1)
    widen_at = {int(10.0 ** luck.uniform(*exponents)) for _ in range(2)}
    retire_at = {luck.randrange(8000): luck.randrange(12)}
    rounds = iter(range(10**9))
    monkeypatch.setattr(standing, "broken_bounds", lambda *_: widened_now(0) if next(rounds) in widen_at else [])
    settings = Settings(
        PROBLEM, policy, delta=DELTA, max_cost=60_000.0, retries=0, on_failure="retire", on_violation=action
    )
    study_state = StudyState(settings)
    while not study_state.ended:
        study_state.plan()
        study_state.planner.look(study_state.state, study_state.planning_seconds)
        if study_state.planner.observe is None:
            # Rewards enter by the code that is compiled for the default policy.
            study_state.planner.observe = _planner._machine_observe(_planner.copy_state(study_state.state))
        first = study_state.round.first
        for row, end in zip(study_state.round.rows, study_state.round.ends, strict=True):
            for place in range(end - row.size, end):
                if row.arm in study_state.retired:
                    continue
                if first + place >= min(retire_at, default=10**9) and row.arm in retire_at.values():
                    study_state.failure(first + place, "no answer")
                    continue
                bias = CHEAP_BIAS[row.arm] if row.fidelity == 0 else 0.0
                study_state.result(first + place, noise.gauss(TRUTHS[row.arm] + bias, 1.0))
    left = study_state.planner.arms
    return study_state.ended, study_state.recommend() != max(left, key=lambda arm: TRUTHS[arm])


@pytest.mark.parametrize("policy", proven_policies())
def test_certified_answers_are_right_when_a_study_is_disturbed(policy, monkeypatch, times):
    # The phases of this one are what a fresh start disturbs most; the others take longer.
    studies = times * (STUDIES // 2 if policy == "iise" else STUDIES // (8 if policy.startswith("mf-") else 4))
    ends = [play(policy, seed, monkeypatch, ("widen", "drop")[seed % 2]) for seed in range(studies)]
    certified = [wrong for status, wrong in ends if status == "certified"]
    assert len(certified) >= 0.8 * studies
    assert binomtest(sum(certified), len(certified), DELTA, "greater").pvalue > 1e-3


def test_active_rewards_stay_active_when_an_arm_is_retired():
    settings = Settings(PROBLEM, "mf-toptwo", retries=0, on_failure="retire")
    study_state, noise = StudyState(settings), random.Random(3)

    def active():
        kept = np.stack(study_state.state.own.active)
        return {arm: kept[:, k].T.ravel().tolist() for k, arm in enumerate(study_state.planner.arms)}

    for turn in range(60):
        study_state.plan()
        if turn == 59:
            break
        for pull in range(study_state.round.first, study_state.asked):
            row = study_state.round.row_of(pull - study_state.round.first)
            study_state.result(pull, noise.gauss(TRUTHS[row.arm], 1.0))
    before, pull = active(), study_state.round.first
    failed = study_state.round.row_of(0).arm
    assert sum(numbers[0] + numbers[3] for numbers in before.values()) > 10
    study_state.failure(pull, "no answer")
    study_state.plan()
    assert failed in study_state.retired
    assert active() == {arm: numbers for arm, numbers in before.items() if arm != failed}
