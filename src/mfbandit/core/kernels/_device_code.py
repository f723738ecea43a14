"""Kernels as functions that GPU code can call."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from mfbandit.core.kernels import _shared_loops as shared_loops
from mfbandit.core.kernels import _wrapping as wrapping
from mfbandit.core.kernels._kernels import (
    any_thread,
    clone_with,
    digest,
    join_threads,
    kernel,
    names,
    parts,
    product,
    shared_range,
)
from mfbandit.errors import MissingExtra

__all__ = ["cuda_module", "loops_of_warps", "on_device"]


def cuda_module() -> Any:
    """The CUDA target of numba, from the ``cuda`` extra."""
    try:
        import numba_cuda  # noqa: F401  (replaces the deprecated target inside numba)
        from numba import cuda
    except ImportError as error:
        raise MissingExtra("GPU runs need numba-cuda: pip install 'mfbandit[cuda]'") from error
    return cuda


def _rounded_product(x: float, y: float) -> float:
    """What `product` is on a GPU."""
    return float(dmul_rn(float(x), float(y)))  # type: ignore[name-defined]  # noqa: F821  (filled in)


def tables(function: types.FunctionType) -> dict[str, Any]:
    """The tables of numbers that a kernel reads, by name, as arrays, which a GPU keeps in constant memory.

    It would find a number of a tuple by comparing its index with others, and threads with different ones in turn.
    """
    found = {name: function.__globals__.get(name) for name in names(function.__code__)}
    return {name: np.array(value) for name, value in found.items() if _is_table(value)}


def _is_table(value: object) -> bool:
    return isinstance(value, tuple) and len(value) > 1 and all(type(number) is float for number in value)


def loops_of_warps() -> dict[Callable[..., Any], Callable[..., Any]]:
    """What is called in place of the parts of shared loops where a warp plays a trial."""
    return {
        shared_range: kernel(shared_loops.warp_range),
        join_threads: kernel(shared_loops.join_warp),
        any_thread: kernel(shared_loops.any_thread_of_warp),
    }


_device: dict[tuple[str, str], Any] = {}


def on_device(function: Callable[..., Any]) -> Any:
    """Compile a kernel, and all that it calls, as functions that GPU code can call."""
    cuda = cuda_module()

    def build(part: Any) -> Any:
        name = f"{part.__name__}_{digest(part)}"
        key = (part.__module__, name)
        if key not in _device:
            if part.__code__ in wrapping.ON_DEVICE:
                clone = clone_with(wrapping.ON_DEVICE[part.__code__], {}, part.__name__)
            elif part.__code__ is product.__code__:
                clone = clone_with(_rounded_product, {"dmul_rn": cuda.libdevice.dmul_rn}, "product")
            else:
                used = {called: build(inner) for called, inner in parts(part).items()}
                clone = clone_with(part, {"cuda": cuda, **tables(part), **used}, name)
            _device[key] = cuda.jit(device=True, forceinline=True)(clone)
        return _device[key]

    return build(function)
