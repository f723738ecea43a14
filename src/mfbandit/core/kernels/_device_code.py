"""Kernels as functions that GPU code can call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mfbandit.core.kernels import _wrapping as wrapping
from mfbandit.core.kernels._kernels import clone_with, digest, parts, product
from mfbandit.errors import MissingExtra

__all__ = ["cuda_module", "on_device"]


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
                clone = clone_with(part, {used: build(inner) for used, inner in parts(part).items()}, name)
            _device[key] = cuda.jit(device=True, forceinline=True)(clone)
        return _device[key]

    return build(function)
