"""Layouts: memory by name and shape, in plain Python, compiled, and in what is compiled anew."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import mfbandit as mf
from mfbandit.algorithms import REGISTRY
from mfbandit.core import Goal, State, arrays, kept_numbers, new_state
from mfbandit.kernel import bind, compiled, digest, kernel
from mfbandit.layout import NoMemory, clear_rest, fields, floats, group, integers, layout, rebuilt

PROBLEM = arrays(mf.Problem(3, [("quick", 1.0, 0.2), ("slow", 9.0, 0.0)]))


class Inner(NamedTuple):
    """A group."""

    cells: Any = floats("arms", "fidelities")
    room: Any = floats(2, kept=False)


class Outer(NamedTuple):
    """A memory."""

    turns: Any = integers(1)
    split: Any = floats("arms")
    inner: Any = group(Inner)
    flags: Any = integers(lambda problem: 2 * problem.cost.shape[0])


@kernel
def split(state: State, arm: int) -> float:
    """Its name is that of a field."""
    state.own.turns[0] += 1
    state.own.split[arm] += 0.5
    state.own.inner.cells[arm, 1] = state.own.split[arm] + state.own.turns[0]
    state.own.flags[5] = arm
    return float(state.own.inner.cells[arm, 1])


def test_fields_lie_one_after_the_other_in_the_block_of_their_type():
    laid = layout(Outer, PROBLEM)
    assert [(space.name, space.shape, space.start) for space in laid.spaces] == [
        ("turns", (1,), 0),
        ("split", (3,), 0),
        ("inner.cells", (3, 2), 3),
        ("inner.room", (2,), 9),
        ("flags", (6,), 1),
    ]
    assert (laid.floats, laid.integers) == (11, 7)
    numbers, wholes = laid.blocks()
    own = laid.of(numbers, wholes)
    own.inner.cells[2, 1], own.flags[5] = 7.0, 9
    assert numbers[8] == 7.0
    assert wholes[6] == 9
    assert all(array.flags.c_contiguous for array in fields(own).values())


def test_plain_and_compiled_code_see_the_same_fields():
    plain, fast = new_state(PROBLEM, Outer), new_state(PROBLEM, Outer)
    run = compiled(split, store=False)
    assert [split(plain, arm) for arm in (2, 2, 0)] == [run(fast, arm) for arm in (2, 2, 0)] == [1.5, 3.0, 3.5]
    for name, array in fields(plain.own).items():
        np.testing.assert_array_equal(array, fields(fast.own)[name])


def test_an_algorithm_may_remember_nothing():
    state = new_state(PROBLEM)
    assert isinstance(state.own, NoMemory)
    assert layout(NoMemory, PROBLEM).spaces == ()

    @kernel
    def count(state):
        state.clock[0] += 1
        return state.clock[0]

    assert compiled(count, store=False)(state) == 1


def test_what_is_not_kept_is_cleared():
    own = new_state(PROBLEM, Outer).own
    for array in fields(own).values():
        array[...] = 1
    copy = rebuilt(own, np.copy)
    clear_rest(own)
    assert {name for name, array in fields(own).items() if not array.any()} == {"inner.room"}
    assert all(array.all() for array in fields(copy).values())
    assert "inner.room" not in fields(own, kept=True)


@pytest.mark.parametrize("name", ["index", "count", "bits", "places"])
def test_names_that_mean_something_else_are_refused(name: str) -> None:
    kind = NamedTuple("kind", [(name, Any)])  # type: ignore[misc]
    kind._field_defaults = {name: floats(1)}
    with pytest.raises(TypeError, match="needs another name"):
        layout(kind, PROBLEM)


def test_a_field_must_say_what_it_holds():
    class Wrong(NamedTuple):
        """A default that is no declaration."""

        split: float = 0.0

    with pytest.raises(TypeError, match=r"Wrong.split must be declared by floats"):
        layout(Wrong, PROBLEM)


def test_code_that_reads_another_field_has_another_fingerprint():
    @kernel
    def one(state):
        return state.own.split[0]

    @kernel
    def other(state):
        return state.own.value[0]

    assert digest(one) != digest(other)


def test_a_field_is_no_part_that_is_bound():
    @kernel
    def halve(state, arm):
        return 0.0

    assert bind(split, {halve: halve}) is split
    assert digest(split) == digest(bind(split))


@pytest.mark.parametrize("name", REGISTRY)
def test_every_policy_finds_its_memory_by_name(name: str) -> None:
    policy = mf.policy(REGISTRY[name].example)
    problem = mf.Problem(3, [("quick", 1.0, 0.2), ("slow", 9.0, 0.0)], blocks=50 if policy.on_blocks else None)
    seen = arrays(problem, policy.columns(problem))
    algorithm = policy.ready(problem, seen, Goal(budget=100.0))
    state = new_state(seen, algorithm.memory)
    assert isinstance(state.own, algorithm.memory)
    assert not any(array.any() for array in fields(state.own).values())
    out = np.zeros((algorithm.rows, 3), dtype=np.int64)
    assert algorithm.plan(seen, algorithm.params, state, out) > 0


@pytest.mark.parametrize("copied", [False, True])
def test_all_that_is_kept_comes_in_the_order_of_the_fields_whatever_lies_side_by_side(copied):
    own = new_state(PROBLEM, Outer).own
    for number, array in enumerate(fields(own).values()):
        array[...] = number + np.arange(array.size).reshape(array.shape) / 16 * (array.dtype == float)
    own = rebuilt(own, np.ndarray.copy) if copied else own
    found = kept_numbers(own)
    assert len(found) == (4 if copied else 3)
    wanted = [array.reshape(-1).view(np.int64) for array in fields(own, kept=True).values()]
    assert np.concatenate([part.view(np.int64) for part in found]).tolist() == np.concatenate(wanted).tolist()
    own.split[1] = -3.0
    assert any(-3.0 in part for part in found), "they are no copies"
