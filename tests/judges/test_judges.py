import asyncio
import json
import random
import threading

import pytest

import mfbandit as mf
from mfbandit.errors import InvalidInput, PolicyError, RewardError, StorageError, StudyError
from mfbandit.judges import Grader, Judging, Pace, Preference
from mfbandit.judges_offline import stand_in_graders
from mfbandit.study import create_study

QUALITY = {"good": 0.9, "bad": 0.2}


def judging(grade=lambda answer, item: 0.5, **settings):
    grader = {key: settings.pop(key) for key in ("timeout", "at_once", "per_second") if key in settings}
    graders = [Grader("judge", grade, price=0.1, **grader)]
    return Judging(["a", "b"], settings.pop("items", range(5)), graders, **settings)


def first_pulls(setup, n=2):
    return create_study(setup.problem).ask(n)


def all_at_once(setup, pulls):
    async def run():
        return await asyncio.gather(*(setup.evaluate(pull) for pull in pulls), return_exceptions=True)

    return asyncio.run(run())


def test_the_best_candidate_is_found_and_paid_for():
    setup = Judging(list(QUALITY), range(300), stand_in_graders(QUALITY), reward="bernoulli")
    result = setup.identify(workers=4, progress=False)
    assert (result.best, result.status, result.policy) == ("good", "certified", "mf-race")
    bill = setup.bill()
    gradings = sum(one.paid + one.cached for one in bill.graders)
    assert 0 <= gradings - result.pulls <= result.unfinished
    assert bill.total <= result.cost * (1 + 1e-9)
    assert bill.total == pytest.approx(sum(one.paid * one.price for one in bill.graders))
    assert bill.everything_cost == pytest.approx(2 * 300 * 0.3)
    assert "would cost $180.00" in bill.sentence
    assert bill.lines[0].startswith("small judge: $")
    assert json.loads(json.dumps(bill.to_json()))["total"] == bill.total


def items_of(setup, study, n):
    """The items of each candidate's pulls, in the order of asking."""
    found = {name: [] for name in setup.candidates}
    for pull in study.ask(n):
        found[pull.arm].append(setup.item_of(pull))
    return found


def test_candidates_meet_on_the_same_items():
    setup = judging(items=range(10))
    found = items_of(setup, create_study(setup.problem, policy="mf-race:batch=10"), 20)
    assert found["a"] == found["b"] != list(range(10))
    assert sorted(found["a"]) == list(range(10))
    anew = judging(items=range(10), truth="expected grade")
    found = items_of(anew, create_study(anew.problem, policy="mf-race:batch=200"), 400)
    assert found["a"] == found["b"]
    assert min(found["a"].count(item) for item in range(10)) > 7


@pytest.mark.parametrize("truth", ["these grades", "expected grade"])
def test_other_policies_draw_items_of_their_own(truth):
    setup = judging(items=range(10), truth=truth)
    with pytest.raises(PolicyError, match="its certificate would be void: use mf-race, or pass independent=True"):
        setup.identify(policy="lucb-top", progress=False)
    studies = [
        create_study(setup.problem, policy="lucb-top:batch=200,independent=true"),
        create_study(setup.problem.without_blocks(), policy="lucb-top:batch=200"),
    ]
    for study in studies:
        found = items_of(setup, study, 400)
        assert min(found[name].count(item) for name in "ab" for item in range(10)) > 7
        assert 5 < sum(map(int.__eq__, found["a"], found["b"])) < 45


def test_a_budget_is_spent_without_blocks():
    setup = judging(lambda answer, item: float(answer == "a" or item == 0), items=range(10))
    with pytest.raises(InvalidInput, match=r"spends a budget: use mfbandit.allocate with judging.problem.without_bl"):
        setup.identify(policy="mf-ucb", budget=5, progress=False)
    result = mf.allocate(setup.problem.without_blocks(), setup.evaluate, budget=10, policy="mf-ucb", progress=False)
    assert result.best == "a"
    assert setup.bill().total <= 2.0 + 1e-9


def test_a_race_of_judges_costs_less_than_everything_and_is_right():
    skill = {f"prompt {k}": 0.95 - 0.07 * k for k in range(6)}
    hardness = random.Random(5).sample([i / 300 for i in range(300)], 300)

    def human(prompt, item):
        return float(skill[prompt] > hardness[item])

    def judge(prompt, item):  # generous to everybody, on the same items
        return 1.0 if item % 5 == 0 else human(prompt, item)

    graders = [Grader("judge", judge, price=0.01, bias=0.25, pair_bias=0.1), Grader("human", human, price=1.0)]
    setup = Judging(list(skill), range(300), graders, reward="bernoulli")
    assert (setup.problem.blocks, setup.problem.order) == (300, "shared")
    assert setup.problem.fidelities[0].pair_bias == 0.1
    result = setup.identify(progress=False)
    truths = {prompt: sum(human(prompt, item) for item in range(300)) for prompt in skill}
    assert result.best == max(truths, key=truths.get) == "prompt 0"
    assert result.status == "certified"
    assert result.cost == pytest.approx(setup.bill().total)
    assert result.cost < 0.5 * setup.bill().everything_cost
    verdict = mf.verify(result.certificate)
    assert verdict.valid, verdict.reasons
    assert "the mean over 300 items (content " in verdict.claim
    low, high = result.differences["prompt 5"]
    assert low <= (truths["prompt 0"] - truths["prompt 5"]) / 300 <= high


