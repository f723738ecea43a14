"""What logs show: claims are wrong in at most delta of runs, however often one looks."""

import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from mfbandit.errors import InvalidInput
from mfbandit.logs import ModelRace, Reading, ScoreTable, compare_table, control_table, score_table
from mfbandit.logs._evidence import AnyTime, Differences, Once
from mfbandit.logs._items_needed import items_needed
from mfbandit.logs._rows import LogRow


def table(values, scale=(0.0, 1.0)):
    values = np.asarray(values, dtype=float)
    names = tuple(f"s{k}" for k in range(values.shape[0]))
    return ScoreTable(names, tuple(map(str, range(values.shape[1]))), values, "score", scale, ())


def counted(lost, same, won):
    return Differences(np.array([-1.0, 0.0, 1.0]), np.array([lost, same, won], dtype=float))


def correlated(rng, systems, items):
    """Right or wrong answers of systems that are equally good, correlated on items."""
    return (0.8 * rng.normal(size=items) + 0.6 * rng.normal(size=(systems, items)) < 0.5).astype(float)


def test_the_best_is_claimed_wrongly_in_at_most_delta_of_runs_that_look_often(times):
    """The first of three equal systems is called the best by the draw; a claim of another is wrong."""
    delta, runs, wrong, missed, single = 0.2, 100 * times, 0, 0, 0
    rng = np.random.default_rng(5)
    for _ in range(runs):
        values = correlated(rng, 3, 400)
        looks = [compare_table(table(values[:, :items]), delta) for items in (50, 200, 400)]
        wrong += any(look.settled and look.best != "s0" for look in looks)
        missed += any(not rival.at_least <= 0.0 <= rival.at_most for look in looks for rival in look.rivals)
        once = compare_table(table(values[:, :200]), delta, once=True)
        single += once.settled and once.best != "s0"
    for errors in (wrong, missed, single):
        assert binomtest(int(errors), runs, delta, alternative="greater").pvalue > 1e-4
    # The test can fail: at one look of an exact test claims are not rare.
    assert single > 0


def test_verdicts_beside_a_control_are_wrong_in_at_most_delta_of_runs(times):
    """Two systems are as good as the control, two are better by just epsilon: each can be judged wrongly in one way."""
    delta, epsilon, runs, wrong, single = 0.2, 0.1, 60 * times, 0, 0
    rng = np.random.default_rng(6)
    ahead = np.array([0.0, 0.0, 0.0, epsilon, epsilon])
    for _ in range(runs):
        chance = 0.6 * rng.random(400) + 0.1
        values = (rng.random((5, 400)) < chance + ahead[:, None]).astype(float)

        def is_wrong(items, once, values=values):
            found = control_table(table(values[:, :items]), "s0", delta, epsilon, once)
            return {"s1", "s2"} & set(found.better) or {"s3", "s4"} & set(found.not_better)

        wrong += any(is_wrong(items, False) for items in (100, 400))
        single += bool(is_wrong(200, True))
    for errors in (wrong, single):
        assert binomtest(int(errors), runs, delta, alternative="greater").pvalue > 1e-4
    assert single > 0


def test_verdicts_beside_a_control():
    values = np.zeros((4, 600))
    values[0, :300], values[1, :450], values[2, :100], values[3, 1:301] = 1.0, 1.0, 1.0, 1.0
    plain = control_table(table(values), "s0")
    assert (plain.better, plain.not_better, plain.open) == (("s1",), ("s2",), ("s3",))
    assert not plain.settled
    assert plain.needed.even is None
    close = control_table(table(values), "s0", epsilon=0.05)
    assert (close.not_better, close.settled) == (("s3", "s2"), True)
    assert "'s3', 's2': not better than 's0' by more than 0.05." in close.sentences
    assert [one.at_least <= one.ahead <= one.at_most for one in close.challengers] == [True] * 3
    with pytest.raises(InvalidInput, match="there is no system 's9'"):
        control_table(table(values), "s9")


