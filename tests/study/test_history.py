import pytest

import mfbandit as mf
from mfbandit.errors import InvalidInput
from mfbandit.study import create_study
from mfbandit.study._history import history


@pytest.fixture
def study():
    study = create_study(mf.Problem(["a", "b"], [("exact", 2.0, 0.0)], reward="bernoulli"), policy="lucb-c:bound=kl")
    while not study.done:
        for pull in study.ask():
            study.tell(pull, float(pull.arm == "b"))
    return study


def test_the_last_moment_is_the_result(study):
    moments = history(study, 10)
    result = study.result()
    assert len(moments) == 10
    assert (moments[-1].cost, moments[-1].pulls) == (result.cost, result.pulls)
    assert (moments[-1].best, moments[-1].confidence) == (result.best, result.confidence)
    assert [moment.cost for moment in moments] == sorted(moment.cost for moment in moments)


def test_moments_are_what_the_study_saw():
    seen = []
    study = create_study(
        mf.Problem(["a", "b"], [("exact", 2.0, 0.0)], reward="bernoulli"), max_cost=60, policy="lucb-c"
    )
    while not study.done:
        for pull in study.ask():
            study.tell(pull, float(pull.arm == "b"))
            seen.append((study.cost, study.best, study.confidence))
    found = [(moment.cost, moment.best, moment.confidence) for moment in history(study, len(seen))]
    # Results that wait for their turn to count are paid for, but not yet believed.
    assert found == seen


def test_the_first_pulls_only(study):
    assert history(study, 5, pulls=9)[-1].pulls == 9
    assert history(create_study(study.problem)) == []
    with pytest.raises(InvalidInput, match="points must be a whole number >= 1, got 0"):
        history(study, 0)
