"""Rewards of any size: sums lose nothing that certificates could notice."""

import json
import random

import pytest

import mfbandit as mf
from mfbandit.certificate import verify
from mfbandit.confidence.pair._victory_records import evidence
from mfbandit.study import create_study, load_study
from mfbandit.study._settings import Settings
from mfbandit.study.state import StudyState

HUGE, SIGMA = 1.7e9, 1e-3


def gaussian(arms=2, **options):
    return mf.Problem(arms, [("quick", 1.0, 5e-4), ("exact", 4.0, 0.0)], reward=mf.Gaussian(SIGMA, **options))


def finish(study, offset, pulls=10**9, gap=0.0):
    """Play a study whose arms tie, but for the first; noise is a multiple of the last digit of 1.7e9."""
    while not study.done and pulls > 0:
        for pull in study.ask(4):
            noise = round(random.Random(pull.seed).gauss(0.0, SIGMA) * 2**22) / 2**22
            study.tell(pull, offset + noise + (gap if pull.arm_index == 0 else 0.0))
            pulls -= 1
    return study


def test_a_tie_of_huge_rewards_is_no_evidence():
    study_state = StudyState(Settings(gaussian(), "lucb-top:bound=gaussian,batch=500", delta=0.05))
    noise = random.Random(1)
    while not study_state.ended and study_state.asked < 100_000:
        study_state.plan()
        for place in range(study_state.round.first, study_state.asked):
            study_state.result(place, HUGE + noise.gauss(0.0, SIGMA))
    assert not study_state.ended
    policy = mf.policy("mf-toptwo:fidelities=top")
    seen, goal = study_state.planner.problem, study_state.settings.goal
    algorithm = policy.ready(study_state.problem, seen, goal)
    from mfbandit.core import new_state

    state = new_state(seen, algorithm.memory)
    for part in ("pulls", "sums", "squares"):
        getattr(state, part)[:] = getattr(study_state.state, part)
    for pair in ((0, 1), (1, 0)):
        assert evidence(seen, algorithm.params, state, *pair) < 5.0


@pytest.mark.parametrize("policy", ["mf-toptwo", "lucb-c:bound=gaussian", "iise"])
def test_huge_rewards_are_judged_as_small_ones(policy, tmp_path):
    small = finish(create_study(gaussian(3), policy=policy), 0.0, gap=2 * SIGMA)
    place = str(tmp_path / "huge.db")
    huge = create_study(gaussian(3), policy=policy, storage=place, durable=False)
    finish(huge, HUGE, pulls=20, gap=2 * SIGMA)
    finish(load_study(place, durable=False), HUGE, pulls=40, gap=2 * SIGMA)
    huge = finish(load_study(place, durable=False), HUGE, gap=2 * SIGMA)
    mine, theirs = small.result(), huge.result()
    assert (mine.status, mine.best, mine.pulls) == (theirs.status, theirs.best, theirs.pulls)
    assert theirs.status == "certified"
    for name, (low, high) in theirs.intervals.items():
        assert low == pytest.approx(HUGE + mine.intervals[name][0], abs=1e-6)
        assert high == pytest.approx(HUGE + mine.intervals[name][1], abs=1e-6)
    assert theirs.arms[0].means["exact"] == pytest.approx(HUGE + mine.arms[0].means["exact"], abs=1e-6)
    kept = json.loads(json.dumps(theirs.certificate))
    assert kept["problem"]["reward"]["origin"] == HUGE
    assert verify(kept).valid


def test_an_origin_is_no_part_of_what_a_problem_is():
    assert mf.Gaussian(0.1, origin=5.0) == mf.Gaussian(0.1)
    assert gaussian(origin=3.0) == gaussian()
    assert mf.Problem.from_json(gaussian(origin=3.0).to_json()).reward.origin == 3.0
    with pytest.raises(mf.errors.ProblemError, match="origin of a Gaussian reward is inf"):
        mf.Gaussian(0.1, origin=float("inf"))


def test_studies_older_than_origins_go_on_as_they_were():
    header = Settings(gaussian(), "mf-toptwo").to_json()
    assert Settings.from_json(header).problem.reward.origin is None
    del header["problem"]["reward"]["origin"]
    assert Settings.from_json(header).problem.reward.origin == 0.0


def test_simulations_of_huge_means_are_those_of_small_ones():
    means = [[0.0, 0.0], [-(2.0**-9), -(2.0**-9)]]
    small = mf.Instance(gaussian(), means)
    huge = mf.Instance(gaussian(), [[HUGE + mean for mean in row] for row in means])
    assert huge.problem.reward.origin == HUGE
    mine, theirs = (mf.simulate(one, "mf-toptwo", trials=8, seed=1) for one in (small, huge))
    assert (mine.best == theirs.best).all()
    assert (mine.pulls == theirs.pulls).all()
    assert mf.theory.limit(huge, 0.05) == pytest.approx(mf.theory.limit(small, 0.05))
