"""Studies of problems with blocks: which block a pull is on, what counts, what is stored, and what it costs."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lockstep import Lockstep, assert_same, evaluate, play, problem

import mfbandit as mf
from mfbandit.core import block_order, block_seed
from mfbandit.errors import StorageError
from mfbandit.study import create_study, import_study, load_study

pytestmark = pytest.mark.usefixtures("lockstep_by_name")


def test_every_arm_goes_through_the_items_of_a_finite_set_in_the_order_of_the_seed() -> None:
    study = create_study(problem(12), policy=Lockstep(batch=5, last=12), seed=3)
    pulls = play(study)
    order = block_order(3, 2, 12, False)
    for arm in range(3):
        for lane in range(2):
            seen = [pull.block for pull in pulls if (pull.arm_index, pull.fidelity_index) == (arm, lane)]
            assert seen == order[lane].tolist()
    assert all(pull.block_seed == block_seed(3, pull.fidelity_index, pull.block or 0) for pull in pulls)
    assert sorted(order[0]) == list(range(12))
    assert order[0].tolist() != order[1].tolist()


def test_fidelities_share_order_and_seeds_if_so_declared() -> None:
    pulls = play(create_study(problem(12, order="shared"), policy=Lockstep(last=12), seed=3))
    by_lane = [[(p.block, p.block_seed) for p in pulls if p.fidelity_index == m and p.arm == "a"] for m in (0, 1)]
    assert by_lane[0] == by_lane[1]


def test_the_order_of_a_fidelity_does_not_depend_on_which_others_are_in_use() -> None:
    def of_humans(fidelities: str) -> list[int | None]:
        study = create_study(problem(9), policy=Lockstep(fidelities=fidelities, last=9), seed=1)
        return [pull.block for pull in play(study) if pull.fidelity == "human" and pull.arm == "a"]

    assert of_humans("all") == of_humans("top")


def test_unlimited_blocks_are_numbered_and_all_arms_get_their_seed() -> None:
    study = create_study(problem(), policy=Lockstep(batch=7, last=200), seed=5)
    pulls = play(study)
    assert study.current().state.blocks.rewards.shape[2] == 256, "room is made as it is needed"
    seeds: dict[tuple[int, int], set[int]] = {}
    for pull in pulls:
        assert pull.block == pull.index
        seeds.setdefault((pull.fidelity_index, pull.index), set()).add(pull.block_seed or 0)
    assert all(len(found) == 1 for found in seeds.values()), "never a function of the arm"
    assert len(set.union(*seeds.values())) == len(seeds) == 400


def test_a_problem_without_blocks_has_none(pair: mf.Problem) -> None:
    (pull,) = create_study(pair).ask()
    assert pull.block is None
    assert pull.block_seed is None


def test_results_in_any_order_and_reopening_change_nothing(tmp_path: Path) -> None:
    calm = create_study(problem(20), policy=Lockstep(batch=3, last=20), retries=10**6)
    play(calm)
    chance, out = random.Random(1), []
    wild = create_study(
        problem(20), policy=Lockstep(batch=3, last=20), retries=10**6, storage=tmp_path / "s.db", durable=False
    )
    while not wild.done:
        out += wild.ask(chance.randint(1, 9), lease_seconds=chance.choice([1e-6, 60.0]))
        chance.shuffle(out)
        while out and chance.random() < 0.8:
            pull = out.pop()
            if chance.random() < 0.05:
                wild.fail(pull, "by chance")
                wild.retry()
            else:
                wild.tell(pull, evaluate(pull))
        if chance.random() < 0.2:
            wild = load_study(str(tmp_path / "s.db"), durable=False)
    assert_same(wild, calm)
    assert_same(load_study(str(tmp_path / "s.db")), calm)
    assert wild.to_frame().loc[:, :"reward"].equals(calm.to_frame().loc[:, :"reward"])


@pytest.mark.parametrize("blocks", [40, "unlimited"])
def test_export_and_import_are_exact(blocks: int | str, tmp_path: Path) -> None:
    study = create_study(problem(blocks), policy=Lockstep(batch=3, last=40))
    for _ in range(30):
        for pull in study.ask(5):
            study.tell(pull, evaluate(pull))
    study.export(tmp_path / "study.jsonl")
    again = import_study(tmp_path / "study.jsonl")
    assert_same(again, study)
    assert again.log_digest() == study.log_digest()
    play(study)
    play(again)
    assert_same(again, study)


def test_another_process_follows_the_log_without_planning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first = create_study(problem(), policy=Lockstep(batch=3, last=100), storage=tmp_path / "s.db", durable=False)
    second = load_study(str(tmp_path / "s.db"), durable=False)
    monkeypatch.setattr(second.current().planner, "plan", None)
    play(first)
    assert_same(second, first)


def test_what_was_opened_and_the_block_of_every_pull_are_in_the_log(tmp_path: Path) -> None:
    study = create_study(problem(12), policy=Lockstep(batch=4, last=12), seed=3)
    play(study)
    study.export(tmp_path / "study.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "study.jsonl").read_text().splitlines()]
    rounds = [line for line in lines if line.get("kind") == "round"]
    order = block_order(3, 2, 12, False).tolist()
    assert rounds[0]["opened"] == [[0, item, -1, 1] for item in order[0][:4]]
    assert rounds[0]["blocks"] == [order[0][:4]] * 3
    leader = rounds[3]["opened"][0][2]
    assert rounds[3]["opened"] == [[1, item, leader, (leader + 1) % 3] for item in order[1][4:8]]
    assert rounds[-1] == {"kind": "round", "pull": 72, "rows": []}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda line: line["blocks"][0].reverse(), "other blocks than the seed"),
        (lambda line: line.pop("blocks"), "other blocks than the seed"),
        (lambda line: line["opened"][0].__setitem__(1, 99), "out of turn"),
        (lambda line: line["opened"][0].__setitem__(2, 3), "out of turn"),
        (lambda line: line.pop("opened"), "has opened 0"),
        (lambda line: line.__setitem__("arms", [0, 1]), "changes arms or bounds"),
    ],
)
def test_a_damaged_record_of_blocks_is_refused(change: Callable[[Any], Any], says: str, tmp_path: Path) -> None:
    study = create_study(problem(12), policy=Lockstep(batch=4, last=12))
    play(study)
    study.export(tmp_path / "study.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "study.jsonl").read_text().splitlines()]
    change(lines[1])
    (tmp_path / "study.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(StorageError, match=says):
        import_study(tmp_path / "study.jsonl")


def test_the_pull_that_opens_a_block_pays_for_it(tmp_path: Path) -> None:
    study = create_study(problem(), policy=Lockstep(batch=3, last=10), storage=tmp_path / "s.db", durable=False)
    pulls = play(study)
    opening = [pull for pull in pulls if pull.cost in (1.25, 6.0)]
    assert {(pull.arm, pull.cost, pull.fidelity) for pull in opening} == {("a", 1.25, "judge"), ("a", 6.0, "human")}
    assert len(opening) == 20
    assert study.cost == sum(pull.cost for pull in pulls) == 10 * (3 * 1.0 + 0.25 + 3 * 4.0 + 2.0)
    assert load_study(str(tmp_path / "s.db")).cost == study.cost


@pytest.mark.parametrize("limit", [1.0, 1.25, 20.0, 31.7, 100.0])
def test_max_cost_is_never_passed(limit: float) -> None:
    study = create_study(problem(), policy=Lockstep(batch=3), max_cost=limit)
    pulls = play(study)
    assert study.status == "max_cost"
    assert sum(pull.cost for pull in pulls) == pytest.approx(study.cost)
    assert limit - 6.0 < study.cost <= limit
