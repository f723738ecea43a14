"""Problems: what is accepted, what is refused, and what comes back."""

import copy
import dataclasses
import json
import pickle
import re
from collections import UserList
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mfbandit.errors import ProblemError
from mfbandit.model import Bernoulli, Bounded, Fidelity, Gaussian, Problem

CHEAP = Fidelity("cheap", cost=1, bias=0.1)
TRUE = Fidelity("true", cost=10)


class Frame:
    """Converts to an array like a data frame does, without being a sequence."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.values, dtype=dtype)


def make(**changes: Any) -> Problem:
    """Build a small problem with some arguments replaced."""
    arguments: dict[str, Any] = {"arms": ["a", "b"], "fidelities": [CHEAP, TRUE]}
    return Problem(**{**arguments, **changes})


def arrays(**changes: Any) -> Problem:
    """Build a small problem from arrays with some arguments replaced."""
    arguments: dict[str, Any] = {
        "costs": [1, 10],
        "biases": [0.1, 0],
        "arms": ["a", "b"],
        "fidelities": ["cheap", "true"],
    }
    return Problem.from_arrays(**{**arguments, **changes})


def test_a_problem_has_names_numbers_and_a_truth() -> None:
    problem = make(reward="bernoulli")
    assert problem.arms == ("a", "b")
    assert problem.fidelities == (CHEAP, TRUE)
    assert (problem.n_arms, problem.n_fidelities, problem.truest) == (2, 2, 1)
    assert problem.reward == Bernoulli()
    np.testing.assert_array_equal(problem.costs, [[1, 10], [1, 10]])
    np.testing.assert_array_equal(problem.biases, [[0.1, 0], [0.1, 0]])
    assert not problem.costs_per_arm
    assert repr(problem) == "<Problem: 2 arms, fidelities 'cheap', 'true' (the truth), Bernoulli()>"


@pytest.mark.parametrize(
    "costs",
    [
        [1, 10],
        (1.0, 10),
        np.array([1, 10], dtype=np.int8),
        np.array([1, 10], dtype=np.float32),
        np.array([1, 10], dtype=object),
        (10**power for power in range(2)),
        UserList([1, 10]),
        Frame([1, 10]),
        [np.float64(1), np.int64(10)],
        [np.array(1), 10],
        [Fraction(1), Decimal(10)],
        [[1, 10], [1, 10]],
        np.array([[1, 10], [1, 10]]),
        Frame([[1, 10], [1, 10]]),
        ((cost for cost in (1, 10)) for _ in range(2)),
        [np.array([1, 10]), (1, 10)],
        np.ma.masked_array([1, 10], mask=[False, False]),
    ],
)
def test_every_array_like_means_the_same_problem(costs: Any) -> None:
    problem = arrays(costs=costs)
    assert problem == make()
    assert hash(problem) == hash(make())


@pytest.mark.parametrize(
    "entries",
    [
        [("cheap", 1, 0.1), ("true", 10, 0)],
        [["cheap", 1, 0.1], ("true", 10)],
        [{"name": "cheap", "cost": 1, "bias": 0.1}, {"name": "true", "cost": 10}],
        (fidelity for fidelity in (CHEAP, TRUE)),
        (CHEAP, ("true", [10, 10], (0, 0))),
        {"first": CHEAP, "second": TRUE}.values(),
    ],
)
def test_fidelities_may_be_objects_tuples_or_dicts(entries: Any) -> None:
    assert make(fidelities=entries) == make()


@pytest.mark.parametrize(
    ("arms", "names"),
    [
        (2, ("arm 0", "arm 1")),
        (np.int64(2), ("arm 0", "arm 1")),
        (np.array(["x", "y"]), ("x", "y")),
        (("x", 2), ("x", "2")),
        ([0.1, np.float32(0.2)], ("0.1", "0.2")),
        (range(2), ("0", "1")),
        ({"x": None, "y": None}, ("x", "y")),
        ({"x": None, "y": None}.keys(), ("x", "y")),
        ((name for name in "xy"), ("x", "y")),
    ],
)
def test_arms_may_be_a_number_or_names(arms: Any, names: tuple[str, ...]) -> None:
    problem = make(arms=arms)
    assert problem.arms == names
    assert all(type(name) is str for name in problem.arms)


def test_from_arrays_needs_no_names() -> None:
    problem = Problem.from_arrays([[1, 2], [3, 4], [5, 6]], [0.1, 0])
    assert problem.arms == ("arm 0", "arm 1", "arm 2")
    assert [fidelity.name for fidelity in problem.fidelities] == ["fidelity 0", "fidelity 1"]
    assert problem.costs_per_arm
    assert problem.fidelities[0] == Fidelity("fidelity 0", (1, 3, 5), 0.1)
    assert problem.fidelities[0].cost == (1.0, 3.0, 5.0)


@pytest.mark.parametrize(
    ("costs", "biases", "truest"),
    [
        ([1, 2, 3], [0.1, 0, 0.2], 1),
        ([1, 3, 2], [0, 0, 0.1], 1),
        ([3, 2, 1], [0, 0, 0], 0),
        ([2, 2, 1], [0, 0, 0], 1),
        ([[1, 9], [9, 1]], [0, 0], 1),
        ([[1, 9], [9, 2]], [0, 0], 1),
        ([1, 2], [[0, 0], [0, 0.1]], 0),
        ([0.1, 0.1], [[0, 0]] * 7, 1),
        ([5], [-0.0], 0),
    ],
)
def test_the_truest_is_the_dearest_without_bias_and_of_ties_the_last(costs: Any, biases: Any, truest: int) -> None:
    arms = None if np.ndim(costs) + np.ndim(biases) > 2 else 2
    assert Problem.from_arrays(costs, biases, arms=arms).truest == truest


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"arms": 0}, "a problem needs at least one arm, got arms=0"),
        ({"arms": []}, "at least one arm, got no names"),
        ({"arms": True}, "arms must be a list of names, got True"),
        ({"arms": 2.0}, "arms must be a list of names, got 2.0"),
        ({"arms": "ab"}, "arms must be a list of names, got 'ab'"),
        ({"arms": {"a"}}, "arms must be a list of names, got {'a'}"),
        ({"arms": None}, "arms must be a list of names, got None"),
        ({"arms": np.array(2.0)}, "arms must be a list of names"),
        ({"arms": ["a", "a"]}, "the name 'a' occurs twice among the arms; names must differ"),
        ({"arms": ["a", ""]}, "position 1 of the arms is ''; a name must not be empty"),
        ({"arms": ["a", "  "]}, "a name must not be empty"),
        ({"arms": ["a", None]}, "is None; a name must be a text or a number"),
        ({"arms": ["a", ["b"]]}, "is ['b']; a name must be a text or a number"),
        ({"arms": [True, False]}, "is True; a name must be a text or a number"),
        ({"arms": ["a", float("nan")]}, "is nan; a name must be a text or a finite number"),
        ({"arms": ["a", 1j]}, "a name must be a text or a number"),
        ({"arms": [b"a", "b"]}, "is b'a'; a name must be a text or a number"),
        ({"fidelities": []}, "a problem needs at least one fidelity, got none"),
        ({"fidelities": TRUE}, "fidelities must be a list of Fidelity objects, got Fidelity"),
        ({"fidelities": {"true": 1}}, "fidelities must be a list of Fidelity objects"),
        ({"fidelities": "true"}, "fidelities must be a list of Fidelity objects, got 'true'"),
        ({"fidelities": ("true", 1, 0)}, "the fidelity at position 0 must be a Fidelity"),
        ({"fidelities": [TRUE, ("x",)]}, "the fidelity at position 1 must be a Fidelity"),
        ({"fidelities": [{"name": "x"}]}, "the fidelity at position 0 lacks the key 'cost'"),
        (
            {"fidelities": [{"name": "x", "cost": 1, "bais": 0}]},
            "has the unknown key 'bais'; did you mean 'bias'?",
        ),
        ({"fidelities": [(" ", 1, 0)]}, "a name must not be empty"),
        ({"fidelities": [TRUE, TRUE]}, "the name 'true' occurs twice among the fidelities"),
        ({"fidelities": [CHEAP]}, "no fidelity has bias 0 for every arm"),
        (
            {"fidelities": [CHEAP, ("true", 1, [0, 0.05])]},
            "the nearest is fidelity 'true' with bias 0.05 for arm 'b'",
        ),
        (
            {"fidelities": [("true", [1, 2, 3], 0)]},
            "the cost of fidelity 'true' has length 3 for 2 arms",
        ),
        (
            {"fidelities": [Fidelity("true", [1, 2, 3])]},
            "the cost of fidelity 'true' has length 3 for 2 arms",
        ),
        ({"fidelities": [("x", [[1, 2]], 0)]}, "fidelity 'x' has shape (1, 2)"),
        ({"fidelities": [("x", [], 0)]}, "the cost of fidelity 'x' is empty"),
        ({"fidelities": [("x", 0, 0)]}, "the cost of fidelity 'x' is 0.0; a cost must be a pos"),
        ({"fidelities": [("x", [1, -2], 0)]}, "the cost of arm 'b', fidelity 'x' is -2.0; a cost"),
        ({"fidelities": [("x", [1, np.nan])]}, "the cost of arm 'b', fidelity 'x' is nan"),
        ({"fidelities": [("x", 1, [0, -0.1])]}, "the bias of arm 'b', fidelity 'x' is -0.1; a"),
        ({"fidelities": [("x", 1, [np.inf, 0])]}, "the bias of arm 'a', fidelity 'x' is inf"),
        ({"fidelities": [("x", "1", 0)]}, "the cost of fidelity 'x' must hold numbers only, got"),
        ({"fidelities": [("x", None, 0)]}, "must hold numbers only, got None"),
        ({"fidelities": [("x", True, 0)]}, "must hold numbers only, got True"),
        ({"fidelities": [("x", 1, {"a": 0})]}, "must hold numbers only, got {'a': 0}"),
        ({"fidelities": [("x", 1j, 0)]}, "must hold numbers only, got 1j"),
        ({"reward": "bernouli"}, "did you mean 'bernoulli'?"),
        ({"reward": "gaussian"}, "the gaussian reward needs its noise: pass Gaussian(sigma=...)"),
        ({"reward": None}, "reward None is unknown"),
        ({"reward": Gaussian}, "is unknown"),
        ({"reward": {"kind": "poisson"}}, "reward kind 'poisson' is unknown"),
        ({"reward": {"kind": "gaussian"}}, "the gaussian reward needs its noise: pass Gaussian(sigma=...)"),
    ],
)
def test_a_wrong_problem_is_refused_in_one_sentence(changes: Any, sentence: str) -> None:
    with pytest.raises(ProblemError, match=re.escape(sentence)) as caught:
        make(**changes)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"costs": [[1, 2], [1]]},
            "costs is ragged: row 1 (arm 'b') holds 1 value, row 0 2 values",
        ),
        ({"costs": [1, [2, 3]]}, "costs is ragged: row 1 (arm 'b') holds 2 values, row 0 a single"),
        ({"costs": [1, 2, 3]}, "costs are given for 3 fidelities and biases for 2"),
        ({"costs": 1}, "costs have shape (); they must be one number per fidelity"),
        ({"costs": [[[1]]]}, "costs have shape (1, 1, 1)"),
        ({"costs": [[[[[1]]]]]}, "costs must hold numbers, got sequences nested 4 levels deep"),
        ({"costs": [], "biases": [], "fidelities": None}, "at least one fidelity, got none"),
        ({"costs": [[1, 2]] * 3}, "costs have 3 rows for 2 arms"),
        ({"biases": [[0.1, 0]]}, "biases have 1 rows for 2 arms"),
        ({"costs": [[1, 2], [3, 0]]}, "the cost of arm 'b', fidelity 'true' is 0.0; a cost must"),
        ({"costs": [1, np.inf]}, "the cost of fidelity 'true' is inf; a cost must be a positive"),
        (
            {"costs": np.ma.masked_array([1, 2], mask=[False, True])},
            "the cost of fidelity 'true' is nan",
        ),
        ({"costs": ["1", "2"]}, "costs must hold numbers only, got '1'"),
        ({"costs": np.array(["1", "2"])}, "costs must hold numbers only, got '1'"),
        ({"costs": np.array([True, True])}, "costs must hold numbers only, got True"),
        ({"costs": np.array([1, None])}, "costs must hold numbers only, got None"),
        ({"costs": [1, 10**400]}, "costs must hold numbers only, got 1000"),
        ({"costs": Frame([[1, 2], [1]])}, "costs cannot be read as numbers"),
        ({"costs": {1.0, 2.0}}, "costs must hold numbers only, got {1.0, 2.0}"),
        ({"fidelities": ["one"]}, "there are 1 fidelity names for 2 columns of costs"),
        ({"fidelities": ["x", "x"]}, "the name 'x' occurs twice among the fidelities"),
        ({"arms": None}, "the number of arms is unknown"),
        (
            {"arms": None, "costs": [[1, 2]] * 3, "biases": [[0, 0]] * 2},
            "costs have 3 rows and biases 2",
        ),
        ({"arms": None, "costs": np.ones((0, 2))}, "a problem needs at least one arm"),
    ],
)
def test_wrong_arrays_are_refused_in_one_sentence(changes: Any, sentence: str) -> None:
    with pytest.raises(ProblemError, match=re.escape(sentence)):
        arrays(**changes)


def test_a_fidelity_checks_itself() -> None:
    with pytest.raises(ProblemError, match=r"the cost of arm 1, fidelity 'x' is -2\.0"):
        Fidelity("x", [1, -2])
    with pytest.raises(ProblemError, match="is None; a name must be a text or a number"):
        Fidelity(None, 1)  # type: ignore[arg-type]
    assert Fidelity(7, 1).name == "7"
    assert eval(repr(Fidelity("x", [1, 2], 0.5))) == Fidelity("x", (1.0, 2.0), 0.5)


def test_nothing_of_a_problem_can_be_changed() -> None:
    costs = np.array([[1.0, 10.0], [1.0, 10.0]])
    problem = arrays(costs=costs)
    costs[:] = 99.0
    assert problem == make()
    for copied in (problem, copy.deepcopy(problem), pickle.loads(pickle.dumps(problem))):
        assert copied == problem
        for array in (copied.costs, copied.biases):
            with pytest.raises(ValueError, match="read-only"):
                array[0, 0] = 5.0
        field = "arms"
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(copied, field, ())
    assert dataclasses.replace(problem, reward=Bernoulli()) == make(reward="bernoulli")


def test_equality_is_by_content() -> None:
    assert make() != make(arms=["a", "c"])
    assert make() != make(reward="bernoulli")
    assert make() != make(fidelities=[CHEAP, ("true", 11)])
    assert make() != make(fidelities=[CHEAP, ("truth", 10)])
    assert make() != "a problem"
    assert len({make(), arrays(), make(reward=Bounded(0, 1))}) == 1


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ([], "a problem must be a mapping"),
        ({"arms": ["a"]}, "a problem lacks the keys 'fidelities', 'reward'"),
        ({**make().to_json(), "arm": 1}, "a problem has the unknown key 'arm'; did you mean"),
    ],
)
def test_wrong_json_is_refused(data: Any, sentence: str) -> None:
    with pytest.raises(ProblemError, match=re.escape(sentence)):
        Problem.from_json(data)


finite = st.floats(-1e6, 1e6)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
kinds = st.one_of(
    st.just(Bernoulli()),
    st.builds(lambda low, width: Bounded(low, low + width), finite, st.floats(0.1, 1e6)),
    st.builds(Gaussian, st.floats(1e-9, 1e9)),
)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Any problem, with costs and biases for all arms or per arm."""
    arms = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    labels = draw(st.lists(names, min_size=1, max_size=4, unique=True))

    def per_arm(numbers: st.SearchStrategy[float]) -> Any:
        column = st.lists(numbers, min_size=len(arms), max_size=len(arms))
        return draw(st.one_of(numbers, column))

    cost, bias = st.floats(1e-300, 1e300), st.floats(0, 1e300)
    fidelities = [Fidelity(label, per_arm(cost), per_arm(bias)) for label in labels[1:]]
    return Problem(arms, [Fidelity(labels[0], per_arm(cost)), *fidelities], draw(kinds))


@given(problems())
def test_every_problem_survives_json(problem: Problem) -> None:
    again = Problem.from_json(json.loads(json.dumps(problem.to_json(), allow_nan=False)))
    assert again == problem
    assert hash(again) == hash(problem)
    assert again.fidelities == problem.fidelities
    assert not problem.biases[:, problem.truest].any()
