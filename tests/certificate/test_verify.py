"""Certificates: anybody can check them, and what is not proven does not pass."""

import copy
import json
import subprocess
import sys

import numpy as np
import pytest

import mfbandit as mf
from mfbandit.certificate import load_certificate, verify
from mfbandit.cli import main
from mfbandit.errors import InvalidInput


def play(problem, evaluate, **settings):
    study = mf.create_study(problem, **settings)
    while not study.done:
        for pull in study.ask(100):
            study.tell(pull, evaluate(pull))
    return study.result()


@pytest.fixture(scope="module")
def judged():
    instance = mf.load_instance("judges")
    return play(instance.problem, instance.evaluator(seed=1), delta=0.05, policy="mf-toptwo")


@pytest.fixture
def proof(judged):
    return json.loads(json.dumps(judged.certificate))


def test_the_certificate_of_an_answer_verifies(proof, judged):
    verdict = verify(proof)
    assert verdict.valid
    assert verdict.reasons == ()
    assert judged.best in verdict.claim
    assert "0.95" in verdict.claim
    assert {entry["arm"] for entry in proof["evidence"]} == set(proof["arms"]) - {judged.best}
    assert "biases of at most 0.084 at 'PandaLM-7B' and 0.026 at 'GPT-3.5'" in verdict.claim


def test_a_claim_names_cheap_fidelities_without_bias(proof):
    problem = mf.Problem(["a", "b"], [("judge", 1.0), ("human", 5.0)], reward="bernoulli")
    found = play(problem, lambda pull: float(pull.arm == "b")).certificate
    assert ", no bias at 'judge'" in found["claim"]
    assert "no bias" not in proof["claim"]
    # Older versions left it out.
    older = {**found, "claim": found["claim"].replace(", no bias at 'judge'", "")}
    assert verify(found).reasons == verify(older).reasons == ()


@pytest.mark.parametrize("policy", ["lucb-c:bound=kl", "lucb-top:bound=hoeffding", "mf-toptwo:fidelities=top"])
def test_other_policies_get_certificates_too(policy):
    instance = mf.load_instance("figure-1a")
    result = play(instance.problem, instance.evaluator(seed=2), delta=0.1, policy=policy)
    assert result.status == "certified"
    assert verify(result.certificate).valid


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_stops_by_pairs_keeps_what_beat_every_arm(seed):
    instance = mf.load_instance("figure-1a")
    result = play(instance.problem, instance.evaluator(seed=seed), delta=0.1, policy="mf-grad:threshold=ours,batch=20")
    assert result.status == "certified"
    assert result.certificate["kind"] == "pairs"
    assert verify(result.certificate).reasons == ()


def test_pairs_are_judged_without_numba_too(monkeypatch):
    problem = mf.Problem(["a", "b"], [("exact", 1.0, 0.0)], reward="bernoulli")
    proof = play(problem, lambda pull: float(pull.arm == "b"), delta=0.1).certificate
    monkeypatch.setitem(sys.modules, "numba", None)
    assert verify(proof).valid
    study = mf.create_study(problem)
    for _ in range(3):
        for pull in study.ask(100):
            study.tell(pull, float(pull.arm == "b"))
    assert 0.0 < study.confidence < 0.95


def test_gaussian_rewards_biases_per_arm_and_epsilon():
    problem = mf.Problem.from_arrays(
        [[0.1, 5.0], [0.2, 5.0], [0.1, 4.0]],
        [[0.1, 0.0], [0.2, 0.0], [0.3, 0.0]],
        reward=mf.Gaussian(0.5),
    )
    instance = mf.Instance(problem, [[0.95, 1.0], [0.8, 0.98], [0.1, 0.2]])
    result = play(problem, instance.evaluator(seed=3), delta=0.1, epsilon=0.2)
    assert result.certificate["epsilon"] == 0.2
    assert all(entry["by"] == result.best for entry in result.certificate["evidence"])
    assert verify(result.certificate).valid


def test_rewards_of_another_range():
    problem = mf.Problem(["x", "y"], [("only", 1.0, 0.0)], reward=mf.Bounded(-5.0, 15.0))
    rng = np.random.default_rng(0)
    result = play(problem, lambda pull: float(rng.uniform(0, 1) + (9 if pull.arm == "y" else 1)), epsilon=2.0)
    assert result.best == "y"
    assert verify(result.certificate).valid


