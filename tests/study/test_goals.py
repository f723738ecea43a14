"""Other goals than the best arm: what studies answer, that they last, and that no forged certificate passes."""

import copy
import json
import math

import numpy as np
import pytest

import mfbandit as mf
from mfbandit.certificate import read_race_certificate
from mfbandit.cli import main
from mfbandit.errors import InvalidInput, PolicyError, StudyError
from mfbandit.model import read_question
from mfbandit.study import verify_with_study
from mfbandit.study.report._snapshot import snapshot
from mfbandit.study.state._planner import Planner

RIGHT = {"old": 0.5, "new": 0.85, "odd": 0.3, "also new": 0.8}
PRICES = {"old": 3.0, "new": 9.0, "odd": 1.0, "also new": 5.0}
GOALS = {
    "better-than": {"goal": "better-than", "control": "old"},
    "top-m": {"goal": "top-m", "m": 2},
    "cheapest-within": {"goal": "cheapest-within", "use_costs": PRICES, "epsilon": 0.2},
}


def problem(blocks=120, reward="bernoulli"):
    return mf.Problem(list(RIGHT), [("test", 1.0)], reward=reward, blocks=blocks)


def right(pull):
    """Questions that are hard for all, and luck of each arm."""
    hard, luck = (np.random.default_rng([pull.block, place]) for place in (7, list(RIGHT).index(pull.arm)))
    return float(0.5 * hard.random() + 0.5 * luck.random() < RIGHT[pull.arm])


@pytest.fixture(autouse=True)
def plain_text(monkeypatch):
    """Plans of the plain text are the same, and need not be compiled."""
    monkeypatch.setattr(Planner, "compile_once", lambda self, state: None)


@pytest.fixture(scope="module")
def results():
    return {name: mf.identify(problem(), right, progress=False, **goal) for name, goal in GOALS.items()}


def test_answers_and_sentences(results):
    better, top, cheapest = results.values()
    assert better.verdicts == {"new": "better", "odd": "not better", "also new": "better"}
    assert better.answer == ("new", "also new")
    assert better.best is None
    assert str(better).startswith("Better than 'old': 'new' and 'also new'; not better: 'odd', with confidence at ")
    assert top.answer == ("new", "also new")
    assert top.sentence.startswith("'new' and 'also new' are the 2 best, with confidence at least 95%, after ")
    assert cheapest.best == "also new"
    assert cheapest.sentence.startswith("'also new' is the cheapest to use within 0.2 of the best, with confidence")
    for result in results.values():
        assert result.status == "certified"
        assert result.confidence >= 0.95
        assert result.cost < 4 * 120
        assert set(result.to_json()) >= {"goal", "answer", "verdicts"}
    assert "answer" not in mf.identify(problem(), right, progress=False, max_cost=8).to_json()


def test_arms_are_measured_no_longer_once_they_are_settled(results):
    pulls = {arm.arm: arm.pulls["test"] for arm in results["better-than"].arms}
    assert min(pulls.values()) < pulls["old"]
    assert pulls["old"] == max(pulls.values())


def test_what_is_shown_before_the_end():
    result = mf.identify(problem(), right, progress=False, max_cost=50, **GOALS["better-than"])
    assert result.status == "max_cost"
    assert "open" in result.verdicts.values()
    assert "arms are settled.\nOpen: " in str(result)
    top = mf.identify(problem(), right, progress=False, max_cost=40, **GOALS["top-m"])
    assert "are the 2 best so far, with confidence" in top.sentence
    assert not mf.verify(top.certificate).valid
    assert any("nothing shows where arm" in reason for reason in mf.verify(top.certificate).reasons)


def test_no_more_is_to_come_than_all_blocks_cost():
    result = mf.identify(problem(), right, progress=False, max_cost=40, delta=1e-9, **GOALS["top-m"])
    assert result.status == "max_cost"
    assert result.remaining_cost == 4 * 120 - 40


