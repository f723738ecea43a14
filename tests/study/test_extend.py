"""A study may be allowed to cost more, or less, while it lives."""

import itertools
import math
import random

import pytest
from changing import ITEMS, NORMAL, PROBLEM, assert_same, play, reward_of

import mfbandit as mf
from mfbandit.certificate import verify
from mfbandit.errors import InvalidInput, StudyError
from mfbandit.storage import MemoryStorage
from mfbandit.study import create_study, import_study, load_study
from mfbandit.study._verify_with_study import verify_with_study
from mfbandit.study.state.rounds._round_record import dump_state

pytestmark = pytest.mark.usefixtures("compiled_plans")


@pytest.fixture(autouse=True)
def proofs_are_compiled(monkeypatch):
    """Other tests have compiled them; as plain Python they take longer than the studies."""
    monkeypatch.setattr("mfbandit.certificate._verify._FEW", 0)


@pytest.mark.parametrize("width", [1, 5])
@pytest.mark.parametrize(
    ("problem", "policy"),
    [
        (PROBLEM, "mf-toptwo"),
        (PROBLEM, "mf-toptwo:batch=7"),
        (ITEMS, "mf-race"),
        (NORMAL, "mf-race"),
    ],
)
@pytest.mark.parametrize("step", [1.0, 7.5])
def test_a_limit_is_raised_until_the_answer_is_certain(problem, policy, width, step, tmp_path):
    url = f"sqlite:///{tmp_path / 'study.db'}"
    study = create_study(
        problem, policy=policy, max_cost=step, storage=url, durable=False, delta=0.1, width=width, seed=3
    )
    limits = []
    for number in itertools.count(1):
        play(study)
        assert study.cost <= step * number
        limits.append(study.status)
        if study.status != "max_cost" or number == 30:
            break
        other = load_study(url)
        assert_same(study, other)
        # Whoever has it open follows, and may be the one who raises the limit.
        (other if number % 2 else study).extend(max_cost=step * (number + 1))
        assert not study.done
        assert study.settings.max_cost == step * (number + 1)
    if study.status == "max_cost":
        study.extend(max_cost=math.inf)
        play(study)
    assert study.status == "certified"
    assert set(limits[:-1]) <= {"max_cost"}
    assert study.best == "b"
    certificate = study.result().certificate
    assert verify(certificate).valid
    assert verify_with_study(certificate, study).valid, verify_with_study(certificate, study).reasons
    assert_same(study, load_study(url))
    study.export(tmp_path / "study.jsonl")
    assert_same(study, import_study(tmp_path / "study.jsonl"))


def test_an_extension_before_the_end_changes_nothing_else():
    alone, other = (create_study(PROBLEM, max_cost=limit, seed=4) for limit in (200.0, 100.0))
    for pull in other.ask(3):
        other.tell(pull, reward_of(pull))
    other.extend(max_cost=200.0)
    play(alone, 1)
    play(other, 1)
    assert alone.cost == other.cost
    assert dump_state(alone.current().state) == dump_state(other.current().state)


def test_less_than_what_is_planned_is_refused():
    study = create_study(PROBLEM, max_cost=100.0, policy="lucb-c:batch=20")
    play_one = study.ask(1)
    with pytest.raises(StudyError, match=r"max_cost=3 does not pay for what is spent or planned already in"):
        study.extend(max_cost=3.0)
    assert study.settings.max_cost == 100.0
    planned = study.current().planned_cost
    study.extend(max_cost=planned)
    study.tell(play_one[0], 0.5)
    play(study)
    assert study.status == "max_cost"
    assert study.cost <= planned
    with pytest.raises(InvalidInput, match="max_cost must be a number > 0, got -1"):
        study.extend(max_cost=-1)


def test_identify_goes_on_with_more(tmp_path):
    given = {"storage": f"sqlite:///{tmp_path / 'study.db'}", "progress": False, "delta": 0.1}
    assert mf.identify(PROBLEM, reward_of, max_cost=20, **given).status == "max_cost"
    with pytest.raises(StudyError, match=r"exists with max_cost=20: say so to go on .* or math.inf for no limit"):
        mf.identify(PROBLEM, reward_of, **given)
    result = mf.identify(PROBLEM, reward_of, max_cost=math.inf, **given)
    assert (result.status, result.best) == ("certified", "b")
    # The answer stays, whatever it might have cost.
    again = mf.identify(PROBLEM, reward_of, max_cost=5_000, **given)
    assert (again.status, again.cost) == ("certified", result.cost)


def priced(cost, bias):
    return mf.Problem(PROBLEM.arms, [("quick", 1.0, bias), ("exact", cost, 0.0)])


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (priced(4.0, 0.1), "its fidelity 'exact' has cost 3.0, not 4.0"),
        (priced(3.0, 0.2), "its fidelity 'quick' has bias 0.1, not 0.2"),
        (mf.Problem(["a", "b", "d"], PROBLEM.fidelities), "of arms, it has 'c', which is not there now and it has no "),
        (mf.Problem(["b", "a", "c"], PROBLEM.fidelities), "its arms are in another order"),
        (mf.Problem(PROBLEM.arms, PROBLEM.fidelities, "bernoulli"), "its reward is "),
    ],
)
def test_what_cannot_change_is_named_with_both_values(other, said):
    storage = MemoryStorage()
    create_study(PROBLEM, storage=storage, name="mine")
    with pytest.raises(StudyError) as raised:
        create_study(other, storage=storage, name="mine", load_if_exists=True)
    assert str(raised.value).startswith(f"study 'mine' exists with another problem: {said}")


@pytest.mark.parametrize("width", [1, 5])
def test_a_race_is_told_of_its_limit_and_of_another_one_wherever_it_goes_on(width):
    skill = {f"arm {k}": 0.45 + 0.02 * k for k in range(10)}
    problem = mf.Problem(list(skill), [("only", 1.0)], blocks=60)
    storage = MemoryStorage()

    def some(study, cells):
        pulls = [pull for _ in range(cells) for pull in study.ask(1) if pull is not None]
        for pull in pulls:
            study.tell(pull, float(random.Random(f"{pull.block} {pull.arm}").random() < skill[pull.arm]))

    study = create_study(problem, max_cost=150, storage=storage, width=width)
    while not study.done:
        some(study, 1)
    study.extend(max_cost=300)
    assert study.current().planner.algorithm.params.limit == 300
    for _ in range(5):
        some(study, 20)
        again = load_study(storage)
        assert again.current().planner.algorithm.params.limit == 300
        assert_same(study, again)


def test_a_race_goes_on_where_the_limit_has_cut_a_row_and_another_leads(tmp_path):
    # Blocks are open on which the old leader was not measured: the new one is behind on some, and opens others.
    chance, limit = random.Random(72), 12.0
    table = [[float(chance.random() < 0.5) for _ in range(60)] for _ in range(3)]
    problem = mf.Problem(3, [("only", 1.0)], "bernoulli", blocks=60)
    study = create_study(problem, delta=0.2, seed=72, width=5, max_cost=limit)
    while study.status in ("running", "max_cost"):
        if study.status == "max_cost":
            limit *= 1.5
            study.extend(max_cost=limit)
        for pull in study.ask(5):
            study.tell(pull, table[pull.arm_index][pull.block])
    result = study.result()
    assert result.status == "certified"
    assert verify_with_study(result.certificate, study).valid
    study.export(tmp_path / "race.jsonl")
    assert import_study(tmp_path / "race.jsonl").result().best == result.best
