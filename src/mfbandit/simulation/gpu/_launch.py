"""Simulations on a GPU: the same text as on the CPU, compiled by numba-cuda, a thread or a warp per trial.

All arithmetic is in double precision, as on the CPU. A GPU fuses multiplications with additions, and its
logarithms may differ in the last bit; but means and biases lie on a grid on which sums are exact (see
`mfbandit.core.derive`), so that bounds which are level on a CPU are level here, and a trial that is decided
otherwise is a rarity.

`mfbandit.simulation.gpu._gpu_kernels` has the kernels; this file launches them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from mfbandit.core import cuda_module, on_device, trial_key
from mfbandit.errors import MfbanditError
from mfbandit.simulation._trial_loop import Prepared, Results
from mfbandit.simulation.gpu._gpu_kernels import compile_kernel
from mfbandit.simulation.gpu._state_shape import Shape, shape_of

__all__ = ["DeviceError", "launch", "require_gpu"]

#: Trials of the first launch. While a launch takes less than so many seconds, the next is twice as large.
_LAUNCH, _SECONDS = 1 << 17, 10.0
#: Counts have 32 bits there, so a run ends after so many pulls.
_PULLS = 2**30


class DeviceError(MfbanditError):
    """A GPU is missing or cannot run this."""


def require_gpu() -> Any:
    """The CUDA module, or one clear sentence on why there is none."""
    cuda = cuda_module()
    try:
        found = cuda.is_available()
    except Exception as error:
        raise DeviceError(f"device 'cuda' needs an NVIDIA GPU with its driver: {error}") from error
    if not found:
        raise DeviceError("device 'cuda' needs an NVIDIA GPU with its driver; none was found here")
    return cuda


def launch(prepared: Prepared, start: int, results: Results, advance: Callable[[int, int], None]) -> None:
    """Play the trials `start`, `start` + 1, ... on the GPU, a launch at a time, into arrays of the host."""
    cuda = require_gpu()
    shape, setting = shape_of(prepared), prepared.setting
    entry, make_keys = compile_kernel(prepared, shape), key_maker()
    limits = setting.limits._replace(pulls=min(setting.limits.pulls, _PULLS))
    there = _to_device(cuda, setting._replace(limits=limits))
    trials = len(results.cost)
    room = cuda.current_context().get_memory_info().free // 3
    most = max(1, int(room // sum(array[:1].nbytes for array in results)))
    first, step = 0, min(_LAUNCH, most)
    while first < trials:
        began = time.perf_counter()
        here = results.part(first, min(first + step, trials))
        count = len(here.cost)
        keys = cuda.device_array(count, np.int64)
        make_keys[-(-count // 256), 256](setting.seed, start + first, keys)
        played = Results._make(cuda.to_device(np.ascontiguousarray(array)) for array in here)
        _play(cuda, entry, shape, (there, keys, played), room)
        for array, device_array in zip(here, played, strict=True):
            if array.size:
                array[...] = device_array.copy_to_host()  # type: ignore[attr-defined]
        advance(count, int(here.pulls.sum()))
        first += count
        if time.perf_counter() - began < _SECONDS:
            step = min(2 * step, most)


def _play(cuda: Any, entry: Any, shape: Shape, given: tuple[Any, Any, Results], room: int) -> None:
    """Play some trials on as many threads as the card runs at a time and its memory has room for."""
    count = len(given[2].cost)
    counter = cuda.to_device(np.zeros(1, np.int64))
    types = tuple(entry.typeof_pyval(argument) for argument in (*given, counter, *_pool(cuda, shape, 1)))
    blocks = min(entry.compile(types).max_cooperative_grid_blocks(shape.block), -(-count // shape.trials))
    if shape.memory_space == "global":
        needed = shape.bytes * shape.trials
        blocks = min(blocks, room // needed)
        if blocks == 0:
            raise DeviceError(
                f"{shape.arms} arms need {needed:,} bytes for {shape.trials} trials at a time, "
                f"and of this GPU's free memory only {room:,} are for that; use device='cpu'"
            )
    at_once = blocks * shape.trials
    counter.copy_to_device(np.full(1, at_once, np.int64))
    entry[blocks, shape.block](*given, counter, *_pool(cuda, shape, at_once))


def _pool(cuda: Any, shape: Shape, trials: int) -> tuple[Any, Any]:
    """Global memory for the states of so many trials at once, where they are kept there."""
    counts, numbers = (shape.counts, shape.numbers) if shape.memory_space == "global" else (1, 1)
    return cuda.device_array(counts * trials, np.int32), cuda.device_array(numbers * trials, np.float64)


def _to_device(cuda: Any, value: Any) -> Any:
    """Copy the arrays of a tuple, and of the tuples in it, to the GPU; numbers stay as they are."""
    if isinstance(value, np.ndarray):
        return cuda.to_device(value)
    return type(value)(*(_to_device(cuda, one) for one in value)) if isinstance(value, tuple) else value


def key_maker() -> Any:
    """The GPU kernel that makes the keys of trials.

    Were it part of the other, the compiler would save registers by making a key anew at every pull.
    """
    cuda, key_of = cuda_module(), on_device(trial_key)

    def make_keys(seed, first, keys):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        if i < keys.shape[0]:
            keys[i] = key_of(seed, first + i)

    return cuda.jit(make_keys)
