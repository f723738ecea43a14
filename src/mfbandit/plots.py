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

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from mfbandit.errors import InvalidInput, MissingExtra
from mfbandit.runs import Runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Bound", "cost_against_delta", "growth_against_budget", "regret_against_budget", "save"]

Measure = Literal["regret", "cost_regret"]
_INK, _PALE = "#333333", "#8a8a8a"
#: Colour and marker of policies that always look the same; others take the spare ones in turn.
_LOOKS = {
    "lucb-a": ("#0072B2", "o"),
    "lucb-b": ("#D55E00", "s"),
    "lucb-c": ("#009E73", "^"),
    "lucb-top": ("#000000", "D"),
    "elimination": ("#0072B2", "o"),
    "mf-ucb": ("#D55E00", "s"),
    "ucb-top": ("#000000", "D"),
    "mf-toptwo": ("#CC79A7", "v"),
    "mf-commit": ("#CC79A7", "v"),
}
_SPARE = [("#56B4E9", "P"), ("#E69F00", "X"), ("#009E73", "^"), ("#CC79A7", "v"), ("#0072B2", "<")]
_COLOURS = list(dict.fromkeys(colour for colour, _ in [*_LOOKS.values(), *_SPARE]))
_MARKERS = list(dict.fromkeys(marker for _, marker in [*_LOOKS.values(), *_SPARE]))
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


def cost_against_delta(runs: Sequence[Runs], *, title: str = "") -> Figure:
    """Draw the cost of identification against delta: means as markers, deviations as bands.

    Parameters
    ----------
    runs : sequence of Runs
        One simulation per policy and delta, in any order.
    title : str
        What stands above.

    Returns
    -------
    matplotlib.figure.Figure
    """
    curves = _curves(runs, [one.goal.delta for one in runs], [one.cost for one in runs])
    figure, (axes,) = _canvas(1, width=6.4)
    unit, word = _unit(max(float((curve.mean + curve.deviation).max()) for curve in curves))
    for curve in curves:
        low, high = (curve.mean - curve.deviation) / unit, (curve.mean + curve.deviation) / unit
        axes.fill_between(curve.x, low, high, color=curve.colour, alpha=0.13, linewidth=0)
        _line(axes, curve.x, curve.mean / unit, curve)
    axes.set_xlabel("allowed probability of error δ")
    axes.set_ylabel(f"cost until the answer{word}")
    axes.set_xticks(sorted({float(x) for curve in curves for x in curve.x}))
    _title(axes, title)
    _label_ends(axes, [(c.label, c.colour, float(c.x[-1]), float(c.mean[-1]) / unit) for c in curves])
    return figure


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
    figure, panels = _canvas(len(measures), width=6.0)
    budgets = [float(one.budget or 0.0) for one in runs]
    for axes, measure in zip(panels, measures, strict=True):
        curves = _curves(runs, budgets, [getattr(one, measure) for one in runs])
        _logarithmic(axes, "budget Λ", "mean regret")
        _title(axes, f"{title}: {_MEASURES[measure]}" if title else _MEASURES[measure])
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
        The budgets.
    growth : mapping of label to sequence of float
        One value per budget.
    bounds : sequence of Bound
        Lines of theory.
    ylabel, title : str
        Texts.

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure, (axes,) = _canvas(1, width=6.4)
    x = np.asarray(budgets, dtype=np.float64)
    looks = _assign_looks(list(growth))
    curves = [
        _Curve(label, *looks[label], x, np.asarray(values, dtype=np.float64), np.zeros(len(x)))
        for label, values in growth.items()
    ]
    _logarithmic(axes, "budget Λ", ylabel)
    _title(axes, title)
    _draw_growth(axes, curves, bounds)
    return figure


def save(figure: Figure, stem: str) -> list[str]:
    """Write a figure as ``stem.png`` and ``stem.svg``; return the two paths.

    The same figure gives the same bytes, so that pictures can be kept under version control.
    """
    matplotlib = _matplotlib()
    with matplotlib.rc_context({"svg.hashsalt": "mfbandit", "svg.fonttype": "path"}):
        figure.savefig(f"{stem}.png", dpi=160, metadata={"Software": None})
        figure.savefig(f"{stem}.svg", metadata={"Date": None})
    return [f"{stem}.png", f"{stem}.svg"]


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ImportError as error:  # pragma: no cover - matplotlib is a plain dependency
        raise MissingExtra("pictures need matplotlib, which a plain 'pip install mfbandit' brings") from error
    return matplotlib


def _canvas(panels: int, width: float) -> tuple[Figure, list[Axes]]:
    """Make a figure of its own: no window, no global state."""
    _matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * panels, 4.0), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    axes = [figure.add_subplot(1, panels, place + 1) for place in range(panels)]
    for one in axes:
        one.spines[["top", "right"]].set_visible(False)
        one.spines[["left", "bottom"]].set_color(_PALE)
        one.tick_params(colors=_INK, labelsize=9, which="both", length=3)
        one.xaxis.label.set_color(_INK)
        one.yaxis.label.set_color(_INK)
    return figure, axes


