"""Graders that say something else when asked again: the claim says which truth is meant, and is right about it."""

import asyncio
import random
from collections import Counter

import pytest
from scipy.stats import binomtest

import mfbandit as mf
from mfbandit.errors import InvalidInput, ProblemError, StudyError
from mfbandit.judges import Grader, Judging
from mfbandit.study import create_study

DELTA = 0.1


@pytest.fixture
def trials(times):
    """How many studies are made."""
    return 50 * times


class Fickle:
    """A judge who likes each answer with a probability, and tosses again whenever it is asked."""

    def __init__(self, seed, liked):
        self.seed, self.liked, self.asked = seed, liked, Counter()

    def says(self, answer, item, time):
        return float(random.Random(f"{self.seed} {answer} {item} {time}").random() < self.liked[answer])

    async def __call__(self, answer, item):
        self.asked[answer, item] += 1
        return self.says(answer, item, self.asked[answer, item])

    def first_mean(self, answer, items):
        return sum(self.says(answer, item, 1) for item in range(items)) / items


def run(judge, items, truth, *, seed, most=200):
    """Play a study in one event loop; returns its result."""
    judging = Judging(list(judge.liked), range(items), [Grader("judge", judge, 1)], truth=truth, reward="bernoulli")
    study = create_study(judging.problem, delta=DELTA, seed=seed, max_cost=most)

    async def play():
        while not study.done:
            for pull in study.ask(50):
                study.tell(pull, await judging.evaluate(pull))

    asyncio.run(play())
    return study.result()


def wrong_answers(truth, means, *, liked, items, trials):
    """How many answers were certified, and how many of these are not the best by `means(judge, answer)`."""
    certified = wrong = 0
    for seed in range(trials):
        judge = Fickle(seed, liked)
        result = run(judge, items, truth, seed=seed)
        if result.status == "certified":
            certified += 1
            wrong += any(means(judge, result.best) < means(judge, other) for other in liked)
    return certified, wrong


def expected(judge, answer):
    return judge.liked[answer]


ITEMS = 3
FAR = {"a": 0.6, "b": 0.4}
NEAR = {"a": 0.502, "b": 0.498}


def test_kept_grades_say_little_of_the_expected_grade(trials):
    # What would make certified answers wrong: grades made once, read as the grades to be expected.
    certified, wrong = wrong_answers("these grades", expected, liked=NEAR, items=ITEMS, trials=trials)
    assert binomtest(wrong, certified, DELTA, alternative="greater").pvalue < 1e-3


# With 150 items a race is over long before it has seen all of them.
@pytest.mark.parametrize(("liked", "items"), [(FAR, ITEMS), (NEAR, ITEMS), ({"a": 0.75, "b": 0.5}, 150)])
def test_the_kept_grades_are_judged_rightly(liked, items, trials):
    certified, wrong = wrong_answers(
        "these grades", lambda judge, answer: judge.first_mean(answer, items), liked=liked, items=items, trials=trials
    )
    assert certified > trials / 3
    assert binomtest(wrong, trials, DELTA, alternative="greater").pvalue > 0.01


@pytest.mark.parametrize(("liked", "least"), [(FAR, 0.3), (NEAR, 0.0)])
def test_the_expected_grade_is_judged_rightly(liked, least, trials):
    certified, wrong = wrong_answers("expected grade", expected, liked=liked, items=ITEMS, trials=trials)
    assert certified >= least * trials
    assert binomtest(wrong, trials, DELTA, alternative="greater").pvalue > 0.01


def fickle(truth, *, judge=None, liked=FAR, items=ITEMS, **settings):
    judge = judge or Fickle(0, liked)
    return Judging(list(liked), range(items), [Grader("judge", judge, 1)], truth=truth, **settings), judge


def test_grades_are_made_once_or_for_every_draw():
    for truth, most in (("these grades", 1), ("expected grade", 30)):
        judging, judge = fickle(truth, items=1)
        result = judging.identify(policy="lucb-top:independent=true", max_cost=30, delta=1e-6, progress=False)
        assert max(judge.asked.values()) == (1 if most == 1 else result.pulls / 2)


def test_a_claim_says_which_truth_is_meant(tmp_path):
    for truth, words in (
        ("these grades", "the mean over 3 items (content 5cc9a410) of the grades by 'judge', each made once and kept"),
        ("expected grade", "the mean over 3 items (content 5cc9a410) of the grade that 'judge' is expected to give"),
    ):
        judging, _ = fickle(truth)
        result = judging.identify(delta=0.2, max_cost=100, progress=False)
        assert judging.problem.truth == words
        assert f"Its maker calls the true mean of an arm {words!r}." in result.certificate["claim"]
        assert result.certificate["problem"]["truth"] == words
        result.report(tmp_path / "report.html")
        assert "calls the true mean of an arm" in (tmp_path / "report.html").read_text()


def test_a_study_of_one_truth_is_not_resumed_for_the_other(tmp_path):
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    settings = {"storage": storage, "progress": False, "delta": 0.01}
    fickle("these grades")[0].identify(max_cost=2, **settings)
    with pytest.raises(StudyError, match="exists with another problem"):
        fickle("expected grade")[0].identify(**settings)


