"""Evidence that rests on declared leaders: what the log says of them, what a certificate holds, and forged ones."""

import copy
import json
import random
from pathlib import Path

import numpy as np
import pytest

import mfbandit as mf
from mfbandit.certificate import verify
from mfbandit.certificate._reading import read_certificate
from mfbandit.confidence.pair import MOST_LEADERS, NEWEST
from mfbandit.errors import MfbanditError
from mfbandit.storage import RESULT, ROUND
from mfbandit.study import import_study, load_study
from mfbandit.study._verify_with_study import verify_with_study
from mfbandit.study.state._planner import Planner
from mfbandit.study.state.rounds._round_record import read_round

pytestmark = pytest.mark.usefixtures("compiled_plans")

TRUTH = {"a": 0.3, "b": 0.75, "c": 0.55, "d": 0.1}
PROBLEM = mf.Problem(list(TRUTH), [("quick", 0.1, 0.1), ("exact", 1.0, 0.0)], reward="bernoulli")


def reward_of(pull):
    return float(random.Random(pull.seed).random() < TRUTH[pull.arm])


def play(study, evaluate=reward_of, at_once=5):
    while not study.done:
        for pull in study.ask(at_once):
            try:
                study.tell(pull, evaluate(pull))
            except RuntimeError as error:
                study.fail(pull, str(error))
    return study


@pytest.fixture(autouse=True)
def uncompiled(monkeypatch):
    """Short studies are over before their policies are compiled."""
    monkeypatch.setattr(Planner, "compile", lambda self, state: None)


@pytest.fixture(scope="module")
def study():
    return play(mf.create_study(PROBLEM, delta=0.02, seed=4))


@pytest.fixture
def proof(study):
    return json.loads(json.dumps(study.result().certificate))


def test_evidence_at_the_threshold_is_enough_for_every_arm(study, proof):
    assert (proof["kind"], proof["answer"], proof["status"]) == ("leaders", "b", "certified")
    assert proof["threshold"] == pytest.approx(np.log(1 / 0.02))
    assert {entry["evidence"] for entry in proof["evidence"]} == {proof["threshold"]}
    assert study.confidence >= 0.98
    assert verify_with_study(proof, study).valid


def leading_rewards(study):
    """What leaders gave, by the log alone: the rows that were declared a leader's when they were planned."""
    found, counted = {}, study.current().round.first + study.current().round.folded
    records = study.storage.log(study.name).read(0)
    rewards = {record.pull: record.value for record in records if record.kind == RESULT}
    for record in records:
        if record.kind != ROUND:
            continue
        body, pull = read_round(record.text), record.pull
        for number, (arm, fidelity, size) in enumerate(body["rows"]):
            pull += size
            # Rows that were out when the study ended have not counted.
            if number in body.get("leading", ()) and pull <= counted:
                known = found.setdefault((arm, fidelity), [0, 0.0])
                known[0], known[1] = known[0] + size, known[1] + sum(rewards[one] for one in range(pull - size, pull))
    return found


def test_leaders_follow_from_the_log_alone(tmp_path):
    """Pulls are out while others are planned, and a study is closed and opened in between."""
    url = f"sqlite:///{tmp_path / 'study.db'}"
    wide = mf.create_study(PROBLEM, delta=0.2, seed=5, width=6, storage=url)
    for _ in range(3):
        for pull in wide.ask(20):
            wide.tell(pull, reward_of(pull))
        wide = load_study(url)
    play(wide, at_once=6)
    state = wide.current().state
    leaders, known = state.own.leaders, {}
    for place in range(leaders.known[0]):
        for m in range(2):
            if leaders.pulls[place, m]:
                known[int(leaders.arm[place]), m] = [leaders.pulls[place, m], leaders.sums[place, m]]
    assert known
    assert known == leading_rewards(wide)
    proof = wide.result().certificate
    wide.export(tmp_path / "study.jsonl")
    assert verify_with_study(proof, import_study(tmp_path / "study.jsonl")).valid


def more(proof, entry):
    """A leader that gave more than it did."""
    leader = entry["leaders"][0]
    m = int(np.argmax(leader["pulls"]))
    for part in ("pulls", "sums", "squares"):
        leader[part][m] += 500


