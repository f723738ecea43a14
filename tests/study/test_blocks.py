"""Studies of problems with blocks: which block a pull is on, what counts, what is stored, and what it costs."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

import mfbandit as mf
from mfbandit import algorithms
from mfbandit.algorithms import Entry, Policy
from mfbandit.core import Algorithm, Ints, block_order, block_seed, open_block, uniform
from mfbandit.errors import InvalidInput, StorageError, StudyError
from mfbandit.kernel import kernel
from mfbandit.layout import integers
from mfbandit.model import Pull
from mfbandit.study import Study, create_study, import_study, load_study
from mfbandit.study.state._round_record import dump_state

LANES = [
    mf.Fidelity("judge", cost=1.0, bias=0.3, pair_bias=0.1, block_cost=0.25),
    mf.Fidelity("human", cost=4.0, block_cost=2.0),
]


class Steps(NamedTuple):
    """How many rounds were planned."""

    step: Ints = integers(1)


class LockstepParams(NamedTuple):
    """How many blocks to open at once, and when to stop."""

    batch: int
    last: int


@kernel
def plan_lockstep(problem, params, state, out):
    """Advance all arms together, in one lane after the other; the arm with the larger sum is declared leader."""
    lane = int(state.own.step[0]) % problem.cost.shape[1]
    begun = int(state.blocks.opened[lane])
    count = min(params.batch, params.last - begun)
    if count <= 0:
        return 0
    state.own.step[0] += 1
    leader = recommend_lockstep(problem, params, state)
    for _ in range(count):
        open_block(state.blocks, lane, leader if begun > 2 else -1, (leader + 1) % problem.cost.shape[0])
    for arm in range(problem.cost.shape[0]):
        out[arm, 0], out[arm, 1], out[arm, 2] = arm, lane, count
    return problem.cost.shape[0]


@kernel
def recommend_lockstep(problem, params, state):
    """The arm with the largest sum in the truest lane."""
    best = 0
    for arm in range(problem.cost.shape[0]):
        if state.sums[arm, problem.truest] > state.sums[best, problem.truest]:
            best = arm
    return best


@dataclass(frozen=True)
class Lockstep(Policy):
    """All arms on the same blocks, up to a last one."""

    last: int = 30
    guarantee: ClassVar[bool] = True
    on_blocks: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return "lockstep"

    def algorithm(self, problem: Any, goal: Any, unit: Callable[[float], float]) -> Algorithm:
        params = LockstepParams(self.batch, self.last)
        rows = problem.cost.shape[0]
        return Algorithm(plan_lockstep, recommend_lockstep, params, rows, memory=Steps, evidence="blocks")


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The policy can be read back by its name."""
    monkeypatch.setitem(algorithms.REGISTRY, "lockstep", Entry(Lockstep, {}, "Lockstep", "lockstep"))
    return


def problem(blocks: int | str = "unlimited", **options: Any) -> mf.Problem:
    return mf.Problem(["a", "b", "c"], LANES, "bernoulli", blocks=blocks, **options)


def evaluate(pull: Pull) -> float:
    """A reward that is a function of the arm, the fidelity and the block alone."""
    assert pull.block is not None
    easy = uniform(11, pull.fidelity_index, pull.block, 0)
    luck = uniform(12, 3 * pull.fidelity_index + pull.arm_index, pull.block, 0)
    return float(0.6 * easy + 0.4 * luck < 0.4 + 0.1 * pull.arm_index)


def play(study: Study, of: Callable[[Pull], float] = evaluate) -> list[Pull]:
    asked = []
    while pulls := study.ask(4):
        asked += pulls
        for pull in pulls:
            assert study.tell(pull, of(pull))
    return asked


def cells(state: Any) -> list[Any]:
    """All that a state holds of blocks which counts."""
    held = state.blocks
    rewards = [
        [held.rewards[m, k, : state.pulls[k, m]].tobytes() for k in range(state.pulls.shape[0])]
        for m in range(state.pulls.shape[1])
    ]
    declared = [held.declared[m, : held.opened[m]].tolist() for m in range(held.opened.size)]
    return [rewards, declared, held.order.tolist(), held.missing.tolist(), held.rewards.shape]


