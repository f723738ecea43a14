"""A policy that draws a block of its own for every pull: its certificate is about independent rewards."""

import json

import mfbandit as mf

RIGHT = {"a": 27, "b": 6}
PROBLEM = mf.Problem(
    ["a", "b"], [mf.Fidelity("exact", 1.0, block_cost=2.0)], mf.Bounded(0, 1), blocks=30, order="shared"
)


def evaluate(pull):
    """Right on the first so many of the 30 items."""
    return float(pull.block < RIGHT[pull.arm])


def test_it_holds_and_names_the_problem_as_it_was_declared():
    study = mf.create_study(PROBLEM, policy="mf-toptwo:independent=true", seed=3)
    result = study.optimize(evaluate, progress=False)
    assert (result.best, result.status) == ("a", "certified")
    assert result.cost == 3.0 * result.pulls
    found = json.loads(json.dumps(result.certificate))
    assert mf.Problem.from_json(found["problem"]) == PROBLEM
    assert "every pull on a block of its own drawn at random" in found["claim"]
    assert mf.verify(found).valid
    forged = mf.verify({**found, "policy": {"name": "mf-toptwo"}})
    assert not forged.valid
    assert "takes the rewards of different arms for independent" in forged.reasons[0]


def test_a_swing_says_nothing_of_single_rewards():
    swinging = mf.Problem(["a", "b"], [("exact", 1.0)], mf.Bounded(0, 1, swing=0.5), blocks="unlimited")
    study = mf.create_study(swinging, policy="lucb-top:independent=true", seed=1)
    result = study.optimize(lambda pull: 0.9 if pull.arm == "a" else 0.1, progress=False)
    found = result.certificate
    assert mf.Problem.from_json(found["problem"]) == swinging
    assert mf.verify(found).valid
