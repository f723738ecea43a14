"""A study may be asked for a surer or a better answer, and bias bounds be widened, while it lives."""

import random

import pytest
from changing import ITEMS, NORMAL, PROBLEM, assert_same, play, reward_of

import mfbandit as mf
from mfbandit.certificate import verify
from mfbandit.errors import InvalidInput, StudyError
from mfbandit.storage import MemoryStorage
from mfbandit.study import create_study, import_study, load_study
from mfbandit.study._verify_with_study import verify_with_study

pytestmark = pytest.mark.usefixtures("compiled_plans")

LANES = mf.Problem(["a", "b", "c"], [("quick", 0.05, 0.05), ("exact", 1.0, 0.0)], blocks=150)


@pytest.mark.parametrize(
    ("problem", "width", "delta", "epsilon"),
    [
        (PROBLEM, 1, 0.3, 0.0),
        (ITEMS, 1, 0.2, 0.3),
        (ITEMS, 5, 0.3, 0.0),
        (NORMAL, 5, 0.3, 0.0),
        (LANES, 5, 0.3, 0.0),
    ],
)
def test_a_stricter_demand_goes_on_from_what_is_known(problem, width, delta, epsilon, tmp_path):
    url = f"sqlite:///{tmp_path / 'study.db'}"
    study = create_study(problem, delta=delta, epsilon=epsilon, storage=url, durable=False, width=width, seed=3)
    play(study)
    assert study.status == "certified"
    before = study.cost
    other = load_study(url)
    other.extend(delta=0.002, epsilon=0.0)
    # What was enough before is not shown as if it were enough now.
    result = study.result()
    assert (result.status, result.delta, result.epsilon) == ("running", 0.002, 0.0)
    assert result.confidence < 1 - 0.002
    assert len(result.left) > 1
    assert not verify(result.certificate).valid
    assert_same(study, load_study(url))
    for pull in other.ask(1):
        other.tell(pull, reward_of(pull))
    assert_same(study, load_study(url))
    play(study)
    assert study.status == "certified"
    assert study.best == "b"
    assert study.cost > before
    certificate = study.result().certificate
    assert certificate["delta"] == 0.002
    assert verify(certificate).valid
    assert verify_with_study(certificate, study).valid, verify_with_study(certificate, study).reasons
    assert_same(study, load_study(url))
    study.export(tmp_path / "study.jsonl")
    assert_same(study, import_study(tmp_path / "study.jsonl"))


def test_what_is_known_may_be_enough_at_once():
    study = create_study(ITEMS, delta=0.2)
    play(study)
    cost, sure = study.cost, study.result().confidence
    assert sure > 0.8
    study.extend(delta=1.001 * (1.0 - sure))
    play(study)
    assert (study.status, study.cost) == ("certified", cost)


@pytest.mark.parametrize("problem", [PROBLEM, ITEMS])
def test_results_that_came_after_the_end_count_when_it_goes_on(problem):
    storage = MemoryStorage()
    study = create_study(problem, delta=0.3, width=6, storage=storage)
    out = study.ask(6)
    while not study.done:
        pull = out.pop(0)
        study.tell(pull, reward_of(pull))
        out += study.ask(1)
    assert out
    for pull in out:
        assert not study.tell(pull, reward_of(pull))
    told = study.result().pulls
    study.extend(delta=0.001)
    play(study)
    assert study.status == "certified"
    certificate = study.result().certificate
    assert certificate["pulls"] > told
    assert verify_with_study(certificate, study).valid
    assert_same(study, load_study(storage))


def test_less_is_refused_with_the_reason():
    storage = MemoryStorage()
    study = create_study(PROBLEM, delta=0.1, epsilon=0.05, storage=storage, name="mine")
    for option, known, wanted in [("delta", 0.1, 0.2), ("epsilon", 0.05, 0.5)]:
        said = (
            rf"^study 'mine' exists with {option}={known}, not {wanted}: a larger one, chosen after results were seen"
        )
        with pytest.raises(StudyError, match=said):
            study.extend(**{option: wanted})
        with pytest.raises(StudyError, match=said):
            create_study(
                PROBLEM,
                storage=storage,
                name="mine",
                load_if_exists=True,
                **{"delta": 0.1, "epsilon": 0.05, option: wanted},
            )
    with pytest.raises(StudyError, match=r"exists with delta=0.1, not 0.05: say so to go on with it"):
        create_study(PROBLEM, storage=storage, name="mine", load_if_exists=True)
    with pytest.raises(InvalidInput, match="give at least one of them"):
        study.extend()
    with pytest.raises(InvalidInput, match="delta must be a number > 0, got -1"):
        study.extend(delta=-1)
    with pytest.raises(InvalidInput, match="epsilon must be a number, got 'small'"):
        study.extend(epsilon="small")
    assert (study.settings.delta, study.settings.epsilon) == (0.1, 0.05)
    spending = create_study(PROBLEM, policy="elimination", budget=100)
    with pytest.raises(StudyError, match="spends a budget and proves nothing: its delta stays"):
        spending.extend(delta=0.01)


