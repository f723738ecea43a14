"""Instances: hidden means, reward laws, JSON."""

import copy
import json
import pickle
import re
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mfbandit.errors import InstanceError, InvalidInput, ModelWarning, ProblemError
from mfbandit.instances import (
    BernoulliLaw,
    BetaLaw,
    GaussianLaw,
    Instance,
    RewardLaw,
    TableLaw,
    Violation,
    law_from_json,
)
from mfbandit.model import Bounded, Gaussian, Problem, RewardKind

MEANS = [[0.85, 0.9], [0.75, 0.8], [0.6, 0.65]]


def problem(reward: Any = "bernoulli", arms: Any = "xyz") -> Problem:
    """Build three arms at two fidelities."""
    return Problem(list(arms), [("cheap", 1, 0.08), ("true", 20, 0)], reward)


def test_an_instance_knows_its_truth() -> None:
    instance = Instance(problem(), MEANS, BernoulliLaw(), name="small")
    assert instance.name == "small"
    assert instance.best == 0
    assert instance.violations == []
    np.testing.assert_array_equal(instance.means, MEANS)
    np.testing.assert_array_equal(instance.truth, [0.9, 0.8, 0.65])
    assert "<Instance 'small': 3 arms, 2 fidelities, BernoulliLaw(), best arm 'x'" in repr(instance)


def test_tied_arms_are_allowed_and_the_first_is_best() -> None:
    assert Instance(problem(), [[0.5, 0.5], [0.7, 0.7], [0.7, 0.7]]).best == 1


def test_the_truth_is_the_truest_column_wherever_it_stands() -> None:
    turned = Problem(3, [("true", 20, 0), ("cheap", 1, 0.08)], "bernoulli")
    instance = Instance(turned, np.array(MEANS)[:, ::-1])
    np.testing.assert_array_equal(instance.truth, [0.9, 0.8, 0.65])


@pytest.mark.parametrize(
    "means",
    [
        tuple(map(tuple, MEANS)),
        np.array(MEANS),
        [np.array(row) for row in MEANS],
        (iter(row) for row in MEANS),
        np.asfortranarray(MEANS),
    ],
)
def test_every_array_like_means_the_same_instance(means: Any) -> None:
    instance, usual = Instance(problem(), means), Instance(problem(), MEANS, BernoulliLaw())
    assert instance == usual
    assert hash(instance) == hash(usual)


def test_whole_numbers_are_means_too() -> None:
    assert Instance(problem(), [[0, 0], [1, 1], [0, 0]]).means.dtype == np.float64


@pytest.mark.parametrize(
    ("means", "sentence"),
    [
        (None, "means are missing"),
        (MEANS[:2], "means have shape (2, 2); 3 arms and 2 fidelities need shape (3, 2)"),
        (np.transpose(MEANS), "means have shape (2, 3)"),
        ([0.5, 0.6, 0.7], "means have shape (3,)"),
        (0.5, "means have shape ()"),
        ([], "means have shape (0,)"),
        ([[0.5, 0.5], [0.5], [0.5, 0.5]], "ragged: row 1 (arm 'y') holds 1 value, row 0 2 values"),
        ([[0.5, 0.5], [0.5, np.nan], [0.5, 0.5]], "arm 'y', fidelity 'true' is nan; means must be"),
        ([[0.5, 0.5], [0.5, 0.5], [np.inf, 0.5]], "the mean of arm 'z', fidelity 'cheap' is inf"),
        ([[0.5, 0.5], [1.01, 1], [0, 0]], "arm 'y', fidelity 'cheap' is 1.01, outside the reward"),
        ([[0.5, 0.5], [1, 1], [-0.01, 0]], "the mean of arm 'z', fidelity 'cheap' is -0.01, out"),
        ([["a", 0.5]] * 3, "means must hold numbers only, got 'a'"),
        ({"x": 1}, "means must hold numbers only"),
    ],
)
@pytest.mark.parametrize("strict", [True, False])
def test_wrong_means_are_refused_in_one_sentence(means: Any, sentence: str, strict: bool) -> None:
    with pytest.raises(InstanceError, match=re.escape(sentence)):
        Instance(problem(), means, strict=strict)


