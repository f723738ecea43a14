"""The type of references to named tuples in compiled code, for numba.

A module of its own, since numba stores types with the machine code by the place where they are defined.
"""

from __future__ import annotations

import hashlib
import importlib
from typing import Any

#: Inner parts of numba have no types.
cgutils: Any = importlib.import_module("numba.core.cgutils")
extending: Any = importlib.import_module("numba.extending")
imputils: Any = importlib.import_module("numba.core.imputils")
templates: Any = importlib.import_module("numba.core.typing.templates")
types: Any = importlib.import_module("numba.core.types")

__all__ = ["Reference", "copied", "referred"]


def _has_arrays(kind: Any) -> bool:
    """Whether it is a named tuple with arrays. Others are small, and kernels make new ones."""
    return isinstance(kind, types.BaseNamedTuple) and any(
        isinstance(field, types.Array) or _has_arrays(field) for field in kind
    )


class Reference(types.Type):  # type: ignore[misc]
    """A named tuple that stays where it is."""

    def __init__(self, of: Any) -> None:
        self.of = of
        # Names of functions are made from those of types, and the name of a state is pages long.
        short = hashlib.sha256(of.name.encode()).hexdigest()[:16]
        super().__init__(name=f"Reference({of.instance_class.__name__}_{short})")

    @property
    def key(self) -> Any:
        """What makes two of them equal."""
        return self.of


@extending.register_model(Reference)
class _ReferenceModel(extending.models.PrimitiveModel):  # type: ignore[misc]
    """A pointer to the tuple."""

    def __init__(self, manager: Any, reference: Any) -> None:
        super().__init__(manager, reference, manager.lookup(reference.of).get_value_type().as_pointer())


def _field(reference: Reference, name: str) -> tuple[int, Any]:
    index = reference.of.fields.index(name)
    return index, reference.of[index]


@extending.infer_getattr
class _Fields(templates.AttributeTemplate):  # type: ignore[misc]
    """Tuples of arrays in tuples are references again, all else is a value."""

    key = Reference

    def generic_resolve(self, reference: Reference, name: str) -> Any:
        """The type of a field."""
        if name not in reference.of.fields:
            return None
        _, field = _field(reference, name)
        return Reference(field) if _has_arrays(field) else field


@extending.lower_getattr_generic(Reference)  # type: ignore[untyped-decorator]
def _field_of(context: Any, builder: Any, reference: Reference, pointer: Any, name: str) -> Any:
    index, field = _field(reference, name)
    place = cgutils.gep_inbounds(builder, pointer, 0, index)
    if _has_arrays(field):
        return place
    return imputils.impl_ret_borrowed(context, builder, field, builder.load(place))


@extending.intrinsic  # type: ignore[untyped-decorator]
def referred(typing_context: Any, value: Any) -> Any:
    """A reference to a named tuple of arrays, and anything else as it is."""

    def same(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return imputils.impl_ret_borrowed(context, builder, signature.return_type, given[0])

    def laid_down(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return cgutils.alloca_once_value(builder, given[0])

    if _has_arrays(value):
        return Reference(value)(value), laid_down
    return value(value), same


@extending.intrinsic  # type: ignore[untyped-decorator]
def copied(typing_context: Any, value: Any) -> Any:
    """The tuple that a reference refers to, and anything else as it is."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        found = builder.load(given[0]) if isinstance(value, Reference) else given[0]
        return imputils.impl_ret_borrowed(context, builder, signature.return_type, found)

    return (value.of if isinstance(value, Reference) else value)(value), code
