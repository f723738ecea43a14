"""Certificates against the raw results: invented statistics are found."""

import copy
import json

import pytest

import mfbandit as mf
from mfbandit.certificate import Certificate, verify
from mfbandit.certificate._document import EvidenceEntry
from mfbandit.cli import main
from mfbandit.study import verify_with_study
from mfbandit.study.state import _planner

pytestmark = pytest.mark.usefixtures("compiled_plans")


def test_a_true_certificate_passes(certified, proof):
    verdict = verify_with_study(proof, certified)
    assert verdict.valid, verdict.reasons
    assert verdict.claim == verify(proof).claim


def test_a_study_is_played_again_by_machine_code_that_is_there(monkeypatch):
    taken, before = [], _planner.Planner.compiled_before
    monkeypatch.setattr(_planner, "_LOOK_AFTER_SECONDS", 0.0)
    problem = mf.Problem(["a", "b"], [("quick", 1.0, 0.1), ("exact", 2.0)], reward="bernoulli")
    study = mf.create_study(problem, delta=0.1)
    study.optimize(lambda pull: float(pull.arm == "b"), progress=False)
    proof = study.result().certificate
    monkeypatch.setattr(_planner.Planner, "compiled_before", lambda *a: taken.append(before(*a)) or taken[-1])
    assert verify_with_study(proof, study).valid
    assert taken == [True]


def test_one_made_on_the_way_is_checked_as_of_then():
    instance = mf.load_instance("judges")
    study, evaluate = mf.create_study(instance.problem, delta=0.05), instance.evaluator(seed=3)
    for _ in range(12):
        for pull in study.ask(50):
            study.tell(pull, evaluate(pull))
    early = json.loads(json.dumps(study.result().certificate))
    while not study.done:
        for pull in study.ask(50):
            study.tell(pull, evaluate(pull))
    verdict = verify_with_study(early, study)
    assert not verdict.valid
    # It claims no more than it can; the results are those of the study.
    assert not any("by the results of the study" in reason for reason in verdict.reasons)
    assert not any("never had" in reason for reason in verdict.reasons)


def invented(problem):
    """Statistics that nobody observed: possible, and overwhelming."""
    numbers = {"a": (300, 270.0, 270.0, 30.0), "b": (300, 30.0, 30.0, 30.0)}
    parts = ("pulls", "sums", "squares", "deviations")
    statistics = {arm: {part: [x] for part, x in zip(parts, each, strict=True)} for arm, each in numbers.items()}
    made = Certificate(problem, mf.policy("lucb-top"), 0.05, 0.0, "a", statistics, (EvidenceEntry("b", "a", 5.0),), {})
    from mfbandit.confidence import arm_evidence

    least = arm_evidence(made.seen, made.state, 0, 1, 0.0)
    made = Certificate(
        problem, mf.policy("lucb-top"), 0.05, 0.0, "a", statistics, (EvidenceEntry("b", "a", least),), {}
    )
    return made.to_json()


@pytest.fixture
def coins(tmp_path):
    """A study of two coins in a file; b is better."""
    problem = mf.Problem(["a", "b"], [("toss", 1.0)], reward="bernoulli")
    study = mf.create_study(problem, policy="lucb-top", storage=f"sqlite:///{tmp_path}/coins.db", max_cost=600)
    while not study.done:
        for pull in study.ask(50):
            study.tell(pull, float(pull.seed % 10 < (3 if pull.arm == "a" else 7)))
    return study


def test_invented_statistics_are_found(coins, tmp_path, capsys):
    forged = invented(coins.problem)
    assert verify(forged).valid
    verdict = verify_with_study(forged, coins)
    assert not verdict.valid
    assert any("by the results of the study, statistics must be" in reason for reason in verdict.reasons)
    file, export = tmp_path / "forged.json", tmp_path / "coins.jsonl"
    file.write_text(json.dumps(forged))
    coins.export(export)
    assert main(["verify", str(file)]) == 0
    for source in (str(tmp_path / "coins.db"), str(export)):
        capsys.readouterr()
        assert main(["verify", str(file), "--study", source]) == 1
        said = capsys.readouterr().out
        assert said.startswith("Not proven:")
        assert "Verified" not in said
    true = tmp_path / "true.json"
    true.write_text(json.dumps(coins.result().to_json()))
    assert main(["verify", str(true), "--study", str(export), "--json"]) == main(["verify", str(true), "--json"])


def test_another_study_is_another(coins, proof):
    verdict = verify_with_study(proof, coins)
    assert not verdict.valid
    assert "the study has another problem" in verdict.reasons


def test_results_that_were_left_out_are_missed(coins):
    """A certificate of the first half of an arm's rewards, or of chosen ones, is of no moment of the study."""
    proof = copy.deepcopy(coins.result().certificate)
    for part in ("pulls", "sums", "squares"):
        proof["statistics"]["a"][part] = [proof["statistics"]["a"][part][0] // 2]
    verdict = verify_with_study(proof, coins)
    assert not verdict.valid


def test_names_cannot_reach_the_terminal(tmp_path, capsys):
    problem = mf.Problem(["a\x1b[2J", "b"], [("toss\x1b[31m", 1.0)], reward="bernoulli")
    forged = invented(mf.Problem(["a", "b"], [("toss", 1.0)], reward="bernoulli"))
    forged["problem"] = problem.to_json()
    file = tmp_path / "forged.json"
    file.write_text(json.dumps(forged))
    assert main(["verify", str(file)]) == 1
    study = mf.create_study(problem, policy="lucb-top", delta=0.2)
    while not study.done:
        for pull in study.ask(20):
            study.tell(pull, float(pull.arm == "b"))
    file.write_text(json.dumps(study.result().to_json()))
    assert main(["verify", str(file)]) == 0
    assert "\x1b" not in capsys.readouterr().out
