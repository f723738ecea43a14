"""Studies and simulations on a real Ray cluster of one node, and of three: the same answers, whatever it loses.

All tests share one cluster, since what takes long is its start. Those that need its only core to be the only one come
first; nodes that join for the others stay.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import mfbandit as mf
from mfbandit.cli import main
from mfbandit.core import Goal
from mfbandit.engines import Batches
from mfbandit.errors import InvalidInput, MfbanditError, MissingExtra
from mfbandit.simulation._ray_trials import _play, _told, run_on_ray
from mfbandit.simulation._trials import Simulation, Simulator
from mfbandit.storage import ROUND
from mfbandit.study import create_study, load_study
from mfbandit.study.state.rounds._round_record import read_round

HALF_A_CORE = {"quick": {"num_cpus": 0.5}, "exact": {"num_cpus": 0.5}}
POLICY = "lucb-a:top=0.95,second=0.75"
FIELDS = ("cost", "best", "stopped", "pulls", "mark_pulls", "mark_best", "trace", "time", "busy")


def rounds_of(study):
    """What the log says was asked for."""
    records = study.storage.log(study.name).read(0)
    return [(record.pull, read_round(record.text)["rows"]) for record in records if record.kind == ROUND]


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


# On one node.


def test_a_failure_on_another_machine_says_what_was_raised(cluster, make, evaluators):
    result = make(30.0, retries=0).optimize(evaluators.never, engine="ray", progress=False)
    assert result.status == "failed"
    assert "with: LookupError: no\nsuch judge" in result.reasons[0]


def test_batches_run_as_tasks(cluster, make, alone, evaluators):
    evaluate = Batches(evaluators.noisy_batch, 8)
    assert make(60.0).optimize(evaluate, workers=2, engine="ray", progress=False) == alone(max_cost=60.0)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupt_frees_the_cluster(cluster, make, evaluators):
    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    assert make(3.0).optimize(evaluators.hour, engine="ray", progress=False).status == "cancelled"
    # The only core would be busy for an hour.
    assert make(3.0).optimize(evaluators.noisy, engine="ray", progress=False).cost > 0


def test_resources_that_make_no_sense_are_refused(cluster, make, evaluators, caplog):
    def run(resources):
        make(1.0).optimize(evaluators.noisy, engine="ray", progress=False, resources=resources)

    with pytest.raises(InvalidInput, match="unknown fidelity 'quik'; did you mean 'quick'"):
        run({"quik": {"num_cpus": 1}})
    with pytest.raises(InvalidInput, match="fidelity 'quick' are refused by Ray"):
        run({"quick": {"num_cups": 1}})
    with pytest.raises(InvalidInput, match="must be options such as num_cpus, got 3"):
        run({"quick": 3})
    run({"exact": {"num_gpus": 1}})
    assert "'exact' asks for num_gpus=1, and the cluster has 0" in caplog.text


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_evaluation_that_takes_too_long_fails_and_frees_its_place(cluster, make, evaluators, tmp_path, caplog):
    sleepy = evaluators.Once(tmp_path, [2], evaluators.hour)
    result = make(8.0).optimize(sleepy, engine="ray", timeout=0.5, workers=4, progress=False)
    assert result.status == "max_cost"
    # Those that waited for the only core were not late.
    assert sum("failed: the evaluation took longer than 0.5 s" in line for line in caplog.messages) == 1


def test_a_study_that_used_a_cluster_leaves_it_open(cluster, make, evaluators):
    import ray

    make(3.0).optimize(evaluators.noisy, engine="ray", progress=False)
    assert ray.is_initialized()


def test_one_node_gives_what_threads_give(cluster):
    assert_same(*on_threads_and_on_ray(marks=[10.0, 300.0], trace=7))


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupt_of_trials_frees_the_cluster(cluster):
    threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        mf.simulate("forever", "lucb-a:top=0.6,second=0.5", trials=4, max_pulls=10**12, engine="ray")
    # The only core would be busy for hours.
    assert_same(*on_threads_and_on_ray(trials=2))


def test_the_command_line_simulates(cluster, capsys):
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


# On three nodes.


def test_three_nodes_give_what_threads_give(nodes):
    assert_same(*on_threads_and_on_ray(marks=[10.0, 300.0], trace=7))
    assert_same(*on_threads_and_on_ray(policy="elimination", budget=500.0, trials=7))
    assert_same(*on_threads_and_on_ray(device="python", max_pulls=40, trials=3))
    wide = {"width": 8, "durations": mf.Durations(spread=1.0), "max_pulls": 90}
    assert_same(*on_threads_and_on_ray(device="python", trials=3, **wide))


def test_trainings_go_on_in_a_folder_that_nodes_share(cluster, nodes, evaluators, tmp_path):
    rungs = [mf.Fidelity("3", 3.0, 0.3, pair_bias=0.05), mf.Fidelity("9", 9.0, continues=True)]
    problem = mf.Problem(["a", "b", "c"], rungs, mf.Gaussian(), blocks="unlimited", order="shared")
    study = create_study(problem, width=3, max_cost=120.0)
    shared = tmp_path / "shared"
    settings = {"workers": 3, "engine": "ray", "folders": shared, "progress": False}
    result = study.optimize(evaluators.TrainTogether(tmp_path), **settings)
    assert not study.current().failures
    went_on = study.to_frame().query("fidelity == '9' and cost == 6")
    assert len(went_on) > 2
    assert len(set(study.to_frame()["worker"])) > 1
    if result.status == "max_cost":  # it may go on
        assert list(shared.glob("*/*/block-*/*"))
        study.extend(max_cost=10_000.0)
        study.optimize(evaluators.train, **settings)
    assert (study.status, study.best) == ("certified", "c")
    assert not list(shared.glob("*/*/block-*"))


@pytest.mark.skipif(shutil.which("nvidia-smi") is not None, reason="there may be a GPU here")
def test_what_a_node_says_is_said_here(nodes):
    with pytest.raises(MfbanditError, match=r"^(device 'cuda' needs an NVIDIA GPU|.*'mfbandit\[cuda\]'$)"):
        mf.simulate("figure-1a", "lucb-c", device="cuda", engine="ray")


def test_a_lost_node_changes_nothing(cluster, nodes, make, alone, evaluators):
    lost = []

    def lose_a_node(view):
        if view.pulls >= 40 and not lost:
            lost.append(True)
            cluster.remove_node(nodes[0], allow_graceful=False)

    result = make(120.0).optimize(
        evaluators.slow,
        workers=3,
        engine="ray",
        progress=False,
        callback=lose_a_node,
        resources={"quick": {"num_cpus": 1}, "exact": {"num_cpus": 0.5}},
    )
    assert lost
    assert result == alone(max_cost=120.0)


def test_a_lost_node_changes_nothing_of_a_wide_study(cluster, nodes, make, evaluators):
    lost = []

    def lose_a_node(view):
        if view.pulls >= 30 and not lost:
            lost.append(True)
            cluster.remove_node(nodes[0], allow_graceful=False)

    def wide():
        return make(90.0, policy="mf-toptwo", width=16)

    study, one = wide(), wide()
    study.optimize(
        evaluators.slow, workers=16, engine="ray", progress=False, callback=lose_a_node, resources=HALF_A_CORE
    )
    assert lost
    one.optimize(evaluators.noisy, progress=False)
    assert rounds_of(study) == rounds_of(one)
    assert study.result().certificate["statistics"] == one.result().certificate["statistics"]
    assert (study.status, study.best, study.cost) == (one.status, one.best, one.cost)


def test_a_lost_node_changes_nothing_of_trials(cluster, nodes):
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


# Without a cluster, or with one that is lost.

#: The other parts of a cluster that can be lost take as long: "gcs", "raylet".
PARTS = os.environ.get("MFBANDIT_LOST_PARTS", "head").split()


@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")
@pytest.mark.parametrize("part", PARTS)
def test_a_lost_cluster_is_no_failure_of_a_pull(evaluators, tmp_path, part):
    program, storage = Path(__file__).with_name("lost_cluster.py"), f"sqlite:///{tmp_path}/study.db"
    path = os.pathsep.join([str(program.parent), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, program, part, storage],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    said = [line for line in done.stdout.splitlines() if line.startswith(("said", "connected"))]
    assert len(said) == 2, done.stderr
    assert re.fullmatch(
        r"said: the Ray cluster is lost: [a-z ]+; its pulls are given back, run again to go on", said[0]
    )
    assert said[1] == "connected: False"  # or Ray would end the process
    study = load_study(storage)
    assert (study.status, study.current().failures) == ("running", {})
    assert study.optimize(evaluators.noisy, progress=False).status == "max_cost"
    assert study.ask() == []


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
