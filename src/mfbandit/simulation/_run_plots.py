"""Pictures of simulations: functions that take runs and return a matplotlib figure.

Colours are those of Okabe and Ito, which people with any kind of colour vision can tell apart; markers
differ as well, so that the pictures survive a grey printer. Curves are labelled where they end.

Examples
--------
>>> import mfbandit as mf
>>> runs = [mf.simulate("loose-prior", "lucb-top", delta=delta, trials=3) for delta in (0.05, 0.1)]
>>> figure = cost_against_delta(runs)
>>> figure.axes[0].get_xlabel()
'allowed probability of error δ'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from mfbandit import theory
from mfbandit._plot_style import (
    PALE,
    assign_looks,
    canvas,
    label_ends,
    matplotlib_or_explain,
    set_title,
    short_label,
    short_names,
)
from mfbandit.errors import InvalidInput
from mfbandit.files import complete_file
from mfbandit.simulation._runs import Runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "Bound",
    "cost_against_confidence",
    "cost_against_delta",
    "growth_against_budget",
    "regret_against_budget",
    "save",
]

#: Costs that differ so many times are drawn on a logarithmic axis.
_WIDE = 20.0
_DASHED: Any = (0, (5, 3))
Measure = Literal["regret", "cost_regret"]
_MEASURES = {
    "regret": "regret as in the paper",
    "cost_regret": "regret by cost (Kandasamy et al.)",
}


@dataclass(frozen=True)
class Bound:
    """A line of theory to draw behind measurements.

    Parameters
    ----------
    label : str
        What stands at its end.
    x, y : sequences of float
        Its points.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True)
class _Curve:
    label: str
    colour: str
    marker: str
    x: npt.NDArray[np.float64]
    mean: npt.NDArray[np.float64]
    deviation: npt.NDArray[np.float64]
    cut_off: npt.NDArray[np.bool_]


def cost_against_delta(runs: Sequence[Runs], *, title: str = "") -> Figure:
    """Draw the cost of identification against delta: means as markers, deviations as bands.

    A marker is open where runs were cut off, so that their cost is a lower bound. The axis is logarithmic where costs
    differ 20-fold. The dashed line is the limit that no policy can undercut on average, with all fidelities; it is
    drawn where it is known and all runs are of one instance.

    Parameters
    ----------
    runs : sequence of Runs
        One simulation per policy and delta, in any order.
    title : str
        What stands above.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import mfbandit as mf
    >>> runs = [mf.simulate("judges", delta=delta, trials=5) for delta in (0.05, 0.1)]
    >>> cost_against_delta(runs, title="judges").savefig("costs.png")  # doctest: +SKIP
    """
    curves = _curves(runs, [one.goal.delta for one in runs], [one.cost for one in runs])
    figure, (axes,) = canvas(1, width=6.4)
    means = np.concatenate([curve.mean for curve in curves])
    wide = bool(means.max() > _WIDE * means.min() > 0.0)
    unit, word = (1.0, "") if wide else _unit(max(float((one.mean + one.deviation).max()) for one in curves))
    for curve in curves:
        low, high = (curve.mean - curve.deviation) / unit, (curve.mean + curve.deviation) / unit
        low = np.maximum(low, curve.mean / unit / _WIDE) if wide else low
        axes.fill_between(curve.x, low, high, color=curve.colour, alpha=0.13, linewidth=0)
        _line(axes, curve.x, curve.mean / unit, curve)
        cut_off = curve.x[curve.cut_off], curve.mean[curve.cut_off] / unit
        axes.plot(*cut_off, curve.marker, color=curve.colour, markerfacecolor="white", markersize=7.0, zorder=4)
    some_cut_off = any(curve.cut_off.any() for curve in curves)
    axes.set_xlabel("allowed probability of error δ" + (" (open: runs were cut off)" if some_cut_off else ""))
    axes.set_ylabel(f"cost until the answer{word}")
    axes.set_xticks(sorted({float(x) for curve in curves for x in curve.x}))
    set_title(axes, title)
    ends = [(c.label, c.colour, float(c.x[-1]), float(c.mean[-1]) / unit) for c in curves]
    for x, y in _limits(runs):
        axes.plot(x, y / unit, color=PALE, linestyle=_DASHED, linewidth=1.2, zorder=2)
        ends.append(("limit", PALE, float(x[-1]), float(y[-1]) / unit))
    if wide:
        axes.set_yscale("log")
        _plain_ticks(axes)
        axes.yaxis.set_major_formatter("{x:,g}")
    label_ends(axes, ends)
    return figure


