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

from mfbandit.core import Layout, nested

__all__ = ["memory_maker", "striped_array"]


@functools.cache
def _striped() -> Any:
    """Teach numba-cuda the type; on first use, since numba-cuda is an extra.

    How elements are found is written as instructions, not as functions of Python: those would be compiled anew for
    every array of every policy, which was nearly half of the functions of a kernel.
    """
    types: Any = importlib.import_module("numba.cuda.types")
    extending: Any = importlib.import_module("numba.cuda.extending")
    templates: Any = importlib.import_module("numba.cuda.typing.templates")
    cgutils: Any = importlib.import_module("numba.cuda.cgutils")
    typing_registry: Any = importlib.import_module("numba.cuda.cudadecl").registry
    lower: Any = importlib.import_module("numba.cuda.cudaimpl").registry.lower

    class Striped(types.Type):  # type: ignore[misc]
        """An array of one thread: where the words of all begin, and which of how many threads it is."""

        def __init__(self, dtype: Any, shape: tuple[int, ...], offset: int) -> None:
            self.dtype, self.shape, self.offset = dtype, shape, offset
            super().__init__(name=f"Striped({dtype}, {shape}, {offset})")

    class StripedModel(extending.models.StructModel):  # type: ignore[misc]
        """What it is made of: no lengths of the words, which every function would be handed along with it."""

        def __init__(self, manager: Any, kind: Striped) -> None:
            members = [("words", types.CPointer(kind.dtype)), ("thread", types.uint64), ("threads", types.uint64)]
            super().__init__(manager, kind, members)

    extending.register_model(Striped)(StripedModel)

    def shape(array: Any) -> Any:
        constant = array.shape
        return lambda array: constant

    extending.overload_attribute(Striped, "shape", strict=False)(shape)

    @typing_registry.register_global(operator.getitem)
    class Getting(templates.AbstractTemplate):  # type: ignore[misc]
        """The type of an element."""

        def generic(self, arguments: Any, keywords: Any) -> Any:
            array, index = arguments
            return templates.signature(array.dtype, array, index) if isinstance(array, Striped) else None

    @typing_registry.register_global(operator.setitem)
    class Putting(templates.AbstractTemplate):  # type: ignore[misc]
        """The type that a value takes when it becomes an element."""

        def generic(self, arguments: Any, keywords: Any) -> Any:
            array, index, _ = arguments
            return templates.signature(types.none, array, index, array.dtype) if isinstance(array, Striped) else None

    def element(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Where an element lies."""
        kind, index = signature.args[:2]
        array = cgutils.create_struct_proxy(kind)(context, builder, value=arguments[0])
        several = isinstance(index, types.BaseTuple)
        indices = cgutils.unpack_tuple(builder, arguments[1], len(index)) if several else [arguments[1]]
        # 64 bits without a sign: no index is tested for being negative, and the distance between two elements
        # of a row is a constant that load instructions add by themselves.
        at = context.get_constant(types.uint64, kind.offset)
        for place, its_type in enumerate(index.types if several else (index,), start=1):
            step = math.prod(kind.shape[len(kind.shape) - len(indices) + place :])
            whole = context.cast(builder, indices[place - 1], its_type, types.uint64)
            at = builder.add(at, builder.mul(whole, context.get_constant(types.uint64, step)))
        return builder.gep(array.words, [builder.add(builder.mul(at, array.threads), array.thread)])

    for indices in (types.Integer, types.BaseTuple):

        @lower(operator.getitem, Striped, indices)  # type: ignore[untyped-decorator]
        def get(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return context.unpack_value(builder, signature.return_type, element(context, builder, signature, arguments))

        @lower(operator.setitem, Striped, indices, types.Any)  # type: ignore[untyped-decorator]
        def put(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = element(context, builder, signature, arguments)
            context.pack_value(builder, signature.args[2], arguments[2], place)
            return context.get_dummy_value()

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
        kind = striped(words.dtype, shape, offset)

        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = cgutils.create_struct_proxy(kind)(context, builder)
            array.words = context.make_array(words)(context, builder, arguments[0]).data
            array.thread, array.threads = arguments[1:]
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
                (wholes if space.whole else numbers).dtype,
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
            pointers = {
                kind.dtype: context.make_array(kind)(context, builder, words).data
                for kind, words in ((wholes, arguments[1]), (numbers, arguments[0]))
            }

            def made(value: Any) -> Any:
                if isinstance(value, tuple):
                    return context.make_tuple(builder, typed(value), [made(part) for part in value])
                array = cgutils.create_struct_proxy(value)(context, builder)
                array.words = pointers[value.dtype]
                array.thread, array.threads = arguments[2:]
                return array._getvalue()

            return made(found)

        return typed(found)(numbers, wholes, types.uint64, types.uint64), build

    return importlib.import_module("numba.cuda.extending").intrinsic(memory)
