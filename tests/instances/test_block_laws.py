"""Laws of rewards on blocks, and what an instance checks of them."""

import copy
import json
import pickle

import numpy as np
import pytest

import mfbandit as mf
from mfbandit.errors import InstanceError, ModelWarning
from mfbandit.instances import law_from_json

TABLE = np.random.default_rng(0).integers(0, 5, (3, 2, 8)) / 4


def problem(blocks, reward="bounded", fidelities=(("quick", 1.0, 1.0), ("slow", 5.0)), **more):
    return mf.Problem(3, list(fidelities), reward, blocks=blocks, **more)


@pytest.mark.parametrize("law", [mf.BlockTableLaw(TABLE), mf.BlockEffectLaw(-0.5), mf.BlockEffectLaw(1, sigma=2)])
def test_laws_can_be_copied_and_written(law):
    assert law_from_json(json.loads(json.dumps(law.to_json()))) == law
    assert pickle.loads(pickle.dumps(law)) == law
    assert copy.deepcopy(law) == law
    assert hash(copy.copy(law)) == hash(law)
    assert law != mf.BlockTableLaw(TABLE + 1)


def test_an_instance_with_blocks_can_be_written():
    instance = mf.Instance(problem(8), law=mf.BlockTableLaw(TABLE), name="tiny")
    assert mf.Instance.from_json(json.loads(json.dumps(instance.to_json()))) == instance
    assert instance.truth.tolist() == TABLE[:, 1].mean(axis=1).tolist()
    assert "8 blocks" in repr(instance)


def test_equal_rewards_in_another_order_tie_exactly():
    row = np.random.default_rng(1).random(501)
    law = mf.BlockTableLaw([[row], [row[::-1]], [np.sort(row)]])
    assert len(set(law.means[:, 0].tolist())) == 1


@pytest.mark.parametrize(
    ("given", "law", "words"),
    [
        (problem(7), mf.BlockTableLaw(TABLE), "8 blocks; the problem has 7"),
        (problem(8), mf.BlockTableLaw(TABLE[:2]), "2 rows"),
        (problem(8), mf.BlockTableLaw(TABLE * 2), "on block 0 of arm 'arm 0'.*outside"),
        (problem("unlimited", mf.Gaussian()), mf.BlockTableLaw(TABLE.round()), "all rewards .* are 0 or 1"),
        (problem("unlimited", mf.Bounded(swing=0.1)), mf.BlockTableLaw(TABLE), "swing 0.1"),
        (problem(8), mf.BlockEffectLaw(0.5), "unlimited"),
        (problem("unlimited"), mf.BlockEffectLaw(0.5, sigma=1), "takes no sigma"),
        (problem("unlimited", mf.Gaussian()), mf.BlockEffectLaw(0.5), "needs its sigma"),
        (problem(8), mf.TableLaw([[[0.5], [0.5]]] * 3), "does not go with <TableLaw"),
        (problem("unlimited"), None, "leaves the reward law open.*BlockEffectLaw"),
        (problem(8), None, r"BlockTableLaw\(values\)$"),
        (problem(None), mf.BlockTableLaw(TABLE), "the problem has none"),
    ],
)
def test_what_does_not_fit_is_refused(given, law, words):
    with pytest.raises(InstanceError, match=words):
        mf.Instance(given, np.full((3, 2), 0.5) if not isinstance(law, mf.BlockTableLaw) else None, law)


@pytest.mark.parametrize(
    ("values", "words"),
    [([[0.5]], "shape"), (np.zeros((2, 1, 0)), "shape"), ([[[0.5, np.nan]]], "arm 0, fidelity 0, block 1")],
)
def test_tables_that_are_none_are_refused(values, words):
    with pytest.raises(InstanceError, match=words):
        mf.BlockTableLaw(values)


def test_bad_shares_are_refused():
    for rho in (1.5, [0.1, 0.2], float("nan")):
        with pytest.raises(InstanceError, match="from -1 to 1"):
            mf.BlockEffectLaw(rho)


def test_gaussian_rewards_may_come_from_a_table_of_unlimited_blocks():
    instance = mf.Instance(problem("unlimited", mf.Gaussian()), law=mf.BlockTableLaw(TABLE))
    assert instance.best == int(np.argmax(TABLE[:, 1].mean(axis=1)))


def test_a_pair_bias_that_is_broken_is_a_violation():
    means = [[0.5, 0.4], [0.6, 0.5], [0.65, 0.5]]
    kept = [mf.Fidelity("quick", 1.0, 0.2, pair_bias=0.05), mf.Fidelity("slow", 5.0)]
    broken = [mf.Fidelity("quick", 1.0, 0.2, pair_bias=0.04), mf.Fidelity("slow", 5.0)]
    law = mf.BlockEffectLaw(0.2)
    assert not mf.Instance(problem("unlimited", "bernoulli", kept), means, law).violations
    words = "arms 'arm 2' and 'arm 0' at fidelity 'quick' is 0.05 from that of their truths, beyond the pair bias 0.04"
    with pytest.raises(InstanceError, match=words):
        mf.Instance(problem("unlimited", "bernoulli", broken), means, law)
    with pytest.warns(ModelWarning, match="pair bias"):
        loose = mf.Instance(problem("unlimited", "bernoulli", broken), means, law, strict=False)
    assert [one.other for one in loose.violations] == ["arm 0"]
