"""The GPU kernel of a simulation: one thread plays one trial after the other.

What limits it is where the states lie, so that depends on their size. Counts, sums and roots of a few
cells lie in shared memory; the state of up to a few hundred cells in local memory, which a card caches; and
that of many arms in global memory, for as many threads as fit. Numbers take types as small as they need:
counts 32 bits, and sums of 0/1 rewards, which are whole numbers, too.

Threads are as many as the card runs at a time, and each takes the next trial when it has ended one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from mfbandit.core import (
    Arrays,
    State,
    bind,
    cuda_module,
    derive,
    digest,
    kernel,
    mean_of,
    on_device,
    pulled,
    reset,
)
from mfbandit.instances import Law
from mfbandit.simulation._trial_loop import Noted, Prepared, Setting, play_one, snapshot
from mfbandit.simulation.gpu._state_shape import BLOCK, Shape
from mfbandit.simulation.gpu._striped import memory_maker, striped_array

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
    filled = bind(play_one, gpu_replacements(shape.marked), **prepared.parts)
    key = (digest(filled), shape)
    if key not in _entries:
        makers = {"shared": _with_shared_states, "local": _with_local_states, "global": _with_global_states}
        # All is inlined: optimisation at link time would find nothing left to do.
        options = {"max_registers": _REGISTERS, "lto": False}
        _entries[key] = cuda_module().jit(makers[shape.memory_space](shape, _trials(on_device(filled))), **options)
    return _entries[key]


def _trials(run: Any) -> Any:
    """The part that plays a thread's trials, whatever memory its state is in."""
    cuda, clear = cuda_module(), on_device(reset)

    def trials(setting, state, blocks, out, keys, results, counter):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        while i < keys.shape[0]:
            clear(state, *blocks)
            run(setting, state, out, keys[i], results, i)
            i = cuda.atomic.add(counter, 0, 1)

    return cuda.jit(device=True, forceinline=True)(trials)


def _problem_in_shared_memory(shape: Shape) -> Any:
    """The part that copies a problem to shared memory; there its sizes are constants of the machine code."""
    cuda = cuda_module()
    from numba import float64, int32

    arms, fidelities, streams = shape.arms, shape.fidelities, shape.streams
    cells, law_cells = (arms, fidelities), (arms, streams)

    def nearby(setting):  # type: ignore[no-untyped-def]
        problem, law = setting.problem, setting.law
        cost = cuda.shared.array(cells, float64)
        bias = cuda.shared.array(cells, float64)
        rate = cuda.shared.array(cells, float64)
        order = cuda.shared.array(fidelities, int32)
        columns = cuda.shared.array(fidelities, int32)
        means = cuda.shared.array(law_cells, float64)
        for k in range(cuda.threadIdx.x, arms, cuda.blockDim.x):
            for m in range(fidelities):
                cost[k, m] = problem.cost[k, m]
                bias[k, m] = problem.bias[k, m]
                rate[k, m] = problem.inv_sqrt_cost[k, m]
            for m in range(streams):
                means[k, m] = law.means[k, m]
        for m in range(cuda.threadIdx.x, fidelities, cuda.blockDim.x):
            order[m] = problem.order[m]
            columns[m] = problem.columns[m]
        cuda.syncthreads()
        near = Arrays(
            cost=cost,
            declared=cost,
            bias=bias,
            inv_sqrt_cost=rate,
            order=order,
            columns=columns,
            truest=problem.truest,
            reward_code=problem.reward_code,
            sigma=problem.sigma,
            radius_scale=problem.radius_scale,
            grid_rounder=problem.grid_rounder,
            blocks=problem.blocks,
        )
        near_law = Law(
            means=means,
            scale=law.scale,
            values=law.values,
            starts=law.starts,
            counts=law.counts,
            streams=law.streams,
            kind=law.kind,
        )
        return Setting(
            problem=near,
            params=setting.params,
            law=near_law,
            limits=setting.limits,
            marks=setting.marks,
            rows=setting.rows,
            seed=setting.seed,
        )

    return cuda.jit(device=True, forceinline=True)(nearby)


