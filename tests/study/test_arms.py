"""Arms join a race and leave it while the study lives."""

import random

import pytest
from changing import PROBLEM, assert_same

import mfbandit as mf
from mfbandit.certificate import verify
from mfbandit.errors import InvalidInput, StudyError
from mfbandit.storage import MemoryStorage
from mfbandit.study import create_study, import_study, load_study
from mfbandit.study._verify_with_study import verify_with_study

pytestmark = pytest.mark.usefixtures("compiled_plans")

MEANS = {"a": 0.2, "b": 0.6, "c": 0.45, "d": 0.95}
ITEMS = mf.Problem(["a", "b", "c"], [("only", 1.0)], "bernoulli", blocks=150)
NORMAL = mf.Problem(["a", "b", "c"], [("only", 1.0)], mf.Gaussian(), blocks="unlimited")
LANES = mf.Problem(["a", "b", "c"], [("quick", 0.05, 0.05), ("exact", 1.0)], "bernoulli", blocks="unlimited")


def play(study):
    while pulls := study.ask(4):
        for pull in pulls:
            chance = random.Random(f"{pull.fidelity} {pull.block} {pull.arm}")
            if isinstance(study.settings.problem.reward, mf.Gaussian):
                shared = random.Random(pull.block_seed).gauss(0.0, 1.0)
                study.tell(pull, chance.gauss(MEANS[pull.arm], 0.1) + shared)
            else:
                study.tell(pull, float(chance.random() < MEANS[pull.arm]))


def check(study, url, folder):
    certificate = study.result().certificate
    assert verify(certificate).valid
    assert verify_with_study(certificate, study).valid
    assert_same(study, load_study(url))
    study.export(folder / "study.jsonl")
    assert_same(study, import_study(folder / "study.jsonl"))
    return certificate


@pytest.mark.parametrize(("problem", "width"), [(ITEMS, 1), (ITEMS, 5), (LANES, 5), (NORMAL, 1), (NORMAL, 4)])
def test_an_arm_joins_and_another_one_leaves(problem, width, tmp_path):
    url = f"sqlite:///{tmp_path / 'study.db'}"
    study = create_study(problem, delta=0.1, storage=url, durable=False, width=width, most_arms=6, seed=3)
    play(study)
    assert (study.status, study.best) == ("certified", "b")
    before = check(study, url, tmp_path)
    other = load_study(url)
    other.add_arm("d")
    result = study.result()
    assert (result.status, result.confidence) == ("running", 0.0)
    assert set(result.left) >= {"b", "d"}
    assert [arm.arm for arm in result.arms] == ["a", "b", "c", "d"]
    assert not verify(result.certificate).valid
    play(other)
    assert (study.status, study.best) == ("certified", "d")
    certificate = check(study, url, tmp_path)
    assert "of the 4 arms" in certificate["claim"]
    assert certificate["joined"] == [study.current().state.blocks.joined[:, 3].tolist()]
    assert min(certificate["joined"][0]) >= 0 < max(certificate["joined"][0])
    # Evidence of the blocks that were open before is not evidence about it.
    certificate["joined"] = [[0] * len(certificate["joined"][0])]
    assert not verify(certificate).valid
    # Whoever has lost against the arm that leaves only returns: the answer is what it was.
    study.retire("d")
    assert study.result().best != "d"
    play(study)
    assert (study.status, study.best) == ("certified", "b")
    certificate = check(study, url, tmp_path)
    assert "of the 3 arms that were not taken out" in certificate["claim"]
    assert certificate["fingerprint"] != before["fingerprint"]
    assert study.result().retired == {"d": "taken out"}
    # The same call goes on with it, with the arms that were there at first.
    again = create_study(problem, delta=0.1, storage=url, load_if_exists=True, most_arms=6, seed=3)
    assert (again.status, again.best) == ("certified", "b")