def test_candidates_that_are_exactly_equal_are_all_named():
    setup = Judging(["a", "b", "c"], range(40), [Grader("judge", lambda a, i: float(a != "c" and i % 2), price=1.0)])
    result = setup.identify(progress=False)
    assert (result.status, result.confidence >= 0.95) == ("certified", True)
    assert {result.best, *result.tied} == {"a", "b"}
    assert result.cost < 120.0
    assert mf.verify(result.certificate).valid


def test_nothing_is_paid_for_twice():
    calls = []
    setup = judging(lambda answer, item: float(calls.append((answer, item)) is None), items=range(3))
    study = create_study(setup.problem, max_cost=4)
    while not study.done:
        for pull in study.ask():
            study.tell(pull, setup.grade(pull))
    assert len(calls) == len(set(calls)) <= 6
    [grader] = setup.bill().graders
    assert (grader.paid, grader.paid + grader.cached) == (len(calls), study.result().pulls)


def test_calls_that_run_at_the_same_time_are_one():
    calls = []

    async def grade(answer, item):
        calls.append(item)
        await asyncio.sleep(0)
        return 0.25

    setup = judging(grade, items=["only"])
    [pull] = first_pulls(setup, 1)
    assert all_at_once(setup, [pull] * 5) == [0.25] * 5
    assert calls == ["only"]
    [grader] = setup.bill().graders
    assert (grader.paid, grader.cached) == (1, 4)


def test_a_file_keeps_grades_and_notices_changes(tmp_path):
    file = tmp_path / "grades.jsonl"
    first = Judging({"a": "x"}, ["item"], [Grader("judge", lambda a, i: 0.25, price=1)], cache=file)
    [pull] = create_study(judging(items=["item"]).problem).ask()
    pull = type(pull)(**{**vars(pull), "arm": "a"})
    assert first.grade(pull) == 0.25
    again = Judging({"a": "x"}, ["item"], [Grader("judge", lambda a, i: 0.75, price=1)], cache=file)
    assert again.grade(pull) == 0.25
    assert again.bill().total == 0.0
    changed = Judging({"a": "y"}, ["item"], [Grader("judge", lambda a, i: 0.75, price=1)], cache=file)
    assert changed.grade(pull) == 0.75
    file.write_text("not a grade\n")
    with pytest.raises(StorageError, match=r"line 1 of .* is not a grade: 'not a grade'"):
        Judging({"a": "x"}, ["item"], [Grader("judge", lambda a, i: 0.25, price=1)], cache=file)


def test_answers_are_made_once():
    made = []

    def respond(candidate, item):
        made.append((candidate, item))
        return f"{candidate} says {item}"

    def seen(name):
        return lambda answer, item: float(graded.append((name, answer, item)) or answer == f"b says {item}")

    graded = []
    graders = [Grader("quick", seen("quick"), price=0.5, bias=0.5), Grader("all", seen("all"), price=40)]
    setup = Judging(["a", "b"], range(50), graders, respond=respond, answer_price=0.5)
    assert setup.problem.costs[0].tolist() == [1.0, 40.5]
    result = setup.identify(progress=False)
    assert result.best == "b"
    # Both graders grade the same answers, in one order.
    first, second = ([entry[1:] for entry in graded if entry[0] == name] for name in ("quick", "all"))
    assert set(first) <= set(second) or set(second) < set(first)
    assert len(made) == len(set(made)) == len({*first, *second}) == setup.bill().answers
    assert result.cost == setup.bill().total == 0.5 * len(made) + 0.5 * len(first) + 40 * len(second)
    assert setup.bill().lines[-1] == f"answers: ${0.5 * len(made):.2f} for {len(made)} at $0.50"


def test_no_more_than_so_many_at_once():
    running, most = [], []
    lock = threading.Lock()

    async def grade(answer, item):
        with lock:
            running.append(item)
            most.append(len(running))
        for _ in range(3):
            await asyncio.sleep(0)
        running.remove(item)
        return 1.0

    setup = judging(grade, items=range(50), at_once=2)
    pulls = create_study(setup.problem, policy="mf-race:batch=15").ask(30)
    assert all_at_once(setup, pulls) == [1.0] * 30
    assert max(most) == 2


def test_calls_keep_their_pace(monkeypatch):
    pauses = []

    async def sleep(seconds):
        pauses.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    setup = judging(items=range(1000), per_second=10)
    pulls = create_study(setup.problem, policy="mf-race:batch=5").ask(5)
    all_at_once(setup, pulls)
    assert max(pauses) == pytest.approx(0.4, abs=0.05)
    pace = Pace(None)
    assert [pace.wait(now) for now in (1.0, 1.0)] == [0.0, 0.0]


