"""The default policy on blocks, in a study: certified and checkable, the same however it is run."""

from __future__ import annotations

import json
import math
import pickle
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mfbandit as mf
from mfbandit.cli._result_text import print_result
from mfbandit.confidence.race import Race
from mfbandit.core import normal, uniform
from mfbandit.instances import BlockTableLaw
from mfbandit.model import Pull
from mfbandit.study import Result, Study, create_study, import_study, load_study
from mfbandit.study._history import history
from mfbandit.study.report._study_plots import differences, spend
from mfbandit.study.state.rounds._round_record import dump_state

LANES = [
    mf.Fidelity("judge", cost=0.1, bias=0.3, pair_bias=0.1, block_cost=0.25),
    mf.Fidelity("human", cost=4.0, block_cost=2.0),
]
FINITE = mf.Problem(["a", "b", "c", "d"], LANES, "bernoulli", blocks=150)
UNLIMITED = mf.Problem(["a", "b", "c", "d"], LANES[1:], "bernoulli", blocks="unlimited")
NORMAL = mf.Problem(["a", "b", "c", "d"], [("exact", 1.0)], mf.Gaussian(), blocks="unlimited")
PROBLEMS = [FINITE, UNLIMITED, NORMAL]
NAMES = ["finite", "unlimited", "normal"]


