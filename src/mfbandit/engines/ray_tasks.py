"""Evaluations as tasks of a Ray cluster."""

from __future__ import annotations

import logging
from concurrent.futures import Future
from typing import Any

from mfbandit.engines.engine import Evaluate, call
from mfbandit.engines.ray_cluster import RayCluster
from mfbandit.errors import InvalidInput
from mfbandit.study.pull import Pull

__all__ = ["RayTasks"]

_logger = logging.getLogger("mfbandit")


class RayTasks:
    """One Ray task per evaluation, with what its fidelity needs."""

    def __init__(self, evaluate: Evaluate, resources: dict[str, dict[str, Any]]) -> None:
        self._cluster = RayCluster()
        self._evaluate = self._cluster.ray.put(evaluate)
        # What an evaluation raises is a failure, and failures are counted by the study.
        self._task = self._cluster.task(call)
        self._tasks = {fidelity: self._with(fidelity, options) for fidelity, options in resources.items()}

    def _with(self, fidelity: str, options: dict[str, Any]) -> Any:
        """The task with the resources of a fidelity."""
        try:
            chosen = self._task.options(**options)
        except (ValueError, TypeError) as error:
            raise InvalidInput(f"the resources of fidelity {fidelity!r} are refused by Ray: {error}") from None
        there = self._cluster.ray.cluster_resources()
        for option, resource in (("num_cpus", "CPU"), ("num_gpus", "GPU")):
            wanted = options.get(option) or 0
            if wanted > there.get(resource, 0):
                _logger.warning(
                    "fidelity %r asks for %s=%g, and the cluster has %g: its pulls wait until it grows",
                    *(fidelity, option, wanted, there.get(resource, 0)),
                )
        return chosen

    def submit(self, pull: Pull) -> Future[Any]:
        """Start an evaluation."""
        return self._cluster.start(self._tasks.get(pull.fidelity, self._task), self._evaluate, pull)

    def close(self) -> None:
        """Cancel what still runs, and end the cluster if it was started here."""
        self._cluster.close()
