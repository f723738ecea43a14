"""Folders of recorded data: rows, summaries, and every data set that lies beside the checkout."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import mfbandit as mf
from mfbandit.datasets import load_dataset
from mfbandit.errors import InstanceError, ModelWarning

SHARED = Path(__file__).parents[3] / "shared" / "data"
META = {"name": "toy", "arms": ["a", "b"], "fidelities": ["x", "y"], "costs": [1, 9], "zeta": [0.25, 0]}
CELLS = [("a", "x", 0.75, 0.1), ("a", "y", 0.75, 0.2), ("b", "x", 0.5, 0.1), ("b", "y", 0.25, 0.1)]


def folder(path, rows=None, summary=None, **meta):
    path.mkdir(exist_ok=True)
    (path / "meta.json").write_text(json.dumps({**META, **meta}))
    if rows is not None:
        (path / "samples.csv").write_text("arm,fidelity,reward\n" + "\n".join(rows) + "\n")
    if summary is not None:
        lines = [f"{a},{f},25,{mean},{sd}" for a, f, mean, sd in summary]
        (path / "table.csv").write_text("arm,fidelity,n,mean,sd\n" + "\n".join(lines) + "\n")
    return path


ROWS = ["a,x,0.75", "a,y,0.5", "a,y,1", "b,x,0.5", "b,y,0.25"]


def test_rows_are_drawn(tmp_path):
    instance = load_dataset(folder(tmp_path / "toy", ROWS, CELLS))
    assert isinstance(instance.law, mf.TableLaw)
    assert instance.name == "toy"
    assert instance.problem.costs[0].tolist() == [1.0, 9.0]
    assert mf.load_instance(tmp_path / "toy") == instance
    assert mf.load_instance(str(tmp_path / "toy")) == instance


def test_a_law_around_the_same_means(tmp_path):
    path = folder(tmp_path / "toy", ROWS)
    for law, kind in [
        (mf.BernoulliLaw(), mf.Bernoulli()),
        (mf.BetaLaw(9), mf.Bounded()),
        (mf.GaussianLaw(0.2), mf.Gaussian(0.2)),
    ]:
        instance = load_dataset(path, law=law)
        assert instance.law == law
        assert instance.problem.reward == kind
        assert instance.means.tolist() == [[0.75, 0.75], [0.5, 0.25]]


def test_summaries_give_a_law_of_the_same_spread(tmp_path):
    instance = load_dataset(folder(tmp_path / "toy", summary=CELLS))
    assert isinstance(instance.law, mf.BetaLaw)
    means = instance.means
    spread = means * (1 - means) / (1 + instance.law.concentration)
    assert spread.sum() == pytest.approx(sum(sd**2 for *_, sd in CELLS))
    coins = [(a, f, mean, (mean * (1 - mean)) ** 0.5) for a, f, mean, _ in CELLS]
    assert load_dataset(folder(tmp_path / "toy", summary=coins)).law == mf.BernoulliLaw()
    exact = load_dataset(folder(tmp_path / "toy", summary=[(a, f, mean, 0) for a, f, mean, _ in CELLS]))
    assert exact.law.cells[1][1].tolist() == [0.25]
    wide = [(a, f, 40 * mean, sd) for a, f, mean, sd in CELLS]
    assert load_dataset(folder(tmp_path / "toy", summary=wide, zeta=[10, 0])).law == mf.GaussianLaw(0.2)


def test_a_stated_range_is_the_range(tmp_path):
    rows = ["a,x,30", "a,y,50", "b,x,20", "b,y,20"]
    instance = load_dataset(folder(tmp_path / "toy", rows, zeta=[20, 0], range=[0, 100]))
    assert instance.problem.reward == mf.Bounded(0, 100)
    assert instance.means[0].tolist() == [30.0, 50.0]
    wide = [(a, f, 40 * mean, 8 * sd) for a, f, mean, sd in CELLS]
    path = folder(tmp_path / "other", summary=wide, zeta=[10, 0], range=[0, 40])
    law = load_dataset(path).law
    assert isinstance(law, mf.BetaLaw)
    assert law.concentration > 5


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path, "is no data set: it has no 'meta.json'"),
        (lambda path: folder(path), "'toy': it has neither 'samples.csv.gz' nor 'table.csv'"),
        (lambda path: folder(path, ROWS[:-1]), "'toy': the table has no reward of arm 'b' at fidelity 'y'"),
        (lambda path: folder(path, [*ROWS, "b,y,7"]), r"line 7 of samples.csv: .* is 7, outside \[0, 1\]"),
        (lambda path: folder(path, ROWS, zeta=[0.1, 0]), "'toy': instance 'toy' breaks its own bias bound"),
        (lambda path: folder(path, ROWS, zeta=[0.1]), "for the same number"),
        (lambda path: folder(path, ROWS, range=3), r"the range is 3; it must be \[low, high\]"),
        (lambda path: folder(path, summary=CELLS[:3]), "table.csv has no mean of arm 'b' at fidelity 'y'"),
        (lambda path: folder(path, summary=[*CELLS, CELLS[0]]), "line 6 of table.csv repeats arm 'a'"),
        (lambda path: folder(path, summary=[*CELLS[:3], ("b", "y", 0.25, -1)]), "deviation of arm 'b' at"),
    ],
)
def test_broken_folders(make, message, tmp_path):
    with pytest.raises(InstanceError, match=message):
        load_dataset(make(tmp_path / "toy"))


def test_broken_meta(tmp_path):
    path = folder(tmp_path / "toy", ROWS)
    (path / "meta.json").write_text("{")
    with pytest.raises(InstanceError, match="is not valid JSON"):
        load_dataset(path)
    (path / "meta.json").write_text('{"arms": []}')
    with pytest.raises(InstanceError, match="lacks the key 'fidelities'"):
        load_dataset(path)


def test_lenient_loading_warns(tmp_path):
    with pytest.warns(ModelWarning, match="breaks its own bias bound"):
        load_dataset(folder(tmp_path / "toy", ROWS, zeta=[0.1, 0]), strict=False)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data sets are not beside this checkout")
def test_every_shared_data_set_loads():
    folders = sorted(path.parent for path in SHARED.glob("*/meta.json"))
    assert len(folders) == 28
    for path in folders:
        meta = json.loads((path / "meta.json").read_text())
        instance = load_dataset(path)
        assert instance.means.shape == (meta["K"], meta["M"])
        assert np.abs(instance.means - meta["mu"]).max() < 1e-8
        assert not instance.violations
        top = np.sort(instance.truth)[::-1]
        assert top[0] - top[1] == pytest.approx(meta["top_two_gap"], abs=1e-6)
        assert sum(len(cell) for row in instance.law.cells for cell in row) == meta["rows"]
        assert mf.simulate(instance, "successive-halving:repeats=2", trials=3, seed=1).stopped.all()
        pull = SimpleNamespace(arm=meta["arms"][-1], fidelity=meta["fidelities"][0], seed=3)
        assert instance.evaluator()(pull) in instance.law.cells[-1][0]


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data sets are not beside this checkout")
def test_summaries_of_shared_data_agree_with_their_rows(tmp_path):
    for name in ("pandalm_judges", "lcdb_vehicle", "mf2_currin"):
        path = tmp_path / name
        path.mkdir()
        for file in ("meta.json", "table.csv"):
            (path / file).write_bytes((SHARED / name / file).read_bytes())
        summary, rows = load_dataset(path), load_dataset(SHARED / name)
        assert np.abs(summary.means - rows.means).max() < 1e-5