@pytest.fixture(autouse=True)
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short studies are over before their policies are compiled."""
    monkeypatch.setattr("mfbandit.study.state._planner._LOOK_AFTER_SECONDS", math.inf)


def evaluate(pull: Pull) -> float:
    """A reward with a part that all arms share on a block."""
    assert pull.block is not None
    shared = uniform(11, pull.fidelity_index, pull.block, 0)
    own = uniform(12, 4 * pull.fidelity_index + pull.arm_index, pull.block, 0)
    if pull.fidelity == "exact":
        return float(normal(shared) + 0.1 * normal(own) + 0.05 * pull.arm_index)
    return float(0.7 * shared + 0.3 * own < 0.35 + 0.06 * pull.arm_index)


def play(study: Study) -> Study:
    while pulls := study.ask(3):
        for pull in pulls:
            assert study.tell(pull, evaluate(pull))
    return study


def play_wildly(study: Study, chance: random.Random) -> Study:
    """Ask for many, tell in any order, let leases end, fail now and then, come back later."""
    out: list[Pull] = []
    while not study.done:
        out += study.ask(chance.randint(1, 9), lease_seconds=chance.choice([1e-6, 60.0]))
        chance.shuffle(out)
        while out and chance.random() < 0.8:
            pull = out.pop()
            if chance.random() < 0.05:
                study.fail(pull, "by chance")
            else:
                study.tell(pull, evaluate(pull))
        if chance.random() < 0.1:
            study = load_study(study.storage.url, durable=False)
    return study


def assert_same(one: Study, other: Study) -> None:
    first, second = one.current(), other.current()
    assert one.to_frame().loc[:, :"reward"].equals(other.to_frame().loc[:, :"reward"])
    assert dump_state(first.state) == dump_state(second.state)
    assert first.race is not None
    assert second.race is not None
    assert first.race.rounds == second.race.rounds
    assert (first.status, first.cost, first.recommend()) == (second.status, second.cost, second.recommend())


@pytest.mark.parametrize("problem", PROBLEMS, ids=NAMES)
def test_a_race_is_certified_and_its_certificate_can_be_checked(problem: mf.Problem) -> None:
    study = play(create_study(problem))
    result = study.result()
    assert (result.status, result.best) == ("certified", "d")
    assert result.policy == "mf-race"
    assert result.confidence >= 0.95
    assert mf.verify(result.certificate).valid
    assert set(result.differences) == {"a", "b", "c"}
    assert all(low <= high for low, high in result.differences.values())
    assert result.differences["a"][1] > 0.0
    assert sum(arm.cost for arm in result.arms) == pytest.approx(result.cost)
    frame = result.to_frame().set_index("arm")
    assert tuple(frame.loc["a", ["ahead at least", "ahead at most"]]) == result.differences["a"]
    plain = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert plain["differences"]["a"] == list(result.differences["a"])
    assert (plain["tied"], plain["regret_bound"]) == ([], result.regret_bound)


@pytest.mark.parametrize("order", ["own", "shared"])
def test_decisions_are_those_of_the_simulator(order: str) -> None:
    chance = np.random.default_rng(4)
    easy = chance.random((1, 1, 120))
    values = (0.6 * easy + 0.4 * chance.random((4, 2, 120)) < np.linspace(0.3, 0.5, 4)[:, None, None]).astype(float)
    law = BlockTableLaw(values)
    gap = float(np.abs(law.means[:, 0] - law.means[:, 1]).max())
    lanes = [mf.Fidelity("judge", cost=0.1, bias=gap, block_cost=0.1), mf.Fidelity("human", cost=4.0, block_cost=2.0)]
    problem = mf.Problem(["a", "b", "c", "d"], lanes, "bernoulli", blocks=120, order=order)
    study = create_study(problem, seed=3)
    asked: list[Pull] = []
    while pulls := study.ask(1):
        asked += pulls
        for pull in pulls:
            assert pull.block is not None
            study.tell(pull, float(values[pull.arm_index, pull.fidelity_index, pull.block]))
    runs = mf.simulate(
        mf.Instance(problem, law=law), "mf-race", trials=1, seed=3, device="python", trace=len(asked) + 1
    )
    rows = [(arm, lane) for arm, lane, count in runs.trace[0].tolist() for _ in range(count)]
    assert [(pull.arm_index, pull.fidelity_index) for pull in asked] == rows
    assert study.cost == pytest.approx(runs.cost[0])
    assert study.best == problem.arms[runs.best[0]]
    assert study.status == "certified"


def test_a_study_without_blocks_says_nothing_of_them(pair: mf.Problem) -> None:
    result = create_study(pair).result()
    assert (result.tied, result.differences) == ((), {})
    assert not {"tied", "differences"} & set(result.to_json())


@pytest.mark.parametrize("problem", PROBLEMS, ids=NAMES)
def test_order_and_interruptions_change_nothing(problem: mf.Problem, tmp_path: Path) -> None:
    calm = play(create_study(problem, retries=10**6))
    stored = create_study(problem, retries=10**6, storage=tmp_path / "s.db", durable=False)
    wild = play_wildly(stored, random.Random(2))
    assert_same(wild, calm)
    again = load_study(str(tmp_path / "s.db"))
    assert_same(again, calm)
    assert again.view().confidence == calm.view().confidence
    assert mf.verify(again.result().certificate).valid
    again.export(tmp_path / "study.jsonl")
    assert_same(import_study(tmp_path / "study.jsonl"), calm)


def assert_honest(result: Result) -> None:
    """The certificate of an answer that is not proven has no other fault than that."""
    verdict = mf.verify(result.certificate)
    assert not verdict.valid
    assert all("nothing shows that arm" in reason for reason in verdict.reasons), verdict.reasons


@pytest.mark.parametrize("problem", PROBLEMS, ids=NAMES)
def test_a_running_study_has_a_certificate_too(problem: mf.Problem) -> None:
    study = create_study(problem)
    assert study.result().best is None
    while study.view().pulls < 37:
        for pull in study.ask(5):
            study.tell(pull, evaluate(pull))
    result = study.result()
    assert result.status == "running"
    assert_honest(result)
    assert result.certificate["pulls"] == study.current().folded_pulls
    assert result.regret_bound is None or result.regret_bound >= 0.0


def test_two_processes_take_turns(tmp_path: Path) -> None:
    calm = play(create_study(FINITE))
    crew = [create_study(FINITE, storage=tmp_path / "s.db", durable=False)]
    crew.append(load_study(str(tmp_path / "s.db"), durable=False))
    chance = random.Random(5)
    while not crew[0].done:
        study = chance.choice(crew)
        for pull in study.ask(chance.randint(1, 4)):
            study.tell(pull, evaluate(pull))
    for study in crew:
        assert_same(study, calm)


def test_arms_that_are_equal_on_all_blocks_are_all_named(capsys: pytest.CaptureFixture[str]) -> None:
    problem = mf.Problem(["a", "b", "c"], [("exact", 1.0)], "bernoulli", blocks=20)

    def reward(pull: Pull) -> float:
        assert pull.block is not None
        return float(pull.arm != "a" and (pull.block + pull.arm_index) % 2)

    result = mf.identify(problem, reward, progress=False)
    assert result.status == "certified"
    assert {result.best, *result.tied} == {"b", "c"}
    assert result.differences[result.tied[0]] == pytest.approx((0.0, 0.0), abs=1e-9)
    assert result.pulls <= 60
    assert mf.verify(result.certificate).valid
    print_result(result)
    said = capsys.readouterr().out
    assert "nothing, they are equal" in said
    assert "Exactly as good on all blocks" in said


def expected_race(study: Study, worst: dict[str, float]) -> Race:
    """The evidence of a study in which cells that could not be had are replaced."""
    view = study.view()
    rewards = view.state.blocks.rewards.copy()
    for arm, value in worst.items():
        row = rewards[:, study.problem.arms.index(arm)]
        row[np.isnan(row)] = value
    blocks = view.state.blocks._replace(rewards=rewards)
    return Race.of_state(view.problem, view.columns, 0.05, 0.0, view.state._replace(blocks=blocks))


def test_a_failing_cell_counts_at_its_worst(tmp_path: Path) -> None:
    problem = mf.Problem(["a", "b"], [("exact", 1.0)], "bernoulli", blocks="unlimited")
    study = create_study(problem, on_failure="worst", retries=1, max_cost=160.0, storage=tmp_path / "s.db")
    while pulls := study.ask(4):
        for pull in pulls:
            assert pull.block is not None
            if pull.block % 10 == 3:
                study.fail(pull, "no answer")
            else:
                study.tell(pull, float(pull.arm == "b" or pull.block % 2 == 0))
    state = study.current().state
    assert state.blocks.missing.min() > 3
    again = load_study(str(tmp_path / "s.db"))
    for one in (study, again):
        view = one.view()
        # Against a: the comparator b had nothing there, and a had everything.
        assert view.race.log_p[0] == expected_race(one, {"a": 1.0, "b": 0.0}).log_p[0]
        assert view.race.log_p[0] > expected_race(one, {"a": 0.0, "b": 1.0}).log_p[0]
        result = one.result()
        assert result.arms[1].means == {"exact": 1.0}, "cells that could not be had are no part of a mean"
        assert mf.verify(result.certificate).valid
        assert result.certificate["missing"] == state.blocks.missing.sum()
    assert study.to_frame()["reward"].isna().sum() == state.blocks.missing.sum()
    assert study.to_frame().equals(again.to_frame())


def test_a_service_that_fails_for_all_gives_up_no_cell() -> None:
    study = create_study(FINITE, on_failure="worst", retries=2)

    def broken(pull: Pull) -> float:
        raise ConnectionError("no route")

    with pytest.raises(mf.errors.StudyError, match="no cell is given up for it"):
        study.optimize(broken, workers=4, progress=False, failure_patience=0.3)
    assert study.current().state.blocks.missing.sum() == 0


@pytest.mark.parametrize("limit", [0.4, 3.0, 11.1])
def test_max_cost_holds(limit: float) -> None:
    study = play(create_study(FINITE, max_cost=limit))
    frame = study.to_frame()
    assert study.status == "max_cost"
    assert study.cost == pytest.approx(frame["cost"].sum())
    assert limit - 6.0 < study.cost <= limit
    result = study.result()
    assert sum(arm.cost for arm in result.arms) == pytest.approx(study.cost)
    assert_honest(result)


def test_a_pull_reaches_other_processes_with_its_block() -> None:
    (pull,) = create_study(FINITE).ask()
    again = pickle.loads(pickle.dumps(pull))
    assert again == pull
    assert (again.block, again.block_seed) == (pull.block, pull.block_seed) != (None, None)


def shared_part(pull: Pull) -> float:
    return evaluate(pull)


@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_engines_hand_out_blocks(engine: str) -> None:
    result = mf.identify(FINITE, shared_part, workers=2, width=1, engine=engine, progress=False)
    calm = play(create_study(FINITE)).result()
    assert (result.best, result.cost, result.differences) == (calm.best, calm.cost, calm.differences)


def test_compiled_and_plain_planning_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = play(create_study(UNLIMITED))
    compiled = create_study(UNLIMITED)
    for pull in compiled.ask(2):
        compiled.tell(pull, evaluate(pull))
    planner = compiled.current().planner
    planner.compile_once(compiled.current().state)
    assert planner.plan is not planner.algorithm.plan
    assert_same(play(compiled), plain)


def test_pulls_that_draw_their_own_blocks(tmp_path: Path) -> None:
    study = create_study(FINITE, policy="mf-toptwo:independent=True", storage=tmp_path / "s.db", durable=False)
    pulls: list[Pull] = []
    while len(pulls) < 200:
        for pull in study.ask(7):
            pulls.append(pull)
            study.tell(pull, evaluate(pull))
    blocks = [pull.block for pull in pulls]
    assert len(set(blocks)) > 60
    assert all(block is not None and 0 <= block < 150 for block in blocks)
    assert all(pull.block_seed == pull.seed for pull in pulls)
    first = [[p.block for p in pulls if p.arm_index == k and p.fidelity_index == 0][:5] for k in range(4)]
    assert len({tuple(row) for row in first}) == 4, "no arm is on the blocks of another"
    again = load_study(str(tmp_path / "s.db"))
    assert again.to_frame()["block"].tolist()[:200] == blocks
    assert dump_state(again.current().state) == dump_state(study.current().state)
    assert again.result().certificate.get("kind") != "blocks"


def test_the_report_says_how_far_ahead_the_best_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = play(create_study(FINITE))
    result = study.result()
    result.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "How far the best is ahead of each arm" in page
    assert "<th>ahead by at least</th>" in page
    low, high = result.differences["a"]
    assert f"<td>{low:.4g}</td><td>{high:.4g}</td>" in page
    print_result(result)
    assert f"{low:.3f} to {high:.3f}" in capsys.readouterr().out
    assert differences(result).axes[0].get_xlabel().startswith("d\nis ahead by")
    bars = [bar.get_width() for bar in spend(result, FINITE).axes[0].patches]
    assert sum(bars) == pytest.approx(result.cost)
    moments = history(study, 5)
    assert moments[-1].confidence == result.confidence
    assert math.isclose(moments[-1].cost, result.cost)


@pytest.mark.parametrize("width", [1, 5])
def test_who_is_on_a_block_is_fixed_when_it_is_opened(tmp_path: Path, width: int) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    seen: dict[tuple[int, int], set[str]] = {}
    measured: dict[tuple[int, int], set[str]] = {}
    with create_study(FINITE, storage=url, durable=False, delta=0.2, width=width) as study:
        while not study.done:
            for pull in study.ask(width):
                place = pull.fidelity_index, pull.index
                assert seen.setdefault(place, set(study.arms_on_block(pull))) == set(study.arms_on_block(pull))
                measured.setdefault(place, set()).add(pull.arm)
                last = pull
                study.tell(pull, evaluate(pull))
    with load_study(url) as again:
        for (fidelity, index), arms in seen.items():
            pull = replace(last, fidelity_index=fidelity, index=index)
            assert set(again.arms_on_block(pull)) == arms >= measured[fidelity, index]
    assert len({frozenset(arms) for arms in seen.values()}) > 2
