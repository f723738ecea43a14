"""Built-in instances and instance files."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mfbandit.errors import InstanceError, ModelWarning
from mfbandit.instances import (
    BernoulliLaw,
    BetaLaw,
    GaussianLaw,
    Instance,
    builtin_instances,
    describe_instances,
    load_instance,
)
from mfbandit.model import Bernoulli, Bounded, Gaussian

# name: arms, fidelities, sigma or None, truth, biases, costs
BUILTINS: dict[str, tuple[float | None, list[float], list[float], list[float]]] = {
    "figure-1a": (None, [0.9, 0.8, 0.7, 0.6, 0.5], [0.3, 0.15, 0], [1, 1.1, 1.2]),
    "figure-1b": (
        None,
        [0.9, 0.88, 0.86, 0.84, 0.8],
        [0.1, 0.08, 0.06, 0.04, 0],
        [1, 1.1, 1.2, 1.3, 1.4],
    ),
    "poiani-5x2": (0.1, [0.5, 0.5, 0.5, 0.5, 0.6], [0.1, 0], [0.5, 5]),
    "poiani-4x5": (
        0.1,
        [0.8494082177345, 0.8401617339835982, 0.8495738335928437, 0.9856508560777666],
        [0.1, 0.08, 0.05, 0.025, 0],
        [0.05, 0.1, 0.2, 0.4, 5],
    ),
    "poiani-mu2": (
        0.25,
        [0.6171264590424722, 0.4216672862796813, 0.38316455512652137, 0.37834392383779725],
        [0.1, 0.08, 0.05, 0.025, 0],
        [0.05, 0.1, 0.2, 0.4, 1],
    ),
    "poiani-mu3": (
        0.1,
        [0.5, 0.35, 0.61, 0.43],
        [0.1, 0.08, 0.04, 0.02, 0],
        [0.1, 0.125, 0.25, 0.5, 1],
    ),
    "forever": (1.0, [0.5, 0.6], [0.1, 0], [0.1, 5]),
    "loose-prior": (None, [0.9, 0.8, 0.65], [0.08, 0], [1, 20]),
    "judges": (
        None,
        [0.7039, 0.5264, 0.4906, 0.4305, 0.3329],
        [0.084, 0.026, 0],
        [0.0002, 0.000834, 0.30],
    ),
}

FILE = """
name = "mine"
reward = "bernoulli"
costs = [1, 20]
biases = [0.08, 0]
means = [[0.85, 0.9], [0.75, 0.8]]
"""


def write(folder: Path, text: str, name: str = "file.toml") -> Path:
    """Write an instance file."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def load_builtin(name: str) -> Instance:
    """Load a built-in, expecting the warning of the one that breaks its model."""
    if name == "figure-1b":
        with pytest.warns(ModelWarning):
            return load_instance(name)
    return load_instance(name)


def test_all_built_ins_are_there() -> None:
    assert builtin_instances() == sorted(BUILTINS)


@pytest.mark.parametrize("name", BUILTINS)
def test_built_ins_have_their_numbers(name: str) -> None:
    sigma, truth, biases, costs = BUILTINS[name]
    instance = load_builtin(name)
    assert instance.name == name
    assert instance.problem.truest == len(costs) - 1
    np.testing.assert_array_equal(instance.truth, truth)
    np.testing.assert_array_equal(instance.problem.biases[0], biases)
    np.testing.assert_array_equal(instance.problem.costs[-1], costs)
    assert instance.means.shape == (len(truth), len(costs))
    assert not instance.problem.costs_per_arm
    if sigma is None:
        assert (instance.problem.reward, instance.law) == (Bernoulli(), BernoulliLaw())
    else:
        assert (instance.problem.reward, instance.law) == (Gaussian(sigma), GaussianLaw(sigma))


