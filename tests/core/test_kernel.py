"""Kernels run as plain Python and compiled, slots are filled through every level, changes are noticed."""

import importlib
import sys
import threading
import warnings
from typing import NamedTuple

import numpy as np
import pytest

from mfbandit.core import by_reference, keep_alive
from mfbandit.core._random import mix
from mfbandit.core.kernels import _kernels as module
from mfbandit.core.kernels._part_code import compilers
from mfbandit.kernel import bind, compiled, digest, kernel, slot, wrapped_product, wrapped_sum

RATE = 3


@slot
def part(x):
    """Something chosen later."""


@kernel
def middle(x):
    return part(x) + 1


@kernel
def whole(x):
    return RATE * middle(x)


@kernel
def around(x):
    return part(x) - 1


@kernel
def double(x):
    return 2 * x


@kernel
def square(x):
    return x * x


def test_a_kernel_is_an_ordinary_function():
    assert double(4) == 8
    assert double.__name__ == "double"


def test_an_unfilled_slot_says_its_name():
    with pytest.raises(TypeError, match="slot 'part' was never filled"):
        whole(2)


def test_bind_fills_slots_of_inner_kernels_and_leaves_the_original_alone():
    assert bind(whole, part=double)(5) == 33
    assert bind(whole, part=square)(5) == 78
    with pytest.raises(TypeError):
        whole(5)


def test_bind_without_slots_returns_the_kernel_itself():
    assert bind(double, part=square) is double


def test_bind_replaces_a_kernel_that_is_called():
    calls_double = bind(whole, part=double)
    assert bind(calls_double, {double: square})(5) == 78
    assert calls_double(5) == 33


def test_compiled_agrees_with_plain():
    for filling in (double, square):
        bound = bind(whole, part=filling)
        assert compiled(bound)(7) == bound(7)


def test_compiled_is_built_once():
    assert compiled(bind(whole, part=double)) is compiled(bind(whole, part=double))


def test_digest_follows_code_constants_and_parts(monkeypatch):
    first = digest(bind(whole, part=double))
    assert first == digest(bind(whole, part=double))
    assert first != digest(bind(whole, part=square))
    monkeypatch.setitem(whole.__globals__, "RATE", 4)
    assert first != digest(bind(whole, part=double))


STEPS = np.array([1.0, 2.0])


@kernel
def step(i):
    return STEPS[i]


def test_digest_follows_the_numbers_of_arrays(monkeypatch):
    first = digest(step)
    monkeypatch.setitem(step.__globals__, "STEPS", np.array([1.0, 2.5]))
    assert digest(step) != first


@kernel
def scramble(x, y):
    return wrapped_sum(wrapped_product(x, y), y) & 0xFFFFFFFF


@kernel
def scramble_small(x, y):
    """The size of x is known to the compiler, which must not conclude that nothing overflows."""
    return mix(wrapped_sum(x & 0x7FFFFFFF, y))


@pytest.mark.parametrize("function", [scramble, scramble_small])
def test_wrapping_arithmetic_is_the_same_compiled(function):
    fast = compiled(function, store=False)
    for x, y in [(3, 5), (2**40 + 17, -(2**41) + 3), (2**62, 7), (1, -0x61C8864680B583EB), (2, -0x61C8864680B583EB)]:
        assert function(x, y) & (2**64 - 1) == fast(x, y) & (2**64 - 1)


def test_missing_numba_names_the_package(monkeypatch):
    import builtins

    real = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name == "numba":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(module.MissingExtra, match="need numba"):
        compiled(double)


def test_warnings_are_heard_at_once_while_another_thread_compiles(monkeypatch):
    heard = []
    monkeypatch.setattr("warnings.showwarning", lambda message, *_: heard.append(str(message)))
    assert compiled(double, store=False)(2) == 4
    errors = importlib.import_module("numba.core.errors")

    def warn_within():
        with errors.WarningsFixer(errors.NumbaWarning).catch_warnings("file.py", 1):
            warnings.warn("mind the gap", UserWarning, stacklevel=1)
            heard.append("then it goes on")

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        thread = threading.Thread(target=warn_within)
        thread.start()
        thread.join()
    assert heard == ["mind the gap", "then it goes on"]


