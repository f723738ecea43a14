import json

import pytest

from mfbandit import theory
from mfbandit.cli import main
from mfbandit.instances import builtin_instances, load_instance

KEYS = [
    "H",
    "H_tilde",
    "G_tilde",
    "optimal_fidelity",
    "lower_bound",
    "upper_bound_a",
    "upper_bound_b",
    "upper_bound_c",
    "characteristic_cost",
    "limit",
    "weights",
    "regret_lower_coefficient",
    "regret_upper_coefficient",
    "violations",
]


def refuse_constant(name):
    raise AssertionError(f"{name} is not JSON")


def found(capsys, *arguments):
    assert main(["bounds", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out, parse_constant=refuse_constant)


@pytest.mark.parametrize("name", builtin_instances())
def test_json_of_every_instance_has_the_keys_of_the_design(capsys, name):
    bounds = found(capsys, name)
    assert set(KEYS) <= set(bounds)
    assert len(bounds["optimal_fidelity"]) == len(bounds["weights"])
    assert sum(map(sum, bounds["weights"])) == pytest.approx(1.0)


def test_the_numbers_are_those_of_theory(capsys):
    instance = load_instance("figure-1a")
    bounds = found(capsys, "figure-1a", "--delta", "0.1", "--top", "0.95", "--second", "0.75")
    hard = theory.hardness(instance, 0.95, 0.75)
    assert (bounds["H"], bounds["H_tilde"], bounds["G_tilde"]) == tuple(hard)
    assert bounds["upper_bound_a"] == theory.upper_bound(instance, 0.1, "a", 0.95, 0.75)
    assert bounds["limit"] == pytest.approx(theory.limit(instance, 0.1))
    assert bounds["optimal_fidelity"] == [2, 2, 2, 2, 2]
    assert bounds["violations"] == []


def test_a_theorem_that_does_not_apply_is_null_and_says_why(capsys):
    bounds = found(capsys, "loose-prior", "--top", "1", "--second", "0.5")
    assert bounds["upper_bound_a"] is None
    assert not bounds["theorem_3_4"]["holds"]
    assert any("Assumption 3.3" in sentence for sentence in bounds["theorem_3_4"]["sentences"])
    assert bounds["theorem_b_1"]["holds"]


def test_broken_bias_bounds_are_listed(capsys):
    bounds = found(capsys, "figure-1b")
    assert [(one["arm"], one["fidelity"]) for one in bounds["violations"]] == [
        ("a", "fidelity 3"),
        ("c", "fidelity 3"),
    ]
    assert bounds["optimal_fidelity"] == [4, 4, 3, 3, 0]


def test_the_table_says_whether_assumptions_hold(capsys):
    assert main(["bounds", "figure-1a"]) == 0
    text = capsys.readouterr().out
    assert "Theorem 3.4 (Explore-A and -B): all that it assumes holds." in text
    assert main(["bounds", "judges"]) == 0
    text = capsys.readouterr().out
    assert "Theorem 3.4 (Explore-A and -B): not all that it assumes holds." in text
    assert "infinite" in text


def test_a_tie_at_the_top_is_told_in_words(capsys, tmp_path):
    file = tmp_path / "tie.toml"
    file.write_text("reward='bernoulli'\ncosts=[1, 2]\nbiases=[0.1, 0]\nmeans=[[0.5, 0.5], [0.5, 0.5]]\n")
    assert main(["bounds", str(file)]) == 0
    assert "the sum of Theorem 3.1 is infinite" in capsys.readouterr().out
    assert found(capsys, str(file))["limit"] is None


def test_costs_per_arm_have_no_regret_bounds(capsys, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("reward='bernoulli'\ncosts=[[1], [2]]\nbiases=[0]\nmeans=[[0.9], [0.5]]\n")
    bounds = found(capsys, str(file))
    assert bounds["regret_lower_coefficient"] is None
    assert "differ between arms" in bounds["notes"][0]
    assert main(["bounds", str(file)]) == 0
    assert "No regret bounds" in capsys.readouterr().out
