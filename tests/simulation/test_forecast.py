import dataclasses
import json
import math

import pytest

import mfbandit as mf
from mfbandit.errors import InvalidInput, ModelWarning
from mfbandit.simulation import forecast
from mfbandit.theory import limit


def instance(means, biases, costs):
    problem = mf.Problem.from_arrays(costs, biases, arms=len(means), reward="bernoulli")
    return mf.Instance(problem, means, mf.BernoulliLaw(), name="guessed")


@pytest.fixture(scope="module")
def helpful():
    guessed = instance([[0.8, 0.79, 0.8], [0.3, 0.31, 0.3]], [0.02, 0.02, 0.0], [1, 1.5, 100])
    return forecast(guessed, trials=10)


def test_it_keeps_the_cheap_fidelity_that_helps(helpful):
    assert helpful.helps
    assert helpful.keep == ("fidelity 0", "fidelity 2")
    assert helpful.best.mean_cost < helpful.truest_only.mean_cost / 10
    assert helpful.best.policy == "mf-toptwo"
    assert helpful.advice.startswith("Use 'fidelity 0' and 'fidelity 2' with mf-toptwo: expect a cost of")
    assert "'fidelity 1' can be left out" in helpful.advice


def test_every_set_with_the_truest_fidelity_is_tried(helpful):
    rows = [row for row in helpful.rows if row.policy == "mf-toptwo"]
    assert len(rows) == 4
    assert all("fidelity 2" in row.fidelities for row in rows)
    assert len([row for row in helpful.rows if row.policy == "lucb-c"]) == 2
    costs = [row.mean_cost for row in helpful.rows]
    assert costs == sorted(costs)


def test_nothing_is_below_the_limit(helpful):
    assert helpful.limit == pytest.approx(limit(helpful.instance, 0.05))
    assert all(row.mean_cost >= row.limit for row in helpful.rows)


def test_it_says_when_the_truest_fidelity_alone_is_best():
    found = forecast(instance([[0.5, 0.8], [0.5, 0.3]], [0.4, 0.0], [1, 2]), trials=10, policies=["mf-toptwo"])
    assert not found.helps
    assert found.keep == ("fidelity 1",)
    assert found.best == found.truest_only
    assert found.advice.startswith("The cheap fidelities do not help: use 'fidelity 1' alone.")


def test_what_few_trials_do_not_show_is_not_said():
    guessed = instance([[0.6, 0.6], [0.5, 0.5]], [0.02, 0.0], [1, 4])
    advice = forecast(guessed, trials=4, policies=["mf-toptwo"]).advice
    assert "in these 4 runs" in advice
    assert "do not help" not in advice
    assert advice.count(" ± ") == 2
    assert "±" not in forecast(guessed, trials=1, policies=["mf-toptwo"]).advice


def test_a_mean_below_the_limit_is_said_to_be_luck(helpful):
    few = dataclasses.replace(helpful, trials=3)
    below = dataclasses.replace(few, best=dataclasses.replace(few.best, mean_cost=0.9 * few.limit))
    assert "3 runs are too few: the mean came out below what is possible on average" in below.advice
    assert "too few" not in few.advice


def test_no_limit_is_claimed_where_the_means_break_their_bounds():
    problem = mf.Problem.from_arrays([1, 20], [0.1, 0.0], arms=2, reward="bernoulli")
    with pytest.warns(ModelWarning):
        guessed = mf.Instance(problem, [[0.5, 0.8], [0.3, 0.3]], strict=False)
    advice = forecast(guessed, trials=3, policies=["mf-toptwo"]).advice
    assert "Nothing can cost less" not in advice
    assert advice.endswith("No least cost is claimed: the means break their bias bounds.")


def test_one_fidelity_and_one_arm():
    found = forecast(instance([[0.8], [0.2]], [0.0], [1]), trials=5)
    assert found.advice.startswith("With mf-toptwo expect a cost of")
    assert forecast(instance([[0.8]], [0.0], [1]), trials=2).best.mean_cost == 0.0


def test_the_curve_rises_with_the_confidence(helpful):
    figure = helpful.figure((0.2, 0.05, 0.01))
    [axes] = figure.axes
    for line in axes.lines:
        assert list(line.get_ydata()) == sorted(line.get_ydata())
    assert {text.get_text() for text in axes.texts} == {
        "mf-toptwo, fidelity 0 + fidelity 2",
        "mf-toptwo, fidelity 2",
        "limit (all fidelities)",
    }
    assert axes.get_yscale() == "log"


def test_as_json(helpful):
    plain = json.loads(json.dumps(helpful.to_json(), allow_nan=False))
    assert plain["keep"] == ["fidelity 0", "fidelity 2"]
    assert plain["rows"][0]["mean_cost"] == plain["mean_cost"]
    assert plain["advice"] == helpful.advice


def test_the_same_seed_gives_the_same_forecast():
    guessed = instance([[0.8, 0.8], [0.3, 0.3]], [0.1, 0.0], [1, 9])
    first, again, other = (forecast(guessed, trials=4, seed=seed).rows for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_many_fidelities_are_not_all_combined():
    means = [[0.8] * 7, [0.3] * 7]
    guessed = instance(means, [0.1] * 6 + [0.0], [1, 2, 3, 4, 5, 6, 7])
    found = forecast(guessed, trials=2, policies=["mf-toptwo"])
    assert len(found.rows) == 2 + 6 + 6


def test_ties_need_an_epsilon():
    tied = instance([[0.5, 0.5], [0.5, 0.5], [0.1, 0.1]], [0.1, 0.0], [1, 2])
    with pytest.raises(InvalidInput, match="arms 'arm 0' and 'arm 1' are tied at the top"):
        forecast(tied)
    found = forecast(tied, epsilon=0.3, trials=3, policies=["mf-toptwo"])
    assert math.isnan(found.limit)
    assert found.to_json()["limit"] is None
    assert "Nothing can cost less" not in found.advice


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"policies": []}, "policies are empty"),
        ({"policies": ["elimination"]}, "elimination spends a budget"),
        ({"policies": ["lucb-c:fidelities=top"]}, "names its fidelities"),
        ({"policies": "mf-toptwo"}, "policies must be a list"),
        ({"trials": 0}, "trials must be a whole number >= 1"),
        ({"delta": 2.0}, "delta"),
    ],
)
def test_bad_input(settings, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        forecast("figure-1a", **settings)
    with pytest.raises(InvalidInput, match="instance must be"):
        forecast(3)
