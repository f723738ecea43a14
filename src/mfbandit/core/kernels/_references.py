"""Named tuples of arrays that compiled kernels hand on by reference.

numba hands on a named tuple by value: every array in it as seven numbers, and each kernel that is called with a state
of forty arrays takes it apart and puts it together again. All of that goes when the kernels are inlined, but to write
it, and to find that it can go, was half of the time to compile. Here the tuples of an entry are laid down once, and
kernels get one pointer for each; after inlining, the same is left.
"""

from __future__ import annotations

import importlib
import types
from typing import Any, TypeVar

__all__ = ["by_reference", "by_value", "keep_alive", "on_cpu", "with_references"]

T = TypeVar("T")


def by_reference(value: T) -> T:
    """A value to hand on; in compiled code a reference, if it is a named tuple of arrays.

    A reference does not keep its arrays. Arguments of an entry stay; who makes a tuple must `keep_alive` it.
    """
    return value


def by_value(value: T) -> T:
    """The tuple itself, where a reference to it may be at hand."""
    return value


def keep_alive(value: object) -> None:
    """Let go of a value here, not after its last use before."""


def on_cpu() -> dict[types.CodeType, Any]:
    """What compiled code calls in place of `by_reference` and `by_value`."""
    made = importlib.import_module("mfbandit.core.kernels._reference_type")
    return {by_reference.__code__: made.referred, by_value.__code__: made.copied}


def with_references(function: Any, body: Any, name: str) -> Any:
    """A function of the arguments of another one that calls its compiled body with references to them."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    given, handed = ", ".join(names), ", ".join(f"by_reference({argument})" for argument in names)
    text = compile(f"def entry({given}):\n    return body({handed})", code.co_filename, "exec")
    (inner,) = (constant for constant in text.co_consts if isinstance(constant, types.CodeType))
    used = {"body": body, "by_reference": on_cpu()[by_reference.__code__]}
    made = types.FunctionType(inner, used, name, function.__defaults__)
    made.__qualname__, made.__module__, made.__doc__ = name, function.__module__, function.__doc__
    return made
