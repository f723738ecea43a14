"""Equal answers: nobody is asked where all candidates left answer alike, and no difference is changed by that."""

import asyncio
import json
import random

import numpy as np
import pytest

import mfbandit as mf
from mfbandit.errors import InvalidInput, ModelWarning, StudyError
from mfbandit.judges import Grader, Judging, Preference
from mfbandit.judges._paid_study import told_pulls
from mfbandit.study.report import snapshot


class World:
    """Candidates who answer questions with one of three letters, the better ones more often rightly."""

    def __init__(self, seed=0, candidates=4, items=60, step=0.15):
        chance = random.Random(seed)
        self.right = [chance.choice("xyz") for _ in range(items)]
        hard = [chance.random() for _ in range(items)]
        self.answers = {}
        for k in range(candidates):
            for item in range(items):
                good = 1.0 - step * k > hard[item] or chance.random() < 0.1
                self.answers[f"c{k}", item] = self.right[item] if good else chance.choice("xyz")
        self.names = [f"c{k}" for k in range(candidates)]
        self.made, self.graded = [], []

    def respond(self, candidate, item):
        self.made.append((candidate, item))
        return self.answers[candidate, item]

    def grade(self, answer, item):
        self.graded.append((answer, item))
        return float(answer == self.right[item])

    def judging(self, graders=None, **settings):
        graders = graders or [Grader("human", self.grade, price=1.0)]
        return Judging(self.names, range(len(self.right)), graders, respond=self.respond, **settings)

    def score(self, candidate, item):
        return float(self.answers[candidate, item] == self.right[item])


def rewards_by_block(certificate):
    """All rewards of a certificate, by fidelity and position, then by arm."""
    found, done, rewards = {}, {}, iter(certificate["rewards"])
    for one in certificate["rounds"]:
        for arm, fidelity, pulls in one["rows"]:
            for _ in range(pulls):
                reward = next(rewards, None)
                position = done[arm, fidelity] = done.get((arm, fidelity), -1) + 1
                if reward is not None:
                    found.setdefault((fidelity, position), {})[arm] = reward
    return found


def items_in_order(result):
    opened = [one for part in result.certificate["rounds"] for one in part["opened"]]
    return [block for fidelity, block, *_ in opened if fidelity == 0]


def check_differences(world, result, score=None):
    """Every difference on every block is that of the true scores; returns how many blocks nobody was asked about."""
    score = score or world.score
    unasked, items = 0, items_in_order(result)
    for (_, position), rewards in rewards_by_block(result.certificate).items():
        true = {arm: score(world.names[arm], items[position]) for arm in rewards}
        first = next(iter(rewards))
        for arm in rewards:
            assert rewards[arm] - rewards[first] == pytest.approx(true[arm] - true[first])
        unasked += rewards != pytest.approx(true)
    return unasked


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("workers", [1, 6])
def test_differences_are_those_of_the_grades(seed, workers, tmp_path):
    world = World(seed)
    judging = world.judging(reward="bernoulli")
    result = judging.identify(progress=False, workers=workers, delta=0.2)
    assert result.status == "certified"
    assert check_differences(world, result) > 2
    truths = {name: sum(world.score(name, item) for item in range(60)) for name in world.names}
    assert truths[result.best] == max(truths.values())
    assert mf.verify(result.certificate).valid
    # Every answer is made once, and every distinct answer graded once at most. When a study has its answer, whoever
    # waits for a call that is called off may begin it again before it is called off, too.
    assert len(world.made) - len(set(world.made)) <= (0 if workers == 1 else 1)
    assert len(world.graded) == len(set(world.graded)) < result.pulls / 2.5
    [bill] = judging.bill().graders
    if workers == 1:  # calls that are out when the answer is found may be called off
        assert (judging.bill().answers, bill.paid) == (len(world.made), len(world.graded))
        assert bill.paid + bill.equal == result.pulls
    assert "were not needed, since answers were the same" in judging.bill().sentence
    # A mean would count items that nobody graded.
    assert all(arm.means == {"human": None} for arm in result.arms)
    result.report(tmp_path / "report.html")
    assert "no means: where all that were left agreed" in (tmp_path / "report.html").read_text()
    claim = result.certificate["claim"]
    assert "; an item that all candidates left answer alike counts 0 for each" in claim


