import json

from mfbandit.algorithms import REGISTRY, policy
from mfbandit.cli import main
from mfbandit.instances import builtin_instances


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