def test_evidence_is_a_fair_bet():
    """The mean of 1/p is at most 1 for the hardest laws, by summing over all outcomes of six items."""
    for shift, chances in ((0.0, (0.3, 0.4, 0.3)), (-0.2, (0.5, 0.2, 0.3)), (0.1, (0.2, 0.5, 0.3))):
        mean = 0.0
        for lost in range(7):
            for won in range(7 - lost):
                same = 6 - lost - won
                ways = math.factorial(6) / (math.factorial(lost) * math.factorial(same) * math.factorial(won))
                chance = ways * chances[0] ** lost * chances[1] ** same * chances[2] ** won
                mean += chance * math.exp(-AnyTime().log_p(counted(lost, same, won), shift))
        assert mean == pytest.approx(1.0)


def test_the_order_of_items_does_not_matter():
    values = correlated(np.random.default_rng(1), 3, 300)
    assert compare_table(table(values)) == compare_table(table(values[:, ::-1]))


def test_a_single_look_is_the_exact_test():
    p = math.exp(Once().log_p(counted(5, 70, 25)))
    assert p == pytest.approx(binom.sf(24, 30, 0.5) / 0.9)
    # The bound agrees with it: at that level it is 0, and evidence against a shift is where the bound meets it.
    assert Once().at_least(counted(5, 70, 25), math.log(p)) == pytest.approx(0.0, abs=1e-9)
    bound = Once().at_least(counted(5, 70, 25), math.log(0.01))
    assert Once().log_p(counted(5, 70, 25), bound) == pytest.approx(math.log(0.01), abs=1e-4)
    assert Once().at_least(counted(0, 50, 0), math.log(0.01)) < 0.0
    assert Once().at_least(counted(0, 0, 50), math.log(0.01)) > 0.5


def test_bounds_of_a_single_look_hold_for_all_shares(times):
    rng = np.random.default_rng(2)
    level, runs = 0.1, 300 * times
    for ahead, differing in ((0.0, 0.3), (0.15, 0.2), (-0.2, 0.5)):
        wins = (differing + ahead) / 2
        draws = rng.multinomial(80, [differing - wins, 1 - differing, wins], size=runs)
        wrong = sum(Once().at_least(counted(*draw), math.log(level)) > ahead + 1e-12 for draw in draws)
        assert binomtest(wrong, runs, level, alternative="greater").pvalue > 1e-4


def test_epsilon_settles_what_is_equal():
    values = np.zeros((2, 2000))
    values[0, :100] = 1.0
    values[1, 100:195] = 1.0
    plain, close = compare_table(table(values)), compare_table(table(values), epsilon=0.05)
    assert not plain.settled
    assert close.settled
    assert close.confidence > plain.confidence
    assert "within 0.05 of the best" in close.about_all


def test_scales_and_directions():
    values = np.repeat([[2.0], [6.0]], 50, axis=1)
    low = compare_table(table(values, (0.0, 10.0)), lower_is_better=True)
    high = compare_table(table(values, (0.0, 10.0)))
    assert (low.best, high.best) == ("s0", "s1")
    assert low.rivals[0].ahead == pytest.approx(4.0)
    assert low.rivals[0].at_least == pytest.approx(high.rivals[0].at_least)
    assert 0.0 < high.rivals[0].at_least < 4.0 < high.rivals[0].at_most <= 10.0


def test_ties_are_named_and_not_settled():
    found = compare_table(table([[1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 0, 0]]))
    assert (found.best, found.tied, found.settled) == ("s0", ("s1",), False)
    assert "'s0', 's1' have the same best mean, 0.5" in found.about_these
    assert found.needed.even is None
    assert "cannot be told" in found.about_more


