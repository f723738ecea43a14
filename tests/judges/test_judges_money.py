"""What a judging pays: nothing twice, never beyond its limit, and failed calls too."""

import asyncio
import random

import numpy as np
import pytest

import mfbandit as mf
from mfbandit.errors import InvalidInput, StorageError
from mfbandit.judges import Grader, Judging
from mfbandit.judges._paid_study import PaidStudy, told_pulls
from mfbandit.study import create_study, import_study, load_study


def judging(calls, *, respond=None, price=1.0, **settings):
    async def grade(answer, item):
        calls.append(("grade", answer, item))
        return float(item % 2 if "a" in str(answer) else 1.0)

    def made(candidate, item):
        calls.append(("respond", candidate, item))
        return respond(candidate, item)

    graders = [Grader("quick", grade, price=price, bias=0.2), Grader("exact", grade, price=10 * price)]
    return Judging(["a", "b"], range(20), graders, respond=made if respond else None, **settings)


def test_a_restart_pays_neither_graders_nor_models_again(tmp_path):
    settings = {"respond": lambda candidate, item: {"text": f"{candidate} {item}"}, "answer_price": 2.0}
    settings["cache"] = tmp_path / "grades.jsonl"
    run = {"progress": False, "delta": 0.2}
    calls = []
    first = judging(calls, **settings).identify(**run)
    assert len([call for call in calls if call[0] == "respond"]) > 5
    again = []
    second = judging(again, **settings).identify(**run)
    assert again == []
    assert (second.best, second.pulls, second.cost) == (first.best, first.pulls, 0.0)
    assert first.cost > 0
    # Whoever grades the candidates themselves does not take the grades of their answers.
    assert judging([], cache=tmp_path / "grades.jsonl").identify(**run).cost > 0


@pytest.mark.parametrize("answer", [(1, 2), b"x", float("nan"), {1: "x"}, object(), [np.float64(1)]])
def test_answers_that_cannot_be_kept_are_refused(tmp_path, answer):
    setup = judging([], respond=lambda candidate, item: answer, cache=tmp_path / "grades.jsonl")
    [pull] = create_study(setup.problem).ask()
    sentence = r"respond for candidate 'a', item \d+: the answer is .*, which a cache file cannot keep as it is"
    with pytest.raises(StorageError, match=sentence):
        setup.grade(pull)


def test_only_money_that_is_paid_is_counted():
    calls = []
    setup = judging(calls)
    result = setup.identify(policy="lucb-top:batch=40,independent=true", max_cost=150.0, delta=1e-9, progress=False)
    [exact] = [one for one in setup.bill().graders if one.name == "exact"]
    assert result.status == "max_cost"
    assert result.pulls > exact.paid == len(calls) == 15
    assert result.cost == setup.bill().total == 150.0
    assert result.certificate["cost"] == result.certificate["paid"] == 150.0
    assert setup.bill().at_full_price == result.pulls * 10.0


@pytest.mark.parametrize("workers", [1, 8])
def test_known_answers_cost_nothing_to_compare_with(workers):
    """Then only the answers are paid for, and counted."""
    setup = judging([], respond=lambda candidate, item: f"{candidate} {item}", price=0.0, answer_price=0.5)
    result = setup.identify(workers=workers, progress=False)
    bill = setup.bill()
    assert (result.best, result.status) == ("b", "certified")
    assert result.cost == bill.total == 0.5 * bill.answers > 0
    assert sum(one.paid for one in bill.graders) > 0


@pytest.mark.parametrize("workers", [1, 8])
def test_the_limit_is_never_exceeded(workers, tmp_path):
    for limit in (0.5, 10.0, 37.0, 420.0):
        setup = judging([], respond=lambda candidate, item: candidate, answer_price=0.5)
        result = setup.identify(max_cost=limit, delta=1e-9, workers=workers, progress=False)
        assert result.status == ("max_cost" if limit < 400 else "certified")
        assert setup.bill().total == pytest.approx(result.cost)
        assert result.cost <= limit


def test_failed_calls_are_paid_and_counted():
    def grade(answer, item):
        if len(calls) < 2:
            calls.append(item)
            raise ConnectionError("busy")
        return 0.5

    calls = []
    setup = Judging(["a", "b"], range(100), [Grader("judge", grade, price=1.0)])
    result = setup.identify(max_cost=10.0, progress=False, delta=1e-9)
    assert result.status == "max_cost"
    assert result.cost == setup.bill().total == 10.0
    assert result.pulls == 8


def test_failed_answers_are_paid_and_counted():
    def respond(candidate, item):
        tries.append(item)
        if len(tries) < 3:
            raise ConnectionError("busy")
        return candidate

    tries = []
    setup = judging([], respond=respond, answer_price=2.0)
    result = setup.identify(max_cost=50.0, progress=False, delta=1e-9)
    assert result.cost == setup.bill().total <= 50.0
    assert setup.bill().answers == len(tries)


