"""Simulations on a real Ray cluster: the same arrays as on threads, whatever the cluster."""

import json
import os
import shutil
import signal
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import mfbandit as mf
from mfbandit.cli import main
from mfbandit.core import Goal
from mfbandit.errors import InvalidInput, MfbanditError, MissingExtra
from mfbandit.simulation._ray_trials import _play, _told, run_on_ray
from mfbandit.simulation._trials import Simulation, Simulator

POLICY = "lucb-a:top=0.95,second=0.75"
FIELDS = ("cost", "best", "stopped", "pulls", "mark_pulls", "mark_best", "trace", "time", "busy")


def on_threads_and_on_ray(**settings):
    settings = {"instance": "figure-1a", "policy": POLICY, "trials": 120, "seed": 3, **settings}
    return mf.simulate(**settings), mf.simulate(**settings, engine="ray")


def assert_same(here, there):
    for field in FIELDS:
        if not hasattr(here, field):
            continue  # results that were not timed
        mine, theirs = getattr(here, field), getattr(there, field)
        assert mine.shape == theirs.shape
        assert mine.tobytes() == theirs.tobytes(), field


def test_one_node_gives_what_threads_give(cluster):
    assert_same(*on_threads_and_on_ray(marks=[10.0, 300.0], trace=7))


def test_three_nodes_give_what_threads_give(nodes):
    assert_same(*on_threads_and_on_ray(marks=[10.0, 300.0], trace=7))
    assert_same(*on_threads_and_on_ray(policy="elimination", budget=500.0, trials=7))
    assert_same(*on_threads_and_on_ray(device="python", max_pulls=40, trials=3))
    wide = {"width": 8, "durations": mf.Durations(spread=1.0), "max_pulls": 90}
    assert_same(*on_threads_and_on_ray(device="python", trials=3, **wide))


def test_a_lost_node_changes_nothing(cluster, nodes):
    simulation = Simulation(mf.load_instance("figure-1a"), mf.policy(POLICY), Goal(), seed=5)
    simulator, trials, noted = Simulator(simulation, "cpu"), 400, []

    def lose_a_node(trials, pulls):
        if not noted:
            cluster.remove_node(nodes[0], allow_graceful=False)
        noted.append((trials, pulls))

    there = simulation.results(trials)
    run_on_ray(simulator, there, lose_a_node)
    here = simulation.results(trials)
    simulator.play(0, here)
    assert_same(here, there)
    assert len(noted) > 6, "the node was lost while pieces were out"
    assert np.sum(noted, axis=0).tolist() == [trials, here.pulls.sum()]


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupt_frees_the_cluster(cluster):
    threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        mf.simulate("forever", "lucb-a:top=0.6,second=0.5", trials=4, max_pulls=10**12, engine="ray")
    # The only core would be busy for hours.
    assert_same(*on_threads_and_on_ray(trials=2))


def test_the_command_line(cluster, capsys):
    reports = []
    for engine in ("threads", "ray"):
        assert main(["simulate", "figure-1a", "-p", "lucb-c", "--trials", "5", "--engine", engine, "--json"]) == 0
        reports.append(json.loads(capsys.readouterr().out))
    for report in reports:
        del report["seconds"], report["pulls_per_second"]
    assert reports[0] == reports[1]


def test_a_cluster_without_a_gpu(cluster):
    with pytest.raises(MfbanditError, match="device 'cuda' needs a GPU, and the Ray cluster has none"):
        mf.simulate("figure-1a", "lucb-c", device="cuda", engine="ray")


@pytest.mark.skipif(shutil.which("nvidia-smi") is not None, reason="there may be a GPU here")
def test_what_a_node_says_is_said_here(cluster):
    pretender = cluster.add_node(num_cpus=1, num_gpus=1)
    try:
        with pytest.raises(MfbanditError, match=r"^(device 'cuda' needs an NVIDIA GPU|.*'mfbandit\[cuda\]'$)"):
            mf.simulate("figure-1a", "lucb-c", device="cuda", engine="ray")
    finally:
        cluster.remove_node(pretender, allow_graceful=False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"engine": "rya"}, "engine must be one of threads, ray, got 'rya'"),
        ({"engine": "ray", "threads": 2}, "threads are for engine='threads'"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        mf.simulate("figure-1a", "lucb-c", **arguments)


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"engine='ray' needs Ray: pip install 'mfbandit\[ray\]'"):
        mf.simulate("figure-1a", "lucb-c", engine="ray")


def test_a_node_with_another_text_is_refused():
    simulation = Simulation(mf.load_instance("figure-1a"), mf.policy("lucb-c"), Goal(), seed=0)
    with pytest.raises(MfbanditError, match=r"has another mfbandit or Python .* its results could differ"):
        _play("name", simulation, "cpu", "another text", 0, 1)


def test_errors_of_others_become_one_sentence():
    told = _told(SimpleNamespace(cause=OSError("no space\nleft")))
    assert str(told) == "trials could not be played on the Ray cluster: OSError: no space left"
