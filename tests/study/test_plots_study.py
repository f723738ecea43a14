import math

import pytest

import mfbandit as mf
from mfbandit.errors import InvalidInput
from mfbandit.simulation._run_plots import cost_against_confidence
from mfbandit.study import ArmResult, create_study
from mfbandit.study._history import Moment
from mfbandit.study.report import _study_plots as plots_study


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