@pytest.mark.parametrize("width", [1, 3])
def test_who_joins_where_fidelities_share_their_blocks_is_compared_on_blocks_that_none_has_opened(width):
    # An arm may be made to fit what was seen of a block at the cheap fidelity, and so fit it at the other one.
    lanes = [mf.Fidelity("quick", 0.05, 0.05), mf.Fidelity("exact", 1.0)]
    shared = mf.Problem(["a", "b", "c"], lanes, "bernoulli", blocks="unlimited", order="shared")
    study = create_study(shared, delta=0.1, most_arms=5, width=width)
    play(study)
    opened = study.current().state.blocks.opened.tolist()
    assert opened[0] != opened[1]
    study.add_arm("d")
    assert study.current().state.blocks.joined[:, 3].tolist() == [max(opened)] * 2
    play(study)
    certificate = study.result().certificate
    assert (study.status, study.best) == ("certified", "d")
    assert verify(certificate).valid
    certificate["joined"] = [opened]
    assert "an arm joins all of them at the same one" in verify(certificate).reasons[0]


def test_whom_only_the_retired_arm_has_beaten_returns():
    study = create_study(ITEMS, delta=0.1, most_arms=3)
    while not study.done:
        for pull in study.ask(3):
            study.tell(pull, float(pull.arm == "b"))
    beaten = study.current().state.own.beaten.tolist()
    assert beaten == [1, 0, 1]
    study.retire("b")
    assert set(study.result().left) == {"a", "c"}
    assert study.result().confidence == 0.0
    study.ask(1)
    assert study.current().state.own.beaten.tolist() == [0, 1, 0]
    assert 2 not in study.current().state.own.held


def test_who_cannot_join_or_leave():
    with pytest.raises(
        StudyError, match=r"^arm 'd' cannot join: study 'study' was made for its 3 arms, with all of its"
    ):
        create_study(ITEMS).add_arm("d")
    for change in (lambda study: study.retire("a"), lambda study: study.add_arm("d")):
        with pytest.raises(StudyError, match=r"the best would depend on the results so far, .*; make a new study of"):
            change(create_study(PROBLEM))
    closed = create_study(ITEMS)
    play(closed)
    with pytest.raises(StudyError, match="arm 'a' need not be taken out of study 'study': it was shown not to be the"):
        closed.retire("a")
    with pytest.raises(StudyError, match=r"arm 'b' cannot be taken out: .*make a study with most_arms=..., which"):
        closed.retire("b")
    study = create_study(ITEMS, most_arms=4)
    with pytest.raises(StudyError, match="has an arm 'b' already"):
        study.add_arm("b")
    study.add_arm("d")
    with pytest.raises(StudyError, match="has places for 4 arms, and all are taken: arm 'e' cannot join"):
        study.add_arm("e")
    with pytest.raises(StudyError, match="has no arm 'e'; there are 'a', 'b', 'c', 'd'"):
        study.retire("e")
    for arm in "abc":
        study.retire(arm)
    with pytest.raises(StudyError, match="arm 'd' is the last one in study 'study'"):
        study.retire("d")
    with pytest.raises(InvalidInput, match="most_arms must be a whole number >= 3, got 2"):
        create_study(ITEMS, most_arms=2)
    with pytest.raises(InvalidInput, match="most_arms is for problems with blocks"):
        create_study(PROBLEM, most_arms=5)
    with pytest.raises(InvalidInput, match="one cost and one bias for all arms, and 'only' has one for each"):
        create_study(mf.Problem(2, [("only", [1.0, 2.0])], blocks=50), most_arms=5)


def test_other_arms_at_first_are_refused():
    storage = MemoryStorage()
    study = create_study(ITEMS, most_arms=5, storage=storage)
    study.add_arm("d")
    four = mf.Problem(["a", "b", "c", "d"], ITEMS.fidelities, "bernoulli", blocks=150)
    assert create_study(four, most_arms=5, storage=storage, load_if_exists=True).settings.arms_there == 4
    with pytest.raises(StudyError, match="exists with another problem: of arms, it has 'c', which is not there now"):
        create_study(ITEMS.with_arms(["a", "b", "z"]), most_arms=5, storage=storage, load_if_exists=True)
