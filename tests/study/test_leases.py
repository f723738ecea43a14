"""Leases: who has a pull, for how long, and what happens when nobody has it any more."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import mfbandit as mf
from mfbandit.errors import InvalidInput
from mfbandit.storage import LEASE, MemoryStorage
from mfbandit.storage import _memory_storage as memory
from mfbandit.study import Study, create_study, load_study
from mfbandit.study import _lease_owner as owner
from mfbandit.study._lease_owner import Owners, this_process

PROBLEM = mf.Problem(["a", "b", "c"], [("exact", 1.0)])
linux = pytest.mark.skipif(not Path("/proc/self/ns/pid").exists(), reason="processes cannot be told apart here")

ASK = """
import sys, time
from mfbandit.study import load_study
study = load_study(sys.argv[1])
pulls = study.ask(3, in_process=sys.argv[2] == "in process")
study.heartbeat(pulls)
print("ready", flush=True)
time.sleep(600)
"""
RUN = """
import sys, time
from mfbandit.study import load_study
def evaluate(pull):
    print("ready\\n", end="", flush=True)  # in one go, as several threads do so at once
    time.sleep(600)
load_study(sys.argv[1]).optimize(evaluate, workers=3, progress=False)
"""


def worker(program: str, path: Path, how: str = "") -> subprocess.Popen[str]:
    """Another process that has pulls of a study."""
    process = subprocess.Popen([sys.executable, "-c", program, str(path), how], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def ids(study: Study) -> list[int]:
    return sorted(pull.id for pull in study.ask(9))


@linux
@pytest.mark.parametrize("program", [ASK, RUN], ids=["ask", "optimize"])
def test_pulls_of_a_process_that_was_killed_are_handed_out_at_once(tmp_path: Path, program: str) -> None:
    path = tmp_path / "s.db"
    study = create_study(PROBLEM, storage=path)
    process = worker(program, path, "in process")
    try:
        if program == RUN:
            while sum(record.kind == LEASE for record in study.storage.log("study").read(0)) < 3:
                time.sleep(0.01)
        assert ids(study) == [], "it lives, and has them all"
        with load_study(str(path)) as again:
            assert ids(again) == []
    finally:
        os.kill(process.pid, signal.SIGKILL)
    # Nobody has asked for its exit code yet, so it is still listed as a process.
    while owner._started(process.pid) not in ("ended", ""):
        time.sleep(0.01)
    with load_study(str(path)) as again:
        assert ids(again) == [0, 1, 2]
    process.communicate()


@linux
def test_pulls_that_others_evaluate_outlive_who_asked(tmp_path: Path) -> None:
    """A program that hands pulls to people may end before they answer."""
    study = create_study(PROBLEM, storage=tmp_path / "s.db")
    process = worker(ASK, tmp_path / "s.db", "elsewhere")
    process.kill()
    process.communicate()
    assert ids(study) == []
    assert study.tell(0, 0.5)


@linux
def test_the_same_number_is_not_the_same_process() -> None:
    me = this_process("x")
    host, machine, number, started, adds = me.split("/")
    assert int(number) == os.getpid()
    assert adds == "x"
    gone = Owners().is_gone
    assert not gone(me)
    assert gone("/".join((host, machine, number, str(int(started) - 1), adds))), "the number is used again"
    assert gone("/".join((host, machine, "4194305", started, adds))), "no process has such a number"
    assert not gone("/".join((host, "0123456789ab.4026531836", "4194305", started, adds))), "another machine or boot"
    assert not gone("/".join((host, machine.split(".")[0] + ".1", "4194305", started, adds))), "another container"
    for strange in ("", "x", "a/b/c/d/e", f"{host}/{machine}/-1/{started}/x", f"{host}/{machine}/0/{started}/x"):
        assert not gone(strange), strange


def test_nobody_is_dead_where_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    me = this_process("x")
    monkeypatch.setattr(owner, "_machine", lambda: "")
    assert this_process("x") == ""
    assert not Owners().is_gone(me.replace(f"/{os.getpid()}/", "/4194305/"))
    study = create_study(PROBLEM)
    assert len(study.ask(9, in_process=True)) == 3
    assert study.ask(9, in_process=True) == []


@pytest.mark.parametrize("wrong", [float("inf"), float("nan"), 0.0, -1.0, "60", True])
def test_a_lease_lasts_for_a_finite_time(wrong: float) -> None:
    study = create_study(PROBLEM)
    (pull,) = study.ask()
    for act in (lambda: study.ask(lease_seconds=wrong), lambda: study.heartbeat([pull], lease_seconds=wrong)):
        with pytest.raises(InvalidInput, match="lease_seconds must be a finite number > 0, got"):
            act()
    with pytest.raises(InvalidInput, match="lease_seconds must be"):
        create_study(PROBLEM, lease_seconds=wrong)


class Clock:
    """A clock that can be set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1.8e9
        monkeypatch.setattr(memory.time, "time", lambda: self.now)


@pytest.mark.parametrize("again", [False, True], ids=["the same process", "one that comes later"])
def test_a_clock_that_goes_back_keeps_no_pull_for_longer(monkeypatch: pytest.MonkeyPatch, again: bool) -> None:
    clock, storage = Clock(monkeypatch), MemoryStorage()
    study = create_study(PROBLEM, storage=storage)
    study.ask(3, lease_seconds=60.0)
    clock.now -= 3600.0
    # Whoever is asked for pulls does not know how much time has gone by since: a lease may last once more.
    others = load_study(storage) if again else study
    others._clock_ahead = float("inf")
    assert ids(others) == []
    clock.now += 61.0
    others._clock_ahead = float("inf")
    assert ids(others) == [0, 1, 2]


def test_a_clock_that_is_right_ends_leases_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    study = create_study(PROBLEM)
    first, second, _ = study.ask(3, lease_seconds=60.0)
    clock.now += 59.0
    study.heartbeat([second], lease_seconds=60.0)
    clock.now += 2.0
    study._clock_ahead = float("inf")
    assert ids(study) == [first.id, 2]
