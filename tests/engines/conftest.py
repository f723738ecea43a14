import importlib
import os
import sys
from pathlib import Path

import pytest

import mfbandit as mf
from mfbandit.study import create_study
from mfbandit.study.run import _backoff as backoff

POLICY = "lucb-c:batch=8"


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    """Try again soon what failed."""
    monkeypatch.setattr(backoff, "FIRST_WAIT", 0.01)


@pytest.fixture
def evaluators(monkeypatch):
    """The module of evaluators, which other processes find too."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return importlib.import_module("pull_evaluators")


@pytest.fixture(scope="module")
def cluster():
    """A real Ray cluster on this machine, of one node and one core, that this process is connected to."""
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    from ray.cluster_utils import Cluster

    patch = pytest.MonkeyPatch()
    patch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)]))
    # Every node would start workers that no task may need, end those that rest for a second, and tell how it does.
    for unused in ("enable_worker_prestart", "prestart_worker_first_driver", "enable_metrics_collection"):
        patch.setenv(f"RAY_{unused}", "0")
    patch.setenv("RAY_idle_worker_killing_time_threshold_ms", "600000")
    quick_to_notice = {"health_check_period_ms": 200, "health_check_failure_threshold": 3}
    made = Cluster(
        initialize_head=True,
        head_node_args={
            "num_cpus": 1,
            "include_dashboard": False,
            "include_log_monitor": False,
            "no_monitor": True,
            "_system_config": quick_to_notice,
        },
    )
    ray.init(address=made.address, log_to_driver=False, logging_level="error")
    yield made
    ray.shutdown()
    made.shutdown()
    patch.undo()


@pytest.fixture
def nodes(cluster):
    """Two more nodes of the cluster, which say that they have a GPU; those that a test has lost are replaced."""
    while len(cluster.worker_nodes) < 2:
        cluster.add_node(num_cpus=1, num_gpus=1)
    return list(cluster.worker_nodes)


@pytest.fixture
def make():
    """Make a study whose course is known: 300 pulls or so."""
    problem = mf.Problem(["good", "fair", "poor"], [("quick", 1.0, 0.05), ("exact", 5.0, 0.0)], reward="bernoulli")

    def study(max_cost=300.0, **options):
        return create_study(problem, **{"policy": POLICY, "max_cost": max_cost, **options})

    return study


@pytest.fixture
def alone(make, evaluators):
    """What one worker finds who asks for one pull at a time."""

    def play(**options):
        study = make(**options)
        while not study.done:
            (pull,) = study.ask()
            study.tell(pull, evaluators.noisy(pull))
        return study.result()

    return play