def test_pages_say_what_is_settled(tmp_path):
    study = mf.create_study(problem(), max_cost=50, **GOALS["better-than"])
    assert snapshot(study)["sentence"] == "There is no answer yet: the study is still running."
    study.optimize(right, progress=False)
    found = snapshot(study)
    assert [arm["verdict"] for arm in found["arms"]] == ["the control", *study.verdicts.values()]
    assert found["n_left"] == list(study.verdicts.values()).count("open")
    assert found["sentence"].startswith("Better than 'old': ")
    assert "; the study ended at its maximal cost. It cost 50, in 50 pulls." in found["sentence"]
    study.result().report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "How far the control is ahead of each arm" in page
    assert "<td class='text'>the control</td>" in page


@pytest.mark.parametrize("name", GOALS)
def test_certificates_prove_it_and_forged_ones_do_not(results, name):
    honest = json.loads(json.dumps(results[name].certificate))
    verdict = mf.verify(honest)
    assert verdict.valid, verdict.reasons
    assert verdict.claim == honest["claim"]

    def refused(**parts):
        return not mf.verify({**copy.deepcopy(honest), **parts}).valid

    assert refused(goal={"goal": "top-m", "m": 3})
    assert refused(goal={"goal": "top-m", "m": 4})
    assert refused(goal={"goal": "better-than", "control": "new"})
    assert refused(goal={"goal": "better-than", "control": "nobody"})
    assert refused(goal={"goal": "cheapest-within", "use_costs": [1.0, 9.0, 2.0, 3.0], "slack": 0.0})
    assert refused(answer=["old", "odd"])
    assert refused(answer="new")
    assert refused(answer=[*honest["answer"], "odd"])
    assert refused(verdicts={**honest["verdicts"], "odd": "better"})
    assert refused(delta=0.01)
    assert refused(epsilon=0.01)
    assert refused(rewards=[1.0 - reward for reward in honest["rewards"]])
    without = {key: value for key, value in copy.deepcopy(honest).items() if key != "goal"}
    assert not mf.verify(without).valid


def test_the_cheapest_is_one_arm_however_well_the_rest_is_forged(results):
    honest = results["cheapest-within"].certificate
    for answer in ([*honest["answer"], "odd"], []):
        # The claim, the words and the fingerprint are made for the forged answer, too.
        forged = read_race_certificate({**honest, "answer": answer}).to_json()
        assert forged["answer"] == answer
        assert not mf.verify(forged).valid


def test_labels_of_costs_are_read_back():
    goal = mf.CheapestWithin([1e30, 0.12345678901, 3, 1e-7], slack=0.1234567891)
    assert read_question(goal.label) == goal
    assert mf.CheapestWithin([2, 0.5]).label == "cheapest-within:use_costs=2+0.5"


def test_another_goal_is_no_claim_of_the_study(results):
    study = mf.create_study(problem(), **GOALS["top-m"])
    study.optimize(right, progress=False)
    assert verify_with_study(study.result().certificate, study).valid
    other = mf.create_study(problem(), goal="top-m", m=1)
    other.optimize(right, progress=False)
    assert "the study has another question" in verify_with_study(other.result().certificate, study).reasons
    plain = mf.create_study(problem())
    plain.optimize(right, progress=False)
    assert "the study has another question" in verify_with_study(plain.result().certificate, study).reasons


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("top-m", {"m": 1}),
        ("better-than", {"control": "odd"}),
        ("cheapest-within", {"use_costs": [3.0, 1.0, 9.0, 2.0]}),
    ],
)
def test_an_export_with_another_goal_is_found_out(tmp_path, name, parts):
    """Who changes the question in the log, too, has a log of pulls that the policy would not have asked for."""
    study = mf.create_study(problem(), **GOALS[name])
    study.optimize(right, progress=False)
    study.export(tmp_path / "honest.jsonl")
    first, *rest = (tmp_path / "honest.jsonl").read_text().splitlines()
    header = json.loads(first)
    goal = header["settings"]["goal"]
    goal |= parts
    (tmp_path / "forged.jsonl").write_text("\n".join([json.dumps(header), *rest]) + "\n")
    with mf.import_study(tmp_path / "forged.jsonl") as forged:
        claimed = forged.result().certificate
        verdict = verify_with_study(claimed, forged)
    assert not verdict.valid
    assert not verify_with_study(claimed, study).valid


