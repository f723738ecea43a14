"""Studies on a real Ray cluster of several nodes on this machine."""

import os
import signal
import sys
import threading

import pytest

from mfbandit.errors import InvalidInput

ray = pytest.importorskip("ray", reason="Ray is not installed")


def test_a_failure_on_another_machine_says_what_was_raised(cluster, make, evaluators):
    result = make(30.0, retries=0).optimize(evaluators.never, engine="ray", progress=False)
    assert result.status == "failed"
    assert "with: LookupError: no\nsuch judge" in result.reasons[0]


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


def test_a_study_that_used_a_cluster_leaves_it_open(cluster, make, evaluators):
    make(3.0).optimize(evaluators.noisy, engine="ray", progress=False)
    assert ray.is_initialized()
