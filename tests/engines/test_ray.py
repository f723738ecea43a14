"""Studies on a real Ray cluster of several nodes on this machine."""

import os
import re
import signal
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path

import pytest

import mfbandit as mf
from mfbandit.engines import Batches
from mfbandit.errors import InvalidInput
from mfbandit.storage import ROUND
from mfbandit.study import create_study, load_study
from mfbandit.study.state.rounds._round_record import read_round

pytestmark = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")

HALF_A_CORE = {"quick": {"num_cpus": 0.5}, "exact": {"num_cpus": 0.5}}


def rounds_of(study):
    """What the log says was asked for."""
    records = study.storage.log(study.name).read(0)
    return [(record.pull, read_round(record.text)["rows"]) for record in records if record.kind == ROUND]


def test_a_failure_on_another_machine_says_what_was_raised(cluster, make, evaluators):
    result = make(30.0, retries=0).optimize(evaluators.never, engine="ray", progress=False)
    assert result.status == "failed"
    assert "with: LookupError: no\nsuch judge" in result.reasons[0]


def test_batches_run_as_tasks(cluster, make, alone, evaluators):
    evaluate = Batches(evaluators.noisy_batch, 8)
    assert make(60.0).optimize(evaluate, workers=2, engine="ray", progress=False) == alone(max_cost=60.0)


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


#: The other parts of a cluster that can be lost take as long: "gcs", "raylet".
PARTS = os.environ.get("MFBANDIT_LOST_PARTS", "head").split()


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


def test_a_study_that_used_a_cluster_leaves_it_open(cluster, make, evaluators):
    import ray

    make(3.0).optimize(evaluators.noisy, engine="ray", progress=False)
    assert ray.is_initialized()


def test_trainings_go_on_in_a_folder_that_nodes_share(cluster, nodes, evaluators, tmp_path):
    rungs = [mf.Fidelity("3", 3.0, 0.3, pair_bias=0.05), mf.Fidelity("9", 9.0, continues=True)]
    problem = mf.Problem(["a", "b", "c"], rungs, mf.Gaussian(), blocks="unlimited", order="shared")
    study = create_study(problem, width=3, max_cost=120.0)
    shared = tmp_path / "shared"
    settings = {"workers": 3, "engine": "ray", "folders": shared, "progress": False}
    result = study.optimize(evaluators.train, **settings)
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
