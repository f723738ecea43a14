"""Where the states of trials lie on a GPU: in shared, local or global memory, each with an entry of its own.

What limits a kernel is where the states lie, so that depends on their size. Counts, sums and roots of a few
cells lie in shared memory; the state of up to a few hundred cells in local memory, which a card caches; and
that of many arms in global memory, for as many threads as fit. Numbers take types as small as they need:
counts 32 bits, and sums of 0/1 rewards, which are whole numbers, too. Where a warp plays a trial, there are
few states, and all of one fits into shared memory unless there are hundreds of arms.
"""

from __future__ import annotations

from typing import Any

from mfbandit.core import Arrays, State, cuda_module
from mfbandit.instances import Law
from mfbandit.simulation._trial_loop import Setting
from mfbandit.simulation.gpu._state_shape import Shape
from mfbandit.simulation.gpu._striped import memory_maker, striped_array

__all__ = ["with_global_states", "with_local_states", "with_shared_states", "with_states_of_warps"]


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


def with_shared_states(shape: Shape, played: Any) -> Any:
    """The kernel for states of which the numbers that every round looks at fit into shared memory."""
    cuda, nearby = cuda_module(), _problem_in_shared_memory(shape)
    from numba import float64, int32, uint32, uint64

    cells, words = (shape.arms, shape.fidelities), shape.cells * shape.block
    moments, carried = (1, 1) if shape.sums_only else cells, (shape.arms, shape.carried)
    arms, floats, wholes, rows = shape.arms, shape.floats, shape.wholes, (shape.rows, 3)
    own = memory_maker(shape.memory)
    sum_type = int32 if shape.whole_rewards else float64
    stripe, threads = striped_array(cells), shape.block

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


def with_local_states(shape: Shape, played: Any) -> Any:
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


def _state_maker(shape: Shape) -> Any:
    """The part that makes a state in two blocks of numbers, with what clears its memory and the rows of a round."""
    cuda = cuda_module()
    from numba import float64, int32

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

    def make(setting, counts, numbers, first, step):  # type: ignore[no-untyped-def]
        rounder = cuda.local.array(1, float64)
        rounder[0] = setting.problem.grid_rounder
        blocks = floats(numbers, first, step), wholes(counts, first, step)
        state = State(
            pulls=pulls(counts, first, step),
            sums=sums(numbers, first, step),
            squares=squares(numbers, first, step),
            deviations=deviations(numbers, first, step),
            arm_flags=notes(counts, first, step),
            clock=cuda.local.array(2, int32),
            spent=cuda.local.array(1, float64),
            own=own(numbers, counts, first, step),
            means=cuda.local.array((1, 1), float64),
            inv_sqrt_pulls=roots(numbers, first, step),
            grid_rounder=rounder,
            carries=carries(numbers, first, step),
            blocks=setting.problem.blocks,
        )
        return state, blocks, rows(counts, first, step)

    return cuda.jit(device=True, forceinline=True)(make)


def with_states_of_warps(shape: Shape, played: Any) -> Any:
    """The kernel for trials that are played by warps, with states in shared memory."""
    cuda, nearby, make = cuda_module(), _problem_in_shared_memory(shape), _state_maker(shape)
    from numba import float64, int32, uint64

    whole, other = shape.counts, shape.numbers

    def entry(setting, keys, results, counter, counts, numbers):  # type: ignore[no-untyped-def]
        near = nearby(setting)
        words = cuda.shared.array(whole, int32), cuda.shared.array(other, float64)
        state, blocks, out = make(setting, words[0], words[1], uint64(0), uint64(1))
        played(near, state, blocks, out, keys, results, counter)

    return entry


def with_global_states(shape: Shape, played: Any) -> Any:
    """The kernel for states of any size, which lie in a pool of global memory."""
    cuda, make = cuda_module(), _state_maker(shape)
    from numba import uint64

    def entry(setting, keys, results, counter, counts, numbers):  # type: ignore[no-untyped-def]
        # Those of all threads are interleaved; all threads of a warp read the same number of the one that they share.
        first = uint64(cuda.blockIdx.x) if by_warp else uint64(cuda.grid(1))
        step = uint64(cuda.gridDim.x) if by_warp else uint64(cuda.gridsize(1))
        state, blocks, out = make(setting, counts, numbers, first, step)
        played(setting, state, blocks, out, keys, results, counter)

    by_warp = shape.by_warp
    return entry
