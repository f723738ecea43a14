"""The trials of a simulation, spread over a Ray cluster.

A piece of trials is a task that plays it on one core, or on one GPU, and returns its arrays. Where a piece
is played makes no difference, so a task whose node is lost is simply played elsewhere.
"""

from __future__ import annotations

import contextlib
import platform
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from mfbandit.errors import MfbanditError
from mfbandit.formatting import shown
from mfbandit.simulation._trial_loop import Results
from mfbandit.simulation._trials import Advance, Simulation, Simulator, pieces, run_all
from mfbandit.simulation._wide_simulator import TimedResults, simulator_of
from mfbandit.version import __version__
from mfbandit.workers import RayCluster, reason

__all__ = ["run_on_ray"]

_Results: TypeAlias = Results | TimedResults

#: Bytes that a piece may bring back: two pieces per core must find room in the stores of their nodes.
_PIECE_BYTES = 32 * 1024**2
#: Letters of what went wrong on another machine.
_LONGEST = 300


class _Device(NamedTuple):
    """What plays a piece: its name in Ray, what a task of it asks for, and how many trials suit it."""

    resource: str
    options: dict[str, int]
    least: int
    most: int


_CORE = _Device("CPU", {"num_cpus": 1}, 1, 4096)
#: Fewer trials would leave most of a GPU idle. Ray would end a process that used one after each task, and
#: with it the machine code that it made, unless the number of calls is unlimited (0).
_CARD = _Device("GPU", {"num_cpus": 1, "num_gpus": 1, "max_calls": 0}, 1 << 14, 1 << 17)


def run_on_ray(simulator: Simulator, results: _Results, advance: Advance) -> None:
    """Play all trials of a simulation on every core, or every GPU, of a cluster."""
    device = _CARD if simulator.device == "cuda" else _CORE
    room = _PIECE_BYTES // sum(array[:1].nbytes for array in results)
    with contextlib.closing(RayCluster()) as cluster:
        ray = cluster.ray
        workers = _count(ray, device)
        if workers < 1:
            raise MfbanditError(f"device {simulator.device!r} needs a {device.resource}, and the Ray cluster has none")
        task = cluster.task(_play, **device.options)
        sent = ray.put(simulator.simulation)
        same = (sent.hex(), sent, simulator.device, simulator.fingerprint)

        def take(first: int, last: int, played: _Results) -> None:
            for mine, theirs in zip(results.part(first, last), played, strict=True):
                mine[...] = theirs
            advance(last - first, int(played.pulls.sum()))

        try:
            run_all(
                lambda first, last: cluster.start(task, *same, first, last),
                pieces(len(results.cost), workers, device.least, max(1, min(device.most, room))),
                lambda: 2 * max(1, _count(ray, device)),  # clusters grow and shrink
                take,
            )
        except ray.exceptions.RayError as error:
            raise _told(error) from error


def _count(ray: Any, device: _Device) -> int:
    """How many cores or GPUs the cluster has now."""
    return int(ray.cluster_resources().get(device.resource, 0))


def _told(error: Any) -> MfbanditError:
    """What went wrong on another machine, as an error of our own."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, MfbanditError):
        return cause
    said = shown(" ".join(reason(error).split()), _LONGEST)
    return MfbanditError(f"trials could not be played on the Ray cluster: {said}")


#: The simulation that this process played last, by its name in the cluster, made ready.
_ready: dict[str, Simulator] = {}


def _play(name: str, simulation: Simulation, device: str, fingerprint: str, first: int, last: int) -> _Results:
    """Play a piece, as a task on some machine."""
    if name not in _ready:
        _ready.clear()
        _ready[name] = _make_ready(simulation, device, fingerprint)
    results: _Results = _ready[name].results(last - first)
    _ready[name].play(first, results)
    return results


def _make_ready(simulation: Simulation, device: str, fingerprint: str) -> Simulator:
    simulator = simulator_of(simulation, device)
    if simulator.fingerprint != fingerprint:
        raise MfbanditError(
            f"node {platform.node()!r} of the Ray cluster has another mfbandit or Python ({__version__} on "
            f"{platform.python_version()}) than where the simulation was started: its results could differ"
        )
    with _one_at_a_time(simulator):
        simulator.compile()
    return simulator


def _one_at_a_time(simulator: Simulator) -> contextlib.AbstractContextManager[Any]:
    """Let one process of a node compile while the others wait to load what it stored."""
    from filelock import FileLock  # comes with Ray

    folder = simulator.code_folder
    return contextlib.nullcontext() if folder is None else FileLock(Path(folder) / "compiling.lock")
