"""Study files on the command line: what run makes of them, and the demo."""

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from mfbandit.cli import main
from mfbandit.cli._study_file import read_study_file
from mfbandit.study import load_study

EXAMPLES = Path(__file__).parents[2] / "examples"
NASTY = 'it\'s "so" <b>\n\x1b[31m$(ls)'


def test_a_command_finds_the_best_arm_and_a_second_run_has_nothing_to_do(file, tmp_path, call, plain, command, good):
    script = f"echo x >> {tmp_path}/calls; {good}"
    study = file("workers = 4\ndurable = false", command(script))
    said = call("run", study).out
    assert said.startswith("'good' is the best, with confidence at least 95%, after ")
    calls = (tmp_path / "calls").read_text().count("x")
    result = plain("run", study)
    assert (result["status"], result["best"], result["study"]) == ("certified", "good", "mine")
    assert result["pulls"] <= calls <= result["pulls"] + result["unfinished"]
    assert calls == (tmp_path / "calls").read_text().count("x")
    assert (tmp_path / "mine.db").exists()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("true", "printed nothing"),
        ("echo 'no key' >&2; exit 4", "ended with exit code 4: no key"),
        ("sleep 60", "took longer than 0.2 s"),
    ],
)
def test_a_command_without_a_reward_fails_the_study_in_one_sentence(file, call, plain, script, said, command):
    study = file("retries = 0", command(script, "timeout = 0.2" if script == "sleep 60" else ""))
    answer = call("run", study, code=1).out
    assert said in answer
    assert answer.startswith("The study failed after 0 pulls")
    assert plain("status", study.with_suffix(".db"))["pulls"] == 0


@pytest.mark.parametrize("reward", ["nan", "7", "excellent"])
def test_a_command_that_prints_no_reward_of_the_problem_ends_the_run_at_once(
    file, plain, complaint, tmp_path, reward, command
):
    study = file("", command(f"echo x >> {tmp_path}/calls; echo {reward}"))
    said = complaint("run", study)
    rule = "be a number, got 'excellent'" if reward == "excellent" else f"lie between 0.0 and 1.0, got {float(reward)}"
    assert f"at fidelity 'quick': a reward must {rule}" in said
    assert (tmp_path / "calls").read_text() == "x\n"
    assert plain("status", study.with_suffix(".db"))["status"] == "running"


def test_an_arm_that_keeps_failing_can_be_retired(file, call, plain, command):
    script = "if [ $1 = poor ]; then exit 3; fi; echo 1"
    study = file('retries = 1\non_failure = "retire"\nmax_cost = 30.0', command(script))
    result = plain("run", study)
    assert result["best"] == "good"
    said = call("status", study.with_suffix(".db")).out
    assert "poor was retired: arm 'poor' failed at fidelity 'quick' 2 times" in said


def test_a_python_function_beside_the_file(file, tmp_path, plain, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "beside_the_file.py").write_text("def judge(pull):\n    return float(pull.arm == 'good')\n")
    study = file('name = "by Python"', '[evaluator]\npython = "beside_the_file:judge"')
    assert plain("run", study)["study"] == "by Python"


def test_recorded_rewards(file, tmp_path, plain):
    rows = [(arm, fidelity, reward) for arm, reward in (("good", 1), ("poor", 0)) for fidelity in ("quick", "exact")]
    (tmp_path / "rows.csv").write_text("arm,fidelity,reward\n" + "".join(f"{a},{f},{r}\n" for a, f, r in rows))
    assert plain("run", file("", '[evaluator]\ntable = "rows.csv"'))["best"] == "good"
    replay = file("max_cost = 0.05", '[evaluator]\ninstance = "judges"', problem="", name="replay.toml")
    assert plain("run", replay, code=1)["status"] == "max_cost"


def test_regret(file, call, command, good):
    study = file('policy = "elimination"\nbudget = 200.0\ndurable = false', command(good))
    assert call("run", study).out.startswith("The budget is spent, on ")


