"""Opening a study again, however many arms it has, gives the bits of folding its results one by one."""

import json
from pathlib import Path

import numpy as np
import pytest

import mfbandit as mf
from mfbandit.core import observe
from mfbandit.storage import RESULT, ROUND, MemoryStorage, Record
from mfbandit.study import Study, create_study, load_study
from mfbandit.study.state import StudyState
from mfbandit.study.state.rounds._round_record import dump_state

ARMS = 400


def made_up(arms: int, rounds: int) -> Study:
    """A study with a log of many streams, some of them long, as some policy might have planned it."""
    storage, chance = MemoryStorage(), np.random.default_rng(7)
    problem = mf.Problem(arms, [("a", 1.0, 0.2), ("b", 2.0, 0.1), ("c", 9.0)], reward=mf.Bounded(-1, 3))
    create_study(problem, storage=storage, policy="lucb-c")
    records: list[Record] = []
    asked = 0
    for place in range(rounds):
        rows = [[int(k), int(chance.integers(3)), int(chance.integers(1, 9))] for k in chance.integers(arms, size=30)]
        rows += [[3, 1, 40]] if place % 2 else []
        records.append(Record(ROUND, asked, 0.0, json.dumps({"rows": rows}, separators=(",", ":"))))
        count = sum(row[2] for row in rows)
        # Results come in any order; they count in that of asking.
        records += [Record(RESULT, asked + int(i), float(chance.uniform(-1, 3))) for i in chance.permutation(count)]
        asked += count
    records.append(Record(ROUND, asked, 0.0, '{"rows":[[0,0,2]]}'))
    storage.log("study").exchange(0, lambda news, clock: records, safe=True)
    return load_study(storage)


def test_the_bits_are_those_of_folding_one_by_one() -> None:
    study = made_up(ARMS, 40)
    one_by_one = StudyState(study.settings)
    one_by_one.apply(study.storage.log("study").read(0))
    assert dump_state(study.current().state) == dump_state(one_by_one.state)
    assert study.current().rounds == one_by_one.rounds


def test_the_work_does_not_grow_with_arms_times_pulls(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = 0
    repeat = np.repeat

    class Counted(np.ndarray):  # type: ignore[type-arg]
        def __eq__(self, other: object) -> object:
            nonlocal looked
            looked += self.size
            return super().__eq__(other)

    # Which stream every pull is of is the one array that is as long as the log.
    monkeypatch.setattr(np, "repeat", lambda *args, **options: repeat(*args, **options).view(Counted))
    study = made_up(ARMS, 40)
    assert looked <= study.current().asked, "no mask over all pulls per stream"


def test_a_result_says_the_same_of_all_arms(tmp_path: Path) -> None:
    study = made_up(60, 30)
    state, problem = study.current().state, study.problem
    for arm, found in enumerate(study.result().arms):
        assert list(found.pulls.values()) == state.pulls[arm].tolist()
        cost = 0.0
        for fidelity, mean in enumerate(found.means.values()):
            count = int(state.pulls[arm, fidelity])
            cost += count * float(problem.costs[arm, fidelity])
            assert mean == (problem.reward.from_unit(float(state.sums[arm, fidelity]) / count) if count else None)
        assert found.cost == cost


def test_arms_and_fidelities_out_of_play_have_no_rewards() -> None:
    problem = mf.Problem(3, [("a", 1.0, 0.2), ("b", 2.0, 0.1), ("c", 9.0)])
    study = create_study(problem, policy="lucb-c:fidelities=0+2", retries=0, on_failure="retire")
    while study.cost < 30.0:
        for pull in study.ask():
            if pull.arm == "arm 1":
                study.fail(pull, "broken")
            else:
                study.tell(pull, 0.5)
    first, second, third = study.result().arms
    assert second.pulls == {"a": 0, "b": 0, "c": 0}
    assert second.retired is not None
    assert first.pulls["b"] == third.pulls["b"] == 0
    assert first.means["b"] is None
    assert first.means["a"] == 0.5
    assert first.cost + third.cost <= study.cost


def test_one_reward_at_a_time_is_what_observe_does() -> None:
    study = made_up(5, 3)
    frame = study.to_frame()
    fresh = StudyState(study.settings)
    for arm, fidelity, reward in zip(frame["arm"], frame["fidelity"], frame["reward"], strict=True):
        names = [kind.name for kind in study.problem.fidelities]
        unit = float(study.problem.reward.to_unit(reward))
        observe(fresh.state, study.problem.arms.index(arm), names.index(fidelity), unit)
    for part in ("pulls", "sums", "squares", "deviations", "means", "inv_sqrt_pulls"):
        assert getattr(study.current().state, part).tobytes() == getattr(fresh.state, part).tobytes()
