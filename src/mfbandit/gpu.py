"""Simulations on a GPU: the same text as on the CPU, compiled by numba-cuda, one thread per trial.

Each thread keeps the state of its trial in local memory, whose layout the compiler interleaves so that
neighbouring threads touch neighbouring words, and in types as small as the numbers need: counts in 32
bits, and sums of 0/1 rewards, which are whole numbers, too. All arithmetic is in double precision, as on
the CPU, and multiplications are not fused with additions; only logarithms may differ in the last bit, so
a trial that is decided otherwise than on the CPU is a rarity.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mfbandit.core import Algorithm, State, mean_of, settle, tally, tally_sums
from mfbandit.errors import MfbanditError
from mfbandit.instances import BernoulliLaw, Instance
from mfbandit.kernel import bind, cuda_module, digest, kernel, on_device, unfused
from mfbandit.play import Limits, Sizes, play, reset
from mfbandit.rewards import draw_of, trial_key

__all__ = ["DeviceError", "Shape", "device_entry", "entries", "launch", "require_gpu"]

#: Threads per block. Trials diverge, so small blocks that end on their own pay.
_BLOCK = 64
#: Registers per thread, so that enough threads are resident to hide memory latency.
_REGISTERS = 96
#: Local memory that a thread may take before its state moves to global memory.
_LOCAL_BYTES = 24 * 1024
#: Trials per launch, so that progress moves and results fit on any card.
_LAUNCH = 1 << 17


class DeviceError(MfbanditError):
    """A GPU is missing or cannot run this."""


class Shape(NamedTuple):
    """What the machine code depends on beside the algorithm: sizes and types of one thread's state."""

    arms: int
    fidelities: int
    rows: int
    memory: int
    clock: int
    whole_rewards: bool
    sums_only: bool

    @property
    def bytes(self) -> int:
        """Bytes of one thread's state."""
        cells = self.arms * self.fidelities
        sums = 4 if self.whole_rewards else 8
        moments = 0 if self.sums_only else 16 * cells
        return cells * (12 + sums) + moments + 4 * self.arms + 8 * (self.clock + self.memory + 1) + 12 * self.rows


@kernel
def settle_roots(state: State, arm: int, fidelity: int) -> None:
    """Derive the root alone: a square root takes a hundred instructions, a mean from it takes two."""
    state.roots[arm, fidelity] = math.sqrt(1.0 / state.pulls[arm, fidelity])


@kernel
def mean_from_roots(state: State, arm: int, fidelity: int) -> float:
    """The mean reward of a stream that was pulled, bit by bit as `settle` has it."""
    root = state.roots[arm, fidelity]
    rounder = state.rounder[0]
    return float((state.sums[arm, fidelity] * (root * root) + rounder) - rounder)


def shape_of(instance: Instance, algorithm: Algorithm, fidelities: int) -> Shape:
    """The shape of a simulation."""
    return Shape(
        arms=instance.problem.n_arms,
        fidelities=fidelities,
        rows=algorithm.rows,
        memory=max(1, algorithm.memory),
        clock=algorithm.notes,
        whole_rewards=isinstance(instance.law, BernoulliLaw),
        sums_only=algorithm.sums_only,
    )


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


def device_entry(instance: Instance, algorithm: Algorithm, shape: Shape) -> Any:
    """Build the GPU kernel that plays one trial per thread."""
    parts: dict[str, Callable[..., Any]] = {
        "plan": algorithm.plan,
        "recommend": algorithm.recommend,
        "draw": draw_of(instance),
        "tally": tally_sums if algorithm.sums_only else tally,
    }
    lean = {settle: settle_roots, mean_of: mean_from_roots}
    filled = bind(play, lean, **parts)
    key = (digest(filled), shape)
    if key not in _entries:
        _entries[key] = _build(filled, bind(algorithm.recommend, lean, **parts), shape)
    return _entries[key]


_entries: dict[tuple[str, Shape], Any] = {}


def entries() -> list[Any]:
    """The GPU kernels built so far, for a look at what the compiler says of them."""
    return list(_entries.values())


