import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mfbandit import _plot_style as plot_style
from mfbandit.errors import InvalidInput
from mfbandit.simulation import _run_plots as plots
from mfbandit.simulation import simulate
from mfbandit.theory import limit


@pytest.fixture(scope="module")
def costs():
    return [
        simulate("figure-1a", policy, delta=delta, trials=3)
        for delta in (0.2, 0.05)
        for policy in ("lucb-top", "lucb-c")
    ]


@pytest.fixture(scope="module")
def regrets():
    return [
        simulate("figure-1a", policy, budget=budget, trials=2)
        for budget in (500.0, 1000.0, 2000.0)
        for policy in ("elimination", "elimination:epsilon=0.2")
    ]


def texts(axes):
    return [text.get_text() for text in axes.texts]


def test_means_are_markers_and_deviations_bands(costs):
    figure = plots.cost_against_delta(costs, title="Figure 1a")
    [axes] = figure.axes
    line = axes.lines[0]
    assert line.get_xdata().tolist() == [0.05, 0.2]
    assert line.get_ydata()[1] * 1000 == pytest.approx(costs[0].cost.mean())
    assert len(axes.collections) == 2
    assert texts(axes) == ["lucb-top", "lucb-c", "limit"]
    assert axes.lines[-1].get_ydata()[0] * 1000 == pytest.approx(limit(costs[0].instance, 0.05))
    assert axes.get_yscale() == "linear"
    assert axes.get_title(loc="left") == "Figure 1a"


def test_costs_that_differ_twentyfold_are_on_a_logarithmic_axis(costs):
    cheap = [simulate("figure-1a", "mf-toptwo", delta=delta, trials=3) for delta in (0.2, 0.05)]
    [axes] = plots.cost_against_delta([*costs, *cheap]).axes
    assert axes.get_yscale() == "log"
    assert texts(axes) == ["lucb-top", "lucb-c", "mf-toptwo", "limit"]
    assert axes.get_ylim()[0] > 1.0


@pytest.mark.filterwarnings("ignore::mfbandit.errors.ModelWarning")
def test_no_limit_is_drawn_where_none_binds(costs):
    broken = simulate("figure-1b", "lucb-top", trials=1, max_pulls=100)
    assert texts(plots.cost_against_delta([broken]).axes[0]) == ["lucb-top"]
    assert "limit" not in texts(plots.cost_against_delta([*costs, broken]).axes[0])


def test_open_markers_are_runs_that_were_cut_off(costs):
    cut = simulate("loose-prior", "lucb-top", delta=0.1, trials=2, max_pulls=50)
    assert not cut.stopped.any()
    [axes] = plots.cost_against_delta([*costs, cut]).axes
    markers = [line for line in axes.lines if line.get_markerfacecolor() == "white"]
    assert sorted(x for line in markers for x in line.get_xdata()) == [0.1]
    assert axes.get_xlabel().endswith("(open: runs were cut off)")
    assert plots.cost_against_delta(costs).axes[0].get_xlabel() == "allowed probability of error δ"


def test_both_regrets_have_a_panel_and_bounds_belong_to_the_first(regrets):
    bound = plots.Bound("theory", [500.0, 2000.0], [100.0, 200.0])
    figure = plots.regret_against_budget(regrets, bounds=[bound])
    left, right = figure.axes
    assert "theory" in texts(left)
    assert "theory" not in texts(right)
    assert texts(right) == ["elimination", "elimination, epsilon=0.2"]
    assert left.get_xscale() == left.get_yscale() == "log"


def test_growth(tmp_path):
    figure = plots.growth_against_budget([10.0, 100.0], {"elimination": [1.0, 10.0], "own": [2.0, 3.0]})
    files = plots.save(figure, str(tmp_path / "growth"))
    assert [Path(file).read_bytes()[:4] for file in files] == [b"\x89PNG", b"<?xm"]


def test_labels_never_overlap():
    rng = np.random.default_rng(0)
    for _ in range(50):
        heights = rng.random(6).tolist()
        spread = plot_style.spread(heights, 0.08)
        assert np.diff(sorted(spread)).min() >= 0.08 - 1e-12
        assert np.argsort(spread).tolist() == np.argsort(heights).tolist()


def test_two_policies_never_look_alike():
    labels = [f"lucb-a:batch={n}" for n in range(1, 6)]
    looks = plot_style.assign_looks(labels)
    assert len(set(looks.values())) == 5
    assert looks["lucb-a:batch=1"] == ("#0072B2", "o")


def test_many_more_policies_than_looks_still_get_one():
    looks = plot_style.assign_looks([f"lucb-a:batch={n}" for n in range(1, 30)])
    assert len(looks) == 29


def test_nothing_to_draw(costs):
    with pytest.raises(InvalidInput, match="no runs"):
        plots.cost_against_delta([])
    with pytest.raises(InvalidInput, match="budget"):
        plots.regret_against_budget(costs)


def test_importing_plots_loads_no_matplotlib():
    code = "import sys, mfbandit.plots; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0
