"""Names, string forms and JSON of policies."""

import pytest

import mfbandit as mf
from mfbandit.algorithms import REGISTRY
from mfbandit.errors import PolicyError


def test_a_policy_object_is_returned_as_it_is():
    policy = mf.policy("lucb-c")
    assert mf.policy(policy) is policy
    assert [mf.policy(entry.example).name for entry in REGISTRY.values()] == list(REGISTRY)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lucb", "no policy is called 'lucb'; did you mean 'lucb-"),
        ("", "no policy is called ''"),
        ("lucb-c:speed=3", "lucb-c has no option 'speed'; its options are"),
        ("lucb-c:explore=a", "lucb-c has no option 'explore'"),
        ("lucb-c:batch", "options are written key=value, got 'batch'"),
        ("lucb-c:batch=", "options are written key=value"),
        ("lucb-c:batch=1,batch=2", "option 'batch' is given twice"),
        ("lucb-c:batch=0", "batch must be a whole number >= 1, got 0"),
        ("lucb-c:batch=two", "batch must be a number, got 'two'"),
        ("mf-race:early=maybe", "early must be True or False, got 'maybe'"),
        ("lucb-c:fidelities=1+1", "distinct columns counted from 0 such as 0.2, got '1.1'"),
        ("lucb-c:fidelities=cheap", "fidelities must be all, top, or"),
    ],
)
def test_bad_strings(text, message):
    with pytest.raises(PolicyError, match=message):
        mf.policy(text)


def test_bad_objects():
    with pytest.raises(PolicyError, match="needs a 'name'"):
        mf.policy({"batch": 2})
    with pytest.raises(PolicyError, match="got 3"):
        mf.policy(3)


def test_fidelity_subsets():
    problem = mf.load_instance("figure-1a").problem
    assert mf.policy("lucb-c").columns(problem) == [0, 1, 2]
    assert mf.policy("lucb-c:fidelities=top").columns(problem) == [2]
    assert mf.policy("lucb-c:fidelities=2+0").columns(problem) == [0, 2]
    with pytest.raises(PolicyError, match="names column 7, but the problem has 3"):
        mf.policy("lucb-c:fidelities=2+7").columns(problem)
    with pytest.raises(PolicyError, match="must include the truest one"):
        mf.simulate("figure-1a", "lucb-c:fidelities=0+1", trials=1)


def test_a_subset_pulls_only_its_columns():
    runs = mf.simulate("figure-1a", "lucb-c:fidelities=0+2", trials=3, max_pulls=2000)
    assert runs.pulls[:, :, 1].sum() == 0
    assert runs.pulls[:, :, 0].sum() > 0


def test_only_the_truest_fidelity_is_lucb_top():
    a = mf.simulate("figure-1a", "lucb-top", trials=3, seed=5)
    b = mf.simulate("figure-1a", "lucb-c:fidelities=top", trials=3, seed=5)
    assert (a.pulls == b.pulls).all()


@pytest.mark.parametrize(
    ("text", "proven"),
    [
        ("mf-toptwo", True),
        ("iise", True),
        ("iise:radius=practical", False),
        ("mf-grad", False),
        ("mf-grad:threshold=ours", True),
        ("successive-halving", False),
    ],
)
def test_only_what_has_a_proof_says_so(text: str, proven: bool) -> None:
    assert mf.policy(text).proven is proven
    assert mf.policy(text).proven_for(mf.load_instance("figure-1a").problem) is proven


@pytest.mark.parametrize(("reward", "proven"), [("bernoulli", False), ("bounded", False), (mf.Gaussian(0.3), True)])
def test_the_threshold_of_mf_grad_theory_is_proven_for_gaussian_rewards_only(reward, proven: bool) -> None:
    problem = mf.Problem(["a", "b"], [("exact", 1.0, 0.0)], reward=reward)
    assert mf.policy("mf-grad:threshold=theory").proven_for(problem) is proven
    assert mf.policy("mf-grad:threshold=ours").proven_for(problem)
    assert not mf.policy("mf-grad").proven_for(problem)
    study = mf.create_study(problem, policy="mf-grad:threshold=theory", delta=0.2)
    while not study.done:
        for pull in study.ask(100):
            study.tell(pull, 1.0 if pull.arm == "b" else 0.0)
    assert study.status == ("certified" if proven else "answered")