def _limits(runs: Sequence[Runs]) -> list[tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]]:
    """The limit against delta, if all runs are of one instance and the limit binds them; else nothing."""
    instance = runs[0].instance
    bound = instance.problem.blocks is None and not instance.violations
    if not bound or any(one.instance != instance or one.goal.epsilon > 0.0 for one in runs):
        return []
    x = np.array(sorted({one.goal.delta for one in runs if one.goal.delta < 0.5}))
    y = np.array([theory.limit(instance, float(delta)) for delta in x])
    return [(x, y)] if len(x) and np.isfinite(y).all() else []


def regret_against_budget(
    runs: Sequence[Runs],
    *,
    measures: Sequence[Measure] = ("regret", "cost_regret"),
    bounds: Sequence[Bound] = (),
    title: str = "",
) -> Figure:
    """Draw regret against the budget on logarithmic axes, one panel per definition of regret.

    Parameters
    ----------
    runs : sequence of Runs
        One simulation per policy and budget, in any order.
    measures : sequence of "regret", "cost_regret"
        The paper's regret, and that of Kandasamy et al.
    bounds : sequence of Bound
        Lines of theory, for the paper's regret.
    title : str
        What stands above.

    Returns
    -------
    matplotlib.figure.Figure
    """
    if any(one.budget is None for one in runs):
        raise InvalidInput("regret_against_budget needs runs with a budget")
    figure, panels = canvas(len(measures), width=6.0)
    budgets = [float(one.budget or 0.0) for one in runs]
    for axes, measure in zip(panels, measures, strict=True):
        curves = _curves(runs, budgets, [getattr(one, measure) for one in runs])
        _logarithmic(axes, "budget Λ", "mean regret")
        set_title(axes, f"{title}: {_MEASURES[measure]}" if title else _MEASURES[measure])
        _draw_growth(axes, curves, bounds if measure == "regret" else ())
    return figure


