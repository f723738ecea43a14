"""Blocks in study files, in instance files and on the command line."""

import json

import pytest

import mfbandit as mf
from mfbandit.cli import main
from mfbandit.cli._study_file import read_study_file
from mfbandit.errors import InstanceError, InvalidInput

STUDY = """
on_failure = "worst"

[problem]
arms = ["good", "poor"]
{said}
fidelities = [
    {{ name = "quick", cost = 1.0, bias = 0.1, pair_bias = 0.02 }},
    {{ name = "exact", cost = 5.0, block_cost = 3.0 }},
]

[evaluator]
command = "echo {place}"
"""
INSTANCE = """
costs = [1, 5]
biases = [0.1, 0]
means = [[0.85, 0.9], [0.55, 0.6]]
fidelities = ["quick", "exact"]
{said}
"""


@pytest.fixture
def study(tmp_path):
    """Write a study file."""

    def write(said, place="{block}"):
        path = tmp_path / "mine.toml"
        path.write_text(STUDY.format(said=said, place=place), encoding="utf-8")
        return path

    return write


@pytest.fixture
def instance(tmp_path):
    """Write an instance file."""

    def write(said):
        path = tmp_path / "shared.toml"
        path.write_text(INSTANCE.format(said=said), encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize(
    ("said", "more"),
    [
        ("blocks = 500", {"blocks": 500}),
        ('blocks = "unlimited"\norder = "shared"', {"blocks": "unlimited", "order": "shared"}),
        ('reward = "gaussian"\nblocks = "unlimited"', {"reward": mf.Gaussian(), "blocks": "unlimited"}),
        (
            'reward = { kind = "gaussian", caution = 0, resolution = 0.01 }\nblocks = "unlimited"',
            {"reward": mf.Gaussian(caution=0, resolution=0.01), "blocks": "unlimited"},
        ),
        (
            'reward = { kind = "bounded", low = 0, high = 2, swing = 0.5 }\nblocks = "unlimited"\ntruth = "mean score"',
            {"reward": mf.Bounded(0, 2, swing=0.5), "blocks": "unlimited", "truth": "mean score"},
        ),
    ],
)
def test_a_study_file_says_what_a_problem_says(study, said, more):
    fidelities = [mf.Fidelity("quick", 1.0, 0.1, pair_bias=0.02), mf.Fidelity("exact", 5.0, block_cost=3.0)]
    found = read_study_file(study(said))
    assert found.problem == mf.Problem(["good", "poor"], fidelities, **more)
    assert found.settings["on_failure"] == "worst"
    assert "policy" not in found.settings
    assert found.evaluate.asks_for_blocks


def test_bad_blocks_in_a_study_file(study, tmp_path):
    for said in ("blocks = 0", 'blocks = "some"', "blocks = 2.5", "blocks = true"):
        with pytest.raises(InvalidInput, match=r"mine\.toml: blocks must be a whole number of at least 1"):
            read_study_file(study(said))
    path = tmp_path / "plain.toml"
    path.write_text(
        '[problem]\narms = 2\nfidelities = [["exact", 1.0]]\n[evaluator]\ncommand = "echo {block_seed}"\n',
        encoding="utf-8",
    )
    with pytest.raises(InvalidInput, match=r"the command asks for the block of a pull, but \[problem\] has no blocks"):
        read_study_file(path)


def test_rewards_without_blocks_do_not_pass_for_those_of_blocks(tmp_path):
    path = tmp_path / "replay.toml"
    path.write_text(
        '[problem]\narms = ["a"]\nblocks = 9\nfidelities = [["m1", 1.0]]\n[evaluator]\ninstance = "own.toml"\n',
        encoding="utf-8",
    )
    (tmp_path / "own.toml").write_text(
        'reward = "bernoulli"\ncosts = [1]\nbiases = [0]\nmeans = [[0.5]]\narms = ["a"]\nfidelities = ["m1"]\n',
        encoding="utf-8",
    )
    with pytest.raises(InvalidInput, match=r"replays rewards with blocks = None, but \[problem\] has blocks = 9"):
        read_study_file(path)


def test_a_policy_for_independent_rewards_is_refused_in_one_line(study, capsys):
    path = study("blocks = 40")
    path.write_text('policy = "lucb-c"\n' + path.read_text().replace('on_failure = "worst"\n', ""))
    assert main(["run", str(path)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "lucb-c takes the rewards of different arms for independent" in said


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ('reward = "bernoulli"\nblocks = 0', "shared.toml: blocks must be a whole number of at least 1"),
        ('reward = "bernoulli"\norder = "shared"', "order='shared' is about blocks, but the problem has none"),
        ('reward = "bernoulli"\nrho = 0.5', "rho is the share of the noise that is the block's, but there are no"),
        ('reward = "gaussian"\nsigma = 0.1\ncaution = 2', "caution and resolution are for Gaussian rewards without"),
        ('reward = "gaussian"\nsigma = 0.1\nswing = 2', "the key 'swing' belongs to reward"),
        ('reward = "bernoulli"\npair_biases = { quick = 0.1 }', "has a pair_bias or a block_cost, but the problem"),
        (
            'reward = "bernoulli"\npair_biases = [0.1, 0]',
            "pair_biases is .*; it must be a table of numbers by the names",
        ),
        ('reward = "bernoulli"\nblock_costs = { quik = 1 }', "block_costs names 'quik', which is no fidelity"),
        ('reward = "beta"\nconcentration = 5\nblocks = 9', "reward 'beta' is no law of rewards on blocks"),
    ],
)
def test_bad_blocks_in_an_instance_file(instance, said, message):
    with pytest.raises(InstanceError, match=message):
        mf.load_instance(instance(said))


@pytest.mark.parametrize(
    ("said", "kind", "law"),
    [
        ('reward = "bernoulli"', mf.Bernoulli(), {"rho": 0.0, "sigma": None}),
        ('reward = "bernoulli"\nrho = -0.5\nswing = 1.5', mf.Bounded(swing=1.5), {"rho": -0.5, "sigma": None}),
        (
            'reward = "gaussian"\nsigma = 2.0\nrho = 0.9\ncaution = 0\nresolution = 0.5',
            mf.Gaussian(caution=0, resolution=0.5),
            {"rho": 0.9, "sigma": 2.0},
        ),
    ],
)
def test_an_instance_file_knows_blocks(instance, capsys, said, kind, law):
    pytest.importorskip("mfbandit.instances._block_laws")
    more = 'blocks = "unlimited"\norder = "shared"\npair_biases = { quick = 0.02 }\nblock_costs = { exact = 3 }\n'
    path = instance(more + said)
    loaded = mf.load_instance(path)
    fidelities = [mf.Fidelity("quick", 1.0, 0.1, pair_bias=0.02), mf.Fidelity("exact", 5.0, block_cost=3.0)]
    assert loaded.problem == mf.Problem(2, fidelities, kind, blocks="unlimited", order="shared")
    assert vars(loaded.law) == law
    assert mf.Instance.from_json(json.loads(json.dumps(loaded.to_json()))) == loaded
    assert main(["instances", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["blocks"] == "unlimited"
    assert main(["instances", str(path)]) == 0
    assert "2 fidelities, unlimited blocks, BlockEffectLaw" in capsys.readouterr().out
    for command in ("bounds", "forecast"):
        assert main([command, str(path)]) == 2
        assert "about independent rewards, but the arms of this instance share" in capsys.readouterr().err


def test_pulls_on_the_command_line_name_their_block(tmp_path, capsys):
    store = str(tmp_path / "study.db")
    fidelities = [mf.Fidelity("exact", 1.0, block_cost=2.0)]
    problem = mf.Problem(["a", "b"], fidelities, "bernoulli", blocks=30)
    mf.create_study(problem, policy="mf-toptwo:independent=true", storage=store).close()
    assert main(["ask", store, "--json"]) == 0
    pulls = json.loads(capsys.readouterr().out)["pulls"]
    assert all(0 <= pull["block"] < 30 and pull["block_seed"] >= 0 and pull["cost"] == 3.0 for pull in pulls)
    assert main(["ask", store]) == 0
    assert "block" in capsys.readouterr().out.splitlines()[0]
    assert main(["status", store]) == 0
    assert "The problem has 30 blocks: every pull on a block of its own." in capsys.readouterr().out