@pytest.mark.parametrize("truth", ["these grades", "expected grade"])
@pytest.mark.parametrize(
    ("items", "sentence"),
    [
        (["x", "y"], r"another problem.* its truth is .the mean over 3 items .*, not .the mean over 2 items "),
        (
            ["x", "z", "y"],
            r"another problem.* its truth is .the mean over 3 items \(content e7f8e91c\) .*, not .the mean over 3 ",
        ),
    ],
)
def test_a_study_is_not_resumed_with_other_items(tmp_path, truth, items, sentence):
    settings = {"storage": f"sqlite:///{tmp_path / 'study.db'}", "progress": False, "delta": 0.01, "max_cost": 2}
    judge = Grader("judge", lambda answer, item: 0.5, price=1)
    Judging(["a", "b"], ["x", "y", "z"], [judge], truth=truth).identify(**settings)
    Judging(["a", "b"], ("x", "y", "z"), [judge], truth=truth).identify(**settings)
    with pytest.raises(StudyError, match=sentence):
        Judging(["a", "b"], items, [judge], truth=truth).identify(**settings)


def test_a_resumed_study_keeps_its_grades_without_a_cache(tmp_path):
    settings = {"storage": f"sqlite:///{tmp_path / 'study.db'}", "progress": False, "delta": 1e-3}
    first, _ = fickle("these grades", liked=NEAR)
    first.identify(max_cost=3, **settings)
    # Another process, and a judge in another mood.
    again, judge = fickle("these grades", judge=Fickle(99, NEAR))
    result = again.identify(max_cost=5, **settings)
    frame = mf.load_study(settings["storage"]).to_frame()
    assert len(frame) == result.pulls
    assert sum(judge.asked.values()) <= 2
    assert result.cost <= 5


def test_grades_that_are_not_one_set_are_refused(tmp_path):
    settings = {"storage": f"sqlite:///{tmp_path / 'study.db'}", "progress": False, "delta": 1e-3}
    liked = {"a": 1.0, "b": 1.0}
    fickle("these grades", liked=liked)[0].identify(max_cost=3, **settings)
    other, _ = fickle("these grades", judge=Fickle(0, {"a": 0.0, "b": 0.0}), liked=liked, cache=tmp_path / "other")
    other.identify(max_cost=6, progress=False, policy="lucb-top:batch=50,independent=true")
    mixed, _ = fickle("these grades", liked=liked, cache=tmp_path / "other")
    with pytest.raises(StudyError, match=r"grader 'judge' gave candidate '.' 1 and 0 on item .* no one set of grades"):
        mixed.identify(**settings)


def test_a_draw_that_was_graded_is_not_paid_twice(tmp_path):
    judging, _ = fickle("expected grade", cache=tmp_path / "grades.jsonl")
    study = create_study(judging.problem)
    first, *others = study.ask(3)
    score = judging.grade(first)
    again, judge_again = fickle("expected grade", judge=Fickle(5, FAR), cache=tmp_path / "grades.jsonl")
    assert again.grade(first) == score
    assert not judge_again.asked
    assert again.bill().total == 0.0
    for pull in others:
        again.grade(pull)
    assert sum(judge_again.asked.values()) == len(others)
    # The same draw of another study is another draw.
    [pull] = create_study(judging.problem).ask()
    again.grade(pull)
    assert sum(judge_again.asked.values()) == len(others) + 1


def test_answers_of_a_stored_study_are_kept_where_they_count(tmp_path):
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    judging, _ = fickle("expected grade", respond=lambda candidate, item: candidate)
    with pytest.raises(InvalidInput, match="a study that is stored needs cache="):
        judging.identify(storage=storage, progress=False)


def test_words_for_the_truth():
    with pytest.raises(InvalidInput, match="truth must be 'these grades' or 'expected grade', got 'best'"):
        fickle("best")
    problem = mf.Problem(["a"], [("x", 1, 0)], truth="what users say")
    assert mf.Problem.from_json(problem.to_json()) == problem != mf.Problem(["a"], [("x", 1, 0)])
    for words in ("", "two\nlines", 3):
        with pytest.raises(ProblemError, match="truth must say in one line"):
            mf.Problem(["a"], [("x", 1, 0)], truth=words)


def test_a_text_that_was_changed_under_its_name_is_refused(tmp_path):
    """What the old text has been graded for would count for the new one."""
    items = list(range(60))

    def judging(texts):
        grader = Grader("exact", lambda answer, item: float(item % 10 < answer), price=1.0)
        return Judging(texts, items, [grader], cache=tmp_path / "grades.jsonl")

    run = {"storage": f"sqlite:///{tmp_path / 'study.db'}", "progress": False}
    begun = judging({"a": 4, "b": 5}).identify(max_cost=20.0, **run)
    assert begun.status == "max_cost"
    with pytest.raises(StudyError, match=r"other candidates under the same names: give a changed one a new name"):
        judging({"a": 4, "b": 9}).identify(**run)
    done = judging({"a": 4, "b": 5}).identify(**run)
    assert done.cost > begun.cost
    assert judging({"a": 4, "b": 9}).identify(name="another", **run).best == "b"


def test_studies_of_versions_that_did_not_tell_texts_go_on(tmp_path, monkeypatch):
    items = list(range(60))

    def judging(texts):
        grader = Grader("exact", lambda answer, item: float(item % 10 < answer), price=1.0)
        return Judging(texts, items, [grader], cache=tmp_path / "grades.jsonl")

    run = {"storage": f"sqlite:///{tmp_path / 'study.db'}", "progress": False}
    with monkeypatch.context() as older:
        older.setattr("mfbandit.judges._judging.with_texts", lambda problem, *_: problem)
        judging({"a": 4, "b": 5}).identify(max_cost=20.0, **run)
    assert judging({"a": 4, "b": 5}).identify(**run).best == "b"