@pytest.mark.parametrize(
    ("settings", "evaluator", "problem", "said"),
    [
        ("dleta = 0.1", "", None, "unknown key 'dleta'; did you mean 'delta'?"),
        ("delta = 'small'", "", None, "delta is 'small'; it must be a number"),
        ("durable = 1", "", None, "durable is 1; it must be true or false"),
        ("workers = true", "", None, "workers is True; it must be a whole number"),
        ("delta = 2.0", "", None, "2.0"),
        ("policy = 'lucb-x'", "", None, "lucb-x"),
        ("delta = ", "", None, "not valid TOML"),
        ("", "", "", "a study file needs a problem"),
        ("problem = 'jugdes'", "", "", "did you mean 'judges'"),
        ("problem = 'no.toml'", "", "", "there is no instance file"),
        ("", "color = 'red'", None, "[problem] has the unknown key 'color'"),
        (
            "",
            "[evaluator]\ncomand = 'x'",
            None,
            "exactly one of the keys python, command, table, instance",
        ),
        ("", "[evaluator]\ncommand = 'x'\npython = 'a:b'", None, "exactly one of the keys"),
        ("", "[evaluator]\ncommand = 'x'\nseed = 3", None, "[evaluator] has the unknown key 'seed'"),
        ("", "[evaluator]\ncommand = ''", None, "a command is a program"),
        ("", "[evaluator]\npython = 'json'", None, "python must be 'module:function'"),
        ("", "[evaluator]\npython = 'no_such:f'", None, "module 'no_such' cannot be imported"),
        ("", "[evaluator]\npython = 'json:dmps'", None, "did you mean 'dumps'?"),
        ("", "[evaluator]\npython = 'json:__name__'", None, "is not a function"),
        ("", "[evaluator]\ninstance = 'judges'", None, "the instance has no arm 'good'"),
        ("", "[evaluator]\ntable = 'no.csv'", None, "no.csv"),
        ("engine = 'thread'", "[evaluator]\ncommand = 'x'", None, "did you mean 'threads'"),
        ("storage = 'mysql://x'", "", None, "mysql://x"),
    ],
)
def test_bad_study_files(file, complaint, settings, evaluator, problem, said):
    assert said in complaint("run", file(settings, evaluator, problem))


def test_files_that_are_no_study(tmp_path, complaint):
    assert "there is no study file" in complaint("run", tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    assert "UTF-8" in complaint("run", tmp_path / "binary.toml")
    assert "cannot be read" in complaint("run", tmp_path)


def test_another_problem_or_setting_is_refused(file, call, complaint):
    call("run", file("delta = 0.1"))
    assert "exists with delta=0.1, not 0.2" in complaint("run", file("delta = 0.2"))


def test_a_limit_is_raised(file, tmp_path, call, plain, complaint, command, good, problem):
    study = file("max_cost = 6.0\ndelta = 0.1\ndurable = false", command(good))
    assert plain("run", study, code=1)["status"] == "max_cost"
    stored = tmp_path / "mine.db"
    assert "does not pay for what is spent or planned already" in complaint("extend", stored, "--max-cost", "2")
    assert "max_cost must be a number > 0, got -3" in complaint("extend", stored, "--max-cost", "-3")
    said = call("extend", stored, "--max-cost", "60").out
    assert said.startswith("The study is running at a cost of 6, with at most 60 and delta 0.1 from now on."), said
    now = {"status": "running", "cost": 6.0, "max_cost": None, "delta": 0.1, "epsilon": 0.0}
    assert plain("extend", stored, "--max-cost", "inf") == now
    again = file("max_cost = inf\ndelta = 0.1\ndurable = false", command(good))
    first = plain("run", again)
    assert first["status"] == "certified"
    assert "'exact' measures the truth" in complaint("widen", stored, "exact", "--bias", "0.1")
    assert "with bias 0.06 at 'quick' from now on" in call("widen", stored, "quick", "--bias", "0.06").out
    assert "a pull at 'exact' costs 4 from now on" in call("reprice", stored, "exact", "--cost", "4").out
    wide = problem.replace("0.05", "0.06")
    again = file("max_cost = inf\ndelta = 0.1\ndurable = false", command(good), wide)
    # A surer answer is asked for by the command, or by the file.
    assert call("extend", stored, "--delta", "0.05").out.startswith("The study is running")
    assert "exists with delta=0.05, not 0.1: a larger one" in complaint("run", again)
    sure = plain("run", file("max_cost = inf\ndelta = 0.02\ndurable = false", command(good), wide))
    assert (sure["status"], sure["delta"]) == ("certified", 0.02)
    assert sure["cost"] > first["cost"]


def test_a_study_is_as_wide_as_it_had_workers_when_it_was_made(file, tmp_path, call, plain, complaint):
    def width(name):
        return plain("status", tmp_path / f"{name}.db")["width"]

    call("run", file("workers = 3", name="three.toml"))
    call("run", file("workers = 3", name="three.toml"), "--workers", 5)
    assert width("three") == 3
    assert "The study is 3 wide" in call("status", tmp_path / "three.db").out
    assert complaint("run", tmp_path / "three.toml", "--width", 2).endswith("exists with width=3, not 2\n")
    call("run", file("workers = 3", name="option.toml"), "--width", 6)
    call("run", file("workers = 3\nwidth = 4", name="said.toml"))
    call("run", file(name="one.toml"))
    assert (width("option"), width("said"), width("one")) == (6, 4, 1)
    assert "wide" not in call("status", tmp_path / "one.db").out


def test_names_with_quotes_newlines_and_html(tmp_path, capsys, call, plain, command):
    arms = json.dumps([NASTY, "plain"])
    problem = f"[problem]\narms = {arms}\nfidelities = [{{ name = {json.dumps(NASTY)}, cost = 1.0 }}]\n"
    study = tmp_path / "nasty.toml"
    script = 'case "$1" in plain) echo 0;; *) echo 1;; esac'
    study.write_text(f"name = {json.dumps(NASTY)}\nmax_cost = 30.0\n{problem}{command(script)}")
    main(["run", str(study)])
    said = capsys.readouterr()
    db = tmp_path / "nasty.db"
    assert plain("status", db)["best"] == NASTY
    text = call("status", db).out
    assert "\x1b" not in said.out + said.err + text
    assert 'it\'s "so" <b>\\n\\x1b[31m$(ls)' in text.replace('\\"', '"').replace("\\'", "'").replace("\\\\", "\\")
    assert plain("best", db, "--study", NASTY)["study"] == NASTY


def test_a_timeout_for_every_evaluator(file, tmp_path, call, complaint, monkeypatch, command, good):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "sleepy_judge.py").write_text("import time\n\ndef judge(pull):\n    time.sleep(5)\n")
    study = file("retries = 0\ntimeout = 0.1", '[evaluator]\npython = "sleepy_judge:judge"')
    assert "with: the evaluation took longer than 0.1 s" in call("run", study, code=1).out
    both = file("retries = 0\ntimeout = 0.1", command("sleep 5", "timeout = 60"), name="both.toml")
    assert "with: sh took longer than 0.1 s and was ended" in call("run", both, code=1).out
    wrong = file("timeout = 0", command(good), name="wrong.toml")
    assert "timeout must be a number > 0, got 0" in complaint("run", wrong)
    wrong = file("failure_patience = 'long'", command(good), name="wrong.toml")
    assert "failure_patience is 'long'; it must be a number" in complaint("run", wrong)


