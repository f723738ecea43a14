"""A program that loses its Ray cluster in the middle of a study: LOST_PART, STORAGE."""

import sys
import time

import ray
from ray.cluster_utils import Cluster

import mfbandit as mf
from mfbandit.errors import StudyError
from mfbandit.workers import _ray_cluster as ray_cluster


def main(part, storage):
    """Run a study until a part of the cluster dies; print what is said of it."""
    # Beside this file, which is only on the path when it is run as a program.
    from pull_evaluators import noisy

    ray_cluster._AWAY_SECONDS, ray_cluster._LOOK_SECONDS = 0.5, 0.1
    unused = {"include_dashboard": False, "include_log_monitor": False, "no_monitor": True}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, **unused})
    ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
    lost = []

    def lose(view):
        if view.pulls >= 8 and not lost:
            lost.append(time.monotonic())
            head = cluster.head_node
            if part == "head":
                head.kill_all_processes(check_alive=False, allow_graceful=False)
            else:
                {"gcs": head.kill_gcs_server, "raylet": head.kill_raylet}[part](False)

    problem = mf.Problem(["good", "fair", "poor"], [("quick", 1.0, 0.05), ("exact", 5.0, 0.0)], reward="bernoulli")
    options = {"policy": "lucb-c:batch=8", "max_cost": 100.0, "storage": storage, "progress": False}
    try:
        mf.identify(problem, noisy, engine="ray", workers=2, callback=lose, **options)
    except StudyError as error:
        print(f"said: {error}", flush=True)
    print(f"connected: {ray.is_initialized()}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