def luckier(proof, entry):
    """A leader whose failures were left out."""
    leader = entry["leaders"][0]
    for m in range(2):
        leader["pulls"][m] = leader["squares"][m] = leader["sums"][m]


def itself(proof, entry):
    entry["leaders"][0]["arm"] = entry["arm"]


def nobody(proof, entry):
    entry["leaders"][0]["arm"] = "nobody"


def twice(proof, entry):
    entry["leaders"].append(copy.deepcopy(entry["leaders"][0]))


def crowd(proof, entry):
    entry["leaders"] *= MOST_LEADERS + 1


def silent(proof, entry):
    del entry["leaders"]


def without(proof, entry):
    entry["leaders"] = []


def by_pairs(proof, entry):
    """The other kind of evidence, chosen afterwards, needs log(K - 1) more."""
    proof["kind"] = "pairs"
    for one in proof["evidence"]:
        del one["leaders"]


@pytest.mark.parametrize("forge", [more, luckier, itself, nobody, twice, crowd, silent, without, by_pairs])
def test_forged_leaders_do_not_help(forge, proof, study):
    forged = copy.deepcopy(proof)
    forge(forged, max(forged["evidence"], key=lambda entry: sum(map(sum, (one["pulls"] for one in entry["leaders"])))))
    assert not verify(forged).valid or not verify_with_study(forged, study).valid
    if forge is luckier:
        return  # fewer rewards with the same successes may be a part of all: only the study can tell
    try:
        made_anew = json.loads(json.dumps(read_certificate(forged).to_json()))
    except MfbanditError:
        return
    assert not verify(made_anew).valid
    assert not verify_with_study(made_anew, study).valid


def test_a_study_that_began_with_an_epsilon_stays_with_pairs():
    """Whoever may choose between two kinds of evidence after looking has two chances to err."""
    study = play(mf.create_study(PROBLEM, delta=0.2, epsilon=0.3, seed=1))
    study.extend(epsilon=0.0)
    play(study)
    proof = study.result().certificate
    assert (proof["kind"], proof["epsilon"]) == ("pairs", 0.0)
    assert proof["threshold"] == pytest.approx(np.log(3 / 0.2))
    assert verify_with_study(proof, study).valid


@pytest.mark.parametrize("width", [1, 4])
def test_a_leader_that_is_given_up_is_no_evidence(width):
    def evaluate(pull):
        if pull.arm == "b" and pull.index >= 40:
            raise RuntimeError("it broke")
        return reward_of(pull)

    study = mf.create_study(PROBLEM, delta=0.001, seed=2, on_failure="retire", retries=0, width=width)
    play(study, evaluate)
    assert study.best == "c"
    current = study.current()
    leaders = current.state.own.leaders
    led = [current.planner.arms[arm] for arm in leaders.arm[: leaders.known[0]]]
    assert 1 not in led
    assert 2 in led
    proof = study.result().certificate
    assert proof["kind"] == "leaders"
    assert (verify(proof) if width > 1 else verify_with_study(proof, study)).valid


def test_an_older_certificate_is_proven_with_the_weights_that_it_was_made_with():
    """The file is of a version that named no weights. Its gap is so small that the weights of today need more pulls."""
    older = json.loads((Path(__file__).parent / "first_weights.json").read_text())
    assert older["version"] == 2
    assert verify(older).valid
    (reason,) = verify({**older, "version": 3, "weights": 2}).reasons
    assert "do not prove" in reason


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"weights": 1}, "a number from 2 on"),
        ({"weights": NEWEST + 1}, "are not known to this mfbandit, which is older than the certificate"),
        ({"weights": 2.5}, "must be a whole number"),
        ({"weights": "new"}, "weights must be a finite number"),
        ({"version": 2}, "version 3 can be checked"),
    ],
)
def test_weights_that_cannot_be_are_refused(proof, change, says):
    (reason,) = verify({**proof, **change}).reasons
    assert says in reason


def test_a_certificate_of_other_evidence_names_no_weights():
    study = play(mf.create_study(PROBLEM, policy="lucb-c:bound=kl", delta=0.2, seed=1))
    proof = json.loads(json.dumps(study.result().certificate))
    assert (proof["version"], "weights" in proof) == (2, False)
    assert "only for evidence of pairs" in verify({**proof, "version": 3, "weights": 2}).reasons[0]
