"""What kernels see: the problem as arrays, the state of one run, and how a reward enters it.

An algorithm is a pair of kernels that play one round of a bandit loop::

    plan(problem, params, state, out) -> rows   # fills rows (arm, fidelity, count); 0 rows = stop
    recommend(problem, params, state) -> arm

`plan` is deterministic and may keep notes in the state, in fields that the algorithm declares (`Layout`); rewards
enter only through `observe`. The same text is run step by step by a study, compiled over thousands of simulated
trials, and on a GPU. Kernels, their rules and their compilation are in `mfbandit.core._kernels`, the only file that
knows numba.

What stands here is for other rooms; modules with an underscore are private to this one, which imports only from
the rooms above it in CONTRIBUTING.md.
"""

from mfbandit.core._ahead import (
    ROW_LIMIT,
    WAIT,
    Ahead,
    Copy,
    InFlight,
    any_out,
    copy_for,
    lag,
    plan_ahead,
    rows_at_once,
)
from mfbandit.core._algorithm import Algorithm, Goal, afford, tally_for
from mfbandit.core._block_order import block_order, block_seed, lane_seed, own_block, shuffle
from mfbandit.core._blocks import (
    NOBODY,
    BlockRules,
    Blocks,
    NoBlocks,
    clear_blocks,
    enlarged,
    has_blocks,
    is_led,
    new_blocks,
    open_block,
    tally_block,
)
from mfbandit.core._kernels import (
    bind,
    compiled,
    compiled_or_plain,
    cuda_module,
    digest,
    kernel,
    on_device,
    parts,
    product,
    slot,
    wrapped_product,
    wrapped_sum,
)
from mfbandit.core._layouts import (
    Layout,
    NoMemory,
    Space,
    clear_rest,
    fields,
    floats,
    group,
    integers,
    kept_numbers,
    layout,
    nested,
    rebuilt,
)
from mfbandit.core._problem_arrays import BERNOULLI, BOUNDED, GAUSSIAN, STUDENT, Arrays, Floats, Ints, arrays, keep_arms
from mfbandit.core._random import bits, normal, trial_key, uniform
from mfbandit.core._state import (
    PULLS,
    ROUNDS,
    State,
    derive,
    mean_of,
    new_state,
    observe,
    observe_block,
    pulled,
    root_of,
    tally,
    tally_all,
)

__all__ = [
    "BERNOULLI",
    "BOUNDED",
    "GAUSSIAN",
    "NOBODY",
    "PULLS",
    "ROUNDS",
    "ROW_LIMIT",
    "STUDENT",
    "WAIT",
    "Ahead",
    "Algorithm",
    "Arrays",
    "BlockRules",
    "Blocks",
    "Copy",
    "Floats",
    "Goal",
    "InFlight",
    "Ints",
    "Layout",
    "NoBlocks",
    "NoMemory",
    "Space",
    "State",
    "afford",
    "any_out",
    "arrays",
    "bind",
    "bits",
    "block_order",
    "block_seed",
    "clear_blocks",
    "clear_rest",
    "compiled",
    "compiled_or_plain",
    "copy_for",
    "cuda_module",
    "derive",
    "digest",
    "enlarged",
    "fields",
    "floats",
    "group",
    "has_blocks",
    "integers",
    "is_led",
    "keep_arms",
    "kept_numbers",
    "kernel",
    "lag",
    "lane_seed",
    "layout",
    "mean_of",
    "nested",
    "new_blocks",
    "new_state",
    "normal",
    "observe",
    "observe_block",
    "on_device",
    "open_block",
    "own_block",
    "parts",
    "plan_ahead",
    "product",
    "pulled",
    "rebuilt",
    "root_of",
    "rows_at_once",
    "shuffle",
    "slot",
    "tally",
    "tally_all",
    "tally_block",
    "tally_for",
    "trial_key",
    "uniform",
    "wrapped_product",
    "wrapped_sum",
]