def test_all_answers_equal_is_a_tie_that_costs_no_grade():
    judging = Judging(["a", "b", "c"], range(30), [Grader("human", print, 1)], respond=lambda candidate, item: item)
    result = judging.identify(progress=False)
    assert (result.status, {result.best, *result.tied}) == ("certified", {"a", "b", "c"})
    assert (result.cost, result.confidence) == (0.0, 1.0)
    assert mf.verify(result.certificate).valid


def test_same_is_a_function_of_yours_or_none():
    world = World(1)
    loose = world.judging(same=lambda first, second: (first == "x") == (second == "x"))
    loose.identify(progress=False, delta=0.2)
    graded, world.graded = world.graded, []
    assert all(len({answer for answer, other in graded if other == item}) <= 2 for _, item in graded)
    every = world.judging(same=None)
    result = every.identify(progress=False, delta=0.2)
    assert len(world.graded) == result.pulls
    assert result.arms[0].means["human"] is not None
    with pytest.raises(InvalidInput, match="same must be a plain function of two answers, or None, got 3"):
        world.judging(same=3)
    broken = world.judging(same=lambda first, second: 1 / 0)
    assert "same raised ZeroDivisionError" in broken.identify(progress=False, retries=0).reasons[0]


def test_what_is_neither_true_nor_false_is_no_answer_of_same():
    world = World(1)

    async def later(first, second):
        return first == second

    with pytest.raises(InvalidInput, match="same must be a plain function of two answers"):
        world.judging(same=later)
    # Each of these would count as true: all answers would be alike, and anybody the certified best for nothing.
    for said in ("no", None, later("x", "y")):
        wrong = world.judging(same=lambda first, second, said=said: said)
        result = wrong.identify(progress=False, retries=0)
        assert result.status == "failed"
        assert "same must return True or False" in result.reasons[0]
    said.close()
    assert world.judging(same=lambda first, second: np.bool_(first == second)).identify(progress=False).best == "c0"


def test_answers_that_are_arrays_are_graded_one_by_one():
    def respond(skill, item):
        return np.array([skill, item])

    judging = Judging(
        {"bad": 2, "good": 9}, range(40), [Grader("g", lambda a, i: float(i % 10 < a[0]), 1)], respond=respond
    )
    result = judging.identify(progress=False, retries=0)
    assert (result.status, result.best, result.cost) == ("certified", "good", result.pulls)


def test_a_stored_study_finds_what_was_compared(tmp_path):
    run = {"storage": f"sqlite:///{tmp_path / 'study.db'}", "progress": False, "delta": 0.2, "width": 1}
    whole = World().judging(cache=tmp_path / "one").identify(name="one", **run)
    for limit in range(1, 100):
        world = World()
        part = world.judging(cache=tmp_path / "many").identify(name="many", max_cost=3.0 * limit, workers=2, **run)
        if part.status != "max_cost":
            break
    assert limit > 3
    check_differences(world, part)
    assert (part.best, part.cost) == (whole.best, pytest.approx(whole.cost))
    # Whoever has nothing but the log makes no means of it either.
    study = mf.load_study(run["storage"], "one")
    assert all(arm["means"] == {"human": None} for arm in study.result().to_json()["arms"])
    assert all(arm["means"] == [None] for arm in snapshot(study)["arms"])
    with pytest.raises(StudyError, match="was begun with a cache"):
        World().judging().identify(name="one", **run)
    with pytest.warns(UserWarning, match="same is not the function by which study 'one' has compared answers so far"):
        World().judging(cache=tmp_path / "one", same=lambda x, y: x.lower() == y.lower()).identify(name="one", **run)
    with pytest.raises(StudyError, match=r"the cache has no answers to item \d+ .* resume it with the cache"):
        World().judging(cache=tmp_path / "lost").identify(name="one", **run)
    # Without a file, every candidate has grades of its own.
    world = World()
    alone = world.judging().identify(name="alone", **run)
    assert len(world.graded) == alone.pulls
    again = world.judging().identify(name="alone", **run)
    assert (again.best, again.cost, len(world.graded)) == (alone.best, alone.cost, alone.pulls)