@pytest.mark.parametrize("name", GOALS)
def test_studies_last_and_keep_their_goal(tmp_path, name, results):
    where = f"sqlite:///{tmp_path / 'goals.db'}"
    goal = GOALS[name]
    calls = []

    def counted(pull):
        calls.append(pull)
        return right(pull)

    with mf.create_study(problem(), storage=where, max_cost=24, **goal) as study:
        study.optimize(counted, progress=False)
        assert study.status == "max_cost"
    result = mf.identify(problem(), counted, storage=where, name="study", max_cost=math.inf, progress=False, **goal)
    assert (result.answer, result.verdicts, result.pulls) == (
        results[name].answer,
        results[name].verdicts,
        results[name].pulls,
    )
    assert len(calls) == result.pulls
    with pytest.raises(StudyError, match=r"exists with goal='.*', not 'best'"):
        mf.create_study(problem(), storage=where, load_if_exists=True, max_cost=24, epsilon=goal.get("epsilon"))
    other = {**GOALS["top-m"], "m": 3} if name == "top-m" else {**GOALS["top-m"], "epsilon": goal.get("epsilon")}
    with pytest.raises(StudyError, match=r"exists with goal='.*', not 'top-m:m=\d'"):
        mf.create_study(problem(), storage=where, load_if_exists=True, max_cost=24, **other)
    with mf.load_study(where) as study:
        assert study.settings.question.name == name
        study.export(tmp_path / "study.jsonl")
    with mf.import_study(tmp_path / "study.jsonl") as copied:
        assert copied.result().verdicts == result.verdicts
        assert verify_with_study(result.certificate, copied).valid


def test_a_smaller_delta_lets_settled_arms_return():
    study = mf.create_study(problem("unlimited"), delta=0.2, **GOALS["top-m"])
    first = study.optimize(right, progress=False)
    assert first.status == "certified"
    study.extend(delta=1e-4)
    assert study.status == "running"
    assert study.result().left
    last = study.optimize(right, progress=False)
    assert last.status == "certified"
    assert last.pulls > first.pulls
    assert mf.verify(last.certificate).valid


def test_one_lost_arm_does_not_end_the_race_of_the_others():
    """Normal differences of an arm end with a cell that could not be had; others are compared with the control on."""
    means = {"control": 0.5, "lost": 0.9, "better": 0.8, "worse": 0.2}

    def normal(pull):
        if (pull.arm, pull.block) == ("lost", 2):
            raise RuntimeError("no answer")
        return means[pull.arm] + 0.1 * np.random.default_rng([pull.block, len(pull.arm)]).normal()

    of_normal = mf.Problem(list(means), [("test", 1.0)], reward=mf.Gaussian(), blocks="unlimited")
    study = mf.create_study(of_normal, goal=mf.BetterThan("control"), on_failure="worst", retries=0)
    result = study.optimize(normal, progress=False)
    assert result.verdicts == {"lost": "open", "better": "better", "worse": "not better"}
    assert result.status == "answered"
    reasons = verify_with_study(result.certificate, study).reasons
    assert len(reasons) == 1
    assert "nothing shows where arm 'lost' stands" in reasons[0]


def test_arms_neither_join_nor_leave_races_for_other_goals(results):
    study = mf.create_study(problem(), **GOALS["top-m"])
    study.optimize(right, progress=False)
    for change in (lambda: study.retire("new"), lambda: study.add_arm("newest")):
        with pytest.raises(StudyError, match=r"asks for goal='top-m' about its 4 arms, and arms join and leave races"):
            change()


