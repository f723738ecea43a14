import json

from mfbandit.algorithms import REGISTRY, policy
from mfbandit.cli import main
from mfbandit.instances import builtin_instances, instance_file, load_instance


def test_policies_lists_the_registry(capsys):
    assert main(["policies"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(REGISTRY)


def test_policies_as_json_can_be_used(capsys):
    assert main(["policies", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in found] == list(REGISTRY)
    for one in found:
        assert policy(one["example"]).objective == one["objective"]
        assert "fidelities" in one["options"]


def test_instances_lists_the_built_ins(capsys):
    assert main(["instances"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == builtin_instances()
    assert main(["instances", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found[0].keys() == {"name", "description", "n_arms", "n_fidelities", "reward"}


def test_one_instance_is_shown_like_tables_2_and_3(capsys):
    assert main(["instances", "figure-1b"]) == 0
    captured = capsys.readouterr()
    lines = [line.split() for line in captured.out.splitlines()]
    assert ["fidelity", "3", "0.85", "!", "0.86", "0.8", "!", "0.8", "0.76", "0.04", "1.3"] in lines
    assert ["fidelity", "4", "0.9", "0.88", "0.86", "0.84", "0.8", "0", "1.4"] in lines
    assert "break the bias bounds" in captured.out
    assert main(["instances", "figure-1a", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["means"][1] == [0.75, 0.775, 0.8]
    assert found["biases"][0] == [0.3, 0.15, 0.0]
    assert found["costs"][0] == [1.0, 1.1, 1.2]
    assert found["best"] == "a"


def test_the_file_of_an_instance_can_be_begun_with(capsys, tmp_path):
    assert main(["instances", "figure-1a", "--toml"]) == 0
    text = capsys.readouterr().out
    file = tmp_path / "mine.toml"
    file.write_text(text)
    assert load_instance(file) == load_instance("figure-1a")
    assert main(["instances", str(file), "--toml"]) == 0
    assert capsys.readouterr().out == text
    assert main(["instances", "--toml"]) == 2
    assert "name it" in capsys.readouterr().err


def test_an_instance_is_told_from_a_study(capsys, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(instance_file("figure-1a"))
    assert main(["run", str(file)]) == 2
    assert "this is an instance, not a study; simulate it: mfbandit simulate FILE" in capsys.readouterr().err
    file.write_text("[problem]\narms = ['a']\n")
    assert main(["simulate", str(file)]) == 2
    assert "this is a study, not an instance; run it: mfbandit run FILE" in capsys.readouterr().err


def test_costs_that_differ_between_arms_are_a_range(capsys, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("reward='bernoulli'\ncosts=[[1], [2]]\nbiases=[0]\nmeans=[[0.9], [0.5]]\n")
    assert main(["instances", str(file)]) == 0
    assert "1 to 2" in capsys.readouterr().out


def test_an_unknown_instance_is_one_line(capsys):
    assert main(["instances", "figure-2"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "did you mean 'figure-1" in captured.err
