"""Certificates of races on blocks against the raw results of their study."""

import json
import random

import numpy as np
import pytest

import mfbandit as mf
from mfbandit.certificate import read_race_certificate, verify
from mfbandit.study import verify_with_study

RIGHT = (np.random.default_rng(0).random((4, 200)) < np.array([[0.2], [0.4], [0.5], [0.85]])).astype(float)
ARMS = ["a", "b", "c", "d"]


def right(pull):
    return RIGHT[ARMS.index(pull.arm), pull.block]


def unsure(pull):
    if pull.arm == "d" and pull.block % 9 == 0:
        raise RuntimeError("no answer")
    return right(pull)


def noisy(pull):
    shared, own = random.Random(pull.block_seed), random.Random(pull.seed)
    return shared.gauss(0, 5) + own.gauss(0, 0.3) + ARMS.index(pull.arm)


ONE = [("truth", 1.0)]
JUDGED = [mf.Fidelity("judge", 0.02, 0.5, pair_bias=0.1, block_cost=0.1), mf.Fidelity("truth", 1.0)]
STUDIES = {
    "finite": (mf.Problem(ARMS, ONE, reward="bernoulli", blocks=200), right, {}),
    "missing": (
        mf.Problem(ARMS, ONE, reward="bernoulli", blocks=200),
        unsure,
        {"on_failure": "worst", "retries": 0},
    ),
    "lanes": (mf.Problem(ARMS, JUDGED, reward="bernoulli", blocks=200), right, {}),
    "shared": (mf.Problem(ARMS, JUDGED, reward="bernoulli", blocks=200, order="shared"), right, {}),
    "normal": (mf.Problem(ARMS, ONE, reward=mf.Gaussian(), blocks="unlimited"), noisy, {}),
}


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_proves_its_certificate_and_no_invented_one(name):
    problem, evaluate, settings = STUDIES[name]
    study = mf.create_study(problem, policy="mf-race", delta=0.05, seed=5, **settings)
    while not study.done:
        for pull in study.ask(10):
            try:
                study.tell(pull, evaluate(pull))
            except RuntimeError as error:
                study.fail(pull, str(error))
    result = study.result()
    proof = json.loads(json.dumps(result.certificate))
    assert (study.status, proof["kind"], proof["missing"] > 0) == ("certified", "blocks", name == "missing")
    assert verify(proof).reasons == verify_with_study(proof, study).reasons == ()
    assert (proof["pulls"], proof["confidence"]) == (result.pulls, result.confidence)
    assert proof["cost"] == pytest.approx(result.cost)
    # Somebody makes a rival a little worse, and all that follows anew.
    invented = json.loads(json.dumps(proof))
    arms = [row[0] for one in proof["rounds"] for row in one["rows"] for _ in range(row[2])]
    answer = ARMS.index(proof["answer"])
    at = next(i for i, x in enumerate(proof["rewards"]) if x and arms[i] != answer)
    invented["rewards"][at] -= 0.5
    invented = json.loads(json.dumps(read_race_certificate(invented).to_json()))
    assert verify(invented).claim
    assert not verify_with_study(invented, study).valid
    other = mf.create_study(problem, policy="mf-race", delta=0.05, seed=6, **settings)
    assert "the study has another seed" in verify_with_study(proof, other).reasons
