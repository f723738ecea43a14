"""Kinds of graders: labels per item, several raters, other ranges, and preferences."""

import asyncio
import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

import mfbandit as mf
from mfbandit.errors import InvalidInput, RewardError, StorageError, StudyError
from mfbandit.judges import Grader, Judging, Preference
from mfbandit.study import create_study

RIGHT = [random.Random(f"right {item}").choice("abc") for item in range(60)]


def respond(candidate, item):
    """Candidate 0.9 is right on nine items of ten."""
    chance = random.Random(f"{candidate} {item}")
    return RIGHT[item] if chance.random() < candidate else chance.choice("abc")


def matches(answer, label):
    return float(answer == label)


SKILLS = {"good": 0.9, "fair": 0.6, "poor": 0.3}


def judging(graders, **settings):
    return Judging(SKILLS, range(60), graders, respond=settings.pop("respond", respond), **settings)


class Labels:
    """People who label items, slowly."""

    def __init__(self):
        self.asked = []

    async def __call__(self, item, *rater):
        self.asked.append((item, *rater))
        await asyncio.sleep(0)
        return RIGHT[item]


@pytest.mark.parametrize("workers", [1, 8])
def test_a_label_is_made_once_and_serves_all_candidates(workers, tmp_path):
    people = Labels()
    grader = Grader("people", matches, price=2.0, per_item=True, label=people)
    setup = judging([grader], answer_price=0.25, cache=tmp_path / "grades", same=None)
    assert setup.problem.fidelities[0].block_cost == 2.0
    assert setup.problem.costs.tolist() == [[0.25]] * 3
    result = setup.identify(progress=False, workers=workers)
    assert (result.best, result.status) == ("good", "certified")
    assert len(people.asked) == len(set(people.asked)) == setup.bill().graders[0].paid < 60
    answers = setup.bill().answers
    assert result.cost == pytest.approx(setup.bill().total) == pytest.approx(2.0 * len(people.asked) + 0.25 * answers)
    assert setup.bill().everything_cost == 60 * 2.0 + 180 * 0.25
    assert f"for {len(people.asked)} labelled items at $2.00" in setup.bill().lines[0]
    if workers == 1:  # with more, it is luck which pulls are out at the end
        assert setup.bill().at_full_price == pytest.approx(result.certificate["cost"])
        again = judging([grader], answer_price=0.25, cache=tmp_path / "grades", same=None)
        assert again.identify(progress=False).cost == 0.0
    assert mf.verify(result.certificate).valid


def test_labels_are_paid_within_the_limit_and_only_where_answers_differ():
    people = Labels()
    for limit in (1.0, 3.0, 9.0):
        setup = judging([Grader("people", matches, price=2.0, per_item=True, label=people)], answer_price=0.25)
        result = setup.identify(progress=False, max_cost=limit, workers=5)
        assert result.status == "max_cost"
        assert setup.bill().total == pytest.approx(result.cost)
        assert result.cost <= limit
    people.asked.clear()
    setup = judging([Grader("people", matches, price=2.0, per_item=True, label=people)])
    setup.identify(progress=False, delta=0.01)
    for item, *_ in people.asked:
        assert len({respond(skill, item) for skill in SKILLS.values()}) > 1


def test_threads_share_answers_and_labels():
    people, made = Labels(), []

    def slowly(candidate, item):
        made.append((candidate, item))
        return respond(candidate, item)

    setup = judging([Grader("people", matches, 2.0, per_item=True, label=people)], respond=slowly, same=None)
    study = create_study(setup.problem, policy="mf-race:batch=20")
    pulls = study.ask(60)
    with ThreadPoolExecutor(8) as crew:
        scores = list(crew.map(setup.grade, pulls * 2))
    assert scores[:60] == scores[60:]
    assert (len(people.asked), len(made)) == (20, 60)


def test_functions_that_block_run_as_many_at_once_as_there_are_workers():
    meeting = threading.Barrier(20)

    def together(candidate, item):
        meeting.wait(30)
        return respond(candidate, item)

    people = Grader("people", matches, price=1.0, per_item=True, label=lambda item: RIGHT[item])
    setup = judging([people], respond=together)
    pulls = create_study(setup.problem, policy="mf-race:batch=20").ask(20)

    async def run():
        return await asyncio.gather(*map(setup.evaluate, pulls))

    assert len(asyncio.run(run())) == 20


