"""What a study keeps of every pull, for whoever looks later."""

import hashlib
import os

import pytest

import mfbandit as mf
from mfbandit.errors import RewardError
from mfbandit.study import create_study, import_study

pandas = pytest.importorskip("pandas")
PROBLEM = mf.Problem(["a", "b"], [("exact", 1.0, 0.0)], blocks=40)


def flaky():
    failed, began = [], []

    def evaluate(pull):
        began.append(pull)
        if len(began) == 10 and not failed:
            failed.append(pull.id)
            raise RuntimeError("once")
        return float(pull.arm == "b")

    return evaluate, failed


@pytest.mark.parametrize("storage", [None, "sqlite"])
def test_it_says_who_did_a_pull_how_long_it_took_and_at_which_attempt(tmp_path, storage):
    url = storage and f"sqlite:///{tmp_path}/study.db"
    study = create_study(PROBLEM, storage=url, name="s", seed=2, max_cost=60)
    evaluate, failed = flaky()
    study.optimize(evaluate, workers=2, progress=False)
    frame = study.to_frame()
    assert (frame["duration"] >= 0.0).all()
    assert frame["worker"].str.contains(f":{os.getpid()}").all()
    again = frame[frame["pull"] == failed[0]]
    assert again["attempt"].tolist() == [2]
    assert (frame.drop(again.index)["attempt"] == 1).all()
    assert (frame["item"] == frame["block"]).all()

    study.export(tmp_path / "study.jsonl")
    lines = (tmp_path / "study.jsonl").read_bytes().splitlines(keepends=True)[1:]
    counted = b"".join(line for line in lines if not line.startswith(b'{"kind": "work"'))
    assert hashlib.sha256(counted).hexdigest() == study.log_digest()
    copied = import_study(tmp_path / "study.jsonl")
    pandas.testing.assert_frame_equal(copied.to_frame(), frame)
    assert copied.known_digest() == study.known_digest()


def test_who_tells_says_it():
    study = create_study(mf.Problem(["a", "b"], [("exact", 1.0, 0.0)]))
    first, second = study.ask(2)
    study.tell(first, mf.Outcome(0.5, seconds=3, worker="anna"))
    study.tell(second, 0.5)
    frame = study.to_frame()
    assert frame["duration"].tolist() == pytest.approx([3.0, float("nan")], nan_ok=True)
    assert frame["worker"].isna().tolist() == [False, True]
    assert frame["worker"][0] == "anna"
    assert "item" not in frame
    with pytest.raises(RewardError, match="seconds that a pull took must be a finite number >= 0, got -1"):
        study.tell(study.ask()[0], mf.Outcome(0.5, seconds=-1))
