"""Tables with blocks, long and wide, and evaluators on them."""

import importlib.util
import pickle
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import mfbandit as mf
from mfbandit.core import block_order, block_seed, trial_key
from mfbandit.errors import InstanceError, InvalidInput
from mfbandit.instances import block_draw, block_law

ROWS = [(b, a, f, (b + 2 * (a == "x") + (f == "slow")) / 10) for b in range(4) for a in "xy" for f in ("quick", "slow")]


def read(rows=ROWS, **more):
    return mf.read_table(rows, costs={"quick": 1, "slow": 5}, biases="observed", block="item", **more)


def test_a_long_table_becomes_a_finite_set():
    instance = read(pair_biases="observed", order="shared")
    assert instance.problem.blocks == 4
    assert instance.problem.order == "shared"
    assert instance.law.values[0, 1].tolist() == [0.3, 0.4, 0.5, 0.6]
    assert instance.problem.fidelities[0].pair_bias == pytest.approx(0.0, abs=1e-12)
    assert instance.problem.fidelities[0].bias == pytest.approx(0.1)
    assert read(list(reversed(ROWS))).truth.tolist() == instance.truth[::-1].tolist()


def test_files_frames_and_mappings_hold_the_same(tmp_path):
    names = ("item", "arm", "fidelity", "reward")
    path = tmp_path / "t.csv"
    path.write_text("\n".join(",".join(map(str, row)) for row in [names, *ROWS]))
    assert read(path) == read() == read([dict(zip(names, row, strict=True)) for row in ROWS])


def test_blocks_can_be_drawn_without_end():
    assert read(blocks="unlimited", reward=mf.Gaussian()).problem.blocks == "unlimited"
    assert read(pair_biases=[0.05, 0.0]).problem.fidelities[0].pair_bias == 0.05
    with pytest.raises(mf.MfbanditError, match="unlimited"):
        read(reward=mf.Gaussian())
    with pytest.raises(InstanceError, match="got 4"):
        read(blocks=4)


def test_a_wide_table_has_an_arm_in_every_column(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("item,a,b\nq1,1,0\nq2,1,1\n")
    instance = mf.read_table(path, costs=[1], biases=[0], block="item", wide=True)
    assert instance.problem.arms == ("a", "b")
    assert isinstance(instance.problem.reward, mf.Bernoulli)
    assert instance.law.values[:, 0].tolist() == [[1, 1], [0, 1]]
    named = mf.read_table(path, costs={"test": 2}, biases=[0], block="item", wide=True, arms=["b"])
    assert (named.problem.arms, named.problem.fidelities[0].name) == (("b",), "test")


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (ROWS[:-1], "no reward of arm 'y' at fidelity 'slow' on block '3'"),
        ([*ROWS, ROWS[2]], "row 16: arm 'y' at fidelity 'quick' on block '0' has a reward already"),
        ([], "no rows"),
        ([("x", "quick", 1)], "3 values"),
    ],
)
def test_gaps_and_duplicates_are_refused(rows, words):
    with pytest.raises(InstanceError, match=words):
        read(rows)


def test_wide_tables_that_are_none_are_refused(tmp_path):
    path = tmp_path / "wide.csv"
    for text, words in [("item,a\n1,1\n1,0\n", "block '1' has a row"), ("item\n1\n", "no column of an arm")]:
        path.write_text(text)
        with pytest.raises(InstanceError, match=words):
            mf.read_table(path, costs=[1], biases=[0], block="item", wide=True)
    with pytest.raises(InstanceError, match="list of mappings"):
        mf.read_table([(1, 2)], costs=[1], biases=[0], block="item", wide=True)


@pytest.mark.parametrize("more", [{"wide": True}, {"blocks": "unlimited"}, {"pair_biases": [0]}, {"order": "shared"}])
def test_what_is_said_of_blocks_needs_their_column(more):
    with pytest.raises(InstanceError, match=f"{next(iter(more))} is about tables with blocks"):
        mf.read_table([("a", "x", 1)], costs=[1], biases=[0], **more)


