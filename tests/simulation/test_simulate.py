"""The simulator: the same result for any number of threads, limits that hold, marks and traces."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mfbandit as mf
from mfbandit.errors import InvalidInput, PolicyError


def test_any_number_of_threads_gives_the_same_result():
    one = mf.simulate("figure-1a", "lucb-top", trials=37, seed=9, threads=1)
    many = mf.simulate("figure-1a", "lucb-top", trials=37, seed=9, threads=5)
    for field in ("cost", "best", "stopped", "pulls"):
        assert (getattr(one, field) == getattr(many, field)).all()


def test_a_trial_does_not_depend_on_how_many_there_are():
    few = mf.simulate("figure-1a", "lucb-top", trials=3, seed=2)
    more = mf.simulate("figure-1a", "lucb-top", trials=6, seed=2)
    assert (few.pulls == more.pulls[:3]).all()
    assert len({p.tobytes() for p in more.pulls}) == 6


def test_seeds_differ():
    a = mf.simulate("figure-1a", "lucb-top", trials=2, seed=0)
    b = mf.simulate("figure-1a", "lucb-top", trials=2, seed=1)
    assert (a.cost != b.cost).any()


def test_cost_is_what_the_pulls_cost():
    runs = mf.simulate("figure-1a", "lucb-b:top=0.95,second=0.75", trials=5, seed=0)
    np.testing.assert_allclose(runs.cost, (runs.pulls * runs.instance.problem.costs).sum(axis=(1, 2)))


@pytest.mark.parametrize("policy", ["lucb-a:top=1,second=0.5", "lucb-b:top=1,second=0.5", "lucb-c:batch=7"])
def test_max_cost_and_max_pulls_hold(policy):
    by_cost = mf.simulate("loose-prior", policy, trials=4, max_cost=123.4)
    assert (by_cost.cost <= 123.4).all()
    assert not by_cost.stopped.any()
    assert not by_cost.wrong.any(), "a run without an answer is not a wrong answer"
    by_pulls = mf.simulate("loose-prior", policy, trials=4, max_pulls=101)
    assert (by_pulls.pulls.sum(axis=(1, 2)) == 101).all()
    assert not by_pulls.stopped.any()


def test_marks_note_the_run_at_each_cost():
    marks = [5.0, 100.0, 1000.0, 1e9]
    runs = mf.simulate("figure-1a", "mf-ucb", budget=2000, trials=4, seed=1, marks=marks)
    spent = (runs.mark_pulls * runs.instance.problem.costs).sum(axis=(2, 3))
    assert (spent <= np.array(marks)).all()
    assert (spent[:, :3] > np.array(marks[:3]) - 1.2).all()
    assert (runs.mark_pulls[:, 3] == runs.pulls).all()
    assert (np.diff(runs.mark_pulls.sum(axis=(2, 3)), axis=1) >= 0).all()
    plain = mf.simulate("figure-1a", "mf-ucb", budget=2000, trials=4, seed=1)
    assert (plain.pulls == runs.pulls).all(), "looking changes nothing"


def test_trace_is_the_sequence_of_decisions():
    runs = mf.simulate("figure-1a", "lucb-c", trials=2, max_pulls=50, trace=50)
    counted = np.zeros_like(runs.pulls[0])
    np.add.at(counted, (runs.trace[0, :, 0], runs.trace[0, :, 1]), runs.trace[0, :, 2])
    assert (counted == runs.pulls[0]).all()


def test_summary_has_the_promised_keys():
    keys = {
        *("instance", "policy", "delta", "budget", "trials", "seed", "device", "mean_cost", "std_cost"),
        *("mean_pulls", "error_rate", "stopped_rate", "limit", "cost_over_limit", "mean_regret"),
        *("mean_cost_regret", "seconds", "pulls_per_second"),
    }
    for runs in (
        mf.simulate("figure-1a", "lucb-top", trials=2),
        mf.simulate("figure-1a", "elimination", budget=100, trials=2),
    ):
        assert keys <= set(runs.summary())


def test_frame():
    frame = mf.simulate("judges", "lucb-c", trials=3, max_pulls=100).to_frame()
    assert len(frame) == 3
    assert frame["pulls"].tolist() == [100, 100, 100]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"trials": 0}, "trials must be a whole number >= 1, got 0"),
        ({"trials": 2.5}, "trials must be a whole number >= 1, got 2.5"),
        ({"seed": -1}, "seed must be a whole number >= 0, got -1"),
        ({"seed": 2**63}, "seed must be below"),
        ({"threads": 0}, "threads must be a whole number >= 1, got 0"),
        ({"device": "abacus"}, "device must be one of cpu, .*got 'abacus'"),
        ({"max_cost": -3}, "max_cost must be a number > 0, got -3"),
        ({"max_cost": "lots"}, "max_cost must be a number > 0, got 'lots'"),
        ({"max_pulls": 0}, "max_pulls must be a whole number >= 1, got 0"),
        ({"marks": [0.0]}, "marks must be costs > 0, got 0"),
        ({"delta": 1.5}, "delta must lie strictly between 0 and 1, got 1.5"),
        ({"epsilon": -0.1}, "epsilon must be a number >= 0, got -0.1"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises((InvalidInput, PolicyError), match=message):
        mf.simulate("figure-1a", "lucb-top", **{"trials": 1, **arguments})


def test_bad_instance():
    with pytest.raises(InvalidInput, match="instance must be an Instance, a name or a file, got 7"):
        mf.simulate(7, "lucb-top")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's own account of memory")
def test_memory_is_flat_and_small():
    # 100,000 short trials at K = M = 5: the arrays of the result, nothing per pull.
    code = (
        "import mfbandit as mf;"
        "r = mf.simulate('poiani-4x5', 'lucb-c', trials=100_000, max_pulls=40);"
        # Not getrusage, whose peak is inherited from the process that started this one.
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    kilobytes = int(done.stdout)
    assert kilobytes < 1_000_000


def test_import_loads_numpy_only():
    code = (
        "import sys, mfbandit;"
        "print([m for m in ('numba', 'scipy', 'matplotlib', 'sqlalchemy', 'typer', 'rich', 'pandas', 'ray') "
        "if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupt_ends_compiled_runs_at_once():
    # A run that would take hours: without the halt, the interpreter would wait for it.
    code = (
        "import os, signal, threading, mfbandit as mf\n"
        "mf.simulate('forever', 'lucb-a:top=0.6,second=0.5', trials=2, max_pulls=10)\n"
        "threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "try:\n"
        "    mf.simulate('forever', 'lucb-a:top=0.6,second=0.5', trials=4, max_pulls=10**12)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "interrupted"


def test_runs_are_shown_in_a_line():
    runs = mf.simulate("figure-1a", "lucb-top", trials=2, max_pulls=50)
    assert repr(runs).startswith("<Runs of lucb-top on figure-1a: 2 trials, mean cost ")
    assert repr(runs).endswith(", 0 stopped, 0 wrong>")
    assert "\n" not in repr(runs)
