"""Commands that are interrupted, with real processes and signals."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mfbandit.errors import StudyError
from mfbandit.study import load_study

SLOW_JUDGE = """
import os, time

def judge(pull):
    time.sleep(float(os.environ.get("JUDGE_SECONDS", "0")))
    return float(pull.seed % 100 < {"good": 80, "poor": 60}[pull.arm])
"""
PROGRAM = [sys.executable, "-c", "import sys; from mfbandit.cli import main; sys.exit(main())"]


def test_ctrl_c_then_resume(file, tmp_path, plain):
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
    second = plain("run", study, code=1)
    whole = file(settings, '[evaluator]\npython = "slow_judge:judge"', name="whole.toml")
    third = plain("run", whole, "--workers", "1", code=1)
    assert second["arms"] == third["arms"]
    assert second["status"] == "max_cost"


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at /proc")
@pytest.mark.parametrize(
    ("end", "engine"), [(signal.SIGTERM, "threads"), (signal.SIGHUP, "threads"), (signal.SIGTERM, "processes")]
)
def test_a_signal_ends_the_commands_too_and_the_study_can_go_on(file, tmp_path, plain, end, engine, command, good):
    script = (
        f"[ -e {tmp_path}/go ] || {{ sleep 600 & echo $! > {tmp_path}/child$MFBANDIT_ID.part; "
        f"mv {tmp_path}/child$MFBANDIT_ID.part {tmp_path}/child$MFBANDIT_ID; wait; }}; {good}"
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
    assert plain("run", study, code=1)["cost"] == 6.0


def _runs(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _cost(path):
    try:
        return load_study(path).cost if path.exists() else 0.0
    except StudyError:
        return 0.0