def growth_against_budget(
    budgets: Sequence[float],
    growth: Mapping[str, Sequence[float]],
    *,
    bounds: Sequence[Bound] = (),
    ylabel: str = "regret",
    title: str = "",
) -> Figure:
    """Draw quantities that grow with the budget on logarithmic axes, one curve per policy label.

    Parameters
    ----------
    budgets : sequence of float
    growth : mapping of label to sequence of float
        One value per budget.
    bounds : sequence of Bound
        Lines of theory.
    ylabel, title : str

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure, (axes,) = canvas(1, width=6.4)
    x = np.asarray(budgets, dtype=np.float64)
    looks = assign_looks(list(growth))
    curves = [
        _Curve(label, *looks[label], x, np.asarray(values, dtype=np.float64), np.zeros(len(x)), np.zeros(len(x), bool))
        for label, values in growth.items()
    ]
    _logarithmic(axes, "budget Λ", ylabel)
    set_title(axes, title)
    _draw_growth(axes, curves, bounds)
    return figure


def save(figure: Figure, stem: str) -> list[str]:
    """Write a figure as ``stem.png`` and ``stem.svg``; return the two paths.

    The same figure gives the same bytes, so that pictures can be kept under version control.
    """
    matplotlib = matplotlib_or_explain()
    with matplotlib.rc_context({"svg.hashsalt": "mfbandit", "svg.fonttype": "path"}):
        with complete_file(f"{stem}.png", binary=True) as file:
            figure.savefig(file, format="png", dpi=160, metadata={"Software": None})
        with complete_file(f"{stem}.svg", binary=True) as file:
            figure.savefig(file, format="svg", metadata={"Date": None})
    return [f"{stem}.png", f"{stem}.svg"]


def _curves(runs: Sequence[Runs], x_values: Sequence[float], values: Sequence[npt.NDArray[np.float64]]) -> list[_Curve]:
    """Group runs by policy: mean and deviation of the values against the numbers in `x_values`."""
    if not runs:
        raise InvalidInput("there are no runs to draw")
    labels = list(dict.fromkeys(one.policy.label for one in runs))
    looks = assign_looks(labels)
    names = short_names(labels)
    curves = []
    for label in labels:
        points = sorted(
            (x, float(value.mean()), float(value.std(ddof=1)) if len(value) > 1 else 0.0, not one.stopped.all())
            for one, x, value in zip(runs, x_values, values, strict=True)
            if one.policy.label == label
        )
        x, mean, deviation, cut_off = (np.array(part) for part in zip(*points, strict=True))
        curves.append(_Curve(names[label], *looks[label], x, mean, deviation, cut_off))
    return curves


def _unit(largest: float) -> tuple[float, str]:
    """A unit that leaves short tick labels, and how to say it."""
    if largest >= 1e6:
        return 1e6, ", millions"
    return (1e3, ", thousands") if largest >= 1e4 else (1.0, "")


def _line(axes: Axes, x: Any, y: Any, curve: _Curve, size: float = 5.5) -> None:
    edge: Any = {"markeredgecolor": "white", "markeredgewidth": 0.6}
    axes.plot(x, y, color=curve.colour, marker=curve.marker, markersize=size, linewidth=1.3, zorder=3, **edge)


def _logarithmic(axes: Axes, xlabel: str, ylabel: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.grid(True, which="major", color="#e6e6e6", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)


def _draw_growth(axes: Axes, curves: Sequence[_Curve], bounds: Sequence[Bound]) -> None:
    ends = []
    for bound in bounds:
        axes.plot(bound.x, bound.y, color=PALE, linestyle=_DASHED, linewidth=1.2, zorder=2)
        ends.append((bound.label, PALE, float(bound.x[-1]), float(bound.y[-1])))
    for position, curve in enumerate(curves):
        # Curves may coincide: what lies below has the larger markers.
        _line(axes, curve.x, curve.mean, curve, size=max(4.2, 9.0 - 1.6 * position))
        ends.append((curve.label, curve.colour, float(curve.x[-1]), float(curve.mean[-1])))
    _plain_ticks(axes)
    label_ends(axes, ends)


def _plain_ticks(axes: Axes) -> None:
    """Label 1, 2 and 5 as plain numbers where the axis spans less than two decades."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    low, high = axes.get_ylim()
    if high / low < 100.0:
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.minorticks_off()


def cost_against_confidence(lines: Sequence[tuple[str, Sequence[tuple[float, float]]]], *, title: str = "") -> Figure:
    """Draw expected costs against the confidence asked for.

    Parameters
    ----------
    lines : sequence of (label, [(delta, cost), ...])
        One curve each; one whose label begins with "limit" is drawn as theory.
    title : str
        What stands above.

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure, (axes,) = canvas(1, width=6.4)
    looks = assign_looks([label for label, _ in lines])
    ends = []
    for label, points in lines:
        x, y = [1.0 / delta for delta, _ in points], [cost for _, cost in points]
        theoretical = label.startswith("limit")
        colour, marker = (PALE, "") if theoretical else looks[label]
        style: Any = _DASHED if theoretical else "-"
        axes.plot(x, y, color=colour, marker=marker, linestyle=style, linewidth=1.4, markersize=5.5)
        ends.append((short_label(label), colour, x[-1], y[-1]))
    axes.set_xscale("log")
    costs = [cost for _, points in lines for _, cost in points if cost > 0.0]
    if costs and max(costs) > _WIDE * min(costs):
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0.0)
    deltas = sorted({delta for _, points in lines for delta, _ in points})
    axes.set_xticks([1.0 / delta for delta in deltas], [f"{1.0 - delta:.4g}" for delta in deltas])
    axes.minorticks_off()
    axes.grid(True, axis="y", color="#e6e6e6", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.set_xlabel("confidence 1 - δ")
    axes.set_ylabel("expected cost")
    set_title(axes, title)
    label_ends(axes, ends)
    return figure
