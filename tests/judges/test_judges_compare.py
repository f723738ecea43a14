"""The gate for changes: either verdict is certified, and nothing passes that was not shown."""

import math
import random
import warnings

import pytest
from scipy.stats import binomtest

import mfbandit as mf
from mfbandit.errors import InvalidInput
from mfbandit.judges import Grader, Judging


def judging(new, old=0.8, items=200, seed=0, **settings):
    def grade(answer, item):
        return float(random.Random(f"{seed} {answer} {item}").random() < answer)

    candidates = {"new": new, "old": old, "other": 0.1}
    settings = {"reward": "bernoulli", **settings}
    return Judging(candidates, range(items), [Grader("human", grade, price=1.0)], **settings)


def true_difference(setup):
    grade = setup.graders["human"].grade
    means = [sum(grade(setup.candidates[name], item) for item in setup.items) for name in ("new", "old")]
    return (means[0] - means[1]) / len(setup.items)


def test_a_gate_says_yes_no_or_nothing():
    better, worse = judging(0.95), judging(0.6)
    passed = better.compare("new", "old", progress=False)
    assert passed
    assert (passed.verdict, passed.cost) == ("not worse", better.bill().total)
    low, high = passed.difference
    assert -0.02 <= low <= true_difference(better) <= high
    assert passed.statement.startswith("'new' is not worse than 'old' by more than 0.02, with confidence 0.95: the di")
    failed = worse.compare("new", "old", progress=False)
    assert not failed
    assert failed.verdict == "worse"
    assert failed.difference[0] <= true_difference(worse) <= failed.difference[1] <= -0.02
    assert "'new' is worse than 'old' by more than 0.02" in failed.statement
    open_still = judging(0.8).compare("new", "old", progress=False, max_cost=40.0)
    assert not open_still
    assert (open_still.verdict, open_still.cost) == ("undecided", 40.0)
    assert "Nothing is shown about 'new' and 'old' (max_cost)" in open_still.statement
    for one in (passed, failed):
        verdict = mf.verify(one.result.certificate)
        assert verdict.valid, verdict.reasons
        assert "each made once and kept, and 0.02 more for 'new'" in verdict.claim


def test_a_set_that_is_known_whole_decides_exactly():
    # 4 of 200 worse is within the margin, 5 are not; so they are with the least margin beyond.
    for lost, margin, verdict in [
        (4, 0.02, "not worse"),
        (5, 0.02, "worse"),
        (5, 0.0251, "not worse"),
        (0, 0, "not worse"),
    ]:

        def grade(answer, item, lost=lost):
            return float(item >= lost or answer == "old")

        setup = Judging(["old", "new"], range(200), [Grader("human", grade, price=1.0)])
        gate = setup.compare("new", "old", margin=margin, progress=False, delta=1e-12)
        assert gate.verdict == verdict
        assert gate.difference == pytest.approx((-lost / 200, -lost / 200))


def test_grades_are_shared_with_the_race_and_the_order_is_not():
    setup = judging(0.9)
    setup.identify(progress=False)
    before = setup.bill().total
    gate = setup.compare("new", "old", progress=False)
    assert gate.cost < gate.result.pulls
    assert setup.bill().total == pytest.approx(before + gate.cost)
    # Whoever changes a candidate that was seen to do badly on the first items must not meet them first again.
    assert gate.result.seed != judging(0.91).compare("new", "old", progress=False).result.seed
    assert gate.result.seed == judging(0.9).compare("new", "old", margin=0.1, progress=False).result.seed


class Model:
    """A candidate whose content cannot be told."""

    def __init__(self, skill):
        self.skill = skill


def test_a_candidate_without_content_has_a_new_order_in_every_run(tmp_path):
    def grade(answer, item):
        return float(item % 10 < answer.skill)

    setup = Judging({"new": Model(9), "old": Model(2)}, range(50), [Grader("human", grade, price=1.0)])
    first, second = (setup.compare("new", "old", progress=False).result.seed for _ in range(2))
    assert first != second
    assert setup.compare("new", "old", progress=False, seed=5).result.seed == 5
    stored = {"storage": f"sqlite:///{tmp_path / 's.db'}", "progress": False}
    with pytest.raises(InvalidInput, match="content of 'new' and 'old', which cannot be told: state seed="):
        setup.compare("new", "old", **stored)


def test_equal_answers_pass_the_gate_without_a_grade(tmp_path):
    setup = judging(0.8, respond=lambda candidate, item: "yes")
    gate = setup.compare("new", "old", progress=False)
    assert gate
    assert gate.cost == 0.0
    stored = {"storage": f"sqlite:///{tmp_path / 's.db'}", "progress": False}
    setup = judging(0.9, cache=tmp_path / "grades")
    first = setup.compare("new", "old", max_cost=20, **stored)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = judging(0.9, cache=tmp_path / "grades").compare("new", "old", **stored)
    assert (first.verdict, again.verdict) == ("undecided", "not worse")
    assert again.cost > first.cost
    assert mf.load_study(stored["storage"]).name == "compare new with old"


def test_other_scales_and_cheap_judges():
    def people(answer, item):
        return 1.0 + 4.0 * float(random.Random(f"{answer} {item}").random() < answer)

    def judge(answer, item):
        return max(1.0, people(answer, item) - 1.0 * (item % 10 == 0))

    graders = [Grader("judge", judge, price=0.01, bias=0.2, pair_bias=0.05), Grader("people", people, price=1.0)]
    setup = Judging({"new": 0.95, "old": 0.6}, range(300), graders, reward=mf.Bounded(1, 5))
    gate = setup.compare("new", "old", margin=0.1, progress=False)
    assert gate
    assert gate.cost < 20
    assert gate.difference[0] >= -0.1


@pytest.mark.parametrize("edge", [0.0, -0.02])
def test_the_error_of_a_gate_is_at_most_delta(edge, times):
    # On the edge of the margin half of all sets fall on either side; what was certified must be right about its set.
    trials, wrong = 25 * times, 0
    for seed in range(trials):
        setup = judging(0.7 + edge, 0.7, items=40, seed=f"{seed} {edge}")
        gate = setup.compare("new", "old", margin=0.02, delta=0.2, progress=False, seed=seed)
        wrong += gate.verdict != ("not worse" if true_difference(setup) >= -0.02 - 1e-12 else "worse")
    assert binomtest(wrong, trials, 0.2, alternative="greater").pvalue > 0.01


def test_names_and_margins_are_checked():
    setup = judging(0.9)
    for arguments, sentence in [
        (("best", "old"), "'best' is none of the candidates; they are 'new', 'old', 'other'"),
        (("old", "old"), "a candidate is compared with another one, got 'old' twice"),
        (("new", "old", -0.1), "margin must be a number >= 0, got -0.1"),
        (("new", "old", float("nan")), "margin must be a number >= 0, got nan"),
        (("new", "old", 1), "margin must be below 1, the range of the scores, got 1"),
    ]:
        with pytest.raises(InvalidInput, match=sentence):
            setup.compare(*arguments)
    with pytest.raises(InvalidInput, match="compare takes a margin, and no epsilon"):
        setup.compare("new", "old", epsilon=0.1)
    with pytest.raises(InvalidInput, match="a race of two candidates on shared items, got policy 'lucb-top:indep"):
        setup.compare("new", "old", policy="lucb-top:independent=true")
    nothing = setup.compare("new", "old", max_cost=0.5, progress=False)
    assert (bool(nothing), nothing.cost, nothing.difference) == (False, 0.0, (-math.inf, math.inf))
