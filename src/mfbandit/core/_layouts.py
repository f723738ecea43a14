"""Layouts: what an algorithm remembers, declared by name and shape.

An algorithm's memory is a NamedTuple class whose fields say what they hold instead of having a default::

    class Sweeps(NamedTuple):
        sweep: Ints = integers(1)
        best: Floats = floats("arms")
        seen: Floats = floats("arms", "fidelities", kept=False)

A dimension is a number, "arms", "fidelities", or a function of the problem. Kernels see the fields as arrays,
all zeros when a run begins: ``state.own.best[arm]``. A field that is itself such a class (`group`) is seen
as ``state.own.group.field``.

This file alone knows where a field lies. All numbers of one type lie in one block, one field after the other,
so that a block is cleared at once and a GPU can interleave those of its threads. Fields that are not `kept`
follow from the rest of the state, or hold nothing between two rounds: a study does not store them, and whoever
goes on with it finds zeros there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from mfbandit.core._problem_arrays import Arrays

__all__ = [
    "Layout",
    "NoMemory",
    "Space",
    "clear_rest",
    "fields",
    "floats",
    "group",
    "integers",
    "kept_numbers",
    "layout",
    "memory_blocks",
    "nested",
    "rebuilt",
]

#: Methods of tuples, which compiled code finds first, and words of a study's log.
_TAKEN = ("bits", "count", "index", "places")

Dimension = int | str | Callable[..., int]


class Field(NamedTuple):
    """What a field of a memory holds."""

    dimensions: tuple[Dimension, ...]
    whole: bool
    kept: bool


class Group(NamedTuple):
    """A field that is a memory itself."""

    kind: type


def floats(*dimensions: Dimension, kept: bool = True) -> Any:
    """Declare a field of floating-point numbers."""
    return Field(dimensions, False, kept)


def integers(*dimensions: Dimension, kept: bool = True) -> Any:
    """Declare a field of whole numbers; a GPU has 32 bits for each."""
    return Field(dimensions, True, kept)


def group(kind: type) -> Any:
    """Declare a field that is a memory itself, so that several algorithms can share it."""
    return Group(kind)


class NoMemory(NamedTuple):
    """The memory of an algorithm that needs none."""


class Space(NamedTuple):
    """Where a field lies, for one problem."""

    name: str
    """Its name; that of a group comes first, with a dot after it."""
    shape: tuple[int, ...]
    whole: bool
    kept: bool
    start: int
    """How many numbers lie before it in the block of its type."""

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return math.prod(self.shape)


class Layout(NamedTuple):
    """A memory for one problem."""

    kind: type
    spaces: tuple[Space, ...]

    @property
    def floats(self) -> int:
        """Size of the block of floating-point numbers."""
        return sum(space.size for space in self.spaces if not space.whole)

    @property
    def integers(self) -> int:
        """Size of the block of whole numbers."""
        return sum(space.size for space in self.spaces if space.whole)

    def blocks(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """Both blocks, all zeros."""
        return np.zeros(self.floats), np.zeros(self.integers, dtype=np.int64)

    def of(self, numbers: npt.NDArray[np.float64], wholes: npt.NDArray[np.int64]) -> Any:
        """The memory that lies in two blocks."""
        found = {}
        for space in self.spaces:
            block: npt.NDArray[Any] = wholes if space.whole else numbers
            found[space.name] = block[space.start : space.start + space.size].reshape(space.shape)
        return nested(self.kind, found)


def _dimension(wanted: Dimension, problem: Arrays) -> int:
    if isinstance(wanted, int):
        return wanted
    if isinstance(wanted, str):
        return int(problem.cost.shape[("arms", "fidelities").index(wanted)])
    return int(wanted(problem))


def _declared(kind: Any, prefix: str = "") -> Iterator[tuple[str, Field]]:
    """All fields of a memory, by their full names."""
    for name in kind._fields:
        field = kind._field_defaults.get(name)
        if name in _TAKEN:
            raise TypeError(f"{kind.__name__}.{name} needs another name: {', '.join(_TAKEN)} mean something else")
        if isinstance(field, Group):
            yield from _declared(field.kind, f"{prefix}{name}.")
        elif isinstance(field, Field):
            yield prefix + name, field
        else:
            raise TypeError(f"{kind.__name__}.{name} must be declared by floats(...), integers(...) or group(...)")


def layout(kind: type, problem: Arrays) -> Layout:
    """Lay out a memory for a problem.

    Examples
    --------
    >>> import mfbandit as mf
    >>> from mfbandit.core import arrays
    >>> class Sweeps(NamedTuple):
    ...     sweep: Any = integers(1)
    ...     best: Any = floats("arms")
    ...     seen: Any = floats("arms", "fidelities")
    >>> small = arrays(mf.Problem(3, [("quick", 1.0, 0.2), ("slow", 9.0, 0.0)]))
    >>> [(space.name, space.shape, space.start) for space in layout(Sweeps, small).spaces]
    [('sweep', (1,), 0), ('best', (3,), 0), ('seen', (3, 2), 3)]
    """
    spaces = []
    ends = {False: 0, True: 0}
    for name, field in _declared(kind):
        shape = tuple(_dimension(wanted, problem) for wanted in field.dimensions)
        space = Space(name, shape, field.whole, field.kept, ends[field.whole])
        ends[field.whole] += space.size
        spaces.append(space)
    return Layout(kind, tuple(spaces))


def nested(kind: Any, found: dict[str, Any], prefix: str = "") -> Any:
    """A memory from its fields by their full names."""
    defaults = kind._field_defaults
    return kind(
        *(
            nested(defaults[name].kind, found, f"{prefix}{name}.")
            if isinstance(defaults[name], Group)
            else found[prefix + name]
            for name in kind._fields
        )
    )


def fields(own: Any, *, kept: bool = False) -> dict[str, Any]:
    """The arrays of a memory, or only those that are kept, by their full names."""
    kind: Any = type(own)
    return {name: get(own) for name, get in _getters(kind, kept)}


@cache
def _getters(kind: Any, kept: bool) -> list[tuple[str, Callable[[Any], Any]]]:
    """How the fields of a memory are got, by their full names."""
    return [(name, attrgetter(name)) for name, field in _declared(kind) if field.kept or not kept]


def kept_numbers(own: Any) -> list[npt.NDArray[Any]]:
    """All numbers that are kept, in the order of the fields, in as few arrays as can be: neighbours share one.

    Examples
    --------
    >>> class Sweeps(NamedTuple):
    ...     best: Any = floats(2)
    ...     seen: Any = floats(3)
    ...     spare: Any = floats(4, kept=False)
    ...     last: Any = floats(1)
    >>> block = np.arange(10.0)
    >>> kept_numbers(Sweeps(block[:2], block[2:5], block[5:9], block[9:]))
    [array([0., 1., 2., 3., 4.]), array([9.])]
    """
    found: list[npt.NDArray[Any]] = []
    for array in fields(own, kept=True).values():
        flat = array.reshape(-1)
        joined = _joined(found[-1], flat) if found else None
        if joined is None:
            found.append(flat)
        else:
            found[-1] = joined
    return found


def _joined(before: npt.NDArray[Any], after: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
    """Two arrays as one, if they lie side by side in one block; else None."""
    block = before.base
    if block is None or after.base is not block or block.ndim != 1 or not before.dtype == after.dtype == block.dtype:
        return None
    if after.ctypes.data != before.ctypes.data + before.nbytes:
        return None
    start = (before.ctypes.data - block.ctypes.data) // block.itemsize
    return block[start : start + before.size + after.size]


def memory_blocks(own: Any) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """The blocks of numbers and of whole numbers that a memory lies in."""
    numbers: npt.NDArray[Any] = np.zeros(0)
    wholes: npt.NDArray[Any] = np.zeros(0, dtype=np.int64)
    for array in fields(own).values():
        block = array if array.base is None else array.base
        if array.dtype == np.int64:
            wholes = block
        else:
            numbers = block
    return numbers, wholes


def rebuilt(own: Any, change: Callable[[Any], Any]) -> Any:
    """A memory whose arrays are made from those of another."""
    return nested(type(own), {name: change(array) for name, array in fields(own).items()})


def clear_rest(own: Any) -> None:
    """Put zeros where nothing is kept, from which it is made anew."""
    kept = fields(own, kept=True)
    for name, array in fields(own).items():
        if name not in kept:
            array[...] = 0