def _curves(
    runs: Sequence[Runs], places: Sequence[float], values: Sequence[npt.NDArray[np.float64]]
) -> list[_Curve]:
    """Group runs by policy: mean and deviation of the values against the places."""
    if not runs:
        raise InvalidInput("there are no runs to draw")
    labels = list(dict.fromkeys(one.policy.label for one in runs))
    looks = _assign_looks(labels)
    names = _short(labels)
    curves = []
    for label in labels:
        points = sorted(
            (place, float(value.mean()), float(value.std(ddof=1)) if len(value) > 1 else 0.0)
            for one, place, value in zip(runs, places, values, strict=True)
            if one.policy.label == label
        )
        x, mean, deviation = (np.array(part) for part in zip(*points, strict=True))
        curves.append(_Curve(names[label], *looks[label], x, mean, deviation))
    return curves


def _short(labels: Sequence[str]) -> dict[str, str]:
    """Leave out the options of a policy that is the only one of its name.

    Examples
    --------
    >>> _short(["lucb-a:top=0.9,second=0.8", "lucb-c", "lucb-c:batch=2"])
    {'lucb-a:top=0.9,second=0.8': 'lucb-a', 'lucb-c': 'lucb-c', 'lucb-c:batch=2': 'lucb-c, batch=2'}
    """
    names = [label.partition(":")[0] for label in labels]
    return {
        label: name if names.count(name) == 1 else label.replace(":", ", ", 1)
        for label, name in zip(labels, names, strict=True)
    }


def _assign_looks(labels: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Give each policy its look; a second one of the same name takes a spare look."""
    spare = itertools.chain(_SPARE, itertools.cycle(itertools.product(_COLOURS, _MARKERS)))
    looks: dict[str, tuple[str, str]] = {}
    for label in labels:
        look = _LOOKS.get(label.partition(":")[0])
        if look is None or look in looks.values():
            look = next(spare)
            # There are only so many looks; beyond them some come twice.
            while look in looks.values() and len(looks) < len(_COLOURS) * len(_MARKERS):
                look = next(spare)
        looks[label] = look
    return looks


def _unit(largest: float) -> tuple[float, str]:
    """A unit that leaves short tick labels, and how to say it."""
    if largest >= 1e6:
        return 1e6, ", millions"
    return (1e3, ", thousands") if largest >= 1e4 else (1.0, "")


def _line(axes: Axes, x: Any, y: Any, curve: _Curve, size: float = 5.5) -> None:
    axes.plot(
        x,
        y,
        color=curve.colour,
        marker=curve.marker,
        markersize=size,
        linewidth=1.3,
        markeredgecolor="white",
        markeredgewidth=0.6,
        zorder=3,
    )


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
        axes.plot(bound.x, bound.y, color=_PALE, linestyle=(0, (5, 3)), linewidth=1.2, zorder=2)
        ends.append((bound.label, _PALE, float(bound.x[-1]), float(bound.y[-1])))
    for place, curve in enumerate(curves):
        # Curves may coincide: what lies below has the larger markers.
        _line(axes, curve.x, curve.mean, curve, size=max(4.2, 9.0 - 1.6 * place))
        ends.append((curve.label, curve.colour, float(curve.x[-1]), float(curve.mean[-1])))
    _plain_ticks(axes)
    _label_ends(axes, ends)


def _plain_ticks(axes: Axes) -> None:
    """Label 1, 2 and 5 as plain numbers where the axis spans less than two decades."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    low, high = axes.get_ylim()
    if high / low < 100.0:
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.minorticks_off()


def _title(axes: Axes, title: str) -> None:
    if title:
        axes.set_title(title, loc="left", fontsize=11, color=_INK, pad=10)


def _label_ends(axes: Axes, ends: Sequence[tuple[str, str, float, float]]) -> None:
    """Write each label beside the end of its curve, moved apart where two would overlap."""
    figure: Any = axes.figure
    figure.draw_without_rendering()
    height = axes.get_window_extent().height
    need = 13.0 / height * figure.dpi / 72.0
    to_share = axes.transData + axes.transAxes.inverted()
    heights = [float(to_share.transform((x, y))[1]) for _, _, x, y in ends]
    for (label, colour, x, y), place in zip(ends, _spread(heights, need), strict=True):
        axes.annotate(
            label,
            xy=(x, y),
            xytext=(1.02, place),
            textcoords="axes fraction",
            color=_INK if colour == _PALE else colour,
            fontsize=9,
            va="center",
            annotation_clip=False,
        )


def _spread(places: Sequence[float], need: float) -> list[float]:
    """Move places apart until neighbours are `need` away, and none is above 1; keep their order.

    Examples
    --------
    >>> [round(place, 2) for place in _spread([0.5, 0.52, 0.9], 0.1)]
    [0.46, 0.56, 0.9]
    """
    order = np.argsort(places, kind="stable")
    # Blocks of labels that touch: each is centred on the mean of what it holds.
    blocks: list[list[int]] = []
    for index in order:
        blocks.append([int(index)])
        while len(blocks) > 1 and _top(places, blocks[-2], need) > _bottom(places, blocks[-1], need):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    found = [math.nan] * len(places)
    for block in blocks:
        start = _bottom(places, block, need) + need / 2
        for step, index in enumerate(block):
            found[index] = start + step * need
    return found


def _bottom(places: Sequence[float], block: list[int], need: float) -> float:
    return float(np.mean([places[index] for index in block]) - need * len(block) / 2)


def _top(places: Sequence[float], block: list[int], need: float) -> float:
    return _bottom(places, block, need) + need * len(block)