def test_an_unfinished_study_claims_nothing_that_it_cannot_show():
    instance = mf.load_instance("judges")
    result = play(instance.problem, instance.evaluator(), max_cost=0.5)
    assert result.status == "max_cost"
    assert result.certificate["claim"].startswith("Not certified (confidence 0.")
    assert result.certificate["status"] == "not certified"
    verdict = verify(result.certificate)
    assert not verdict.valid
    assert any("is beaten" in reason for reason in verdict.reasons)


def worse_winner(proof):
    for entry in proof["evidence"]:
        for part in ("sums", "active_sums", "squares", "active_squares"):
            entry["winner"][part] = [0.8 * x for x in entry["winner"][part]]


def fewer_pulls(proof):
    for side in ("winner", "loser"):
        for part in proof["evidence"][0][side]:
            proof["evidence"][0][side][part] = [x // 4 for x in proof["evidence"][0][side][part]]


def another_answer(proof):
    proof["answer"] = next(arm for arm in proof["arms"] if arm != proof["answer"])


def smaller_delta(proof):
    proof["delta"] = 1e-6
    proof["threshold"] = float(np.log(4) - np.log(1e-6))


def lower_threshold(proof):
    proof["threshold"] = 0.1


def missing_arm(proof):
    proof["evidence"].pop()


def tighter_biases(proof):
    for fidelity in proof["problem"]["fidelities"]:
        fidelity["bias"] = 0.3 if fidelity["bias"] else 0.0


def impossible(proof):
    arm = proof["arms"][0]
    proof["statistics"][arm]["sums"][0] = proof["statistics"][arm]["pulls"][0] + 5.0


def future(proof):
    entry = proof["evidence"][0]
    entry["loser"]["pulls"] = [n + 10**6 for n in entry["loser"]["pulls"]]
    entry["loser"]["sums"] = [s + 1000 for s in entry["loser"]["sums"]]


def activity(proof):
    entry = proof["evidence"][0]
    entry["winner"]["active_pulls"] = [n + 50 for n in entry["winner"]["pulls"]]


def no_statistics(proof):
    del proof["statistics"]


def strange(proof):
    proof["arms"] = 7


@pytest.mark.parametrize(
    "forge",
    [
        worse_winner,
        fewer_pulls,
        another_answer,
        smaller_delta,
        lower_threshold,
        missing_arm,
        tighter_biases,
        impossible,
        future,
        activity,
        no_statistics,
        strange,
    ],
)
def test_forged_certificates_are_found_out(proof, forge):
    forged = copy.deepcopy(proof)
    forge(forged)
    verdict = verify(forged)
    assert not verdict.valid
    assert verdict.reasons


def test_the_command(tmp_path, proof, judged, capsys):
    file = tmp_path / "certificate.json"
    file.write_text(json.dumps(proof))
    assert main(["verify", str(file)]) == 0
    assert "Verified" in capsys.readouterr().out
    whole = tmp_path / "result.json"
    whole.write_text(json.dumps(judged.to_json()))
    assert main(["verify", str(whole), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["valid"] is True
    another_answer(proof)
    file.write_text(json.dumps(proof))
    assert main(["verify", str(file)]) == 1
    assert "Not proven" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[1, 2]", "holds no certificate"),
        ('{"format": "mfbandit certificate", "version": 99}', "version 99, newer than 3"),
        ('{"format": "mfbandit certificate", "version": 1}', "holds too little to be checked"),
        ('{"format": "mfbandit certificate", "version": 2, "threshold": NaN}', "NaN is no number of JSON"),
        ('{"format": "mfbandit certificate", "version": 2, "version": 2}', "'version' occurs twice"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_bad_files(tmp_path, text, message):
    file = tmp_path / "bad.json"
    file.write_text(text)
    with pytest.raises(InvalidInput, match=message):
        load_certificate(file)
    assert main(["verify", str(file)]) == 2


def test_an_absent_file_is_one_line_on_stderr(tmp_path):
    command = [sys.executable, "-m", "mfbandit", "verify", str(tmp_path / "absent.json")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1


def test_confidence_climbs_with_the_evidence():
    instance = mf.load_instance("judges")
    study, evaluate = mf.create_study(instance.problem, delta=0.05), instance.evaluator(seed=5)
    seen = [study.confidence]
    while not study.done:
        for pull in study.ask(400):
            study.tell(pull, evaluate(pull))
        seen.append(study.confidence)
    assert seen[0] == 0.0
    assert seen[-1] >= 0.95
    assert all(0.0 <= value <= 1.0 for value in seen)
