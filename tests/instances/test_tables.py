"""Recorded rewards as instances and evaluators: what is read, and what is refused in which words."""

import gzip
import pickle
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import mfbandit as mf
from mfbandit.errors import InstanceError, InvalidInput, MissingExtra, ModelWarning
from mfbandit.tables import collect, evaluator, read_table

ROWS = [
    ("a", "judge", 0.75),
    ("a", "human", 1.0),
    ("b", "judge", 0.5),
    ("a", "human", 0.5),
    ("b", "human", 0.25),
]
GIVEN = {"costs": [0.01, 0.3], "biases": [0.25, 0.0]}
CSV = "arm,fidelity,reward,note\n" + "".join(f"{a},{f},{r},x\n" for a, f, r in ROWS)


@pytest.fixture(scope="module")
def table():
    return read_table(ROWS, **GIVEN, name="tiny")


def test_rows_become_cells(table):
    assert table.problem.arms == ("a", "b")
    assert [fidelity.name for fidelity in table.problem.fidelities] == ["judge", "human"]
    assert table.law.cells[0][1].tolist() == [1.0, 0.5]
    assert table.means.tolist() == [[0.75, 0.75], [0.5, 0.25]]
    assert table.best == 0
    assert table.name == "tiny"


def test_files_give_the_same_instance(table, tmp_path):
    plain, packed, marked = tmp_path / "t.csv", tmp_path / "t.csv.gz", tmp_path / "bom.csv"
    plain.write_text(CSV)
    packed.write_bytes(gzip.compress(CSV.encode()))
    marked.write_bytes(b"\xef\xbb\xbf" + CSV.replace("\n", "\r\n").encode() + b"\r\n")
    for path in (plain, str(plain), packed, marked):
        assert read_table(path, **GIVEN, name="tiny") == table


def test_generators_mappings_and_other_columns(table):
    assert read_table(iter(ROWS), **GIVEN, name="tiny") == table
    named = [{"model": a, "grader": f, "score": r} for a, f, r in ROWS]
    assert read_table(named, **GIVEN, columns=("model", "grader", "score"), name="tiny") == table


def test_data_frames(table):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(ROWS, columns=["arm", "fidelity", "reward"])
    assert read_table(frame, **GIVEN, name="tiny") == table
    sizes = frame.assign(fidelity=[64, 1024, 64, 1024, 1024])
    assert [f.name for f in read_table(sizes, **GIVEN).problem.fidelities] == ["64", "1024"]
    frame.loc[2, "reward"] = np.nan
    with pytest.raises(InstanceError, match=r"row 2 of the data frame: the reward is missing \(NaN\)"):
        read_table(frame, **GIVEN)


def test_parquet(table, tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    path = tmp_path / "t.parquet"
    pd.DataFrame(ROWS, columns=["arm", "fidelity", "reward"]).to_parquet(path)
    assert read_table(path, **GIVEN, name="tiny") == table
    path.write_bytes(b"PAR1 no")
    with pytest.raises(InstanceError, match="cannot be read as Parquet"):
        read_table(path, **GIVEN)


def test_parquet_without_its_extra(monkeypatch, tmp_path):
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r"'t.parquet' needs pandas and pyarrow: pip install 'mfbandit"):
        read_table(path, **GIVEN)
    with pytest.raises(InstanceError, match="there is no table"):
        read_table(tmp_path / "none.parquet", **GIVEN)


def test_csv_needs_no_pandas(monkeypatch, table, tmp_path):
    monkeypatch.setitem(sys.modules, "pandas", None)
    (tmp_path / "t.csv").write_text(CSV)
    assert read_table(tmp_path / "t.csv", **GIVEN, name="tiny") == table


def test_order_and_choice_of_arms_and_fidelities():
    chosen = read_table(ROWS, costs={"human": 0.3}, biases={"human": 0, "judge": 0.1}, arms=["b", "a"])
    assert chosen.problem.arms == ("b", "a")
    assert chosen.means.tolist() == [[0.25], [0.75]]


