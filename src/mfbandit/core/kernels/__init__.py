"""Kernels: functions that run as plain Python and, compiled, on CPU threads and on a GPU."""

from mfbandit.core.kernels._device_code import cuda_module, on_device
from mfbandit.core.kernels._kernels import (
    bind,
    by_reference,
    by_value,
    compiled,
    compiled_or_plain,
    digest,
    keep_alive,
    kernel,
    parts,
    product,
    slot,
    wrapped_product,
    wrapped_sum,
)

__all__ = [
    "bind",
    "by_reference",
    "by_value",
    "compiled",
    "compiled_or_plain",
    "cuda_module",
    "digest",
    "keep_alive",
    "kernel",
    "on_device",
    "parts",
    "product",
    "slot",
    "wrapped_product",
    "wrapped_sum",
]
