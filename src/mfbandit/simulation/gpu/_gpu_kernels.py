"""The GPU kernel of a simulation: one thread, or one warp, plays one trial after the other.

A warp plays a trial where the text of the policy has loops that threads can share (`mfbandit.core.shared_range`): those
that compute evidence level by level. What one thread of a warp would do alone while 31 others wait, since each trial
computes evidence at another moment, all of them do together then, and a state that only one trial needs fits into
shared memory.

Threads are as many as the card runs at a time, and each thread, or warp, takes the next trial when it has ended one.
`mfbandit.simulation.gpu._state_places` says where their states lie.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from mfbandit.core import (
    State,
    bind,
    cuda_module,
    derive,
    digest,
    kernel,
    loops_of_warps,
    mean_of,
    on_device,
    pulled,
    reset,
)
from mfbandit.simulation._trial_loop import Noted, Prepared, Setting, play_one, snapshot
from mfbandit.simulation.gpu._state_places import (
    with_global_states,
    with_local_states,
    with_shared_states,
    with_states_of_warps,
)
from mfbandit.simulation.gpu._state_shape import Shape

__all__ = ["compile_kernel", "compiled_kernels", "gpu_replacements"]

#: Registers per thread: 512 threads of a multiprocessor can have so many.
_REGISTERS = 128


# What is done otherwise on a GPU, with the same outcome to the last bit.


@kernel
def derive_root(state: State, arm: int, fidelity: int) -> None:
    """Derive the root alone: a square root takes fifty instructions, a mean from it takes four."""
    state.inv_sqrt_pulls[arm, fidelity] = math.sqrt(1.0 / state.pulls[arm, fidelity])


@kernel
def mean_from_root(state: State, arm: int, fidelity: int) -> float:
    """The mean reward of a stream that was pulled, as `derive` has it; nan before its first pull."""
    root = state.inv_sqrt_pulls[arm, fidelity]
    rounder = state.grid_rounder[0]
    return float((state.sums[arm, fidelity] * (root * root) + rounder) - rounder)


@kernel
def pulled_or_infinite(state: State, arm: int, fidelity: int) -> bool:
    """True: the bounds of a stream that was not pulled are infinite or nan and change nothing."""
    return True


@kernel
def unmarked(setting: Setting, state: State, reached: int, noted: Noted) -> None:
    """Note nothing, where there are no marks."""


def gpu_replacements(marked: bool) -> dict[Callable[..., Any], Callable[..., Any]]:
    """The kernels that are swapped on a GPU, and for what."""
    swaps: dict[Callable[..., Any], Callable[..., Any]] = {
        derive: derive_root,
        mean_of: mean_from_root,
        pulled: pulled_or_infinite,
    }
    return swaps if marked else {**swaps, snapshot: unmarked}


_entries: dict[tuple[str, Shape], Any] = {}


def compiled_kernels() -> list[Any]:
    """The GPU kernels built so far, for a look at what the compiler says of them."""
    return list(_entries.values())


def compile_kernel(prepared: Prepared, shape: Shape) -> Any:
    """The GPU kernel that plays trials."""
    swaps = gpu_replacements(shape.marked)
    if shape.by_warp:
        swaps = {**swaps, **loops_of_warps()}
    filled = bind(play_one, swaps, **prepared.parts)
    key = (digest(filled), shape)
    if key not in _entries:
        makers = {"shared": with_shared_states, "local": with_local_states, "global": with_global_states}
        if shape.by_warp:
            makers = {"shared": with_states_of_warps, "global": with_global_states}
        # All is inlined: optimisation at link time would find nothing left to do.
        options = {"max_registers": _REGISTERS, "lto": False}
        _entries[key] = cuda_module().jit(
            makers[shape.memory_space](shape, _trials(on_device(filled), shape.by_warp)), **options
        )
    return _entries[key]


def _trials(run: Any, by_warp: bool) -> Any:
    """The part that plays the trials of a thread or a warp, whatever memory their state is in."""
    cuda, clear = cuda_module(), on_device(reset)
    from numba import int64

    def trials(setting, state, blocks, out, keys, results, counter):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        while i < keys.shape[0]:
            clear(state, *blocks)
            run(setting, state, out, keys[i], results, i)
            i = cuda.atomic.add(counter, 0, 1)

    def trials_of_warp(setting, state, blocks, out, keys, results, counter):  # type: ignore[no-untyped-def]
        i = int64(cuda.blockIdx.x)
        while i < keys.shape[0]:
            cuda.syncwarp()
            clear(state, *blocks)
            cuda.syncwarp()
            run(setting, state, out, keys[i], results, i)
            taken = int64(0)
            if cuda.threadIdx.x == 0:
                taken = cuda.atomic.add(counter, 0, 1)
            i = cuda.shfl_sync(0xFFFFFFFF, taken, 0)

    return cuda.jit(device=True, forceinline=True)(trials_of_warp if by_warp else trials)
