"""What pulls really cost: told, measured, limited, and kept in the log."""

import contextlib
import itertools
import random
import sys
from functools import partial
from pathlib import Path

import pytest

import mfbandit as mf
from mfbandit.certificate import verify
from mfbandit.engines import Batches
from mfbandit.errors import InvalidInput, PolicyError, ProblemError, RewardError, StudyError
from mfbandit.storage import FAILURE, RESULT
from mfbandit.study import Study, create_study, import_study, load_study
from mfbandit.study._settings import Settings
from mfbandit.study._verify_with_study import verify_with_study
from mfbandit.study.state.rounds._costs import Costs
from mfbandit.study.state.rounds._round import PlannedRow
from mfbandit.study.state.rounds._round_record import dump_state
from mfbandit.workers import Command, describe

pytestmark = pytest.mark.usefixtures("compiled_plans")

ARMS = ["a", "b", "c"]
PLAIN = mf.Problem(ARMS, [mf.Fidelity("quick", 1.0, 0.1), mf.Fidelity("exact", 3.0)])
MEASURED = mf.Problem(ARMS, [mf.Fidelity("quick", 1.0, 0.1), mf.Fidelity("exact", "measured")])
ITEMS = mf.Problem(ARMS, [mf.Fidelity("quick", 1.0, 0.1, block_cost=1.5), mf.Fidelity("exact", 30.0)], blocks=200)
NORMAL = mf.Problem(ARMS, [mf.Fidelity("only", "measured")], mf.Gaussian(), blocks="unlimited")
MEANS = {"a": 0.3, "b": 0.8, "c": 0.4}
#: The arm that is so many times slower than the others.
SLOW = {"a": 1.0, "b": 20.0, "c": 1.0}


def outcome(pull: mf.Pull) -> mf.Outcome:
    luck = random.Random(pull.seed if pull.block_seed is None else f"{pull.block_seed} {pull.arm}")
    cost = SLOW[pull.arm] * (1 if pull.fidelity == "quick" else 3) * luck.uniform(0.8, 1.2)
    reward = min(1.0, max(0.0, MEANS[pull.arm] + 0.5 * (luck.random() - 0.5)))
    cached = luck.random() < 0.1
    return mf.Outcome(reward, cost=0.0 if cached else cost, note="cached" if cached else None)


def play(study: Study, at_once: int = 4, failing: float = 0.0) -> None:
    """Evaluate pulls, each time in another order, until nothing can be asked for."""
    luck = random.Random(1)
    while pulls := study.ask(at_once):
        luck.shuffle(pulls)
        for pull in pulls:
            if luck.random() < failing:
                study.fail(pull, "no answer", cost=1.25)
            else:
                study.tell(pull, outcome(pull))


def assert_same(one: Study, other: Study) -> None:
    first, second = one.current(), other.current()
    assert (first.status, first.asked, first.cost) == (second.status, second.asked, second.cost)
    assert dump_state(first.state) == dump_state(second.state)
    assert first.costs.expected == second.costs.expected
    assert one.result() == other.result()


def test_what_is_told_is_what_is_spent() -> None:
    study = create_study(PLAIN, policy="lucb-c:batch=3")
    pulls = study.ask(3)
    assert study.tell(pulls[0], 0.5, cost=2.5, note="slow")
    assert study.tell(pulls[1], mf.Outcome(0.5))
    assert study.tell(pulls[2], 0.5, cost=0)
    assert study.cost == 2.5 + pulls[1].cost
    texts = [record.text for record in study.storage.log(study.name).read(0) if record.kind == RESULT]
    assert texts == ['{"cost":2.5,"note":"slow"}', None, '{"cost":0.0}']
    assert study.to_frame()["cost"].tolist() == [2.5, 1.0, 0.0]
    arm = study.result().arms[pulls[0].arm_index]
    assert (arm.cost, arm.costs) == (3.5, {"quick": 3.5, "exact": 0.0})
    assert study.result().certificate["paid"] == 3.5