def test_the_documentation_runs(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (EXAMPLES.parent / "docs" / "studies.md").read_text(encoding="utf-8")
    code = "".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL))
    exec(compile(code, "studies.md", "exec"), {})
    (printed,) = re.findall(r"```text\n(.*?)```", text, flags=re.DOTALL)
    said = capsys.readouterr()
    assert (said.out, said.err) == (printed, "")
    (settings,) = re.findall(r"```toml\n(.*?)```", text, flags=re.DOTALL)
    (tmp_path / "doc.toml").write_text(settings, encoding="utf-8")
    found = read_study_file(tmp_path / "doc.toml")
    assert found.storage == f"sqlite:///{tmp_path}/prompts.db"
    assert found.evaluate.words == ["./judge.sh", "{arm}", "{fidelity}", "{seed}"]


@pytest.mark.parametrize("example", ["command.toml", "python.toml"])
def test_the_examples_run(tmp_path, call, example, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    folder = tmp_path / "examples"
    shutil.copytree(EXAMPLES, folder, ignore=shutil.ignore_patterns("*.db*", "__pycache__"))
    assert call("run", folder / example).out.startswith("'")
    assert os.access(folder / "judge.sh", os.X_OK)


def test_an_answer_without_a_guarantee_says_so(file, capsys, command, good):
    study = file('policy = "successive-halving"\nbudget = 60.0\ndurable = false', command(good))
    code = main(["run", str(study)])
    said = capsys.readouterr().out
    assert code == 0
    assert said.startswith("successive-halving stopped by itself after ")
    assert "'good'" in said


def test_the_demo(tmp_path, call, plain, complaint):
    first = call("demo", "--out", tmp_path / "demo").out
    assert "'llama-7b' is the best, with confidence at least 95%" in first
    (promised,) = re.findall(
        r"^(It cost .*?)```", (EXAMPLES.parent / "docs" / "index.md").read_text(), flags=re.M | re.S
    )
    assert " ".join(promised.split()) in first
    assert (tmp_path / "demo" / "judges.html").exists()
    again = plain("demo", "--out", tmp_path / "demo", "--seed", "1")
    assert again["study"] == "judges-2"
    assert again["status"] == "certified"
    assert again["cost_with_the_truest_only"] > 10 * again["cost"]
    assert load_study(tmp_path / "demo" / "judges.db", "judges").status == "certified"
    (tmp_path / "taken").write_text("")
    assert "cannot be made" in complaint("demo", "--out", tmp_path / "taken")