@pytest.mark.parametrize("truth", ["these grades", "expected grade"])
@pytest.mark.parametrize(
    ("policy", "on_failure"),
    [("mf-race", "worst"), ("mf-toptwo:independent=true", "retire"), ("lucb-top:batch=7,independent=true", "retire")],
)
def test_pulls_read_from_a_log_are_those_that_were_asked(tmp_path, truth, policy, on_failure):
    graders = [Grader("q", print, 1, bias=0.2), Grader("x", print, 5)]
    problem = Judging(["a", "b", "c"], range(90), graders, truth=truth).problem
    study = create_study(
        problem, policy=policy, storage=f"sqlite:///{tmp_path / 's.db'}", on_failure=on_failure, retries=0
    )
    asked, chance = {}, random.Random(4)
    for _ in range(60):
        for pull in study.ask(3):
            if pull.arm == "c" and pull.id > 20:
                study.fail(pull, "no")
            elif chance.random() < 0.9:
                asked[pull] = chance.random()
                study.tell(pull, asked[pull])
            else:
                study.release([pull])
    found = dict(told_pulls(study))
    assert len(found) > 30
    assert found == {pull: asked[pull] for pull in found}
    assert len(found) == len(asked)


def test_the_limit_counts_all_runs_of_a_study_and_may_be_raised(tmp_path):
    storage = {"storage": f"sqlite:///{tmp_path / 'study.db'}", "progress": False}
    for kept in ({"cache": tmp_path / "grades.jsonl"}, {}):
        name = "with" if kept else "without"
        first = judging([], **kept).identify(max_cost=30.0, name=name, **storage)
        assert first.cost <= 30.0
        same = judging(calls := [], **kept).identify(max_cost=30.0, name=name, **storage)
        assert (same.cost, same.pulls, calls) == (first.cost, first.pulls, [])
        more = judging(calls, **kept).identify(max_cost=60.0, name=name, **storage)
        assert first.cost < more.cost <= 60.0
        assert more.cost - first.cost == 10.0 * len(calls)


def test_a_tie_ends_when_every_grade_is_known():
    calls = []

    async def grade(answer, item):
        calls.append((answer, item))
        return float(item % 2)

    setup = Judging(["a", "b"], range(6), [Grader("judge", grade, price=1.0)])
    result = setup.identify(progress=False, policy="lucb-top:batch=50,independent=true")
    assert (result.status, result.best, result.confidence, result.cost) == ("complete", "a", 1.0, 12.0)
    assert len(calls) == 12


def test_the_best_by_a_hair_is_found_by_counting():
    setup = Judging(
        ["a", "b", "c"], range(50), [Grader("judge", lambda a, i: float(i % 2 or (a == "b" and i == 0)), price=1.0)]
    )
    result = setup.identify(progress=False, policy="lucb-top:batch=200,independent=true", max_cost=150.0)
    assert (result.status, result.best, result.cost) == ("complete", "b", 150.0)


def test_limits_are_checked():
    for wrong in (0, -1, "much", float("nan")):
        with pytest.raises(InvalidInput, match="max_cost"):
            judging([]).identify(max_cost=wrong)
    with pytest.raises(InvalidInput, match="spends a budget"):
        judging([]).identify(policy="elimination", budget=5)


def test_calls_that_were_never_made_are_not_paid():
    setup = Judging(["a", "b"], range(5), [Grader("judge", lambda a, i: 0.5, price=1.0, per_second=0.01)])
    first, second = create_study(setup.problem).ask(2)

    async def run():
        await setup.evaluate(first)
        waiting = asyncio.ensure_future(setup.evaluate(second))
        await asyncio.sleep(0.01)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)

    asyncio.run(run())
    assert setup.bill().total == 1.0


@pytest.mark.parametrize("truth", ["these grades", "expected grade"])
def test_a_judging_in_many_runs_is_that_of_one(tmp_path, truth):
    def setup(name):
        graders = [Grader("quick", grade, price=0.1, bias=0.2, pair_bias=0.1), Grader("exact", grade, price=10.0)]
        settings = {"respond": lambda candidate, item: candidate * (item % 9), "answer_price": 0.5, "truth": truth}
        return Judging(list("abcd"), range(60), graders, cache=tmp_path / name, **settings)

    async def grade(answer, item):
        return float(random.Random(f"{answer} {item}").random() < 0.2 + 0.2 * answer.count("d"))

    # With more than one pull out, some are when the answer is found, and how many were paid for is luck.
    run = {"progress": False, "delta": 0.1, "storage": f"sqlite:///{tmp_path / 'study.db'}", "width": 1}
    whole = setup("one").identify(name="one", **run)
    assert whole.status == "certified"
    for limit in range(1, 60):
        part = setup("many").identify(name="many", max_cost=25.0 * limit, workers=3, **run)
        assert part.cost <= 25.0 * limit
        if part.status != "max_cost":
            break
    assert limit > 5
    assert (part.status, part.best, part.pulls) == ("certified", whole.best, whole.pulls)
    assert part.cost == pytest.approx(whole.cost)
    # Three at once may finish in another order, which the log keeps; what it amounts to is the same.
    assert {**part.certificate, "log": ""} == {**whole.certificate, "log": ""}
    assert mf.verify(part.certificate).valid