def test_as_many_items_as_foretold_settle_it(times):
    rng = np.random.default_rng(3)
    for once in (False, True):
        shares = []
        while len(shares) < 40 * times:
            first = rng.multinomial(200, [0.06, 0.79, 0.15])
            judge = Once() if once else AnyTime()
            if judge.log_p(counted(*first)) <= math.log(0.05):
                continue
            needed = items_needed(judge, counted(*first), 0.0, math.log(0.05)).even
            if needed is None or needed > 100_000:
                continue
            more = rng.multinomial(needed - (0 if once else 200), [0.06, 0.79, 0.15])
            shares.append(judge.log_p(counted(*(more if once else first + more))) <= math.log(0.05))
        # Those that were not settled by now have had bad luck, so that more than half are by then.
        assert np.mean(shares) > 0.5


def test_bad_values_are_refused():
    good = table([[1, 0], [0, 1]])
    with pytest.raises(InvalidInput, match="delta must lie strictly between 0 and 1, got 1"):
        compare_table(good, delta=1)
    with pytest.raises(InvalidInput, match="epsilon must be a number >= 0, got -1"):
        compare_table(good, epsilon=-1)
    with pytest.raises(InvalidInput, match="missing must be one of out, worst, got 'skip'"):
        Reading(missing="skip")
    with pytest.raises(InvalidInput, match=r"the range must be two numbers, the least and the most, got \(1, 0\)"):
        Reading(range=(1, 0))
    rows = [LogRow("a", "1", {"score": 7}, "line 2"), LogRow("b", "1", {"score": 0}, "line 3")]
    with pytest.raises(InvalidInput, match="the score goes from 0 to 7, outside the range 0 to 5"):
        score_table(rows, Reading(range=(0, 5)))


class Scored:
    """What Inspect says of a sample: a score with a value."""

    def __init__(self, value):
        self.score = self
        self.value = value


def run_race(values, delta):
    """A race of models whose samples all ended but the last, in the order of the dataset."""
    race = ModelRace([f"m{k}" for k in range(len(values))], delta=delta)
    for model, scores in zip(race.models, values, strict=True):
        race.enter(model, range(scores.size), 1, True)
        for sample, value in enumerate(scores[:-1]):
            race.tell(model, sample, {"match": Scored(float(value))})
    return race


def test_a_race_of_models_ends_the_best_in_at_most_delta_of_runs(times):
    delta, runs, wrong = 0.2, 150 * times, 0
    rng = np.random.default_rng(4)
    for _ in range(runs):
        values = np.tile(rng.permutation(60) < 30, (3, 1)) ^ (rng.random((3, 60)) < 0.3)
        # The first is the best by one item, whatever the draw.
        short = values[1:].sum(axis=1).max() + 1 - values[0].sum()
        flips = np.flatnonzero(values[0] != (short > 0))[: abs(short)]
        values[0, flips] = short > 0
        order = rng.permutation(60)
        wrong += run_race(values[:, order], delta).is_beaten("m0")
    assert binomtest(int(wrong), runs, delta, alternative="greater").pvalue > 1e-4


def test_a_race_says_who_is_left_and_refuses_what_would_break_it():
    race = run_race(np.array([np.ones(60), np.zeros(60), np.zeros(60)]), 0.05)
    assert race.is_beaten("m1")
    assert (race.left, race.best) == (("m0",), "m0")
    with pytest.raises(InvalidInput, match="takes every sample once, got 2 epochs"):
        race.enter("m1", range(60), 2, True)
    with pytest.raises(InvalidInput, match="samples in a random order"):
        race.enter("m1", range(60), 1, False)
    with pytest.raises(InvalidInput, match="'m1' has other samples than the first"):
        race.enter("m1", range(59), 1, True)
    with pytest.raises(InvalidInput, match=r"the match is 3, outside \[0, 1\]; declare its range"):
        race.tell("m1", 59, {"match": Scored(3)})
    with pytest.raises(InvalidInput, match="'m9' is none of the models"):
        race.stopping("m9")
    with pytest.raises(InvalidInput, match="at least two models"):
        ModelRace(["alone"])
