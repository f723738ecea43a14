"""Kernels: functions that run as plain Python and, compiled, on CPU threads and on a GPU."""

from mfbandit.core.kernels._device_code import cuda_module, loops_of_warps, on_device
from mfbandit.core.kernels._kernels import (
    any_thread,
    bind,
    by_reference,
    by_value,
    calls,
    compiled,
    compiled_or_plain,
    digest,
    join_threads,
    keep_alive,
    kernel,
    names,
    parts,
    product,
    shared_range,
    slot,
    wrapped_product,
    wrapped_sum,
)
from mfbandit.core.kernels._shared_loops import WARP

__all__ = [
    "WARP",
    "any_thread",
    "bind",
    "by_reference",
    "by_value",
    "calls",
    "compiled",
    "compiled_or_plain",
    "cuda_module",
    "digest",
    "join_threads",
    "keep_alive",
    "kernel",
    "loops_of_warps",
    "names",
    "on_device",
    "parts",
    "product",
    "shared_range",
    "slot",
    "wrapped_product",
    "wrapped_sum",
]