def test_a_broken_bias_bound_names_the_cells() -> None:
    means = [[0.8, 0.9], [0.75, 0.8], [0.8, 0.65]]
    sentence = (
        "the instance breaks its own bias bound in 2 cells: arm 'x', fidelity 'cheap' is 0.1 from "
        "the truth, beyond its bias bound 0.08; arm 'z', fidelity 'cheap' is 0.15 from the truth"
    )
    with pytest.raises(InstanceError, match=re.escape(sentence)) as caught:
        Instance(problem(), means)
    assert "strict=False" in str(caught.value)
    with pytest.warns(ModelWarning, match=re.escape(sentence)) as seen:
        instance = Instance(problem(), means, strict=False)
    assert len(seen) == 1
    assert seen[0].filename == __file__
    assert [(broken.arm, broken.fidelity) for broken in instance.violations] == [
        ("x", "cheap"),
        ("z", "cheap"),
    ]
    assert instance.violations[0].difference == pytest.approx(0.1)
    assert instance.violations[0].bias == 0.08
    assert isinstance(instance.violations[0], Violation)


def test_many_broken_bounds_are_counted() -> None:
    large = Problem(30, [("cheap", 1, 0.08), ("true", 20, 0)], "bernoulli")
    with pytest.raises(InstanceError, match=r"in 30 cells: .*; and 20 more"):
        Instance(large, [[0.5, 0.9]] * 30)


def test_bounds_met_up_to_rounding_hold() -> None:
    tight = Problem(2, [("cheap", 1, 0.1), ("true", 5, 0)], Gaussian(1))
    assert abs(0.9 - 0.8) < 0.1 < abs(1.1 - 1.0)
    assert Instance(tight, [[1.1, 1.0], [0.9, 0.8]]).violations == []
    far = Problem(1, [("cheap", 1, 0.1), ("true", 5, 0)], Gaussian(1))
    assert Instance(far, [[1e6 + 0.1, 1e6]]).violations == []


def test_a_second_fidelity_without_bias_must_tell_the_truth() -> None:
    double = Problem(1, [("first", 1, 0), ("second", 2, 0)], "bernoulli")
    with pytest.raises(InstanceError, match=r"fidelity 'first' is 0\.1 from the truth"):
        Instance(double, [[0.5, 0.6]])


TABLE = TableLaw([[[0.8, 0.9], [0.9]], [[0.75], [0.7, 0.8, 0.9]], [[0.6], [0.65, 0.65]]])


@pytest.mark.parametrize(
    ("reward", "law"),
    [
        ("bernoulli", BernoulliLaw()),
        ("bernoulli", TABLE),
        ("bounded", BetaLaw(50)),
        ("bounded", BernoulliLaw()),
        ("bounded", TABLE),
        (Bounded(-1, 1), TABLE),
        (Gaussian(0.1), GaussianLaw(0.1)),
        (Gaussian(0.1), GaussianLaw(0.05)),
    ],
)
def test_laws_that_fit(reward: Any, law: RewardLaw) -> None:
    assert Instance(problem(reward), MEANS, law).law == law


