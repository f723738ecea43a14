import json

import pytest
from scipy.stats import binomtest

from mfbandit.cli import main
from mfbandit.instances import load_instance
from mfbandit.simulation import simulate

#: The contract of the design.
KEYS = [
    "instance",
    "policy",
    "delta",
    "budget",
    "trials",
    "seed",
    "device",
    "mean_cost",
    "std_cost",
    "mean_pulls",
    "error_rate",
    "stopped_rate",
    "limit",
    "cost_over_limit",
    "mean_regret",
    "mean_cost_regret",
    "seconds",
    "pulls_per_second",
]


def output(capsys, *arguments, code=0):
    assert main(["simulate", *arguments]) == code
    return capsys.readouterr()


def refuse_constant(name):
    raise AssertionError(f"{name} is not JSON")


def report(capsys, *arguments, code=0):
    text = output(capsys, *arguments, "--json", code=code).out
    return json.loads(text, parse_constant=refuse_constant)


def test_json_is_one_object_with_the_keys_of_the_design(capsys):
    found = report(capsys, "figure-1a", "--policy", "lucb-top", "--trials", "3", "--seed", "5")
    assert set(KEYS) <= set(found)
    assert found["instance"] == "figure-1a"
    assert found["policy"] == "lucb-top"
    assert (found["trials"], found["seed"], found["device"]) == (3, 5, "cpu")
    runs = simulate(load_instance("figure-1a"), "lucb-top", trials=3, seed=5)
    assert found["mean_cost"] == runs.cost.mean()
    assert found["mean_pulls_per_fidelity"] == runs.pulls.sum(axis=1).mean(axis=0).tolist()
    assert found["limit"] == pytest.approx(361.43, abs=0.01)
    assert found["cost_over_limit"] == pytest.approx(found["mean_cost"] / found["limit"])


def test_the_interval_is_that_of_clopper_and_pearson(capsys):
    found = report(capsys, "figure-1a", "-p", "lucb-top", "--trials", "4")
    exact = binomtest(0, 4).proportion_ci(method="exact")
    assert found["error_interval"] == [exact.low, exact.high]
    assert found["stderr_cost"] == pytest.approx(found["std_cost"] / 2.0)


def test_the_policy_is_the_default_one_unless_another_is_named(capsys):
    assert main(["simulate", "figure-1a", "--trials", "5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["policy"] == "mf-toptwo"


def test_several_policies_are_an_array_in_their_order(capsys):
    found = report(capsys, "figure-1a", "-p", "lucb-top", "-p", "lucb-c", "--trials", "2")
    assert [one["policy"] for one in found] == ["lucb-top", "lucb-c"]


def test_a_budget_policy_has_both_regrets_and_no_limit(capsys):
    found = report(capsys, "figure-1a", "-p", "elimination", "--budget", "2000", "--trials", "2")
    assert found["budget"] == 2000
    assert found["delta"] is None
    assert found["limit"] is None
    assert found["mean_cost_regret"] <= found["mean_regret"]


def test_the_table_shows_what_people_ask_for(capsys):
    text = output(capsys, "figure-1a", "-p", "lucb-top", "-p", "lucb-c", "--trials", "2").out
    lines = [line.split("  ")[0].strip() for line in text.splitlines()]
    wanted = [
        "mean cost",
        "limit C* kl",
        "cost over limit",
        "wrong answers",
        "95% interval",
        "pulls per second",
    ]
    assert [name for name in wanted if name not in lines] == []
    assert "at fidelity 2" in text
    assert "regret" not in text


def test_the_table_of_a_budget_policy_shows_both_regrets(capsys):
    text = output(capsys, "figure-1a", "-p", "elimination", "--budget", "2000", "--trials", "2").out
    assert "regret (paper)" in text
    assert "regret (by cost)" in text
    assert "cost over limit" not in text


def test_the_table_says_what_its_spread_is_and_what_a_budget_means_here(capsys):
    text = output(capsys, "figure-1a", "-p", "mf-toptwo", "--budget", "2000", "--trials", "2").out
    assert "± is one standard error" in text
    assert "2,000 (only a limit here)" in text


def test_a_prior_that_is_not_so_is_told(capsys):
    told = output(capsys, "figure-1a", "-p", "lucb-a:top=0.65,second=0.6", "--trials", "2").err
    assert "lucb-a:top=0.65,second=0.6: top is 0.65; it must be at least the best mean, 0.9" in told
    assert output(capsys, "figure-1a", "-p", "lucb-a:top=0.95,second=0.75", "--trials", "2").err == ""


def test_one_trial_has_no_deviation(capsys):
    found = report(capsys, "figure-1a", "-p", "lucb-top", "--trials", "1")
    assert found["std_cost"] == found["stderr_cost"] == 0.0


def test_no_answer_is_exit_code_1_and_one_line(capsys):
    arguments = ("figure-1a", "-p", "lucb-top", "--trials", "2", "--max-pulls", "100")
    captured = output(capsys, *arguments, code=1)
    assert captured.err == (
        "mfbandit: lucb-top ended without an answer in every trial (a limit on cost or pulls was reached)\n"
    )
    found = report(capsys, "figure-1a", "-p", "lucb-top", "--trials", "2", "--max-cost", "50", code=1)
    assert found["stopped_rate"] == 0.0
    assert found["mean_cost"] <= 50


def test_a_broken_model_is_warned_of_in_one_line(capsys):
    captured = output(capsys, "figure-1b", "-p", "lucb-top", "--trials", "1", "--max-pulls", "50", "--json", code=1)
    warning, ending = captured.err.splitlines()
    assert warning.startswith("mfbandit: warning: instance 'figure-1b' breaks its own bias bound")
    assert "without an answer" in ending
    assert json.loads(captured.out)["instance"] == "figure-1b"


def test_a_mistake_in_the_last_policy_costs_no_time(capsys, monkeypatch):
    def run(*args, **kwargs):
        raise AssertionError("something was simulated")

    monkeypatch.setattr("mfbandit.cli.commands._simulate_command.run", run)
    assert main(["simulate", "figure-1a", "-p", "lucb-top", "-p", "mf-ucb"]) == 2
    assert "mf-ucb" in capsys.readouterr().err


def test_an_instance_of_ones_own(capsys, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("reward='bernoulli'\ncosts=[1, 2]\nbiases=[0.1, 0]\nmeans=[[0.9, 0.9], [0.1, 0.1]]\n")
    found = report(capsys, str(file), "-p", "lucb-top", "--trials", "2")
    assert found["instance"] == "mine"
    assert found["error_rate"] == 0.0


WIDE = ("figure-1a", "-p", "lucb-c", "--trials", "2", "--max-cost", "100", "--device", "python", "--width", "8")


def test_workers_on_a_clock(capsys):
    found = report(capsys, *WIDE, "--durations", "fidelity 0=1,fidelity 1=2,fidelity 2=4", "--spread", "1", code=1)
    assert found["width"] == 8
    assert found["mean_time"] > 0
    assert 0 < found["utilisation"] <= 1
    text = output(capsys, *WIDE, code=1).out
    assert "time to the answer" in text
    assert "of 8" in text
    assert "time to the answer" not in output(capsys, "figure-1a", "-p", "lucb-top", "--trials", "1").out


@pytest.mark.parametrize("durations", ["long", "a=1,a=2", "a=1,2", "1,", "0", "fidelity 0=1"])
def test_bad_durations_are_refused(capsys, durations):
    said = output(capsys, *WIDE, "--durations", durations, code=2).err
    assert "duration" in said
    assert said.count("\n") == 1