def test_graders_that_raise_end_the_study_with_a_reason():
    def grade(answer, item):
        raise ConnectionError("no route to the judge")

    setup = judging(grade)
    [pull] = first_pulls(setup, 1)
    sentence = r"grader 'judge' raised ConnectionError: no route to the judge for candidate '[ab]', item \d"
    with pytest.raises(StudyError, match=sentence):
        setup.grade(pull)
    result = setup.identify(progress=False, retries=0)
    assert result.status == "failed"
    assert "no route to the judge" in result.reasons[0]


def test_graders_that_do_not_answer_are_given_up():
    async def grade(answer, item):
        await asyncio.Event().wait()

    setup = judging(grade, timeout=0.01)
    [pull] = first_pulls(setup, 1)
    with pytest.raises(StudyError, match=r"grader 'judge' did not answer within 0.01 s for candidate"):
        setup.grade(pull)


def test_an_answer_that_cannot_be_made():
    setup = judging(respond=lambda candidate, item: 1 / 0)
    with pytest.raises(StudyError, match="respond raised ZeroDivisionError"):
        setup.grade(first_pulls(setup, 1)[0])


@pytest.mark.parametrize("score", [float("nan"), 7.0, -0.1, "good", None])
def test_scores_that_are_none(score):
    setup = judging(lambda answer, item: score)
    with pytest.raises(RewardError, match=r"grader 'judge' gave .* for candidate .*; a score must be"):
        setup.grade(first_pulls(setup, 1)[0])


def test_a_score_that_is_none_ends_the_run_and_is_paid_once():
    setup = judging(lambda answer, item: 7.0)
    with pytest.raises(RewardError, match=r"arm .* at fidelity 'judge': grader 'judge' gave 7.0 for candidate"):
        setup.identify(progress=False)
    assert setup.bill().graders[0].paid == 1


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Judging([], [1], [Grader("j", print, 1)]), "candidates are empty"),
        (lambda: Judging(["a"], [], [Grader("j", print, 1)]), "items are empty"),
        (lambda: Judging(["a"], [1], []), "graders are empty; give at least one"),
        (lambda: Judging(["a"], [1], ["judge"]), "graders must be Grader objects, got 'judge'"),
        (lambda: Judging(["a"], [1], [Grader("j", print, 1, bias=0.1)]), "no grader has bias 0, so none is the truth"),
        (
            lambda: Judging(["a"], [1], [Grader("judge", print, 0.01), Grader("human", print, 1)]),
            "'judge' and 'human' both have bias 0, so each would be the truth: say bias= for all but the one that is",
        ),
        (lambda: Judging(["a"], [1], [Grader("j", print, 1)], answer_price=-1), "answer_price must be"),
        (lambda: Judging(["a"], [1], [Grader("j", print, 1, pair_bias=0.1)]), "is the truth, so its pair_bias is 0"),
        (lambda: Judging(["a"], [1], [Grader("j", print, 1, pair_bias=-1)]), "the pair_bias of fidelity 'j' is -1.0"),
        (lambda: Judging(["a"], [1], [Grader("j", print, 1)], respond="model"), "respond must be a function of a cand"),
        (
            lambda: Judging(["a"], [1], [Grader("j", lambda x: 1, 1)]),
            "grade of 'j' must be a function of an answer and",
        ),
        (lambda: Judging(["a"], [1], [Grader("j", lambda x, y: 1, 1)], raters=2), "item and the number of the rater"),
        (lambda: Judging(["a"], [1], [Preference("j", lambda x, y: 1, 1)]), "the second answer and an item"),
        (
            lambda: Judging(["a"], [1], [Grader("j", print, 1)], same=lambda x: x),
            "same must be a function of an answer",
        ),
        (
            lambda: Judging(["a"], [1], [Grader("j", print, 1, per_item=True, label=lambda: 1)]),
            "label of 'j' must be a function of an item: too many",
        ),
        (lambda: Judging(["a"], [1], [Grader("j", print, 1)], reward=mf.Gaussian()), "needs blocks='unlimited'"),
        (lambda: Grader("j", print, -1), "price of grader 'j' must be a number >= 0, got -1"),
        (lambda: Judging(["a"], [1], [Grader("j", print, 0)]), "'j' costs nothing, and answers neither"),
        (lambda: Grader("j", print, 1, timeout=-1), "timeout of grader 'j' must be a number > 0, got -1"),
        (lambda: Grader("j", print, 1, at_once=1.5), "at_once of grader 'j' must be a whole number"),
        (lambda: Grader("j", 3, 1), "grade of 'j' must be a function"),
        (lambda: Grader("", print, 1), "must not be empty"),
        (lambda: stand_in_graders({"a": 2.0}), "the quality of 'a' is 2.0"),
    ],
)
def test_bad_input(make, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        make()


def test_stand_ins_keep_their_bounds():
    small, large, people = stand_in_graders(QUALITY)
    for answer, quality in QUALITY.items():
        truth = sum(people.grade(answer, item) for item in range(4000)) / 4000
        assert truth == pytest.approx(quality, abs=0.03)
        for judge in (small, large):
            mean = sum(judge.grade(answer, item) for item in range(4000)) / 4000
            assert abs(mean - truth) <= judge.bias