@pytest.mark.parametrize(
    ("reward", "law", "sentence"),
    [
        ("bernoulli", BetaLaw(5), "does not fit the reward kind Bernoulli()"),
        ("bernoulli", GaussianLaw(1), "the reward law GaussianLaw(sigma=1.0) does not fit"),
        ("bounded", GaussianLaw(1), "does not fit the reward kind Bounded(low=0.0, high=1.0)"),
        (Gaussian(1), BernoulliLaw(), "does not fit the reward kind Gaussian(sigma=1.0)"),
        (Gaussian(1), BetaLaw(1), "does not fit"),
        (Gaussian(1), TABLE, "does not fit"),
        (Gaussian(1), GaussianLaw(2), "is noisier than the problem promises: its sigma must be"),
        ("bernoulli", "bernoulli", "the reward law 'bernoulli' does not fit"),
        ("bounded", None, "leaves the reward law open: pass law=BetaLaw(concentration)"),
        (
            "bounded",
            TableLaw([[[0.8], [0.9]]]),
            "the table has 1 rows of 2 cells; the problem has 3 arms and 2 fidelities",
        ),
        (
            Bounded(0, 0.85),
            TABLE,
            "holds the reward 0.9 in row 1 of arm 'x', fidelity 'cheap', outside the reward range",
        ),
    ],
)
def test_laws_that_do_not_fit(reward: Any, law: Any, sentence: str) -> None:
    with pytest.raises(InstanceError, match=re.escape(sentence)):
        Instance(problem(reward), MEANS, law)


@pytest.mark.parametrize("number", [0, -1, np.nan, np.inf, "1", None, [1, 2]])
def test_numbers_of_laws_must_be_positive(number: Any) -> None:
    with pytest.raises(InstanceError, match="sigma of the Gaussian law"):
        GaussianLaw(number)
    with pytest.raises(InstanceError, match="concentration of the Beta law"):
        BetaLaw(number)


def test_a_table_brings_its_own_means() -> None:
    instance = Instance(problem(), law=TABLE)
    np.testing.assert_allclose(instance.means, MEANS)
    np.testing.assert_array_equal(instance.means, TABLE.means)
    wrong = [[0.85, 0.9], [0.75, 0.8], [0.6, 0.64]]
    with pytest.raises(InstanceError, match=r"'true' is 0.64, but its table cell averages 0.65"):
        Instance(problem(), wrong, TABLE)


def test_averages_stay_inside_the_range_of_a_cell() -> None:
    law = TableLaw([[[0.1] * 3]])
    assert np.mean([0.1] * 3) > 0.1
    assert law.means[0, 0] == 0.1


def test_tables_of_every_form_are_equal() -> None:
    cells = np.arange(12.0).reshape(2, 2, 3) / 12
    law = TableLaw(cells)
    assert law == TableLaw([[list(cell) for cell in row] for row in cells])
    assert law == TableLaw((iter(cell) for cell in row) for row in cells)
    assert hash(law) == hash(copy.deepcopy(law))
    assert law != TABLE
    assert law.cells[1][0].tolist() == cells[1, 0].tolist()
    for copied in (law, pickle.loads(pickle.dumps(law))):
        with pytest.raises(ValueError, match="read-only"):
            copied.cells[0][0][0] = 1.0


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ([], "the table has no cells"),
        ([[]], "the table has no cells"),
        (5, "a table must be a list of rows of cells, got 5"),
        ({"a": 1}, "a table must be a list of rows of cells"),
        ([5], "row 0 of the table must be a list of cells, got 5"),
        ([[[1], []]], "the table cell of arm 0, fidelity 1 is empty"),
        ([[5, 6]], "the table cell of arm 0, fidelity 0 has 0 dimensions"),
        ([[[1], [2]], [[1]]], "the table is ragged: row 1 has 1 cells, row 0 has 2"),
        ([[[1], [1, np.nan]]], "arm 0, fidelity 1 holds nan in row 1; rewards must be finite"),
        ([[[1], ["a"]]], "the table cell of arm 0, fidelity 1 must hold numbers only, got 'a'"),
    ],
)
def test_wrong_tables_are_refused(cells: Any, sentence: str) -> None:
    with pytest.raises(InstanceError, match=re.escape(sentence)):
        TableLaw(cells)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"problem": "p"}, "an instance needs a Problem, got 'p'"),
        ({"name": 3}, "the name of an instance must be a text, got 3"),
        ({"strict": "no"}, "strict is 'no'; it must be True or False"),
    ],
)
def test_other_wrong_arguments_are_refused(changes: Any, sentence: str) -> None:
    with pytest.raises(InstanceError, match=re.escape(sentence)):
        Instance(**{"problem": problem(), "means": MEANS, **changes})