def assert_same(one: Study, other: Study) -> None:
    first, second = one.current(), other.current()
    assert dump_state(first.state) == dump_state(second.state)
    assert cells(first.state) == cells(second.state)
    assert (first.status, first.cost, first.rounds) == (second.status, second.cost, second.rounds)
    assert first.race is not None
    assert second.race is not None
    assert first.race.rounds == second.race.rounds
    np.testing.assert_array_equal(first.race.rewards, second.race.rewards)
    np.testing.assert_array_equal(first.race.openings, second.race.openings)


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
    assert wild.to_frame().equals(calm.to_frame())


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


def failing(study: Study, fails: Callable[[Pull], bool]) -> None:
    while pulls := study.ask(4):
        for pull in pulls:
            if fails(pull):
                study.fail(pull, "no answer")
            else:
                study.tell(pull, evaluate(pull))


def hopeless(pull: Pull) -> bool:
    return pull.arm == "b" and pull.index % 4 == 1


def test_a_cell_that_cannot_be_had_is_missing(tmp_path: Path) -> None:
    options: dict[str, Any] = {"policy": Lockstep(batch=3, last=10), "on_failure": "worst", "retries": 1}
    study = create_study(problem(10), storage=tmp_path / "s.db", durable=False, **options)
    failing(study, hopeless)
    state = study.current().state
    assert state.blocks.missing.tolist() == [[0, 0], [3, 3], [0, 0]]
    assert np.flatnonzero(np.isnan(state.blocks.rewards[1, 1, :10])).tolist() == [1, 5, 9]
    assert state.pulls.tolist() == [[10, 10]] * 3
    again = load_study(str(tmp_path / "s.db"))
    assert_same(again, study)
    study.export(tmp_path / "study.jsonl")
    assert_same(import_study(tmp_path / "study.jsonl"), study)
    assert import_study(tmp_path / "study.jsonl").log_digest() == study.log_digest()
    view = again.view()
    assert view.rewards.count(None) == 6
    assert len(view.rewards) == 60


def test_a_cell_that_fails_once_is_measured_again() -> None:
    study = create_study(problem(10), policy=Lockstep(last=10), on_failure="worst", retries=1)
    failed: set[int] = set()

    def once(pull: Pull) -> bool:
        return pull.id % 3 == 0 and not (pull.id in failed or failed.add(pull.id))  # type: ignore[func-returns-value]

    failing(study, once)
    assert len(failed) == 20
    assert study.current().state.blocks.missing.sum() == 0


def test_by_default_a_study_stops_when_a_cell_cannot_be_had() -> None:
    study = create_study(problem(10), policy=Lockstep(last=10), retries=0)
    failing(study, hopeless)
    assert study.status == "failed"
    assert study.retry()
    play(study)
    assert study.current().state.blocks.missing.sum() == 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"on_failure": "retire"}, "'retire' is not for problems with blocks"),
        ({"on_violation": "widen"}, "on_violation must be 'ignore' for a problem with blocks, got 'widen'"),
    ],
)
def test_what_blocks_do_not_allow_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        create_study(problem(), policy=Lockstep(), **options)


def test_cells_at_their_worst_need_blocks(pair: mf.Problem) -> None:
    with pytest.raises(InvalidInput, match="needs a problem with blocks"):
        create_study(pair, on_failure="worst")


def test_normal_rewards_that_are_all_0_or_1_are_refused_and_nothing_is_lost(tmp_path: Path) -> None:
    scores = mf.Problem(["a", "b"], [("exact", 1.0)], mf.Gaussian(), blocks="unlimited")
    study = create_study(scores, policy=Lockstep(last=100), storage=tmp_path / "s.db")
    with pytest.raises(StudyError, match=r"20 rewards so far are all 0 or 1.*declare reward='bernoulli'"):
        play(study, lambda pull: float(pull.index % 2))
    assert study.view().pulls == load_study(str(tmp_path / "s.db")).view().pulls == 20
    with pytest.raises(StudyError, match="20 rewards so far"):
        load_study(str(tmp_path / "s.db")).ask()
    other = create_study(scores, policy=Lockstep(last=100))
    play(other, lambda pull: 0.5 if pull.id == 3 else 1.0)
    assert other.view().pulls == 200


def test_a_round_beyond_the_opened_blocks_is_refused() -> None:
    study = create_study(problem(5), policy=Lockstep(batch=2, last=4))
    study_state = study.current()
    with pytest.raises(StudyError, match="opened 0 so far"):
        study_state.rows_with_starts([[0, 0, 1]])