def _build(play_part: Callable[..., Any], recommend_part: Callable[..., Any], shape: Shape) -> Any:
    """Write the GPU kernel around the parts; sizes and types are constants in its machine code."""
    cuda = cuda_module()
    from numba import float64, int32

    run, answer = on_device(play_part), on_device(recommend_part)
    clear, key_of = on_device(reset), on_device(trial_key)
    cells = (shape.arms, shape.fidelities)
    moments = not shape.sums_only
    arms, clock, memory, rows = shape.arms, shape.clock, shape.memory, (shape.rows, 3)
    sum_type = int32 if shape.whole_rewards else float64

    def entry(  # type: ignore[no-untyped-def]
        problem,
        params,
        law,
        limits,
        streams,
        seed,
        first,
        cost,
        best,
        stopped,
        pulls,
        marks,
        mark_pulls,
        mark_best,
        trace,
    ):
        i = cuda.grid(1)
        if i < cost.shape[0]:
            unused = cuda.local.array((1, 1), float64)
            squares, deviations = unused, unused
            if moments:
                squares = cuda.local.array(cells, float64)
                deviations = cuda.local.array(cells, float64)
            rounder = cuda.local.array(1, float64)
            rounder[0] = problem.rounder
            state = State(
                cuda.local.array(cells, int32),
                cuda.local.array(cells, sum_type),
                squares,
                deviations,
                cuda.local.array(arms, int32),
                cuda.local.array(clock, int32),
                cuda.local.array(1, float64),
                cuda.local.array(memory, float64),
                unused,
                cuda.local.array(cells, float64),
                rounder,
            )
            out = cuda.local.array(rows, int32)
            clear(state)
            ended = run(
                problem,
                params,
                law,
                limits,
                state,
                out,
                key_of(seed, first + i),
                streams,
                marks,
                mark_pulls[i],
                mark_best[i],
                trace[i],
            )
            cost[i] = state.spent[0]
            best[i] = answer(problem, params, state)
            stopped[i] = 1 if ended else 0
            for k in range(problem.cost.shape[0]):
                for m in range(problem.cost.shape[1]):
                    pulls[i, k, problem.columns[m]] = state.pulls[k, m]

    # Without link-time optimisation, whose code generator fuses whatever it is told.
    return cuda.jit(entry, max_registers=_REGISTERS, lto=False)


def launch(
    instance: Instance,
    algorithm: Algorithm,
    problem: Any,
    law: Any,
    limits: Limits,
    sizes: Sizes,
    seed: int,
    results: tuple[Any, ...],
    marks: Any,
    advance: Callable[[int, int], None],
    start: int = 0,
) -> None:
    """Play the trials `start`, `start` + 1, ... on the GPU, a launch at a time, into arrays of the host."""
    cuda = require_gpu()
    shape = shape_of(instance, algorithm, problem.cost.shape[1])
    if shape.bytes > _LOCAL_BYTES:
        raise DeviceError(
            f"{shape.arms} arms need {shape.bytes:,} bytes per trial on a GPU, more than {_LOCAL_BYTES:,}; "
            "use device='cpu'"
        )
    entry = device_entry(instance, algorithm, shape)
    limits = limits._replace(pulls=min(limits.pulls, 2**30))
    there = tuple(_to_device(cuda, part) for part in (problem, algorithm.params, law, limits))
    marks_there = cuda.to_device(marks)
    trials = len(results[0])
    per_trial = sum(array[:1].nbytes for array in results)
    room = cuda.current_context().get_memory_info().free // 2
    step = max(1, min(_LAUNCH, int(room // max(per_trial, 1))))
    for first in range(0, trials, step):
        part = slice(first, min(first + step, trials))
        arrays = [cuda.to_device(np.ascontiguousarray(array[part])) for array in results]
        cost, best, stopped, pulls, mark_pulls, mark_best, trace = arrays
        count = part.stop - part.start
        blocks = (count + _BLOCK - 1) // _BLOCK
        numbers = (sizes.streams, seed, start + first)
        with unfused():
            entry[blocks, _BLOCK](
                *there, *numbers, cost, best, stopped, pulls, marks_there, mark_pulls, mark_best, trace
            )
        for array, device_array in zip(results, arrays, strict=True):
            if array[part].size:
                array[part] = device_array.copy_to_host()
        advance(count, int(results[3][part].sum()))


def _to_device(cuda: Any, values: Any) -> Any:
    """Copy the arrays of a NamedTuple to the GPU; numbers stay as they are."""
    moved = [cuda.to_device(value) if isinstance(value, np.ndarray) else value for value in values]
    return type(values)(*moved)
