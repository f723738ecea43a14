"""Arrays of one GPU thread, interleaved with those of all others in shared or global memory.

Element j of thread t lies at place j * threads + t. Whichever elements the threads of a warp look at, each
thread then reads its own bank of shared memory, and where they look at the same element of global memory
they read neighbouring words.

`striped_array` makes the function by which GPU code takes the array of a thread out of such memory. What that
returns is read and written as ``array[i]``, ``array[i, j]`` and so on, up to four indices, which are never
negative, and has a ``shape``.
"""

from __future__ import annotations

import functools
import importlib
import math
import operator
from typing import Any

import numpy as np

from mfbandit.core import Layout, nested

__all__ = ["memory_maker", "striped_array"]


@functools.cache
def _striped() -> Any:
    """Teach numba-cuda the type; on first use, since numba-cuda is an extra."""
    types: Any = importlib.import_module("numba.cuda.types")
    extending: Any = importlib.import_module("numba.cuda.extending")

    class Striped(types.Type):  # type: ignore[misc]
        """An array of one thread: the words of all, and which of how many threads it is."""

        def __init__(self, words: Any, shape: tuple[int, ...], offset: int) -> None:
            self.words, self.shape, self.offset = words, shape, offset
            super().__init__(name=f"Striped({words}, {shape}, {offset})")

    class StripedModel(extending.models.StructModel):  # type: ignore[misc]
        """What it is made of."""

        def __init__(self, manager: Any, kind: Striped) -> None:
            members = [("words", kind.words), ("thread", types.uint64), ("threads", types.uint64)]
            super().__init__(manager, kind, members)

    extending.register_model(Striped)(StripedModel)
    for member in ("words", "thread", "threads"):
        extending.make_attribute_wrapper(Striped, member, member)

    def shape(array: Any) -> Any:
        constant = array.shape
        return lambda array: constant

    extending.overload_attribute(Striped, "shape", strict=False)(shape)

    # 64 bits without a sign: no index is tested for being negative, and the distance between two elements
    # of a row is a constant that load instructions add by themselves.
    whole = np.uint64

    def getting(array: Any, index: Any) -> Any:
        if not isinstance(array, Striped):
            return None
        # Where an element lies is written out each time: a function for that would be compiled for every array, too.
        offset = whole(array.offset)
        if isinstance(index, types.Integer):
            return lambda array, index: array.words[(offset + whole(index)) * array.threads + array.thread]
        # Numbers per step of the last index but one, but two, but three.
        _, last, square, cube = (whole(math.prod(array.shape[len(array.shape) - n :])) for n in range(4))
        if len(index) == 2:
            return lambda array, index: array.words[
                (offset + whole(index[0]) * last + whole(index[1])) * array.threads + array.thread
            ]
        if len(index) == 3:
            return lambda array, index: array.words[
                (offset + whole(index[0]) * square + whole(index[1]) * last + whole(index[2])) * array.threads
                + array.thread
            ]
        return lambda array, index: array.words[
            (offset + whole(index[0]) * cube + whole(index[1]) * square + whole(index[2]) * last + whole(index[3]))
            * array.threads
            + array.thread
        ]

    def putting(array: Any, index: Any, value: Any) -> Any:
        if not isinstance(array, Striped):
            return None
        offset = whole(array.offset)
        _, last, square, cube = (whole(math.prod(array.shape[len(array.shape) - n :])) for n in range(4))

        def put_1(array: Any, index: Any, value: Any) -> None:
            array.words[(offset + whole(index)) * array.threads + array.thread] = value

        def put_2(array: Any, index: Any, value: Any) -> None:
            array.words[(offset + whole(index[0]) * last + whole(index[1])) * array.threads + array.thread] = value

        def put_3(array: Any, index: Any, value: Any) -> None:
            at = offset + whole(index[0]) * square + whole(index[1]) * last + whole(index[2])
            array.words[at * array.threads + array.thread] = value

        def put_4(array: Any, index: Any, value: Any) -> None:
            at = offset + whole(index[0]) * cube + whole(index[1]) * square + whole(index[2]) * last + whole(index[3])
            array.words[at * array.threads + array.thread] = value

        return (put_1, put_2, put_3, put_4)[0 if isinstance(index, types.Integer) else len(index) - 1]

    for function, made in ((operator.getitem, getting), (operator.setitem, putting)):
        extending.overload(function, strict=False, jit_options={"forceinline": True})(made)
    return Striped


def striped_array(shape: tuple[int, ...], offset: int = 0) -> Any:
    """Make the function ``(words, thread, threads) -> array`` for arrays of a shape.

    Parameters
    ----------
    shape : tuple of int
        One to four dimensions.
    offset : int
        How many elements each thread has before this array in the same words.
    """
    types: Any = importlib.import_module("numba.cuda.types")
    cgutils: Any = importlib.import_module("numba.cuda.cgutils")
    striped = _striped()

    def stripe(typing: Any, words: Any, thread: Any, threads: Any) -> Any:
        kind = striped(words, shape, offset)

        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = cgutils.create_struct_proxy(kind)(context, builder)
            array.words, array.thread, array.threads = arguments
            return array._getvalue()

        return kind(words, types.uint64, types.uint64), build

    return importlib.import_module("numba.cuda.extending").intrinsic(stripe)


def memory_maker(layout: Layout, floats_at: int = 0, wholes_at: int = 0) -> Any:
    """Make the function ``(numbers, wholes, thread, threads) -> memory`` for an algorithm's memory.

    Parameters
    ----------
    layout : Layout
        What it remembers.
    floats_at, wholes_at : int
        How many elements each thread has before its memory, in the floating-point and in the whole numbers.
    """
    types: Any = importlib.import_module("numba.cuda.types")
    cgutils: Any = importlib.import_module("numba.cuda.cgutils")
    striped = _striped()

    def memory(typing: Any, numbers: Any, wholes: Any, thread: Any, threads: Any) -> Any:
        kinds = {
            space.name: striped(
                wholes if space.whole else numbers,
                space.shape,
                space.start + (wholes_at if space.whole else floats_at),
            )
            for space in layout.spaces
        }

        def typed(value: Any) -> Any:
            if not isinstance(value, tuple):
                return value
            return types.BaseTuple.from_types([typed(part) for part in value], type(value))

        found = nested(layout.kind, kinds)

        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            def made(value: Any) -> Any:
                if isinstance(value, tuple):
                    return context.make_tuple(builder, typed(value), [made(part) for part in value])
                array = cgutils.create_struct_proxy(value)(context, builder)
                array.words = arguments[1] if value.words == wholes and value.words != numbers else arguments[0]
                array.thread, array.threads = arguments[2:]
                return array._getvalue()

            return made(found)

        return typed(found)(numbers, wholes, types.uint64, types.uint64), build

    return importlib.import_module("numba.cuda.extending").intrinsic(memory)
