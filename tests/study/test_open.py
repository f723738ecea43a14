"""Making, opening, sending and comparing studies; settings that make no sense."""

import multiprocessing
import pickle
from pathlib import Path
from typing import Any

import pytest

import mfbandit as mf
from mfbandit.errors import InvalidInput, MfbanditError, StudyError
from mfbandit.storage import MemoryStorage
from mfbandit.study import create_study, load_study

NASTY = [
    "it's",
    '"quoted"',
    "two\nlines",
    "<script>alert(1)</script>",
    "%s ? {x}",
    "ünï\u202e",
    "zero\x00byte",
]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("delta", 0.0),
        ("delta", 1.0),
        ("delta", "x"),
        ("delta", float("nan")),
        ("epsilon", -0.1),
        ("max_cost", 0),
        ("max_cost", float("nan")),
        ("max_cost", "10"),
        ("budget", -5),
        ("policy", "nonsense"),
        ("policy", "elimination"),
        ("policy", 7),
        ("seed", -1),
        ("seed", 1.5),
        ("retries", -1),
        ("on_failure", "explode"),
        ("lease_seconds", 0),
        ("name", ""),
        ("name", 5),
        ("name", "a\0b"),
        ("storage", 5),
        ("storage", "mysql://x/y"),
        ("storage", "sqlite://"),
    ],
)
def test_bad_settings_are_one_sentence(pair: mf.Problem, option: str, value: Any) -> None:
    with pytest.raises(MfbanditError) as caught:
        create_study(pair, **{option: value})
    assert "\n" not in str(caught.value)
    assert str(value) in str(caught.value) or option in str(caught.value)


def test_a_folder_that_is_not_there(pair: mf.Problem, tmp_path: Path) -> None:
    with pytest.raises(MfbanditError, match=r"there is no folder '.*nowhere' to make 'x\.db' in"):
        create_study(pair, storage=tmp_path / "nowhere" / "x.db")


def test_a_problem_is_needed() -> None:
    with pytest.raises(InvalidInput, match="problem must be a Problem, got 3"):
        create_study(3)  # type: ignore[arg-type]


def test_a_study_is_not_overwritten(pair: mf.Problem) -> None:
    storage = MemoryStorage()
    study = create_study(pair, storage=storage, name="x")
    study.tell(study.ask()[0], 1.0)
    with pytest.raises(StudyError, match="a study named 'x' exists already"):
        create_study(pair, storage=storage, name="x")
    again = create_study(pair, storage=storage, name="x", load_if_exists=True)
    assert again.cost == 1.0


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("delta", 0.1),
        ("policy", "lucb-top"),
        ("seed", 1),
        ("epsilon", 0.1),
        ("retries", 5),
    ],
)
def test_going_on_with_other_settings_is_refused(pair: mf.Problem, option: str, value: Any) -> None:
    storage = MemoryStorage()
    create_study(pair, storage=storage)
    with pytest.raises(StudyError, match=f"exists with {option}="):
        create_study(pair, storage=storage, load_if_exists=True, **{option: value})


def test_going_on_with_another_problem_is_refused(pair: mf.Problem) -> None:
    storage = MemoryStorage()
    create_study(pair, storage=storage)
    with pytest.raises(StudyError, match="exists with another problem"):
        create_study(mf.Problem(3, [("exact", 1.0)]), storage=storage, load_if_exists=True)


def test_which_study_to_load(pair: mf.Problem) -> None:
    storage = MemoryStorage()
    with pytest.raises(StudyError, match="holds no study; a name is needed"):
        load_study(storage)
    create_study(pair, storage=storage, name="x")
    assert load_study(storage).name == "x"
    create_study(pair, storage=storage, name="y")
    with pytest.raises(StudyError, match="holds 2 studies: 'x', 'y'; a name is needed"):
        load_study(storage)
    with pytest.raises(StudyError, match="holds no study named 'z'; it holds 'x', 'y'"):
        load_study(storage, "z")


def test_names_of_any_kind(tmp_path: Path) -> None:
    problem = mf.Problem(NASTY, [("<b>'quick'\n", 1.0, 0.1), ('"exact"', 2.0)])
    name = 'it\'s a "study"\n<b>'
    study = create_study(problem, storage=tmp_path / "odd 'name'.db", name=name, max_cost=60.0, durable=False)
    while not study.done:
        for pull in study.ask(3):
            study.tell(pull, 0.5)
    again = load_study(str(tmp_path / "odd 'name'.db"), name)
    assert again.problem == problem
    assert again.to_frame().equals(study.to_frame())
    assert set(again.to_frame()["arm"]) <= set(NASTY)
    assert [arm.arm for arm in again.result().arms] == NASTY


def test_per_arm_costs_and_ranges_survive(tmp_path: Path) -> None:
    problem = mf.Problem(
        ["a", "b"],
        [mf.Fidelity("quick", cost=[1.0, 1.5], bias=[0.5, 0.25]), mf.Fidelity("exact", cost=[3.0, 7.0])],
        reward=mf.Bounded(1, 5),
    )
    study = create_study(problem, storage=tmp_path / "s.db", max_cost=50.0, durable=False)
    while not study.done:
        for pull in study.ask(3):
            study.tell(pull, 4.0 if pull.arm == "a" else 2.0)
    assert study.cost <= 50.0
    low, high = study.intervals()["a"]
    assert 1.0 <= low <= 4.0 <= high <= 5.0
    assert load_study(str(tmp_path / "s.db")).result() == study.result()


def _elsewhere(study: Any) -> str:
    pull = study.ask()[0]
    study.tell(pull, 1.0)
    return str(pull.arm)


def test_a_stored_study_can_be_sent_to_another_process(pair: mf.Problem, tmp_path: Path) -> None:
    study = create_study(pair, storage=tmp_path / "s.db")
    copy = pickle.loads(pickle.dumps(study))
    assert copy.name == study.name
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        pull = study.ask()[0]
        assert pool.apply(_elsewhere, (study,)) != pull.arm
    assert study.cost == 1.0


def test_a_forked_process_opens_the_file_anew(pair: mf.Problem, tmp_path: Path) -> None:
    study = create_study(pair, storage=tmp_path / "s.db")
    worker = multiprocessing.get_context("fork").Process(target=_elsewhere, args=(study,))
    worker.start()
    worker.join()
    assert worker.exitcode == 0
    assert study.cost == 1.0
    assert study.tell(study.ask()[0], 1.0)


def test_a_study_in_memory_stays_where_it_is(pair: mf.Problem) -> None:
    with pytest.raises(StudyError, match="cannot be sent to another process"):
        pickle.dumps(create_study(pair))


def test_regret_studies_spend_their_budget() -> None:
    problem = mf.Problem(3, [("cheap", 1.0, 0.1), ("exact", 5.0)], reward="bernoulli")
    study = create_study(problem, policy="elimination", budget=777.0)
    while not study.done:
        for pull in study.ask(50):
            study.tell(pull, float(pull.seed % 4 < pull.arm_index + 1))
    assert study.status == "budget"
    assert 777.0 - 1.0 < study.cost <= 777.0