def test_whole_rows_of_means() -> None:
    assert load_instance("figure-1a").means[1].tolist() == [0.75, 0.775, 0.80]
    assert load_instance("poiani-5x2").means.tolist() == [[0.4, 0.5]] * 4 + [[0.5, 0.6]]
    assert load_instance("poiani-4x5").means[3, 1] == 1.0594008565430237
    assert load_instance("poiani-mu2").means[2, 0] == 0.41537008701866085
    assert load_instance("poiani-mu3").means[2].tolist() == [0.51, 0.56, 0.64, 0.62, 0.61]
    judges = load_instance("judges")
    assert judges.means[:, 1].tolist() == [0.7034, 0.5039, 0.5164, 0.4316, 0.3294]
    assert judges.problem.arms[-1] == "cerebras-gpt-6.7B"
    assert [fidelity.name for fidelity in judges.problem.fidelities] == [
        "PandaLM-7B",
        "GPT-3.5",
        "one human",
    ]


def test_figure_1b_warns_once_and_names_the_two_cells() -> None:
    with pytest.warns(ModelWarning) as seen:
        instance = load_instance("figure-1b")
    assert len(seen) == 1
    assert seen[0].filename == __file__
    cells = [(broken.arm, broken.fidelity) for broken in instance.violations]
    assert cells == [("a", "fidelity 3"), ("c", "fidelity 3")]
    assert [round(broken.difference, 9) for broken in instance.violations] == [0.05, 0.06]
    assert all(broken.sentence in str(seen[0].message) for broken in instance.violations)
    with pytest.raises(InstanceError, match="breaks its own bias bound in 2 cells"):
        load_instance("figure-1b", strict=True)


def test_every_built_in_is_described(recwarn: pytest.WarningsRecorder) -> None:
    rows = describe_instances()
    assert [row.name for row in rows] == builtin_instances()
    assert ("forever", 2, 2, "gaussian") in [(row[0], *row[2:]) for row in rows]
    assert all(row.description.endswith(".") and "\n" not in row.description for row in rows)
    assert not recwarn.list


def test_an_unknown_name_lists_the_known_and_suggests_one() -> None:
    with pytest.raises(InstanceError) as caught:
        load_instance("poiani-mu")
    assert "there is no built-in instance 'poiani-mu'" in str(caught.value)
    assert "did you mean 'poiani-mu" in str(caught.value)
    assert all(name in str(caught.value) for name in BUILTINS)


def test_a_file_is_loaded_by_path_or_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, FILE)
    instance = load_instance(path)
    assert instance == load_instance(str(path))
    assert instance.name == "mine"
    assert instance.problem.arms == ("arm 0", "arm 1")
    monkeypatch.chdir(tmp_path)
    assert load_instance("file.toml") == instance
    write(tmp_path, FILE, "no-suffix")
    assert load_instance("no-suffix") == instance


def test_the_name_of_a_file_stands_in_for_a_missing_name(tmp_path: Path) -> None:
    path = write(tmp_path, FILE.replace('name = "mine"', ""), "other.toml")
    assert load_instance(path).name == "other"


def test_files_of_other_rewards_and_names(tmp_path: Path) -> None:
    beta = FILE.replace('"bernoulli"', '"beta"') + 'concentration = 50\narms = ["p", 2]'
    instance = load_instance(write(tmp_path, beta))
    assert (instance.problem.reward, instance.law) == (Bounded(), BetaLaw(50))
    assert instance.problem.arms == ("p", "2")
    wide = load_instance(write(tmp_path, beta + '\nlow = -1\nhigh = 2\nfidelities = ["u", "v"]'))
    assert wide.problem.reward == Bounded(-1, 2)
    assert wide.problem.fidelities[1].name == "v"
    coin = load_instance(write(tmp_path, FILE + "high = 2"))
    assert (coin.problem.reward, coin.law) == (Bounded(0, 2), BernoulliLaw())
    normal = FILE.replace('"bernoulli"', '"gaussian"') + "sigma = 1"
    assert load_instance(write(tmp_path, normal)).law == GaussianLaw(1)
    per_arm = FILE.replace("[1, 20]", "[[1, 20], [2, 30]]")
    assert load_instance(write(tmp_path, per_arm)).problem.costs_per_arm