def test_observed_biases_are_the_smallest_that_hold():
    instance = read_table(ROWS, costs=[0.01, 0.3], biases="observed")
    assert instance.problem.biases[0].tolist() == [0.25, 0.0]
    assert not instance.violations


def test_reward_kinds():
    clicks = [("a", "x", 1), ("b", "x", 0), ("b", "x", True)]
    assert read_table(clicks, costs=[1], biases=[0]).problem.reward == mf.Bernoulli()
    assert read_table(ROWS, **GIVEN).problem.reward == mf.Bounded()
    stars = [("a", "x", 5), ("b", "x", 2)]
    rated = read_table(stars, costs=[1], biases=[0], reward=mf.Bounded(1, 5))
    assert rated.truth.tolist() == [5.0, 2.0]


def test_broken_biases_can_be_accepted():
    with pytest.raises(InstanceError, match="breaks its own bias bound"):
        read_table(ROWS, costs=[0.01, 0.3], biases=[0.1, 0.0])
    with pytest.warns(ModelWarning, match="arm 'b', fidelity 'judge'"):
        read_table(ROWS, costs=[0.01, 0.3], biases=[0.1, 0.0], strict=False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty; its first line must name the columns"),
        ("arm,fidelity,reward\n", "the table has no rows"),
        ("arm;fidelity;reward\na;x;1\n", "must have its columns separated by commas"),
        ("arm,fidelty,reward\na,x,1\n", "has no column 'fidelity'; did you mean 'fidelty'"),
        ("arm,fidelity,reward,reward\na,x,1,1\n", "has 2 columns called 'reward'"),
        ("arm,fidelity,reward\na,x,1\na,x,\n", "line 3 of t.csv: the reward is missing"),
        ("arm,fidelity,reward\na,x,NaN\n", "line 2 of t.csv: the reward is missing"),
        ("arm,fidelity,reward\na,x,inf\n", "line 2 of t.csv: the reward is inf; it must be finite"),
        ("arm,fidelity,reward\na,x,1_0\n", "line 2 of t.csv: the reward is '1_0', which is not a number"),
        ('arm,fidelity,reward\na,x,"0,5"\n', "line 2 of t.csv: the reward is '0,5', which is not a number"),
        ("arm,fidelity,reward\n,x,1\n", "line 2 of t.csv: the name of the arm is ''; a name must not be"),
        ("arm,fidelity,reward\na,x\n", "line 2 of t.csv has 2 values; the first line names 3 columns"),
        ('arm,fidelity,reward\na,"x,1\n', "line 2 of t.csv is not valid CSV"),
        (
            "arm,fidelity,reward\na,x,1\nb,x,1.5\n",
            r"line 3 of t.csv: the reward of arm 'b' at fidelity 'x' is 1.5, outside \[0, 1\]; pass reward=",
        ),
        ("arm,fidelity,reward\na,x,1\nb,x,1\na,y,1\n", "no reward of arm 'b' at fidelity 'y'"),
    ],
)
def test_broken_files(text, message, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(InstanceError, match=message):
        read_table(path, costs=[1.0], biases=[0.0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"source": 3}, "a table is a CSV or Parquet file, a data frame or rows"),
        ({"source": [("a", "x")]}, "row 0 has 2 values; a row is"),
        ({"source": ["abc"]}, "row 0 is 'abc'; a row is"),
        ({"source": [{"arm": "a"}]}, "row 0 lacks the key 'fidelity'"),
        ({"source": [("a", "x", None)]}, "row 0: the reward is missing"),
        ({"source": [(None, "x", 1)]}, "row 0: the name of the arm is None"),
        ({"columns": "arm"}, "columns must be three different names"),
        ({"columns": ("arm", "arm", "reward")}, "columns must be three different names"),
        ({"arms": ["a", "c"]}, "no rows of arm 'c'"),
        ({"fidelities": ["judge", "humans"]}, "no rows of fidelity 'humans'; did you mean 'human'"),
        ({"costs": {"judge": 1, "human": 2}, "biases": {"judge": 0.3}}, "biases say nothing about fidelity"),
        ({"biases": "none"}, "biases must be numbers or a mapping"),
        ({"costs": [1.0], "biases": "observed"}, "costs are given for 1 fidelities; the table has 2"),
        ({"reward": mf.Gaussian(1.0)}, "rows of a table have a range"),
        ({"costs": [1.0, -2.0]}, "a cost must be a positive finite number"),
    ],
)
def test_broken_arguments(change, message):
    call = {"source": ROWS, **GIVEN, **change}
    with pytest.raises(InvalidInput, match=message):
        read_table(call.pop("source"), **call)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InstanceError, match="there is no table"):
        read_table(tmp_path / "none.csv", **GIVEN)
    with pytest.raises(InstanceError, match="cannot be read"):
        read_table(tmp_path, **GIVEN)
    for data in (b"\x1f\x8b broken", b"\xff\xfe\x00"):
        (tmp_path / "t.csv").write_bytes(data)
        with pytest.raises(InstanceError, match=r"cannot be read|not UTF-8"):
            read_table(tmp_path / "t.csv", **GIVEN)