def test_a_bill_says_what_all_runs_cost(tmp_path):
    run = {"progress": False, "delta": 0.1, "storage": f"sqlite:///{tmp_path / 'study.db'}", "width": 1}

    def setup():
        grader = Grader("exact", lambda answer, item: float(item % 10 < answer), price=1.0)
        return Judging({"a": 8, "b": 3}, range(60), [grader])

    first = setup()
    first.identify(max_cost=10, **run)
    assert first.bill().sentence.startswith("Paid $10.00 for 10 gradings.")
    second = setup()
    result = second.identify(**run)
    assert (result.status, result.cost) == ("certified", 10.0 + second.bill().total)
    assert f"in this run (${result.cost:.2f} in all runs of the study) for" in second.bill().sentence


def test_settings_that_are_none_are_refused():
    setup = Judging(["a", "b"], range(6), [Grader("judge", lambda answer, item: 0.5, price=1.0)])
    with pytest.raises(InvalidInput, match=r"no setting 'confidence': say delta=0.05 for a confidence of 95%"):
        setup.identify(confidence=0.95)


def test_a_grade_that_cannot_be_had_counts_as_the_worst():
    def grade(answer, item):
        if item == 3 and answer == "good":
            raise ValueError("no such page")
        return float(answer == "good" or item % 3 == 0)

    setup = Judging(["good", "bad"], range(60), [Grader("judge", grade, price=1.0)], reward="bernoulli")
    run = {"progress": False, "policy": "mf-race:batch=60", "retries": 0}
    assert setup.identify(**run).status == "failed"
    result = setup.identify(on_failure="worst", **run)
    assert (result.status, result.best) == ("certified", "good")
    assert result.differences["bad"] == pytest.approx((39 / 60, 40 / 60))
    assert mf.verify(result.certificate).valid


def test_what_is_told_in_one_step_is_not_waited_for():
    # Runs tell many rewards at once: prices that stayed reserved would keep a run waiting for ever.
    problem = mf.Problem(["a", "b", "c"], [("only", 1.0)], reward="bernoulli", blocks=20)
    paid = []
    study = PaidStudy(create_study(problem), lambda pull: {pull.id: 1.0}, lambda: len(paid), 3.0, lambda: False, 0)
    pulls = study.ask(5)
    assert (len(pulls), study.ask()) == (3, [])
    paid += pulls
    assert study.tell_all((pull, 1.0) for pull in pulls) == [True] * 3
    assert (study.ask(), study.status) == ([], "max_cost")


@pytest.mark.parametrize("workers", [1, 6])
def test_the_study_is_told_what_was_really_paid(workers, tmp_path):
    calls = []

    async def label(item):
        calls.append(item)
        if len(calls) in (2, 5):
            raise ConnectionError("busy")
        return item % 3

    def compare(answer, label):
        return float(len(answer) % 3 == label)

    def respond(candidate, item):
        return "x" * ((item + {"p": item % 2, "q": 0, "r": 1}[candidate]) % 3)

    cache, url = tmp_path / "grades.jsonl", f"sqlite:///{tmp_path / 'study.db'}"
    exact = Grader("exact", compare, price=3.0, label=label, per_item=True)
    made = {"respond": respond, "answer_price": 0.5, "cache": cache}
    costs = []
    for name in ("first", "second"):
        setup = Judging({"a": "p", "b": "q", "c": "r"}, range(40), [exact], **made)
        result = setup.identify(storage=url, name=name, progress=False, workers=workers, failure_patience=5.0)
        study = load_study(url, name)
        assert result.status == "certified"
        # Two calls failed, and the answers were made that they were about.
        assert study.cost - study.to_frame()["cost"].sum() >= (6.0 if name == "first" else 0.0)
        # What was under way when a study had its answer was paid for, and not told: with several workers it may be all
        # that the second one pays.
        least = result.cost if workers == 1 else 0.8 * result.cost if name == "first" else 0.0
        assert least <= study.cost + 1e-9 <= result.cost + 2e-9
        # What is planned goes by prices, whatever was there already.
        assert study.current().costs.expected == study.current().costs.declared
        study.export(tmp_path / "study.jsonl")
        assert import_study(tmp_path / "study.jsonl").cost == study.cost
        costs.append(study.cost)
    # All answers and labels are there the second time, but for those that were under way at the end of the first.
    assert costs[1] <= (0.0 if workers == 1 else 0.3 * costs[0])
    assert costs[0] > 0.0


def test_what_is_paid_counts_for_whoever_runs_the_study():
    calls = []
    setup = judging(calls)
    policy = "lucb-top:batch=40,independent=true"
    result = mf.identify(setup.problem, setup.outcome, policy=policy, max_cost=150.0, delta=1e-9, progress=False)
    assert result.cost == setup.bill().total <= 150.0
    assert result.pulls > len(calls)
