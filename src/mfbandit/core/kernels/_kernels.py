"""Kernels: one text that runs as plain Python and, compiled, on CPU threads and on a GPU.

Only this file knows numba, with its neighbours: `_device_code` for GPUs, `_part_code` and `_references` for the time
that it takes to compile, and `_wrapping` for whole numbers of 64 bits. A function marked with `kernel` stays an
ordinary Python function: it can be called, debugged and stepped through with nothing but NumPy installed. When it is
asked for in compiled form, `compiled` rebuilds it, and every kernel it calls, as numba dispatchers.

Algorithms are put together from parts. A part that is chosen later is declared as a `slot`, a
function with a signature and no body, and filled by `bind`, which returns a copy of a kernel (and of
every kernel it calls) in which the slots are replaced::

    @slot
    def greet(name): ...

    @kernel
    def welcome(name):
        return greet(name) + "!"

    polite = bind(welcome, greet=good_morning)

Kernels obey four rules: they call other kernels by their plain global name, they use scalar `math`
functions (``log, log1p, exp, expm1, sqrt`` give the same bits in CPython and in numba; ``lgamma`` and
NumPy's functions do not), they never divide by zero, and they never raise.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import types
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

import numpy as np

from mfbandit.core.kernels import _references as references
from mfbandit.core.kernels import _shared_loops as shared_loops
from mfbandit.core.kernels import _wrapping as wrapping
from mfbandit.core.kernels._kept_code import keep
from mfbandit.core.kernels._other_threads import leave_others_alone
from mfbandit.core.kernels._part_code import STORED_NAME, compilers
from mfbandit.errors import MissingExtra

__all__ = [
    "any_thread",
    "bind",
    "by_reference",
    "by_value",
    "calls",
    "clone_with",
    "compiled",
    "compiled_or_plain",
    "digest",
    "join_threads",
    "keep_alive",
    "kernel",
    "names",
    "parts",
    "product",
    "shared_range",
    "slot",
    "wrapped_product",
    "wrapped_sum",
]

F = TypeVar("F", bound=Callable[..., Any])

#: How kernels are compiled. Parts are inlined and do not count references to arrays, since passing a
#: state of many arrays to a function that is really called costs more than most functions do: together
#: the two make LUCB five times faster. It follows that only entries may allocate.
_ENTRY = {"nogil": True, "error_model": "numpy"}
_PART = {
    **_ENTRY,
    "forceinline": True,
    "_nrt": False,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}
#: Parts that are stored are large, and called: with references that costs nothing to speak of.
_STORED = {name: value for name, value in _PART.items() if name != "forceinline"}


def kernel(function: F) -> F:
    """Mark a function as a kernel: plain Python now, compiled on request.

    Examples
    --------
    >>> @kernel
    ... def double(x):
    ...     return x + x
    >>> double(4)
    8
    """
    function.__mfbandit_kernel__ = True  # type: ignore[attr-defined]
    return function


def slot(function: F) -> F:
    """Declare a part that `bind` fills in later; calling it unfilled is an error."""

    @functools.wraps(function)
    def unfilled(*args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"slot {function.__name__!r} was never filled: use bind(...)")

    unfilled.__mfbandit_slot__ = True  # type: ignore[attr-defined]
    return unfilled  # type: ignore[return-value]


wrapped_sum = kernel(wrapping.wrapped_sum)
wrapped_product = kernel(wrapping.wrapped_product)


shared_range = kernel(shared_loops.shared_range)
join_threads = kernel(shared_loops.join_threads)
any_thread = kernel(shared_loops.any_thread)

by_reference = kernel(references.by_reference)
by_value = kernel(references.by_value)
keep_alive = kernel(references.keep_alive)


@kernel
def product(x: float, y: float) -> float:
    """A product that is rounded before anything is added to it, on a GPU too, which fuses others."""
    return x * y


def _is_kernel(function: object) -> bool:
    return hasattr(function, "__mfbandit_kernel__")


def _is_slot(function: object) -> bool:
    return hasattr(function, "__mfbandit_slot__")


@functools.cache
def names(code: types.CodeType) -> tuple[str, ...]:
    """Every global name a code object mentions, its nested functions included; names of attributes are others."""
    found = [step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")]
    inner = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return tuple(dict.fromkeys([*found, *(name for part in inner for name in names(part))]))


def parts(function: types.FunctionType) -> dict[str, types.FunctionType]:
    """The kernels and slots that a kernel mentions, by the name it uses for them."""
    found: dict[str, types.FunctionType] = {}
    for name in names(function.__code__):
        value = function.__globals__.get(name)
        if isinstance(value, types.FunctionType) and (_is_kernel(value) or _is_slot(value)):
            found[name] = value
    return found


def calls(function: Any, wanted: Any) -> bool:
    """Whether a kernel calls another one, itself or by those that it calls."""
    return any(part.__code__ is wanted.__code__ or calls(part, wanted) for part in parts(function).values())


def clone_with(function: Any, replaced: dict[str, Any], name: str) -> Any:
    """Copy a function with some of its global names replaced."""
    clone = types.FunctionType(
        function.__code__, {**function.__globals__, **replaced}, name, function.__defaults__, function.__closure__
    )
    clone.__qualname__ = name
    clone.__doc__ = function.__doc__
    clone.__module__ = function.__module__
    clone.__dict__.update(function.__dict__)
    return clone


def bind(
    function: F,
    replace: Mapping[Callable[..., Any], Callable[..., Any]] | None = None,
    /,
    **fillings: Callable[..., Any],
) -> F:
    """Fill the slots of a kernel, and of every kernel it calls.

    Parameters
    ----------
    function : kernel
        The kernel whose slots are to be filled.
    replace : mapping of kernel to kernel, optional
        Kernels that are called, and what to call instead.
    **fillings : kernel
        The kernel for each slot, by the slot's name.

    Returns
    -------
    kernel
        A copy; the original is unchanged.

    Examples
    --------
    >>> @slot
    ... def distance(a, b): ...
    >>> @kernel
    ... def score(a, b):
    ...     return 1 - distance(a, b)
    >>> @kernel
    ... def manhattan(a, b):
    ...     return abs(a - b)
    >>> bind(score, distance=manhattan)(1, 3)
    -1
    """
    done: dict[int, Any] = {}

    swaps = {old.__code__: new for old, new in (replace or {}).items()}

    def fill(part: Any) -> Any:
        if _is_slot(part):
            filling = fillings.get(part.__name__)
            return part if filling is None else fill(filling)
        if part.__code__ in swaps:
            return fill(swaps[part.__code__])
        if id(part) not in done:
            replaced = {name: fill(inner) for name, inner in parts(part).items()}
            changed = any(part.__globals__[name] is not new for name, new in replaced.items())
            done[id(part)] = clone_with(part, replaced, part.__name__) if changed else part
        return done[id(part)]

    filled: F = fill(function)
    return filled


def digest(function: Callable[..., Any]) -> str:
    """Fingerprint a kernel: its code, the constants it reads and all that it calls.

    Compiled code is stored under this name: a change in any file that a kernel draws on makes it unused, not stale.
    """
    seen: dict[int, None] = {}
    sha = hashlib.sha256(repr(_PART).encode())

    def add_code(code: types.CodeType) -> None:
        # Byte code refers to attributes, such as the fields of a memory, by their numbers in this list.
        sha.update(code.co_code + repr(code.co_names).encode())
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                add_code(constant)
            else:
                sha.update(repr(constant).encode())

    def add(part: Any) -> None:
        if id(part) in seen:
            return
        seen[id(part)] = None
        add_code(part.__code__)
        called = parts(part)
        for name in names(part.__code__):
            value = part.__globals__.get(name)
            if isinstance(value, (bool, int, float, str, tuple)):
                sha.update(f"{name}={value!r}".encode())
            elif isinstance(value, np.ndarray):
                sha.update(f"{name}={value.tolist()!r}".encode())
            elif name in called:
                sha.update(name.encode())
                add(called[name])

    add(function)
    return sha.hexdigest()[:16]


def _numba() -> Any:
    try:
        import numba
    except ImportError as error:  # pragma: no cover - numba is a plain dependency
        raise MissingExtra("compiled runs need numba, which a plain 'pip install mfbandit' brings") from error
    leave_others_alone()
    return numba


_cpu: dict[tuple[str, str, str], Any] = {}


def compiled(function: F, *, store: bool = True, apart: Collection[str] = ()) -> F:
    """Compile a kernel for the CPU, to be called from Python; it releases the interpreter lock.

    Parameters
    ----------
    function : kernel
        All its slots must be filled.
    store : bool
        Keep the machine code on disk, so that the next start of the program need not compile.
    apart : collection of str
        Parts, by the name they are called by, that are stored on their own too, since other kernels call them.

    Examples
    --------
    >>> @kernel
    ... def triple(x):
    ...     return 3 * x
    >>> compiled(triple, store=False)(5)
    15
    """
    numba = _numba()
    instead = {**wrapping.on_cpu(), **references.on_cpu()}
    for_parts, for_entries = compilers()
    options: dict[str, dict[str, Any]] = {
        "entry": {**_ENTRY, "no_cfunc_wrapper": True, "pipeline_class": for_entries},
        "stored": _STORED,
        "part": {**_PART, "pipeline_class": for_parts},
    }

    def build(part: Any, role: str) -> Any:
        if part.__code__ in instead:
            return instead[part.__code__]
        # Files are called so: an entry and a stored part of one text must not share any.
        name = f"{part.__name__}_{digest(part)}" + (STORED_NAME if role == "stored" else "")
        key = (part.__module__, name, role)
        if key not in _cpu:
            used = parts(part).items()
            replaced = {called: build(inner, "stored" if called in apart else "part") for called, inner in used}
            text = clone_with(part, replaced, name)
            if role == "entry":
                body = numba.njit(**{**options["part"], "_nrt": True})(text)
                text = references.with_references(part, body, name)
            dispatcher = numba.njit(**options[role])(text)
            if store and role != "part":
                keep(dispatcher)
            _cpu[key] = dispatcher
        return _cpu[key]

    built: F = build(function, "entry")
    return built


#: What was compiled already, by the kernel itself: to find it by its digest takes longer than most calls.
_entries: dict[Any, Any] = {}


def compiled_or_plain(function: F) -> F:
    """The compiled form of a kernel or, where numba is missing, the kernel itself, which gives the same."""
    found: F | None = _entries.get(function)
    if found is None:
        try:
            found = _entries[function] = compiled(function)
        except MissingExtra:
            return function
    return found