def test_a_price_per_item_without_a_label_is_paid_once():
    calls = []

    async def grade(answer, item):
        calls.append((answer, item))
        await asyncio.sleep(0)
        return float(answer == RIGHT[item])

    setup = judging([Grader("people", grade, price=2.0, per_item=True)], same=None)
    result = setup.identify(progress=False, workers=4)
    items = {item for _, item in calls}
    assert result.cost == setup.bill().total == 2.0 * len(items)
    assert len(calls) > len(items)
    # A study that counts no money still counts something for each pull.
    assert 0 < setup.problem.costs[0, 0] < 1e-4


def test_labels_that_cannot_be_had_or_kept(tmp_path):
    def broken(item):
        raise OSError("nobody there")

    setup = judging([Grader("people", matches, price=2.0, per_item=True, label=broken)], same=None)
    [pull] = create_study(setup.problem).ask()
    with pytest.raises(StudyError, match=r"grader 'people' raised OSError: nobody there for candidate 'good', item"):
        setup.grade(pull)
    assert setup.bill().total == 2.0
    odd = Grader("people", matches, price=2.0, per_item=True, label=lambda item: object())
    with pytest.raises(StorageError, match=r"grader 'people' for candidate .* the label is <object .* cannot keep"):
        judging([odd], cache=tmp_path / "grades").grade(pull)


def test_a_cheap_judge_stays_in_use_beside_labels_per_item():
    def judge(answer, item):
        return float(answer == RIGHT[item]) if item % 10 else 1.0

    people = Grader("people", matches, price=50.0, per_item=True, label=lambda item: RIGHT[item])
    setup = judging([Grader("judge", judge, price=0.01, bias=0.2, pair_bias=0.1), people], reward="bernoulli")
    assert "was not asked" not in setup.bill().sentence
    result = setup.identify(progress=False)
    paid = {one.name: one.paid for one in setup.bill().graders}
    assert result.best == "good"
    assert paid["judge"] > 20
    assert paid["people"] < 20


def test_several_raters_are_asked_and_the_mean_counts(tmp_path):
    calls = Counter()

    async def rate(answer, item, rater):
        calls[answer, item, rater] += 1
        await asyncio.sleep(0)
        return 1.0 + 4.0 * (answer == RIGHT[item]) * (rater + 1) / 3

    grader = Grader("people", rate, price=0.5, raters=3)
    settings = {"reward": mf.Bounded(1, 5), "cache": tmp_path / "grades"}
    setup = judging([grader], **settings)
    judge = Grader("judge", print, price=0.1, bias=0.1)
    said = judging([judge, Grader("people", rate, price=0.5)], raters=3, reward=mf.Bounded(1, 5))
    assert [one.raters for one in said.graders.values()] == [1, 3]
    assert said.problem.costs[0].tolist() == [0.1, 1.5]
    study = create_study(setup.problem)
    [pull] = study.ask()
    answer = respond(SKILLS[pull.arm], setup.item_of(pull))
    assert setup.grade(pull) == pytest.approx(1 + 8 / 3 if answer == RIGHT[setup.item_of(pull)] else 1.0)
    assert (setup.bill().total, pull.cost) == (1.5, 1.5)
    result = setup.identify(progress=False, workers=4, width=1)
    assert (result.best, result.status) == ("good", "certified")
    assert set(calls.values()) == {1}
    assert sum(calls.values()) == setup.bill().graders[0].paid
    assert judging([grader], **settings).identify(progress=False).cost == 0.0


def test_a_rating_that_failed_is_asked_for_again_alone():
    calls = []

    def rate(answer, item, rater):
        calls.append(rater)
        if rater == 1 and calls.count(1) == 1:
            raise OSError("busy")
        return 0.5

    setup = judging([Grader("people", rate, price=1.0, raters=2)])
    [pull] = create_study(setup.problem).ask()
    with pytest.raises(StudyError, match="raised OSError"):
        setup.grade(pull)
    assert setup.grade(pull) == 0.5
    assert sorted(calls) == [0, 1, 1]
    assert setup.bill().total == 3.0