def test_collect_has_no_range_of_its_own():
    cells = collect([("a", "x", -7), ("a", "y", 9)])
    assert cells.means.tolist() == [[-7.0, 9.0]]


def pull(arm, fidelity, seed):
    return SimpleNamespace(arm=arm, fidelity=fidelity, seed=seed)


@pytest.mark.parametrize("law", [mf.BernoulliLaw(), mf.BetaLaw(8), mf.TableLaw([[[1, 4, 5], [3]], [[1, 2], [5, 1]]])])
def test_evaluators_follow_the_law(law):
    problem = mf.Problem(["a", "b"], [("x", 1, 2), ("y", 2, 0)], reward=mf.Bounded(1, 5))
    means = law.means if isinstance(law, mf.TableLaw) else [[2.0, 3.0], [4.0, 4.5]]
    instance = mf.Instance(problem, means, law)
    evaluate = instance.evaluator()
    for k, arm in enumerate("ab"):
        for m, fidelity in enumerate("xy"):
            rewards = np.array([evaluate(pull(arm, fidelity, seed)) for seed in range(3000)])
            assert 1.0 <= rewards.min() <= rewards.max() <= 5.0
            assert abs(rewards.mean() - instance.means[k, m]) < 4.5 * 2.0 / 3000**0.5
            if isinstance(law, mf.TableLaw):
                assert set(rewards) == set(law.cells[k][m])


def test_gaussian_evaluator():
    problem = mf.Problem(["a"], [("x", 1, 0)], reward=mf.Gaussian(2.0))
    evaluate = evaluator(mf.Instance(problem, [[-7.0]]))
    rewards = [evaluate(pull("a", "x", seed)) for seed in range(2000)]
    assert np.mean(rewards) == pytest.approx(-7.0, abs=0.2)
    assert np.std(rewards) == pytest.approx(2.0, abs=0.2)


def test_an_evaluator_is_a_pure_function(table):
    evaluate = evaluator(table, seed=4)
    copy = pickle.loads(pickle.dumps(evaluate))
    pulls = [pull("a", "human", seed) for seed in range(50)]
    assert [evaluate(p) for p in pulls] == [copy(p) for p in reversed(pulls)][::-1]
    assert [evaluate(p) for p in pulls] != [evaluator(table, seed=5)(p) for p in pulls]


def test_evaluators_refuse_strangers(table):
    evaluate = evaluator(table)
    with pytest.raises(InvalidInput, match="no arm 'c'"):
        evaluate(pull("c", "human", 0))
    with pytest.raises(InvalidInput, match="no fidelity 'humans'; did you mean 'human'"):
        evaluate(pull("a", "humans", 0))
    with pytest.raises(InvalidInput, match="made from an Instance"):
        evaluator("figure-1a")
    with pytest.raises(InvalidInput, match="seed must be a whole number >= 0"):
        evaluator(table, seed=-1)