def test_two_processes_agree_on_what_is_graded(tmp_path):
    # The first sees a candidate fail whose answer the second has: whoever says first whether all are the same counts.
    world, file = World(3, step=0.05), tmp_path / "grades.jsonl"
    chance = random.Random(5)

    def failing(candidate, item):
        if chance.random() < 0.3:
            raise ConnectionError("busy")
        return world.respond(candidate, item)

    run = {"storage": f"sqlite:///{tmp_path / 'study.db'}", "delta": 0.2, "retries": 50, "failure_patience": 0.0}
    graders = [Grader("human", world.grade, price=1.0)]
    first = Judging(world.names, range(60), graders, respond=failing, cache=file)
    second = Judging(world.names, range(60), graders, respond=world.respond, cache=file)
    for limit in (6, 100):
        for one in (first, second):
            result = one.identify(progress=False, max_cost=limit, workers=3, **run)
    assert result.status == "certified"
    assert check_differences(world, result) > 0
    said = [json.loads(line) for line in file.read_text().splitlines()]
    assert any(line.get("equal") for line in said)


@pytest.mark.parametrize(("price", "limit", "ahead"), [(5.0, 600.0, False), (0.0, 30.0, True)])
def test_answers_that_may_cost_more_than_a_grade_are_not_made_ahead(price, limit, ahead):
    world = World(2, candidates=6, items=300, step=0.06)
    result = world.judging(answer_price=price).identify(progress=False, delta=1e-3, max_cost=limit)
    made = {name: sum(one == name for one, _ in world.made) for name in world.names}
    measured = {arm.arm: arm.pulls["human"] for arm in result.arms}
    assert (made != measured) == ahead
    assert all(made[name] >= measured[name] for name in made)


def test_the_expected_grade_of_equal_answers_is_one_draw():
    world, asked = World(2, candidates=2, step=0.3), []

    async def moody(answer, item):
        await asyncio.sleep(0)
        asked.append((answer, item))
        return float(random.Random(f"{answer} {item} {len(asked)}").random() < 0.3 + 0.5 * world.grade(answer, item))

    judging = world.judging([Grader("human", moody, price=1.0)], truth="expected grade", reward="bernoulli")
    result = judging.identify(progress=False, delta=0.2, workers=4)
    assert (result.best, result.status) == ("c0", "certified")
    blocks = rewards_by_block(result.certificate)
    equal = [rewards for rewards in blocks.values() if set(rewards.values()) == {0.0}]
    assert len(asked) < result.pulls - 2 * len(equal) + 2 * len(blocks)
    assert any(asked.count(one) > 1 for one in asked)
    # Policies that draw their own items share nothing.
    before = len(asked)
    other = judging.identify(progress=False, policy="lucb-top:independent=true", delta=0.2, max_cost=300.0)
    assert len(asked) - before == other.pulls


def test_nobody_joins_where_no_grade_was_asked_for(monkeypatch):
    # Should a study ever forget somebody, no difference is made up.
    everybody = mf.Study.arms_on_block
    monkeypatch.setattr(mf.Study, "arms_on_block", lambda study, pull: everybody(study, pull)[:2])
    result = World().judging().identify(progress=False, delta=0.2, retries=0)
    assert result.status == "failed"
    assert "gives another answer to item" in result.reasons[0]


