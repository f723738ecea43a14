"""Sums and products of whole numbers of 64 bits that wrap around, in plain Python, compiled and on a GPU.

The signed sums and products of numba must not overflow: LLVM takes it for granted that they do not, and where it
knows the size of one number, may replace the outcome by a constant. Random numbers overflow on purpose, so they are
computed by these two, which are kernels in `mfbandit.core.kernels`. In plain Python the outcome is from 0 to 2^64
- 1, in compiled code it is the signed number of the same bits.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

__all__ = ["ON_DEVICE", "on_cpu", "wrapped_product", "wrapped_sum"]

_MASK64 = (1 << 64) - 1


def wrapped_sum(x: int, y: int) -> int:
    """The low 64 bits of a sum."""
    return (x + y) & _MASK64


def wrapped_product(x: int, y: int) -> int:
    """The low 64 bits of a product."""
    return (x * y) & _MASK64


def _sum(x: int, y: int) -> int:
    return x + y


def _product(x: int, y: int) -> int:
    return x * y


#: What is compiled in their place on a GPU.
ON_DEVICE: dict[types.CodeType, Callable[[int, int], int]] = {
    wrapped_sum.__code__: _sum,
    wrapped_product.__code__: _product,
}


@functools.cache
def on_cpu() -> dict[types.CodeType, Any]:
    """What is called in their place by compiled code: single instructions that may overflow."""
    from numba import int64
    from numba.extending import intrinsic

    def made(instruction: str) -> Any:
        def typed(context: Any, x: Any, y: Any) -> Any:
            def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
                return getattr(builder, instruction)(*given)

            return int64(int64, int64), code

        return intrinsic(typed)

    return {wrapped_sum.__code__: made("add"), wrapped_product.__code__: made("mul")}