def instances():
    quick = [mf.Fidelity("quick", 1.0, 1.0), mf.Fidelity("slow", 5.0)]
    table = np.random.default_rng(0).random((3, 2, 50))
    means = [[0.2, 0.4], [0.5, 0.5], [0.6, 0.7]]
    for order in ("own", "shared"):
        scores = mf.Problem(3, quick, mf.Bounded(-1, 4), blocks=50, order=order)
        yield mf.Instance(scores, law=mf.BlockTableLaw(5 * table - 1))
        normal = mf.Problem(3, quick, mf.Gaussian(), blocks="unlimited", order=order)
        yield mf.Instance(normal, law=mf.BlockTableLaw(table))
        yield mf.Instance(normal, means, mf.BlockEffectLaw(0.5, sigma=0.1))
        hits = mf.Problem(3, quick, mf.Bounded(-1, 4), blocks="unlimited", order=order)
        yield mf.Instance(hits, means, mf.BlockEffectLaw(-0.9))


@pytest.mark.parametrize("instance", list(instances()), ids=str)
def test_a_study_sees_the_rewards_of_simulated_trial_0(instance):
    problem, seed = instance.problem, 12
    evaluate = pickle.loads(pickle.dumps(instance.evaluator()))
    law, draw, key = block_law(instance), block_draw(instance), trial_key(seed, 0)
    finite, shared = problem.blocks != "unlimited", problem.order == "shared"
    order = block_order(seed, 2, 50, shared)
    for position in range(20):
        for k, arm in enumerate(problem.arms):
            for m, fidelity in enumerate(problem.fidelities):
                block = int(order[m, position]) if finite else position
                named = block_seed(seed, "shared" if shared else m, block)
                pull = SimpleNamespace(arm=arm, fidelity=fidelity.name, seed=0, block=block, block_seed=named)
                assert problem.reward.to_unit(evaluate(pull)) == draw(law, key, k * 2 + m, k, m, block)


def test_other_seeds_give_other_luck_and_pulls_without_block_are_refused():
    finite, unlimited = read(), read(blocks="unlimited")
    pulls = [SimpleNamespace(arm="x", fidelity="slow", seed=0, block=b % 4, block_seed=b) for b in range(40)]
    assert [unlimited.evaluator()(p) for p in pulls] != [unlimited.evaluator(1)(p) for p in pulls]
    assert [finite.evaluator()(p) for p in pulls] == [finite.evaluator(1)(p) for p in pulls]
    bare = SimpleNamespace(arm="x", fidelity="slow", seed=0)
    for instance in (finite, unlimited):
        with pytest.raises(InvalidInput, match="on block None"):
            instance.evaluator()(bare)
    with pytest.raises(InvalidInput, match="on block 4"):
        finite.evaluator()(SimpleNamespace(arm="x", fidelity="slow", seed=0, block=4))


def sets():
    path = Path(__file__).resolve().parents[2] / "benchmarks" / "blocks_data.py"
    spec = importlib.util.spec_from_file_location("blocks_data", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_recorded_sets_with_blocks_are_read():
    data = sets()
    if not data.names():
        pytest.skip("there are no recorded data in ../shared/data beside the checkout")
    for name in data.names():
        for truest_only in (True,) if name.startswith("prompts_") else (True, False):
            instance = data.load(name, truest_only)
            values = instance.law.values
            assert (instance.problem.n_fidelities > 1) <= (not truest_only)
            assert (instance.problem.blocks == "unlimited") == name.startswith(("cv_", "lcdb_", "simopt_"))
            assert instance.problem.blocks in ("unlimited", values.shape[2])
            assert instance.truth.max() == pytest.approx(values[:, instance.problem.truest].mean(axis=1).max())