def test_identify_asks_for_a_surer_answer(tmp_path):
    given = {"storage": f"sqlite:///{tmp_path / 'study.db'}", "progress": False, "max_cost": 2000}
    first = mf.identify(PROBLEM, reward_of, delta=0.3, epsilon=0.2, **given)
    second = mf.identify(PROBLEM, reward_of, delta=0.05, epsilon=0.0, **given)
    assert (first.status, second.status, second.best) == ("certified", "certified", "b")
    assert second.cost > first.cost
    assert second.confidence >= 0.95


@pytest.mark.parametrize(("problem", "width"), [(PROBLEM, 1), (LANES, 5)])
def test_arms_that_only_a_narrow_bound_has_beaten_return(problem, width, tmp_path):
    url = f"sqlite:///{tmp_path / 'study.db'}"
    study = create_study(problem, delta=0.1, storage=url, durable=False, width=width, seed=3)
    play(study)
    assert study.status == "certified"
    cost = study.cost
    other = load_study(url)
    other.widen("quick", bias=[0.5, 0.4, 0.5])
    result = study.result()
    assert result.status == "running"
    assert result.confidence < 0.9
    assert not verify(result.certificate).valid
    play(study)
    assert (study.status, study.best) == ("certified", "b")
    assert study.cost > cost
    certificate = study.result().certificate
    assert "0.4 to 0.5" in certificate["claim"] or "0.9 to 1.0" in certificate["claim"]
    assert verify_with_study(certificate, study).valid
    assert_same(study, load_study(url))
    study.export(tmp_path / "study.jsonl")
    assert_same(study, import_study(tmp_path / "study.jsonl"))
    # Whoever goes on with it says what holds now.
    said = r"its fidelity 'quick' has bias .*, not .* \(study.widen makes a bound wider from now on\)"
    with pytest.raises(StudyError, match=said):
        create_study(problem, delta=0.1, storage=url, load_if_exists=True)
    now = study.settings.problem
    assert create_study(now, delta=0.1, storage=url, load_if_exists=True, seed=3).status == "certified"


def test_a_bound_is_never_narrowed():
    fidelities = [mf.Fidelity("judge", 0.1, 0.2, pair_bias=0.05), mf.Fidelity("check", 0.2, 0.1), ("human", 1.0)]
    study = create_study(mf.Problem(3, fidelities, blocks=50), name="mine")
    for name, bounds, said in [
        (
            "judge",
            {"bias": 0.1},
            r"^study 'mine' has bias 0.2 for arm 'arm 0' at fidelity 'judge', not 0.1: a narrower",
        ),
        ("judge", {"bias": [0.3, 0.1, 0.2]}, "has bias 0.2 for arm 'arm 1' at fidelity 'judge', not 0.1"),
        ("judge", {"pair_bias": 0.01}, "has pair_bias 0.05 at fidelity 'judge', not 0.01"),
        ("check", {"pair_bias": 0.5}, "has no pair_bias at fidelity 'check', not 0.5"),
        ("human", {"bias": 0.1}, "fidelity 'human' measures the truth in study 'mine': its bias stays 0"),
    ]:
        with pytest.raises(StudyError, match=said):
            study.widen(name, **bounds)
    with pytest.raises(InvalidInput, match="there is no fidelity 'jury'; there are 'judge', 'check', 'human'"):
        study.widen("jury", bias=0.3)
    with pytest.raises(InvalidInput, match="give at least one of them"):
        study.widen("judge")
    study.widen("judge", pair_bias=0.1)
    study.widen("judge", bias=0.3)
    assert study.settings.problem.fidelities[0] == mf.Fidelity("judge", 0.1, 0.3, pair_bias=0.1)
    study.widen("judge", pair_bias=float("inf"))
    assert study.settings.problem.fidelities[0].pair_bias is None


@pytest.mark.parametrize("seed", [2, 10])
def test_all_processes_know_how_far_the_one_was_that_changed_a_setting(seed):
    # A plan may wait for results that others need not let count, and note something: they are told so with the setting.
    lanes = mf.Problem(["a", "b", "c"], [("quick", 0.05, 0.05), ("exact", 1.0)], blocks=60)
    storage, luck = MemoryStorage(), random.Random(seed)
    study = create_study(lanes, delta=0.3, width=luck.choice([2, 4, 8]), storage=storage)
    reader, out, changes = load_study(storage), [], 0
    while out := out + study.ask(8):
        for pull in [out.pop(luck.randrange(len(out))) for _ in range(min(luck.randrange(1, 3), len(out)))]:
            study.tell(pull, reward_of(pull))
        if luck.random() < (0.3 if changes < 12 else 0):
            kind, changing = luck.randrange(3), luck.choice([study, load_study(storage)])
            if kind == 0:
                changing.extend(delta=0.95 * study.settings.delta)
            elif kind == 1:
                changing.widen("quick", bias=study.settings.problem.fidelities[0].bias + 0.05)
            else:
                changing.reprice("quick", cost=0.05 + 0.001 * changes)
            changes += 1
            assert_same(study, reader)
    assert changes > 5
    assert verify_with_study(study.result().certificate, study).valid
    assert_same(study, load_study(storage))
