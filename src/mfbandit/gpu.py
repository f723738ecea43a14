"""Simulations on a GPU: the same text as on the CPU, compiled by numba-cuda, one thread per trial.

All arithmetic is in double precision, as on the CPU. A GPU fuses multiplications with additions, and its
logarithms may differ in the last bit; but means and biases lie on a grid on which sums are exact (see
`mfbandit.core.settle`), so that bounds which are level on a CPU are level here, and a trial that is decided
otherwise is a rarity.

`mfbandit.gpu_entry` has the kernels; this file launches them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from mfbandit.core import Algorithm
from mfbandit.errors import MfbanditError
from mfbandit.gpu_entry import BLOCK, Shape, entry_of, shape_of
from mfbandit.instances import Instance
from mfbandit.kernel import cuda_module, on_device
from mfbandit.play import Limits
from mfbandit.rewards import trial_key

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


def launch(
    instance: Instance,
    algorithm: Algorithm,
    problem: Any,
    law: Any,
    limits: Limits,
    streams: int,
    seed: int,
    results: tuple[Any, ...],
    marks: Any,
    advance: Callable[[int, int], None],
    start: int = 0,
) -> None:
    """Play the trials `start`, `start` + 1, ... on the GPU, a launch at a time, into arrays of the host."""
    cuda = require_gpu()
    shape = shape_of(instance, algorithm, problem, marked=len(marks) > 0)
    entry, name = entry_of(instance, algorithm, shape), naming()
    limits = limits._replace(pulls=min(limits.pulls, _PULLS))
    given = (*(_to_device(cuda, part) for part in (problem, algorithm.params, law, limits)), streams)
    marks_there = cuda.to_device(marks)
    trials = len(results[0])
    room = cuda.current_context().get_memory_info().free // 3
    most = max(1, int(room // sum(array[:1].nbytes for array in results)))
    first, step = 0, min(_LAUNCH, most)
    while first < trials:
        began = time.perf_counter()
        part = slice(first, min(first + step, trials))
        count = part.stop - part.start
        keys = cuda.device_array(count, np.int64)
        name[-(-count // 256), 256](seed, start + first, keys)
        there = tuple(cuda.to_device(np.ascontiguousarray(array[part])) for array in results)
        _play(cuda, entry, shape, (*given, keys, there, marks_there), count, room)
        for array, device_array in zip(results, there, strict=True):
            if array[part].size:
                array[part] = device_array.copy_to_host()
        advance(count, int(results[3][part].sum()))
        first = part.stop
        if time.perf_counter() - began < _SECONDS:
            step = min(2 * step, most)


def _play(cuda: Any, entry: Any, shape: Shape, given: tuple[Any, ...], count: int, room: int) -> None:
    """Play some trials on as many threads as the card runs at a time and its memory has room for."""
    counter = cuda.to_device(np.zeros(1, np.int64))
    types = tuple(entry.typeof_pyval(argument) for argument in (*given, counter, *_pool(cuda, shape, 1)))
    blocks = min(entry.compile(types).max_cooperative_grid_blocks(BLOCK), -(-count // BLOCK))
    if shape.place == "global":
        blocks = min(blocks, room // (shape.bytes * BLOCK))
        if blocks == 0:
            raise DeviceError(
                f"{shape.arms} arms need {shape.bytes * BLOCK:,} bytes for {BLOCK} trials at a time, "
                f"and of this GPU's free memory only {room:,} are for that; use device='cpu'"
            )
    counter.copy_to_device(np.full(1, blocks * BLOCK, np.int64))
    entry[blocks, BLOCK](*given, counter, *_pool(cuda, shape, blocks * BLOCK))


def _pool(cuda: Any, shape: Shape, threads: int) -> tuple[Any, Any]:
    """Global memory for the states of so many threads, where they are kept there."""
    counts, numbers = (shape.counts, shape.numbers) if shape.place == "global" else (1, 1)
    return cuda.device_array(counts * threads, np.int32), cuda.device_array(numbers * threads, np.float64)


def _to_device(cuda: Any, values: Any) -> Any:
    """Copy the arrays of a NamedTuple to the GPU; numbers stay as they are."""
    moved = [cuda.to_device(value) if isinstance(value, np.ndarray) else value for value in values]
    return type(values)(*moved)


def naming() -> Any:
    """The GPU kernel that names trials.

    Were it part of the other, the compiler would save registers by naming a trial anew at every pull.
    """
    cuda, key_of = cuda_module(), on_device(trial_key)

    def name(seed, first, keys):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        if i < keys.shape[0]:
            keys[i] = key_of(seed, first + i)

    return cuda.jit(name)