def test_strict_in_a_file_and_in_the_call(tmp_path: Path) -> None:
    broken = FILE.replace("0.85", "0.7")
    with pytest.raises(InstanceError, match="breaks its own bias bound in 1 cell:"):
        load_instance(write(tmp_path, broken))
    with pytest.warns(ModelWarning):
        load_instance(write(tmp_path, broken), strict=False)
    with pytest.warns(ModelWarning):
        load_instance(write(tmp_path, broken + "strict = false"))


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("costs = [1, 20]", "", "an instance file lacks the key 'costs'"),
        ("biases = [0.08, 0]", "", "an instance file lacks the key 'biases'"),
        ("means = ", "mean = ", "has the unknown key 'mean'; did you mean 'means'?"),
        ('reward = "bernoulli"', "", "an instance file lacks the key 'reward'"),
        ('"bernoulli"', '"bounded"', "reward is 'bounded'; it must be one of 'bernoulli', 'gauss"),
        ('"bernoulli"', "1", "reward is 1; it must be one of"),
        ('"bernoulli"', '"gaussian"', "lacks the key 'sigma'"),
        ('"bernoulli"', '"beta"', "lacks the key 'concentration'"),
        ('"bernoulli"', '"gaussian"\nsigma = 0', "sigma of a Gaussian reward is 0.0; it must"),
        ('"bernoulli"', '"beta"\nconcentration = -1', "concentration of the Beta law is -1.0"),
        ('"bernoulli"', '"bernoulli"\nsigma = 1', "the key 'sigma' belongs to reward 'gaussian'"),
        ('"bernoulli"', '"gaussian"\nsigma = 1\nlow = 0', "the key 'low' belongs to reward 'ber"),
        ('"bernoulli"', '"bernoulli"\nlow = 2', "low must be below high"),
        ("[1, 20]", "[1, -20]", "the cost of fidelity 'fidelity 1' is -20.0; a cost must be"),
        ("[1, 20]", '"cheap"', "costs must hold numbers only, got 'cheap'"),
        ("[0.08, 0]", "[0.08, 0.01]", "no fidelity has bias 0 for every arm"),
        ("[0.75, 0.8]", "[0.75]", "means is ragged: row 1 (arm 'arm 1') holds 1 value"),
        ("0.75", "nan", "the mean of arm 'arm 1', fidelity 'fidelity 0' is nan"),
        ("[[0.85, 0.9], [0.75, 0.8]]", "[]", "a problem needs at least one arm"),
        ("[[0.85, 0.9], [0.75, 0.8]]", "3", "means is 3; it must be a list with one row per arm"),
        ('name = "mine"', "name = 3", "name is 3; it must be a text"),
        ('name = "mine"', "description = 3", "description is 3; it must be a text"),
        ('name = "mine"', "strict = 1", "strict is 1; it must be true or false"),
        ('name = "mine"', 'arms = ["a"]', "means have shape (2, 2); 1 arms and 2 fidelities"),
        ('name = "mine"', 'arms = ["a", "a"]', "the name 'a' occurs twice among the arms"),
        ('name = "mine"', 'fidelities = ["a"]', "there are 1 fidelity names for 2 columns"),
    ],
)
def test_wrong_files_are_refused_with_their_name(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    assert old in FILE
    path = write(tmp_path, FILE.replace(old, new))
    with pytest.raises(InstanceError, match=re.escape(sentence)) as caught:
        load_instance(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line"),
    [('reward = "bernoulli"\ncosts = [1, 2\nmeans = 3', 3), ("a = 1\n\nb = [1,", 3), ("= 1", 1)],
)
def test_bad_toml_is_refused_with_file_and_line(tmp_path: Path, text: str, line: int) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InstanceError, match=re.escape(f"{path}, line {line}: not valid TOML: ")):
        load_instance(path)


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("absent.toml", "there is no instance file"),
        (".", "is no data set: it has no 'meta.json'"),
        ("binary.toml", "is not UTF-8 text"),
    ],
)
def test_unreadable_files_are_refused(tmp_path: Path, target: str, sentence: str) -> None:
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InstanceError, match=re.escape(sentence)):
        load_instance(tmp_path / target)


@pytest.mark.parametrize("wrong", [None, 3, ["figure-1a"]])
def test_other_things_are_no_instance(wrong: Any) -> None:
    with pytest.raises(InstanceError, match="is loaded by its name or the path of a TOML file"):
        load_instance(wrong)
