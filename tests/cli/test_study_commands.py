"""Studies on the command line: run, ask, tell and the rest, with real files and real processes."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mfbandit.cli import main
from mfbandit.cli._study_file import read_study_file
from mfbandit.errors import StudyError
from mfbandit.study import load_study

EXAMPLES = Path(__file__).parents[2] / "examples"
NASTY = 'it\'s "so" <b>\n\x1b[31m$(ls)'

PROBLEM = """
[problem]
arms = ["good", "poor"]
reward = "bernoulli"
fidelities = [{ name = "quick", cost = 1.0, bias = 0.05 }, { name = "exact", cost = 5.0 }]
"""


def call(capsys, *arguments, code=0):
    """Run a command; returns what it printed."""
    assert main([str(argument) for argument in arguments]) == code, capsys.readouterr().err
    return capsys.readouterr()


def plain(capsys, *arguments, code=0):
    """Run a command with --json; returns the object."""
    return json.loads(call(capsys, *arguments, "--json", code=code).out)


def complaint(capsys, *arguments):
    """What bad input says, in one line."""
    captured = call(capsys, *arguments, code=2)
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("mfbandit: ")
    return captured.err


@pytest.fixture
def file(tmp_path):
    """Write a study file."""

    def write(settings="", evaluator="", problem=PROBLEM, name="mine.toml"):
        path = tmp_path / name
        path.write_text(f"{settings}\n{problem}\n{evaluator}", encoding="utf-8")
        return path

    return write


def command(script, extra=""):
    return f"[evaluator]\ncommand = {json.dumps(['sh', '-c', script, 'sh', '{arm}'])}\n{extra}"


GOOD = "if [ $1 = good ]; then echo 1; else echo 0; fi"


def test_a_command_finds_the_best_arm_and_a_second_run_has_nothing_to_do(file, tmp_path, capsys):
    script = f"echo x >> {tmp_path}/calls; {GOOD}"
    study = file("workers = 4\ndurable = false", command(script))
    said = call(capsys, "run", study).out
    assert said.startswith("'good' is the best, with confidence at least 95%, after ")
    calls = (tmp_path / "calls").read_text().count("x")
    result = plain(capsys, "run", study)
    assert (result["status"], result["best"], result["study"]) == ("certified", "good", "mine")
    assert result["pulls"] == calls == (tmp_path / "calls").read_text().count("x")
    assert (tmp_path / "mine.db").exists()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("true", "printed nothing"),
        ("echo 'no key' >&2; exit 4", "ended with exit code 4: no key"),
        ("sleep 60", "took longer than 0.2 s"),
    ],
)
def test_a_command_without_a_reward_fails_the_study_in_one_sentence(file, capsys, script, said):
    study = file("retries = 0", command(script, "timeout = 0.2" if script == "sleep 60" else ""))
    answer = call(capsys, "run", study, code=1).out
    assert said in answer
    assert answer.startswith("The study failed after 0 pulls")
    assert plain(capsys, "status", study.with_suffix(".db"))["pulls"] == 0


@pytest.mark.parametrize("reward", ["nan", "7", "excellent"])
def test_a_command_that_prints_no_reward_of_the_problem_ends_the_run_at_once(file, capsys, tmp_path, reward):
    study = file("", command(f"echo x >> {tmp_path}/calls; echo {reward}"))
    said = complaint(capsys, "run", study)
    rule = "be a number, got 'excellent'" if reward == "excellent" else f"lie between 0.0 and 1.0, got {float(reward)}"
    assert f"at fidelity 'quick': a reward must {rule}" in said
    assert (tmp_path / "calls").read_text() == "x\n"
    assert plain(capsys, "status", study.with_suffix(".db"))["status"] == "running"


def test_an_arm_that_keeps_failing_can_be_retired(file, capsys):
    script = "if [ $1 = poor ]; then exit 3; fi; echo 1"
    study = file('retries = 1\non_failure = "retire"\nmax_cost = 30.0', command(script))
    result = plain(capsys, "run", study)
    assert result["best"] == "good"
    said = call(capsys, "status", study.with_suffix(".db")).out
    assert "poor was retired: arm 'poor' failed at fidelity 'quick' 2 times" in said


def test_a_python_function_beside_the_file(file, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "beside_the_file.py").write_text("def judge(pull):\n    return float(pull.arm == 'good')\n")
    study = file('name = "by Python"', '[evaluator]\npython = "beside_the_file:judge"')
    assert plain(capsys, "run", study)["study"] == "by Python"


def test_recorded_rewards(file, tmp_path, capsys):
    rows = [(arm, fidelity, reward) for arm, reward in (("good", 1), ("poor", 0)) for fidelity in ("quick", "exact")]
    (tmp_path / "rows.csv").write_text("arm,fidelity,reward\n" + "".join(f"{a},{f},{r}\n" for a, f, r in rows))
    assert plain(capsys, "run", file("", '[evaluator]\ntable = "rows.csv"'))["best"] == "good"
    replay = file("max_cost = 0.05", '[evaluator]\ninstance = "judges"', problem="", name="replay.toml")
    assert plain(capsys, "run", replay, code=1)["status"] == "max_cost"


def test_regret(file, capsys):
    study = file('policy = "elimination"\nbudget = 200.0\ndurable = false', command(GOOD))
    assert call(capsys, "run", study).out.startswith("The budget is spent, on ")


@pytest.mark.parametrize(
    ("settings", "evaluator", "problem", "said"),
    [
        ("dleta = 0.1", "", PROBLEM, "unknown key 'dleta'; did you mean 'delta'?"),
        ("delta = 'small'", "", PROBLEM, "delta is 'small'; it must be a number"),
        ("durable = 1", "", PROBLEM, "durable is 1; it must be true or false"),
        ("workers = true", "", PROBLEM, "workers is True; it must be a whole number"),
        ("delta = 2.0", "", PROBLEM, "2.0"),
        ("policy = 'lucb-x'", "", PROBLEM, "lucb-x"),
        ("delta = ", "", PROBLEM, "not valid TOML"),
        ("", "", "", "a study file needs a problem"),
        ("problem = 'jugdes'", "", "", "did you mean 'judges'"),
        ("problem = 'no.toml'", "", "", "there is no instance file"),
        ("", "", PROBLEM + "color = 'red'", "[problem] has the unknown key 'color'"),
        (
            "",
            "[evaluator]\ncomand = 'x'",
            PROBLEM,
            "exactly one of the keys python, command, table, instance",
        ),
        ("", "[evaluator]\ncommand = 'x'\npython = 'a:b'", PROBLEM, "exactly one of the keys"),
        ("", "[evaluator]\ncommand = 'x'\nseed = 3", PROBLEM, "[evaluator] has the unknown key 'seed'"),
        ("", "[evaluator]\ncommand = ''", PROBLEM, "a command is a program"),
        ("", "[evaluator]\npython = 'json'", PROBLEM, "python must be 'module:function'"),
        ("", "[evaluator]\npython = 'no_such:f'", PROBLEM, "module 'no_such' cannot be imported"),
        ("", "[evaluator]\npython = 'json:dmps'", PROBLEM, "did you mean 'dumps'?"),
        ("", "[evaluator]\npython = 'json:__name__'", PROBLEM, "is not a function"),
        ("", "[evaluator]\ninstance = 'judges'", PROBLEM, "the instance has no arm 'good'"),
        ("", "[evaluator]\ntable = 'no.csv'", PROBLEM, "no.csv"),
        ("engine = 'thread'", "[evaluator]\ncommand = 'x'", PROBLEM, "did you mean 'threads'"),
        ("storage = 'mysql://x'", "", PROBLEM, "mysql://x"),
    ],
)
def test_bad_study_files(file, capsys, settings, evaluator, problem, said):
    assert said in complaint(capsys, "run", file(settings, evaluator, problem))


def test_files_that_are_no_study(tmp_path, capsys):
    assert "there is no study file" in complaint(capsys, "run", tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    assert "UTF-8" in complaint(capsys, "run", tmp_path / "binary.toml")
    assert "cannot be read" in complaint(capsys, "run", tmp_path)


def test_another_problem_or_setting_is_refused(file, capsys):
    call(capsys, "run", file("delta = 0.1"))
    assert "exists with delta=0.1, not 0.2" in complaint(capsys, "run", file("delta = 0.2"))


def test_people_take_part_by_ask_and_tell(file, tmp_path, capsys):
    study = file('policy = "lucb-c"')
    assert "hand out its pulls by 'mfbandit ask" in call(capsys, "run", study).err
    db = tmp_path / "mine.db"
    assert call(capsys, "best", db, code=1).out == "Running, after 0 pulls that cost 0; there is no answer yet.\n"
    asked = plain(capsys, "ask", db, "-n", "9")
    assert asked["status"] == "running"
    assert [pull["id"] for pull in asked["pulls"]] == [0, 1]
    assert set(asked["pulls"][0]) == {"id", "arm", "fidelity", "cost", "seed", "index"}
    nothing = call(capsys, "ask", db, "--json", code=1)
    assert json.loads(nothing.out)["pulls"] == []
    assert "2 pulls are out" in nothing.err
    assert plain(capsys, "status", db)["out"] == 2
    assert plain(capsys, "tell", db, 1, "0.5") == {"pull": 1, "counted": True, "status": "running"}
    late = call(capsys, "tell", db, 1, "0.9")
    assert "does not count" in late.err
    assert plain(capsys, "fail", db, 0, "went home")["counted"]
    again = plain(capsys, "ask", db)["pulls"]
    assert again == asked["pulls"][:1]
    assert plain(capsys, "tell", db, 0, "1")["counted"]
    assert plain(capsys, "best", db)["best"] == asked["pulls"][0]["arm"]


@pytest.mark.parametrize("reward", ["nan", "inf", "-1", "1.5", "good", ""])
def test_a_reward_that_is_none_is_refused_and_nothing_recorded(file, tmp_path, capsys, reward):
    call(capsys, "run", file())
    db = tmp_path / "mine.db"
    call(capsys, "ask", db)
    assert "a reward must" in complaint(capsys, "tell", db, 0, reward)
    assert plain(capsys, "status", db)["pulls"] == 0


def test_rewards_may_be_negative(file, tmp_path, capsys):
    call(capsys, "run", file(problem=PROBLEM.replace('"bernoulli"', '{ kind = "gaussian", sigma = 1.0 }')))
    call(capsys, "ask", tmp_path / "mine.db")
    assert plain(capsys, "tell", tmp_path / "mine.db", 0, "-0.25")["counted"]


def test_foreign_pulls_and_storages(file, tmp_path, capsys):
    call(capsys, "run", file())
    db = tmp_path / "mine.db"
    assert "pull 77 was never handed out" in complaint(capsys, "tell", db, 77, "0.5")
    assert "there is no file" in complaint(capsys, "status", tmp_path / "none.db")
    (tmp_path / "foreign.db").write_text("This is a diary.\n" * 100)
    assert "is not a SQLite file" in complaint(capsys, "status", tmp_path / "foreign.db")
    assert "holds no study named 'yours'" in complaint(capsys, "ask", db, "--study", "yours")
    assert "n must be a whole number >= 1" in complaint(capsys, "ask", db, "-n", "0")
    assert "lease_seconds must be" in complaint(capsys, "ask", db, "--lease", "-1")


def test_a_study_that_stopped_can_be_tried_again(file, tmp_path, capsys):
    call(capsys, "run", file("retries = 0"))
    db = tmp_path / "mine.db"
    call(capsys, "ask", db)
    assert plain(capsys, "fail", db, 0, "no\nanswer")["status"] == "failed"
    assert "the study is failed" in call(capsys, "ask", db, code=1).err
    assert "with: no answer" in call(capsys, "status", db).out
    assert plain(capsys, "retry", db) == {"status": "running", "counted": True}
    assert "nothing to try again" in call(capsys, "retry", db).err


def test_export_and_import(file, tmp_path, capsys):
    call(capsys, "run", file('policy = "lucb-c"\nmax_cost = 20.0', command(GOOD)), code=1)
    db, lines, other = tmp_path / "mine.db", tmp_path / "mine.jsonl", tmp_path / "other.db"
    call(capsys, "export", db, lines)
    assert call(capsys, "export", db).out == lines.read_text()
    assert plain(capsys, "import", lines, other)["pulls"] == 20
    assert "exists already" in complaint(capsys, "import", lines, other)
    assert plain(capsys, "import", lines, other, "--study", "copy")["study"] == "copy"
    both = call(capsys, "status", other).out
    assert "mine" in both
    assert "copy" in both
    assert [found["study"] for found in plain(capsys, "status", other)] == ["mine", "copy"]
    assert "a name is needed" in complaint(capsys, "best", other)
    lines.write_text(lines.read_text()[:-20])
    assert "damaged or cut off" in complaint(capsys, "import", lines, tmp_path / "third.db")
    assert "there is no folder" in complaint(capsys, "export", db, tmp_path / "none" / "x.jsonl")


def test_names_with_quotes_newlines_and_html(tmp_path, capsys):
    arms = json.dumps([NASTY, "plain"])
    problem = f"[problem]\narms = {arms}\nfidelities = [{{ name = {json.dumps(NASTY)}, cost = 1.0 }}]\n"
    study = tmp_path / "nasty.toml"
    script = 'case "$1" in plain) echo 0;; *) echo 1;; esac'
    study.write_text(f"name = {json.dumps(NASTY)}\nmax_cost = 30.0\n{problem}{command(script)}")
    main(["run", str(study)])
    said = capsys.readouterr()
    db = tmp_path / "nasty.db"
    assert plain(capsys, "status", db)["best"] == NASTY
    text = call(capsys, "status", db).out
    assert "\x1b" not in said.out + said.err + text
    assert 'it\'s "so" <b>\\n\\x1b[31m$(ls)' in text.replace('\\"', '"').replace("\\'", "'").replace("\\\\", "\\")
    assert plain(capsys, "best", db, "--study", NASTY)["study"] == NASTY


SLOW_JUDGE = """
import os, time