def _with_shared_states(shape: Shape, played: Any) -> Any:
    """The kernel for states of which the numbers that every round looks at fit into shared memory."""
    cuda, nearby = cuda_module(), _problem_in_shared_memory(shape)
    from numba import float64, int32, uint32, uint64

    cells, words = (shape.arms, shape.fidelities), shape.cells * BLOCK
    moments, carried = (1, 1) if shape.sums_only else cells, (shape.arms, shape.carried)
    arms, floats, wholes, rows = shape.arms, shape.floats, shape.wholes, (shape.rows, 3)
    own = memory_maker(shape.memory)
    sum_type = int32 if shape.whole_rewards else float64
    stripe, threads = striped_array(cells), BLOCK

    def entry(setting, keys, results, counter, counts, numbers):  # type: ignore[no-untyped-def]
        near = nearby(setting)
        thread = uint64(cuda.threadIdx.x)
        rounder = cuda.local.array(1, float64)
        rounder[0] = setting.problem.grid_rounder
        blocks = cuda.local.array(floats, float64), cuda.local.array(wholes, int32)
        state = State(
            pulls=stripe(cuda.shared.array(words, int32), thread, uint64(threads)),
            sums=stripe(cuda.shared.array(words, sum_type), thread, uint64(threads)),
            squares=cuda.local.array(moments, float64),
            deviations=cuda.local.array(moments, float64),
            arm_flags=cuda.local.array(arms, int32),
            clock=cuda.local.array(2, int32),
            spent=cuda.local.array(1, float64),
            own=own(blocks[0], blocks[1], uint64(0), uint64(1)),
            means=cuda.local.array((1, 1), float64),
            inv_sqrt_pulls=stripe(cuda.shared.array(words, float64), thread, uint64(threads)),
            grid_rounder=rounder,
            carries=cuda.local.array(carried, float64),
            blocks=setting.problem.blocks,
        )
        out = cuda.local.array(rows, uint32)
        played(near, state, blocks, out, keys, results, counter)

    return entry


def _with_local_states(shape: Shape, played: Any) -> Any:
    """The kernel for states in local memory."""
    cuda, nearby = cuda_module(), _problem_in_shared_memory(shape)
    from numba import float64, int32, uint32, uint64

    cells = (shape.arms, shape.fidelities)
    moments, carried = (1, 1) if shape.sums_only else cells, (shape.arms, shape.carried)
    arms, floats, wholes, rows = shape.arms, shape.floats, shape.wholes, (shape.rows, 3)
    own = memory_maker(shape.memory)
    sum_type = int32 if shape.whole_rewards else float64

    def entry(setting, keys, results, counter, counts, numbers):  # type: ignore[no-untyped-def]
        near = nearby(setting)
        rounder = cuda.local.array(1, float64)
        rounder[0] = setting.problem.grid_rounder
        blocks = cuda.local.array(floats, float64), cuda.local.array(wholes, int32)
        state = State(
            pulls=cuda.local.array(cells, int32),
            sums=cuda.local.array(cells, sum_type),
            squares=cuda.local.array(moments, float64),
            deviations=cuda.local.array(moments, float64),
            arm_flags=cuda.local.array(arms, int32),
            clock=cuda.local.array(2, int32),
            spent=cuda.local.array(1, float64),
            own=own(blocks[0], blocks[1], uint64(0), uint64(1)),
            means=cuda.local.array((1, 1), float64),
            inv_sqrt_pulls=cuda.local.array(cells, float64),
            grid_rounder=rounder,
            carries=cuda.local.array(carried, float64),
            blocks=setting.problem.blocks,
        )
        out = cuda.local.array(rows, uint32)
        played(near, state, blocks, out, keys, results, counter)

    return entry


def _with_global_states(shape: Shape, played: Any) -> Any:
    """The kernel for states of any size, which lie in a pool of global memory."""
    cuda = cuda_module()
    from numba import float64, int32, uint64

    table, n, arms = (shape.arms, shape.fidelities), shape.cells, shape.arms
    counted = n + arms + 3 * shape.rows
    pulls, notes, rows = striped_array(table), striped_array((arms,), n), striped_array((shape.rows, 3), n + arms)
    sums, roots = striped_array(table), striped_array(table, n)
    floats, wholes = striped_array((shape.floats,), 2 * n), striped_array((shape.wholes,), counted)
    own = memory_maker(shape.memory, 2 * n, counted)
    after = 2 * n + shape.floats
    if shape.sums_only:
        squares = deviations = striped_array((1, 1), after)
    else:
        squares, deviations = striped_array(table, after), striped_array(table, after + n)
    carries = striped_array((arms, shape.carried), after + (1 if shape.sums_only else 2 * n))

    def entry(setting, keys, results, counter, counts, numbers):  # type: ignore[no-untyped-def]
        thread, threads = uint64(cuda.grid(1)), uint64(cuda.gridsize(1))
        rounder = cuda.local.array(1, float64)
        rounder[0] = setting.problem.grid_rounder
        blocks = floats(numbers, thread, threads), wholes(counts, thread, threads)
        state = State(
            pulls=pulls(counts, thread, threads),
            sums=sums(numbers, thread, threads),
            squares=squares(numbers, thread, threads),
            deviations=deviations(numbers, thread, threads),
            arm_flags=notes(counts, thread, threads),
            clock=cuda.local.array(2, int32),
            spent=cuda.local.array(1, float64),
            own=own(numbers, counts, thread, threads),
            means=cuda.local.array((1, 1), float64),
            inv_sqrt_pulls=roots(numbers, thread, threads),
            grid_rounder=rounder,
            carries=carries(numbers, thread, threads),
            blocks=setting.problem.blocks,
        )
        out = rows(counts, thread, threads)
        played(setting, state, blocks, out, keys, results, counter)

    return entry
