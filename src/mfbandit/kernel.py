"""Kernels, for those who write algorithms: see `mfbandit.core`."""

from mfbandit.core import (
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

__all__ = [
    "bind",
    "compiled",
    "compiled_or_plain",
    "cuda_module",
    "digest",
    "kernel",
    "on_device",
    "parts",
    "product",
    "slot",
    "wrapped_product",
    "wrapped_sum",
]
