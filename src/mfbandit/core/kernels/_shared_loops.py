"""Loops that are shared by the threads of a GPU that play one trial together.

All threads of a warp run the same text on the same numbers, in step. Only the turns of a loop over `shared_range` are
divided among them, so none may touch what another one writes there. `join_threads` follows such a loop: what was
written in it can be read from then on. In plain Python and on a CPU one thread takes all turns.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "WARP",
    "any_thread",
    "any_thread_of_warp",
    "join_threads",
    "join_warp",
    "shared_range",
    "warp_range",
]

#: Threads that play a trial together on a GPU.
WARP = 32
_ALL = 0xFFFFFFFF
#: GPU code finds the CUDA target of numba under this name.
cuda: Any = None


def shared_range(n: int) -> range:
    """The turns of a loop that are this thread's own."""
    return range(n)


def join_threads() -> None:
    """Wait for all threads of the trial."""


def any_thread(holds: bool) -> bool:
    """Whether something holds in any thread of the trial."""
    return holds


def warp_range(n: int) -> range:
    """What `shared_range` is where a warp plays a trial."""
    return range(cuda.threadIdx.x, n, WARP)


def join_warp() -> None:
    """What `join_threads` is there."""
    cuda.syncwarp(_ALL)


def any_thread_of_warp(holds: bool) -> bool:
    """What `any_thread` is there."""
    return bool(cuda.any_sync(_ALL, holds))