def test_a_study_without_blocks_has_no_arms_on_them():
    study = mf.create_study(mf.Problem(["a", "b"], [("exact", 1.0)]))
    with pytest.raises(StudyError, match="does not compare arms on blocks"):
        study.arms_on_block(study.ask()[0])


def test_scores_without_a_range_share_no_grade():
    world = World(2, candidates=2)
    human = Grader("human", lambda answer, item: random.Random(f"{answer} {item}").gauss(0.0, 1.0), price=1.0)
    setup = world.judging([human], truth="expected grade", reward=mf.Gaussian())
    result = setup.identify(progress=False, max_cost=40.0)
    assert setup.bill().graders[0].paid == result.pulls == 40


def test_told_pulls_of_two_graders_share_answers(tmp_path):
    world = World(candidates=3)

    def rough(answer, item):
        return 1.0 if item % 7 == 0 else world.score_of(answer, item)

    world.score_of = lambda answer, item: float(answer == world.right[item])
    graders = [Grader("rough", rough, price=0.01, bias=0.3, pair_bias=0.2), Grader("human", world.grade, price=1.0)]
    judging = world.judging(graders, cache=tmp_path / "grades")
    result = judging.identify(progress=False, delta=0.2, workers=4, storage=f"sqlite:///{tmp_path / 's.db'}")
    assert result.status == "certified"
    assert len(world.made) == len(set(world.made))
    study = mf.load_study(f"sqlite:///{tmp_path / 's.db'}")
    assert {pull.fidelity for pull, _ in told_pulls(study)} >= {"human"}
    assert judging.problem.order == "shared"


def test_equal_answers_are_no_preference():
    world = World(candidates=3)
    longer = Preference("human", lambda first, second, item: float(first == world.right[item]), 1.0, against="c2")
    judging = world.judging([longer])
    result = judging.identify(progress=False, delta=0.2)
    assert result.status == "certified"
    assert mf.verify(result.certificate).valid


def test_nobody_returns_where_no_grade_was_asked_for(tmp_path):
    given = {"storage": f"sqlite:///{tmp_path / 'study.db'}", "progress": False}
    sparing = World().judging(cache=tmp_path / "grades.db")
    sparing.identify(delta=0.2, name="sparing", **given)
    with pytest.raises(StudyError, match=r"was made with delta=0.2, and cannot go on with 0.05: candidates that had"):
        sparing.identify(delta=0.05, name="sparing", **given)
    mf.load_study(given["storage"], "sparing").extend(delta=0.05)
    with pytest.raises(StudyError, match=r"was made with delta=0.2, and cannot go on with 0.05"):
        sparing.identify(delta=0.05, name="sparing", **given)
    grading = World().judging(same=None)
    grading.identify(delta=0.2, name="grading", **given)
    assert grading.identify(delta=0.05, name="grading", **given).status == "certified"


def test_a_stored_study_without_a_cache_warns_and_stays_so(tmp_path, recwarn):
    run = {"storage": f"sqlite:///{tmp_path / 'study.db'}", "progress": False, "delta": 0.2}
    cache = tmp_path / "answers.jsonl"
    World().judging(cache=cache).identify(name="kept", **run)
    World().judging(same=None).identify(name="all", **run)
    Judging(["a", "b"], range(9), [Grader("exact", lambda a, i: float(a == "a"), 1)]).identify(name="own", **run)
    assert not recwarn.list
    with pytest.warns(ModelWarning, match=r"without cache= has every answer graded: give Judging a file") as said:
        World().judging().identify(name="bare", **run)
    assert said[0].filename == __file__
    with pytest.raises(StudyError, match=r"'bare' was begun without a cache .* leave cache= out, or begin a new study"):
        World().judging(cache=cache).identify(name="bare", **run)
    World().judging().identify(name="bare", **run)  # goes on as it was begun, without another word
    assert not recwarn.list
    with pytest.raises(StudyError, match=r"'kept' was begun with a cache, .* give the same cache= and same= again"):
        World().judging().identify(name="kept", **run)
