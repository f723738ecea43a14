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
    assert "with exact top and second; for yours give --top and --second, for the paper's --top 0.95 --second" in text
    assert main(["bounds", "judges"]) == 0
    text = capsys.readouterr().out
    assert "Theorem 3.4 (Explore-A and -B): not all that it assumes holds." in text
    assert "infinite" in text
    assert "Assumption 3.3 wants mu + zeta <= the second-best mean, 0.5264; arm 'pythia-6.9b' at fidelity" in text


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


def test_the_printed_and_the_corrected_theorem_stand_side_by_side(capsys):
    prior = ("--top", "0.95", "--second", "0.75")
    bounds = found(capsys, "figure-1a", *prior)
    assert round(bounds["upper_bound_a"]) == 6_396
    assert [round(bounds[f"upper_bound_{one}_corrected"]) for one in "ab"] == [8_184, 13_395]
    assert bounds["contradictions"] == []
    bounds = found(capsys, "figure-1b", *prior)
    assert [round(bounds[f"upper_bound_{one}_corrected"]) for one in "ab"] == [1_265_036, 861_573]
    assert not bounds["limit_holds"]
    assert main(["bounds", "figure-1a", *prior]) == 0
    text = capsys.readouterr().out
    assert "corrected: true gaps" in text
    assert "its proof uses the true gaps" in text


def test_a_contradicted_bound_is_marked(capsys, tmp_path):
    file = tmp_path / "near.toml"
    file.write_text("reward='bernoulli'\ncosts=[1]\nbiases=[0]\nmeans=[[0.501], [0.5]]\n")
    prior = (str(file), "--top", "1", "--second", "0")
    [a, b] = found(capsys, *prior)["contradictions"]
    assert "68,528 for Explore-A, but every algorithm pays 2,120,261 (Theorem 3.1)" in a
    assert "Explore-B" in b
    assert main(["bounds", *prior]) == 0
    text = capsys.readouterr().out
    assert "68,528 (contradicted)" in text
    assert f"Contradicted: {a}." in text


def test_a_budget_gives_the_regret_bounds_there(capsys):
    instance = load_instance("figure-1a")
    bounds = found(capsys, "figure-1a", "--budget", "1e6")
    assert bounds["regret_upper_bound"] == theory.regret_upper_bound(instance, 1e6)
    assert bounds["regret_upper_bound_theorem_epsilon"] == theory.regret_upper_bound(instance, 1e6, "theorem")
    assert bounds["regret_lower_rate"] == theory.regret_lower_rate(5, 1e6)
    assert bounds["regret_upper_rate"] == theory.regret_upper_rate(5, 1e6)
    assert bounds["regret_worst_case"] == theory.regret_worst_case(5, 1e6, truest=1.2, top=0.9)
    assert bounds["regret_of_everything"] == pytest.approx(9e5)
    assert main(["bounds", "figure-1a", "--budget", "1e6"]) == 0
    assert "(Theorem D.4)" in capsys.readouterr().out
    # Without a budget there is nothing to evaluate them at.
    assert "regret_upper_bound" not in found(capsys, "figure-1a")


@pytest.mark.parametrize("budget", ["0", "-1", "nan", "inf"])
def test_a_budget_that_is_none_is_refused(capsys, budget):
    assert main(["bounds", "figure-1a", "--budget", budget]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "budget" in captured.err
    assert len(captured.err.splitlines()) == 1


def test_no_limit_is_claimed_where_the_bias_bounds_are_broken(capsys):
    assert main(["bounds", "figure-1b"]) == 0
    text = capsys.readouterr().out
    assert "does not bind here" in text
    assert "no one can pay less" not in text


def test_gaussian_units_are_explained(capsys):
    assert main(["bounds", "poiani-mu3"]) == 0
    assert "units of sqrt(2) sigma" in capsys.readouterr().out
    assert main(["bounds", "figure-1a"]) == 0
    assert "sigma" not in capsys.readouterr().out


def test_assumption_33_as_printed(capsys):
    bounds = found(capsys, "loose-prior")
    assert bounds["theorem_b_1"]["holds"]
    assert not bounds["theorem_b_1"]["assumption_3_3_as_printed"]
    assert main(["bounds", "loose-prior"]) == 0
    text = capsys.readouterr().out
    assert "Theorem B.1 (Explore-C): all that its proof uses holds." in text
    assert "As printed, at the optimal fidelities m*, Assumption 3.3 does not hold." in text
