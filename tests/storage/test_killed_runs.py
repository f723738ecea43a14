"""A run dies in the middle of an evaluation, on both databases: folders and what failures cost are as if it had not."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

import mfbandit as mf
from mfbandit.study import create_study, import_study, load_study

#: Where a run dies, whose first attempts fail, and what had been paid for before.
LAST, FAILING, PAID = 31, (5, 40), (7, 42)
LANES = [mf.Fidelity("3", 3.0, 0.3, pair_bias=0.02), mf.Fidelity("9", 9.0, continues=True)]
PROBLEM = mf.Problem(["a", "b", "c"], LANES, mf.Gaussian(), blocks="unlimited", order="shared")
KILLED = """
import sys
sys.path.insert(0, sys.argv[2])
import test_killed_runs as these
study = these.load_study(sys.argv[1])
study.optimize(these.Training(dies=True), folders=sys.argv[3], progress=False, failure_patience=0.0)
"""


class Busy(RuntimeError):
    """A call that failed and was paid for."""

    cost = 0.5


class Training:
    """Goes on from what a cheaper fidelity left; some pulls fail once, which has a price."""

    def __init__(self, dies: bool = False) -> None:
        self.dies, self.failed = dies, set()

    def __call__(self, pull: mf.Pull) -> mf.Outcome:
        state = Path(pull.folder) / "state"
        known = state.read_text() if state.exists() else ""
        assert known == (pull.done or "")
        if self.dies and pull.id == LAST:
            state.write_text("half-written")
            os._exit(9)
        if pull.id in FAILING and pull.id not in self.failed:
            self.failed.add(pull.id)
            raise Busy("busy")
        state.write_text(pull.fidelity)
        noise = random.Random(f"{pull.block_seed} {pull.arm}").gauss(0.0, 0.1)
        reward = 0.1 * pull.arm_index + random.Random(pull.block_seed).gauss(0.0, 1.0) + noise
        return mf.Outcome(reward, cost=0.0, usual=False) if pull.id in PAID else mf.Outcome(reward)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'study.db'}"
    return request.getfixturevalue("postgres_database")


def test_a_run_that_is_killed_leaves_folders_and_costs_of_failures_as_they_are(url, tmp_path):
    settings = {"delta": 0.01, "max_cost": 2000.0}
    study, folders = create_study(PROBLEM, storage=url, **settings), tmp_path / "folders"
    code = [sys.executable, "-c", KILLED, url, str(Path(__file__).parent), str(folders)]
    assert subprocess.run(code, check=False).returncode == 9
    assert study.view().pulls == LAST
    assert list(folders.glob(f"*/*/*/attempt-{LAST}-*"))
    result = study.optimize(Training(), folders=folders, progress=False, failure_patience=0.0)
    assert (result.status, result.best) == ("certified", "c")
    assert not any(folders.iterdir())
    alone = create_study(PROBLEM, **settings)
    alone.optimize(Training(), folders=tmp_path / "alone", progress=False, failure_patience=0.0)
    study.export(tmp_path / "study.jsonl")
    assert result.pulls > max(FAILING)
    for one in (study, load_study(url), import_study(tmp_path / "study.jsonl")):
        assert one.cost == pytest.approx(alone.cost)
        assert one.cost - one.to_frame()["cost"].sum() == pytest.approx(len(FAILING) * Busy.cost)
        frame = one.to_frame().set_index("pull")
        assert frame["reward"].tolist() == alone.to_frame()["reward"].tolist()
        assert frame.loc[list(PAID), "cost"].tolist() == [0.0, 0.0]
        assert frame.loc[list(FAILING), "attempt"].tolist() == [2, 2]
        assert (frame["duration"] >= 0.0).all()