@pytest.mark.parametrize("cost", [-1.0, float("nan"), float("inf"), "much", True])
def test_what_is_no_cost_is_refused_and_nothing_recorded(cost: object) -> None:
    study = create_study(PLAIN)
    (pull,) = study.ask()
    with pytest.raises(RewardError, match="the cost of a pull must be a finite number >= 0, got"):
        study.tell(pull, 0.5, cost=cost)  # type: ignore[arg-type]
    with pytest.raises(RewardError, match="the cost of a pull must be"):
        study.fail(pull, "no answer", cost=cost)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="an Outcome says cost and note itself"):
        study.tell(pull, mf.Outcome(0.5), cost=1.0)
    assert study.cost == 0.0


def test_a_measured_cost_must_be_told() -> None:
    study = create_study(mf.Problem(2, [mf.Fidelity("only", "measured")]))
    (pull,) = study.ask()
    for told in (pull, pull.id):
        with pytest.raises(RewardError, match="what a pull costs at fidelity 'only' is measured, and was not told"):
            study.tell(told, 0.5)
    assert study.tell(pull.id, 0.5, cost=2.0)
    with pytest.raises(RewardError, match="arm 'arm 1' at fidelity 'only': what a pull costs"):
        study.optimize(lambda pull: 0.5, progress=False)
    assert study.cost == 2.0


def test_a_policy_that_takes_costs_for_known_refuses_measured_ones() -> None:
    with pytest.raises(PolicyError, match="mf-grad takes costs for known, but fidelity 'exact' has a measured one"):
        create_study(MEASURED, policy="mf-grad")
    lanes = [mf.Fidelity("3 epochs", "seconds", 0.1), mf.Fidelity("27 epochs", 27.0)]
    with pytest.raises(PolicyError, match="nothing is said of '3 epochs': give a guess"):
        create_study(mf.Problem(2, lanes, blocks=100))
    with pytest.raises(ProblemError, match="has cost='seconds' and measured='told': say one of them"):
        mf.Fidelity("x", "seconds", measured="told")


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize(
    ("problem", "policy"),
    [
        (PLAIN, "mf-toptwo"),
        (PLAIN, "lucb-c:batch=4"),
        (PLAIN, "lucb-c:batch=50"),
        (PLAIN, "mf-grad"),
        (ITEMS, "mf-race"),
        (ITEMS, "mf-race:batch=50"),
        (MEASURED, "mf-toptwo"),
    ],
)
def test_an_arm_that_is_20_times_slower_does_not_spend_more_than_there_is(problem, policy, width) -> None:
    limit = 300.0
    study = create_study(problem, policy=policy, max_cost=limit, width=width, delta=1e-9)
    study.optimize(outcome, workers=width, progress=False)
    assert study.status == "max_cost"
    # Nobody knows what the first pulls cost before they are back: as many are out as the study is wide.
    assert 0.5 * limit < study.cost <= limit + width * 72


def test_a_limit_holds_within_a_round_that_costs_more_than_was_declared() -> None:
    study = create_study(PLAIN, policy="lucb-c:batch=200", max_cost=300.0)
    study.optimize(lambda pull: mf.Outcome(0.5, cost=20.0), progress=False)
    assert (study.status, study.cost, study.view().hold_up.kind) == ("max_cost", 300.0, "")
    # The round goes on where it stopped.
    study.extend(max_cost=340.0)
    assert (study.status, [pull.id for pull in study.ask(5)]) == ("running", [15, 16])
    assert study.view().hold_up.kind == "limit"