def judge(pull):
    time.sleep(float(os.environ.get("JUDGE_SECONDS", "0")))
    return float(pull.seed % 100 < {"good": 80, "poor": 60}[pull.arm])
"""
PROGRAM = [sys.executable, "-c", "import sys; from mfbandit.cli import main; sys.exit(main())"]


def test_ctrl_c_then_resume(file, tmp_path, capsys):
    settings = 'policy = "lucb-c:batch=4"\nmax_cost = 150.0\ndurable = false\nworkers = 2'
    (tmp_path / "slow_judge.py").write_text(SLOW_JUDGE)
    study = file(settings, '[evaluator]\npython = "slow_judge:judge"')
    process = subprocess.Popen(
        [*PROGRAM, "run", str(study), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "JUDGE_SECONDS": "0.1"},
    )
    deadline = time.monotonic() + 60
    while _cost(tmp_path / "mine.db") < 10:
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    output, said = process.communicate(timeout=30)
    first = json.loads(output)
    assert process.returncode == 130, said
    assert first["status"] == "cancelled"
    assert first["best"] in ("good", "poor")
    assert 10 <= first["pulls"] < 150
    assert "Traceback" not in said
    second = plain(capsys, "run", study, code=1)
    whole = file(settings, '[evaluator]\npython = "slow_judge:judge"', name="whole.toml")
    third = plain(capsys, "run", whole, "--workers", "1", code=1)
    assert second["arms"] == third["arms"]
    assert second["status"] == "max_cost"


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at /proc")
@pytest.mark.parametrize(
    ("end", "engine"), [(signal.SIGTERM, "threads"), (signal.SIGHUP, "threads"), (signal.SIGTERM, "processes")]
)
def test_a_signal_ends_the_commands_too_and_the_study_can_go_on(file, tmp_path, capsys, end, engine):
    script = (
        f"[ -e {tmp_path}/go ] || {{ sleep 600 & echo $! > {tmp_path}/child$MFBANDIT_ID.part; "
        f"mv {tmp_path}/child$MFBANDIT_ID.part {tmp_path}/child$MFBANDIT_ID; wait; }}; {GOOD}"
    )
    study = file(f"workers = 2\nengine = '{engine}'\nmax_cost = 6.0\ndurable = false", command(script))
    process = subprocess.Popen([*PROGRAM, "run", str(study)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while len(found := list(tmp_path.glob("child?"))) < 2:
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    children = [int(path.read_text()) for path in found]
    assert all(map(_runs, children))
    process.send_signal(end)
    time.sleep(0.1)  # two signals at the same moment are one
    process.send_signal(end)
    _, said = process.communicate(timeout=30)
    assert process.returncode == -end
    assert f"ended by {end.name}; run it again to go on" in said.splitlines()
    assert "Traceback" not in said
    deadline = time.monotonic() + 10
    while any(map(_runs, children)):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    left = load_study(tmp_path / "mine.db")
    assert (left.status, left.cost) == ("running", 0.0)
    # Nothing stays leased: the next run needs not wait.
    assert {pull.id for pull in left.ask(2, lease_seconds=0.01)} == {0, 1}
    (tmp_path / "go").touch()
    assert plain(capsys, "run", study, code=1)["cost"] == 6.0


def _runs(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_timeout_for_every_evaluator(file, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "sleepy_judge.py").write_text("import time\n\ndef judge(pull):\n    time.sleep(5)\n")
    study = file("retries = 0\ntimeout = 0.1", '[evaluator]\npython = "sleepy_judge:judge"')
    assert "with: the evaluation took longer than 0.1 s" in call(capsys, "run", study, code=1).out
    both = file("retries = 0\ntimeout = 0.1", command("sleep 5", "timeout = 60"), name="both.toml")
    assert "with: sh took longer than 0.1 s and was ended" in call(capsys, "run", both, code=1).out
    wrong = file("timeout = 0", command(GOOD), name="wrong.toml")
    assert "timeout must be a number > 0, got 0" in complaint(capsys, "run", wrong)
    wrong = file("failure_patience = 'long'", command(GOOD), name="wrong.toml")
    assert "failure_patience is 'long'; it must be a number" in complaint(capsys, "run", wrong)


def _cost(path):
    try:
        return load_study(path).cost if path.exists() else 0.0
    except StudyError:
        return 0.0


def test_the_documentation_runs(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (EXAMPLES.parent / "docs" / "studies.md").read_text(encoding="utf-8")
    code = "".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL))
    exec(compile(code, "studies.md", "exec"), {})
    assert capsys.readouterr().out.startswith("prompt B certified 0.95")
    (settings,) = re.findall(r"```toml\n(.*?)```", text, flags=re.DOTALL)
    (tmp_path / "doc.toml").write_text(settings, encoding="utf-8")
    found = read_study_file(tmp_path / "doc.toml")
    assert found.storage == f"sqlite:///{tmp_path}/prompts.db"
    assert found.evaluate.words == ["./judge.sh", "{arm}", "{fidelity}", "{seed}"]


@pytest.mark.parametrize("example", ["command.toml", "python.toml"])
def test_the_examples_run(tmp_path, capsys, example, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    folder = tmp_path / "examples"
    shutil.copytree(EXAMPLES, folder, ignore=shutil.ignore_patterns("*.db*", "__pycache__"))
    assert call(capsys, "run", folder / example).out.startswith("'")
    assert os.access(folder / "judge.sh", os.X_OK)


def test_an_answer_without_a_guarantee_says_so(file, capsys):
    study = file('policy = "successive-halving"\nbudget = 60.0\ndurable = false', command(GOOD))
    code = main(["run", str(study)])
    said = capsys.readouterr().out
    assert code == 0
    assert said.startswith("successive-halving stopped by itself after ")
    assert "'good'" in said


def test_the_demo(tmp_path, capsys):
    first = call(capsys, "demo", "--out", tmp_path / "demo").out
    assert "'llama-7b' is the best, with confidence at least 95%" in first
    assert "times as much" in first
    assert (tmp_path / "demo" / "judges.html").exists()
    again = plain(capsys, "demo", "--out", tmp_path / "demo", "--seed", "1")
    assert again["study"] == "judges-2"
    assert again["status"] == "certified"
    assert again["cost_with_the_truest_only"] > 10 * again["cost"]
    assert load_study(tmp_path / "demo" / "judges.db", "judges").status == "certified"
    (tmp_path / "taken").write_text("")
    assert "cannot be made" in complaint(capsys, "demo", "--out", tmp_path / "taken")