def test_nothing_of_an_instance_can_be_changed_and_copies_do_not_warn() -> None:
    means = np.array([[0.8, 0.9], [0.75, 0.8], [0.6, 0.65]])
    with pytest.warns(ModelWarning):
        instance = Instance(problem(), means, strict=False)
    means[:] = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        copies = [instance, copy.deepcopy(instance), pickle.loads(pickle.dumps(instance))]
    for copied in copies:
        assert copied == instance
        for array in (copied.means, copied.truth):
            with pytest.raises(ValueError, match="read-only"):
                array.flat[0] = 1.0


@pytest.mark.parametrize(
    ("changes", "error", "sentence"),
    [
        ({"law": {"law": "cauchy"}}, InstanceError, "its key 'law' must be one of bernoulli, gau"),
        ({"law": {}}, InstanceError, "its key 'law' must be one of"),
        ({"law": None}, InstanceError, "the reward law None is unknown"),
        ({"law": {"law": "beta"}}, InstanceError, "the beta law lacks the key 'concentration'"),
        ({"extra": 1}, InstanceError, "an instance has the unknown key 'extra'"),
        ({"problem": {}}, ProblemError, "a problem lacks the keys"),
    ],
)
def test_wrong_json_is_refused(changes: Any, error: type[InvalidInput], sentence: str) -> None:
    data = Instance(problem(), MEANS).to_json()
    with pytest.raises(error, match=re.escape(sentence)):
        Instance.from_json({**data, **changes})
    with pytest.raises(InstanceError, match="an instance lacks the keys 'problem', 'means', 'law'"):
        Instance.from_json({})
    with pytest.raises(InstanceError, match="an instance must be a mapping"):
        Instance.from_json([])  # type: ignore[arg-type]


def test_an_instance_with_broken_bounds_survives_json() -> None:
    with pytest.warns(ModelWarning):
        instance = Instance(problem(), [[0.8, 0.9], [0.75, 0.8], [0.6, 0.65]], strict=False)
    with pytest.warns(ModelWarning):
        assert Instance.from_json(instance.to_json()) == instance
    with pytest.raises(InstanceError):
        Instance.from_json(instance.to_json(), strict=True)


@st.composite
def instances(draw: st.DrawFn) -> Instance:
    """Any instance of any law whose means keep their bounds."""
    n_arms, n_fidelities = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    kind: RewardKind = draw(st.sampled_from([Bounded(), Bounded(-2, 3), Gaussian(0.3), problem().reward]))
    units = st.lists(st.floats(0, 1), min_size=n_fidelities, max_size=n_fidelities)
    shares = np.array(draw(st.lists(units, min_size=n_arms, max_size=n_arms)))
    means = np.clip(kind.from_unit(shares), kind.low, kind.high)
    costs = draw(st.lists(st.floats(1e-6, 1e6), min_size=n_fidelities, max_size=n_fidelities, unique=True))
    truth = means[:, [int(np.argmax(costs))]]
    biases = np.where(np.arange(n_fidelities) == np.argmax(costs), 0.0, np.abs(means - truth) + 0.1)
    model = Problem.from_arrays(costs, biases, reward=kind)
    laws: list[RewardLaw] = [BernoulliLaw(), TableLaw(means[:, :, np.newaxis])]
    if isinstance(kind, Gaussian):
        laws = [GaussianLaw(0.3), GaussianLaw(0.1)]
    elif isinstance(kind, Bounded):
        laws.append(BetaLaw(draw(st.floats(1e-3, 1e6))))
    return Instance(model, means, draw(st.sampled_from(laws)), name=draw(st.text()))


@given(instances())
def test_every_instance_survives_json(instance: Instance) -> None:
    again = Instance.from_json(json.loads(json.dumps(instance.to_json(), allow_nan=False)))
    assert again == instance
    assert hash(again) == hash(instance)
    assert law_from_json(instance.law.to_json()) == instance.law
    assert instance.truth[instance.best] == instance.truth.max()