def test_scores_from_1_to_5_and_equal_answers():
    def grade(answer, item):
        return 5 if answer == RIGHT[item] else 2

    setup = judging([Grader("people", grade, price=1.0)], reward=mf.Bounded(1, 5))
    result = setup.identify(progress=False)
    assert result.best == "good"
    low, high = result.differences["poor"]
    scores = {name: sum(grade(respond(skill, i), i) for i in range(60)) / 60 for name, skill in SKILLS.items()}
    assert low <= scores["good"] - scores["poor"] <= high
    assert "counts 1 for each" in result.certificate["claim"]
    setup = judging([Grader("people", lambda answer, item: 6, price=1.0)], reward=mf.Bounded(1, 5))
    with pytest.raises(RewardError, match="must be between 1 and 5"):
        setup.grade(create_study(setup.problem).ask()[0])


class Preferring:
    """Someone who prefers right answers, and else the first that is shown."""

    def __init__(self):
        self.asked = []

    def __call__(self, first, second, item):
        self.asked.append((frozenset((first, second)), item))
        return 1.0 if first == RIGHT[item] or second != RIGHT[item] else 0.0


@pytest.mark.parametrize("against", [None, "fair"])
@pytest.mark.parametrize("truth", ["these grades", "expected grade"])
def test_preferences_find_who_wins_most(against, truth):
    judge = Preferring()
    setup = judging([Preference("judge", judge, price=1.0, against=against)], truth=truth)
    assert setup.problem.blocks == ("unlimited" if truth == "expected grade" else 60 if against else 180)
    result = setup.identify(progress=False, workers=3, delta=0.1)
    assert (result.best, result.status) == ("good", "certified")
    assert mf.verify(result.certificate).valid
    whom = "'fair'" if against else "every candidate in turn"
    assert f"prefers the answer to that of {whom}" in setup.problem.truth or "expected to prefer" in setup.problem.truth
    # Nobody is asked about an answer and itself, and about kept pairs once, whoever of the two is meant.
    assert all(len(pair) == 2 for pair, _ in judge.asked)
    if truth == "these grades":
        assert len(judge.asked) == len(set(judge.asked))


def test_a_preference_and_its_opposite_are_one():
    judge = Preferring()
    setup = judging([Preference("judge", judge, price=1.0)], same=None)
    pulls = create_study(setup.problem, policy="mf-race:batch=180").ask(540)
    scores = {(pull.arm, pull.block): setup.grade(pull) for pull in pulls}
    assert len(scores) == 540
    names = list(SKILLS)
    for (arm, block), score in scores.items():
        item, place = divmod(block, 3)
        assert score + scores[names[place], item * 3 + names.index(arm)] == 1.0
    # Three pairs of candidates on 60 items, though two texts may be the same.
    assert setup.bill().graders[0].paid == 180
    shown_first = sum(scores["good", item * 3 + 2] for item in range(60) if respond(0.9, item) == respond(0.3, item))
    equal = sum(respond(0.9, item) == respond(0.3, item) for item in range(60))
    assert 0.2 * equal < shown_first < 0.8 * equal


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Grader("j", print, 1, raters=0), "raters of grader 'j' must be a whole number >= 1, got 0"),
        (lambda: judging([Grader("j", print, 1)], raters=1.5), "raters of grader 'j' must be a whole number >= 1"),
        (lambda: Grader("j", print, 1, per_item=1), "per_item of grader 'j' must be True or False, got 1"),
        (lambda: Grader("j", print, 1, label=print), "grader 'j' has a label, .*: say per_item=True"),
        (lambda: Grader("j", print, 1, label=3, per_item=True), "label of grader 'j' must be a function of an item"),
        (lambda: Preference("j", 3, 1), "grade of 'j' must be a function of two answers and an item"),
        (lambda: Preference("j", print, 1, per_item=True), "preference 'j' compares two answers: it cannot be priced"),
        (lambda: judging([Preference("j", print, 1, against="best")]), "against 'best', which is none of the cand"),
        (lambda: judging([Preference("j", print, 1), Grader("k", print, 1)]), "must be all Grader or all Preference"),
        (
            lambda: judging([Preference("j", print, 1), Preference("k", print, 1, against="fair")]),
            "against the same opponent, got 'None', 'fair'",
        ),
        (lambda: judging([Preference("j", print, 1)], reward="bernoulli"), "preferences are shares between 0 and 1"),
        (lambda: judging([Grader("j", print, 1), Grader("j", print, 2)]), "graders"),
    ],
)
def test_graders_that_make_no_sense(make, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        make()
