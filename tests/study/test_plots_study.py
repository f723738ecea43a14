import math
import random

import pytest

import mfbandit as mf
from mfbandit.cli._result_text import print_result
from mfbandit.errors import InvalidInput
from mfbandit.formatting import told_apart
from mfbandit.simulation._run_plots import cost_against_confidence
from mfbandit.study import ArmResult, create_study
from mfbandit.study._history import Moment
from mfbandit.study.report import _study_plots as plots_study
from mfbandit.study.report._page import answer


@pytest.fixture
def study():
    problem = mf.Problem([f"arm {k}" for k in range(45)] + ["$x_1$"], [("quick", 1.0, 0.1), ("exact", 5.0)])
    study = create_study(problem, max_cost=300, policy="lucb-c")
    while not study.done:
        for pull in study.ask(10):
            study.tell(pull, pull.arm_index / 50)
    return study


def test_intervals_show_the_best_arm_on_top(study):
    result = study.result()
    figure = plots_study.intervals(result, truth="exact", title="Arms")
    [axes] = figure.axes
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert len(labels) == 40
    assert labels[-1].replace("\\", "") == result.best
    assert axes.get_title(loc="left") == "Arms (6 more arms are not shown)"
    figure.draw_without_rendering()


def test_intervals_without_ends(study):
    result = study.result()
    endless = tuple(ArmResult(arm.arm, -math.inf, math.inf, arm.pulls, arm.means, arm.cost) for arm in result.arms[:3])
    object.__setattr__(result, "arms", endless)
    plots_study.intervals(result).draw_without_rendering()


def test_spend_adds_up_to_the_cost(study):
    result = study.result()
    [axes] = plots_study.spend(result, study.problem).axes
    assert sum(bar.get_width() for bar in axes.patches) == pytest.approx(result.cost)
    assert "pulls" in axes.texts[0].get_text()


def test_confidence_over_cost():
    moments = [Moment(1.0, 1, "a", 0.0), Moment(2.0, 2, "b", 0.5), Moment(3.0, 3, "b", 0.97)]
    [axes] = plots_study.confidence_over_cost(moments, delta=0.05).axes
    assert axes.lines[0].get_ydata().tolist() == [0.0, 0.5, 0.97]
    assert len(axes.lines) == 3
    with pytest.raises(InvalidInput, match="no results yet"):
        plots_study.confidence_over_cost([])


def test_cost_against_confidence():
    lines = [("all", [(0.1, 5.0), (0.01, 9.0)]), ("limit", [(0.1, 2.0), (0.01, 4.0)])]
    [axes] = cost_against_confidence(lines, title="Cost").axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0.99", "0.9"]
    assert axes.get_yscale() == "linear"
    assert [text.get_text() for text in axes.texts] == ["all", "limit"]


def test_differences_need_blocks(pair):
    with pytest.raises(InvalidInput, match="not on blocks"):
        plots_study.differences(create_study(pair).result())


ENDS = ("Be brief.", "Think first.", "Say why.")
LONG = [f"You are a helpful assistant that classifies reviews. {end}" for end in ENDS]


def close_race():
    """A race whose best arm is shown, though the bounds of all differences at once reach below 0."""
    hardness = [random.Random(number).random() for number in range(400)]
    skill = dict(zip(LONG, (0.8, 0.6, 0.4), strict=True))
    problem = mf.Problem(LONG, [("exact", 1.0)], reward="bernoulli", blocks=400)
    return mf.identify(problem, lambda pull: float(skill[pull.arm] > hardness[pull.block]), progress=False)


def test_arms_that_are_beaten_are_in_colour():
    result = close_race()
    assert result.status == "certified"
    assert min(low for low, _ in result.differences.values()) < 0.0
    (axes,) = plots_study.differences(result).axes
    assert {line.get_color() for line in axes.lines if line.get_linewidth() == 5} == {plots_study.BEST}
    assert "in colour: not better" in axes.get_xlabel()


def test_long_names_can_be_told_apart(capsys):
    result = close_race()
    (axes,) = plots_study.differences(result).axes
    assert {label.get_text() for label in axes.get_yticklabels()} == {"…Think first.", "…Say why."}
    assert str(result).startswith("'…Be brief.' is the best")
    print_result(result)
    said = capsys.readouterr().out
    assert all(said.count(end) for end in ("…Be brief. *", "…Think first.", "…Say why."))


def test_names_that_cannot_be_cut_stay():
    alike = ["a" * 60 + "b" * 60, "a" * 60 + "b" * 60 + "c", "a" * 59 + "c", "x\n", "x\\n"]
    known = told_apart(alike, 20)
    assert len({known[name] for name in alike[:3]}) == 3
    assert all(len(label) <= 20 and label.isprintable() for label in known.values())


def test_a_tie_is_called_one():
    problem = mf.Problem(["a", "b", "c"], [("exact", 1.0)], reward="bernoulli", blocks=20)
    result = mf.identify(problem, lambda pull: float(pull.arm != "c" and pull.block % 2), progress=False)
    other = "b" if result.best == "a" else "a"
    assert result.sentence.startswith(f"{result.best!r} is as good as any, and exactly equal to {other!r}, with confid")
    assert f"{result.best!r} is the best, and 1 other is equal, with a confidence of at least" in answer(result)