def test_another_epsilon_is_another_question_about_the_cheapest():
    study = mf.create_study(problem(), **GOALS["cheapest-within"])
    study.extend(delta=0.01, epsilon=0.2)
    with pytest.raises(
        StudyError, match=r"the cheapest arm within epsilon=0\.2 of the best: another epsilon is another"
    ):
        study.extend(epsilon=0.1)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"goal": "top-m", "m": 4}, "m must be below the number of arms, 4, got 4"),
        ({"goal": "top-m", "m": 0}, "m must be a whole number >= 1, got 0"),
        ({"goal": "top-m"}, "goal='top-m' needs m="),
        ({"goal": "top-n", "m": 1}, "no goal is called 'top-n'; did you mean 'top-m'?"),
        ({"m": 2}, "goal='best' has no 'm'"),
        (
            {"goal": "cheapest-within", "use_costs": [("old", 1, 2)], "epsilon": 0.1},
            "finite numbers >= 0, got ('old', 1",
        ),
        ({"goal": mf.TopM(2), "m": 2}, "are both given: say it once"),
        ({"goal": "better-than", "control": "odl"}, "there is no arm 'odl' for a control; did you mean 'old'?"),
        ({"goal": "top-m:m=1,m=2"}, "m of goal='top-m' is given twice, in 'm=1,m=2': say it once"),
        ({"goal": "top-m:m=1.5"}, "m of goal='top-m' must be a whole number, got '1.5'"),
        ({"goal": "better-than:control"}, "options of a goal are written key=value"),
        ({"goal": "cheapest-within", "use_costs": PRICES}, "needs an epsilon > 0"),
        ({"goal": "cheapest-within", "use_costs": [1, 2], "epsilon": 0.1}, "use_costs has 2 numbers for 4 arms"),
        ({"goal": "cheapest-within", "use_costs": {"old": -1}, "epsilon": 0.1}, "finite numbers >= 0, got -1"),
        ({"goal": mf.CheapestWithin(PRICES, slack=0.5), "epsilon": 0.1}, "slack must be at most epsilon, 0.1, got 0.5"),
        ({"goal": "top-m", "m": 2, "most_arms": 9}, "most_arms is for races for the best arm, not for goal='top-m'"),
    ],
)
def test_goals_that_make_no_sense_are_refused(options, said):
    with pytest.raises(InvalidInput) as refused:
        mf.create_study(problem(), **options)
    assert said in str(refused.value)


def test_goals_need_blocks_and_a_policy_that_answers_them():
    plain = mf.Problem(list(RIGHT), [("test", 1.0)])
    with pytest.raises(InvalidInput, match="compares arms on shared blocks, and this problem has none"):
        mf.create_study(plain, goal="top-m", m=2)
    with pytest.raises(PolicyError, match="mf-toptwo finds one best arm: use mf-race for goal='top-m'"):
        mf.create_study(problem(), goal="top-m", m=2, policy="mf-toptwo:independent=true")
    with pytest.raises(PolicyError, match="early=True is for the best arm"):
        mf.create_study(problem(), goal="top-m", m=2, policy="mf-race:early=true")


def test_the_command_line_runs_a_goal(tmp_path, capsys, monkeypatch):
    (tmp_path / "graders.py").write_text("def grade(pull):\n    return float(pull.block % 10 < 3 * len(pull.arm))\n")
    (tmp_path / "study.toml").write_text(
        'goal = "better-than"\ncontrol = "aa"\n[evaluator]\npython = "graders:grade"\n'
        '[problem]\narms = ["a", "aa", "aaa"]\nreward = "bernoulli"\nblocks = 200\n'
        'fidelities = [{ name = "test", cost = 1.0 }]\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert main(["run", str(tmp_path / "study.toml")]) == 0
    printed = capsys.readouterr().out
    assert "Better than 'aa': 'aaa'; not better: 'a', with confidence at least 95%" in printed
    assert "the control is ahead by" in printed
    assert main(["run", str(tmp_path / "study.toml"), "--goal", "better-than"]) == 0
    assert main(["run", str(tmp_path / "study.toml"), "--goal", "top-m:m=1"]) == 2
    assert "exists with goal='better-than:control=aa', not 'top-m:m=1'" in capsys.readouterr().err
    assert main(["run", str(tmp_path / "study.toml"), "--goal", "best"]) == 2
    assert "exists with goal='better-than:control=aa', not 'best'" in capsys.readouterr().err
    assert main(["best", str(tmp_path / "study.db")]) == 0
    assert "Better than 'aa'" in capsys.readouterr().out
    assert main(["best", str(tmp_path / "study.db"), "--json"]) == 0
    (tmp_path / "result.json").write_text(capsys.readouterr().out)
    assert main(["verify", str(tmp_path / "result.json"), "--study", str(tmp_path / "study.db")]) == 0
    assert "better than 'aa': 'aaa'" in capsys.readouterr().out