def test_compiling_leaves_the_streams_alone():
    # With colorama installed numba would replace sys.stdout, also while another thread uses it.
    from numba.core import errors

    compiled(double, store=False)(1)
    if hasattr(errors, "ColorShell"):
        before = sys.stdout
        with errors.ColorShell():
            assert sys.stdout is before


# How parts are compiled.


def code_of(part):
    """What numba made of the part of a kernel."""
    (dispatcher,) = (made for (_, name, _), made in module._cpu.items() if name.startswith(f"{part.__name__}_"))
    (made,) = dispatcher.overloads.values()
    return dispatcher, made.library


def test_parts_get_no_machine_code_of_their_own(monkeypatch):
    monkeypatch.setattr(module, "_cpu", {})
    assert compiled(bind(whole, part=double), store=False)(7) == bind(whole, part=double)(7)
    _, entry = code_of(whole)
    _, part = code_of(double)
    engine = entry.codegen._engine
    named = {function.name for function in part.get_defined_functions()}
    assert named
    assert not any(engine.is_symbol_defined(name) for name in named)


def test_where_numba_is_built_otherwise_parts_are_compiled_as_it_likes(monkeypatch):
    from numba.core.codegen import CPUCodeLibrary
    from numba.core.compiler import Compiler

    assert Compiler not in compilers.__wrapped__()
    monkeypatch.delattr(CPUCodeLibrary, "_finalize_dynamic_globals")
    assert compilers.__wrapped__() == (Compiler, Compiler)


def test_a_part_can_be_stored_for_other_entries(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    from numba.core import config

    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    for entry, hits in ((bind(whole, part=square), 0), (bind(around, part=square), 1)):
        monkeypatch.setattr(module, "_cpu", {})
        assert compiled(entry, apart=("part",))(7) == entry(7)
        dispatcher, _ = code_of(square)
        assert sum(dispatcher.stats.cache_hits.values()) == hits
    # As an entry, the same kernel needs other code.
    assert compiled(square)(7) == square(7) == 49


@kernel
def doubled(numbers):
    return 2 * numbers.x


def test_what_was_kept_for_a_class_that_has_moved_is_compiled_again(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    from numba.core import config

    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    for name in ("policy_of_before", "policy_of_now"):
        (tmp_path / f"{name}.py").write_text("from typing import NamedTuple\nclass Numbers(NamedTuple):\n    x: int\n")
        importlib.invalidate_caches()
        monkeypatch.setattr(module, "_cpu", {})
        assert compiled(doubled)(importlib.import_module(name).Numbers(3)) == 6
        # As if another process came, to which the file has another name.
        del sys.modules[name]
        (tmp_path / f"{name}.py").unlink()


class Inner(NamedTuple):
    counts: np.ndarray


class Outer(NamedTuple):
    inner: Inner
    weights: np.ndarray
    scale: float


@kernel
def weighed(outer):
    total = 0.0
    for i in range(len(outer.weights)):
        total += outer.inner.counts[i] * outer.weights[i]
    return outer.scale * total


@kernel
def weighed_later(size, given):
    made = Outer(inner=Inner(np.full(size, 2.0)), weights=np.arange(size) * 1.0, scale=0.5)
    outer = by_reference(made)
    taken = 0.0
    for _ in range(10):
        taken += np.full(size, 7.0)[0]  # takes the room of arrays that were let go
    total = weighed(outer) + weighed(given) + 0.0 * taken
    keep_alive(made)
    return total


def test_tuples_of_arrays_are_handed_on_by_reference():
    given = Outer(Inner(np.array([1.0, 2.0])), np.array([3.0, 4.0]), 2.0)
    assert compiled(weighed_later, store=False)(1000, given) == weighed_later(1000, given) == 499_500.0 + 22.0