@pytest.mark.parametrize(("problem", "width"), [(MEASURED, 1), (MEASURED, 4), (ITEMS, 4), (NORMAL, 1)])
def test_everybody_who_reads_the_log_knows_the_same(problem, width, tmp_path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    study = create_study(problem, width=width, max_cost=30.0, retries=50, storage=url, durable=False)
    for number in itertools.count():
        play(study, failing=0.05)
        other = load_study(url)
        assert_same(study, other)
        if study.status != "max_cost":
            break
        (other if number % 2 else study).extend(max_cost=max(study.cost, study.settings.max_cost or 0.0) * 2.5 + 20.0)
    assert (study.status, study.best) == ("certified", "b")
    certificate = study.result().certificate
    assert verify(certificate).valid
    assert verify_with_study(certificate, study).valid, verify_with_study(certificate, study).reasons
    assert sum(arm.cost for arm in study.result().arms) == pytest.approx(certificate["cost"])
    study.export(tmp_path / "study.jsonl")
    imported = import_study(tmp_path / "study.jsonl")
    assert_same(study, imported)
    assert imported.log_digest() == study.log_digest()


@pytest.mark.parametrize("width", [1, 4])
def test_when_results_come_has_no_bearing_on_what_is_decided(width) -> None:
    one, other = (create_study(MEASURED, width=width, max_cost=120.0) for _ in range(2))
    play(one, 4)
    play(other, 1)
    assert one.status == other.status == "max_cost"
    rows = min(one.current().folded_pulls, other.current().folded_pulls)
    assert rows == max(one.current().folded_pulls, other.current().folded_pulls)
    assert one.to_frame().loc[:, :"reward"][:rows].equals(other.to_frame().loc[:, :"reward"][:rows])
    assert dump_state(one.current().state) == dump_state(other.current().state)


def test_retired_arms_have_cost_what_was_told(tmp_path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    for width in (1, 4):
        study = create_study(
            PLAIN, on_failure="retire", retries=0, max_cost=150.0, width=width, storage=url, name=f"study {width}"
        )
        luck = random.Random(3)
        while pulls := study.ask(3):
            for pull in luck.sample(pulls, len(pulls)):
                if pull.arm == "c" and pull.index == 2:
                    study.fail(pull, "no answer", cost=2.0)
                else:
                    study.tell(pull, outcome(pull))
        result = study.result()
        assert list(result.retired) == ["c"]
        assert_same(study, load_study(url, study.name))
        told = study.to_frame()["cost"].sum()
        assert result.cost == pytest.approx(told + 2.0, abs=3.0 * width)
        assert result.cost <= 150.0 + width * 72


def expected(problem: mf.Problem, paid: dict[tuple[int, int], list[float]]) -> list[list[float]]:
    costs = Costs(Settings(problem, mf.policy("mf-toptwo")))
    for (arm, fidelity), told in paid.items():
        for cost in told:
            price = costs.declared[arm][fidelity]
            costs.count(PlannedRow(arm, fidelity, 1, 0, (arm, fidelity), price, price), cost)
    costs.renew()
    return costs.expected


def test_costs_are_expected_to_be_as_before() -> None:
    assert expected(PLAIN, {}) == [[1.0, 3.0]] * 3
    # A mean of what was paid; what was free says nothing. Others at that fidelity, and the arm elsewhere, go by it.
    assert expected(PLAIN, {(0, 0): [4.0, 2.0, 0.0]}) == [[3.0, 3.0], [3.0, 3.0], [3.0, 3.0]]
    assert expected(PLAIN, {(0, 0): [1.0], (1, 0): [1.0], (2, 0): [4.0]}) == [[1.0, 1.5], [1.0, 1.5], [4.0, 6.0]]
    # Units are unknown before the first result.
    unknown = mf.Problem(2, [mf.Fidelity("quick", "measured", 0.1), mf.Fidelity("exact", "measured")])
    assert expected(unknown, {(0, 0): [500.0]}) == [[500.0, 500.0], [500.0, 500.0]]
    assert expected(unknown, {(0, 0): [500.0], (1, 1): [1e-9]})[1][1] == 500.0 * 1e-9


def test_seconds_are_measured_wherever_evaluations_run() -> None:
    problem = mf.Problem(ARMS, [mf.Fidelity("only", "seconds")])

    async def waiting(pull: mf.Pull) -> float:
        return MEANS[pull.arm]

    batches = Batches(lambda pulls: [MEANS[pull.arm] for pull in pulls], 4)
    command = Command([sys.executable, "-c", "print(0.5)"])
    for evaluate, pulls in ((lambda pull: MEANS[pull.arm], 9), (waiting, 9), (batches, 9), (command, 2)):
        study = create_study(problem)
        seen = []
        study.optimize(
            evaluate, progress=False, callback=lambda view, n=pulls, seen=seen: seen.append(view) or stop(view, n)
        )
        assert all(0.0 < cost < 60.0 for cost in study.to_frame()["cost"])
        assert study.cost == pytest.approx(study.to_frame()["cost"].sum())
    said = create_study(problem)
    said.optimize(lambda pull: mf.Outcome(0.5, cost=7.0), progress=False, callback=lambda view: stop(view, 1))
    assert said.to_frame()["cost"].tolist()[0] == 7.0


def stop(view, pulls: int) -> None:
    if view.pulls >= pulls:
        raise StopIteration


def test_a_command_may_say_what_it_cost() -> None:
    (pull,) = create_study(PLAIN).ask()
    line = '{"reward": 0.25, "cost": 0.5, "note": "812 tokens"}'
    program = [sys.executable, "-c", "import sys; print(sys.argv[1])"]
    assert Command([*program, line])(pull) == mf.Outcome(0.25, cost=0.5, note="812 tokens")
    assert Command([*program, '{"cost": 0.5}'])(pull) == '{"cost": 0.5}'
    failing = Command([sys.executable, "-c", "import sys; print(sys.argv[1]); sys.exit(3)", '{"cost": 0.5}'])
    with pytest.raises(StudyError, match="ended with exit code 3") as failed:
        failing(pull)
    assert describe(failed.value).cost == 0.5


class TooLong(Exception):
    cost = 2.5


def fails_first(folder: Path, pull: mf.Pull) -> float:
    """Fail on the first attempt of every pull whose index is even; attempts are counted in a folder."""
    with contextlib.suppress(FileExistsError):
        (folder / f"{pull.id}").mkdir()
        if pull.index % 2 == 0:
            raise TooLong("no answer within the limit of tokens")
    return MEANS[pull.arm]


@pytest.mark.parametrize(("engine", "width"), [("threads", 1), ("threads", 4), ("processes", 1)])
def test_what_failed_attempts_have_cost_counts(engine, width, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("mfbandit.study.run._backoff.FIRST_WAIT", 0.001)
    url = f"sqlite:///{tmp_path / 'study.db'}"
    study = create_study(
        PLAIN, policy="lucb-c:batch=4", max_cost=40.0, delta=1e-9, width=width, storage=url, durable=False
    )
    study.optimize(partial(fails_first, tmp_path), workers=width, engine=engine, progress=False)
    frame = study.to_frame()
    again = frame[frame["attempt"] > 1]
    assert len(again) > 2
    assert study.cost == pytest.approx(frame["cost"].sum() + 2.5 * len(again))
    assert (study.status, study.cost <= 40.0 + 2.5 * width) == ("max_cost", True)
    # They say nothing of what a pull costs that succeeds.
    assert study.current().costs.expected == study.current().costs.declared
    assert_same(study, load_study(url))
    study.export(tmp_path / "study.jsonl")
    assert_same(study, import_study(tmp_path / "study.jsonl"))


def test_the_seconds_of_failed_attempts_count() -> None:
    study = create_study(mf.Problem(2, [mf.Fidelity("only", "seconds")]), retries=1)

    def slow(pull: mf.Pull) -> float:
        raise ValueError("no answer")

    assert study.optimize(slow, progress=False, failure_patience=0).status == "failed"
    costs = [record.value for record in study.storage.log(study.name).read(0) if record.kind == FAILURE]
    assert len(costs) == 2
    assert all(0.0 < cost < 60.0 for cost in costs)
    assert study.cost == sum(costs)
    # A batch shares what its failure has cost.
    batch = create_study(PLAIN, policy="lucb-c:batch=4", retries=0)

    def together(pulls: list[mf.Pull]) -> list[float]:
        raise TooLong(f"no answer to {len(pulls)}")

    batch.optimize(Batches(together, 4), progress=False, failure_patience=0)
    costs = [record.value for record in batch.storage.log(batch.name).read(0) if record.kind == FAILURE]
    assert sum(costs) % 2.5 == 0.0
    assert max(costs) <= 2.5


def test_a_cost_that_is_not_the_usual_one_changes_no_plans(tmp_path) -> None:
    study = create_study(PLAIN, policy="lucb-c:batch=3")
    pulls = study.ask(3)
    study.tell_all([(pull, mf.Outcome(0.5, cost=0.25, usual=False, lost=2.0)) for pull in pulls])
    study.ask()
    assert study.cost == 3 * 2.25
    assert study.current().costs.expected == study.current().costs.declared
    study.export(tmp_path / "study.jsonl")
    assert_same(study, import_study(tmp_path / "study.jsonl"))
