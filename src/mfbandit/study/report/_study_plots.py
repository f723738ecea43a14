"""Pictures of studies and forecasts: functions that return a matplotlib figure.

Examples
--------
>>> import mfbandit as mf
>>> from mfbandit.study import create_study
>>> study = create_study(mf.Problem(["a", "b"], [("exact", 1.0, 0.0)]), max_cost=10)
>>> while not study.done:
...     for pull in study.ask():
...         _ = study.tell(pull, 0.5)
>>> intervals(study.result()).axes[0].get_xlabel()
'true mean'
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mfbandit._plot_style import INK, PALE, canvas, set_title
from mfbandit.errors import InvalidInput
from mfbandit.formatting import amount

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mfbandit.model import Problem
    from mfbandit.study._history import Moment
    from mfbandit.study._result import ArmResult, Result
from mfbandit._plot_style import short_label, short_labels

__all__ = ["confidence_over_cost", "differences", "intervals", "spend"]


BEST, OTHER = "#0072B2", "#9aa5b1"


_MOST_ARMS = 40
#: Bars so many times as wide as the median one are cut.
_WIDE = 4.0


def intervals(result: Result, *, truth: str | None = None, title: str = "") -> Figure:
    """Draw the bounds of every arm's true mean, the best arm in colour.

    Parameters
    ----------
    result : Result
        The answer of a study.
    truth : str, optional
        Name of the truest fidelity; its means are marked.
    title : str
        What stands above.

    Returns
    -------
    matplotlib.figure.Figure
        Of more than 40 arms only those with the largest upper bounds are shown.
    """
    arms = sorted(result.arms, key=lambda arm: (arm.arm == result.best, arm.high, arm.low))[-_MOST_ARMS:]
    figure, (axes,) = canvas(1, width=6.4)
    figure.set_size_inches(6.4, 1.3 + 0.3 * max(3, len(arms)))
    low, high = _reach(arms)
    for height, arm in enumerate(arms):
        colour = BEST if arm.arm == result.best else OTHER
        ends = max(arm.low, low), min(arm.high, high)
        axes.plot(ends, [height, height], color=colour, linewidth=5, solid_capstyle="round", alpha=0.85)
        mean = None if truth is None else arm.means.get(truth)
        if mean is not None:
            axes.plot([mean], [height], "o", color="white", markeredgecolor=INK, markersize=5, zorder=3)
    axes.set_yticks(range(len(arms)), short_labels([arm.arm for arm in arms]))
    axes.set_ylim(-0.7, len(arms) - 0.3)
    dotted = truth is not None and any(arm.means.get(truth) is not None for arm in arms)
    axes.set_xlabel(f"true mean\n(dots: measured by {short_label(truth or '')})" if dotted else "true mean")
    axes.grid(True, axis="x", color="#e6e6e6", linewidth=0.7)
    axes.set_axisbelow(True)
    _mark_best(axes, arms, result.best)
    left_out = len(result.arms) - len(arms)
    set_title(axes, title + (f" ({left_out} more arms are not shown)" if left_out else ""))
    return figure


def differences(result: Result, *, title: str = "") -> Figure:
    """Draw by how much the best arm is ahead of each other one, at least and at most; for studies on blocks.

    Parameters
    ----------
    result : Result
        The answer of a study on blocks.
    title : str
        What stands above.

    Returns
    -------
    matplotlib.figure.Figure
        Of more than 40 arms only the closest are shown. In colour are those that are shown not to be better; their
        bounds may reach below 0, since these hold for all pairs of arms at once, which takes more evidence. Beside a
        control, in colour are those that it is ahead of.
    """
    if not result.differences:
        raise InvalidInput(
            "there are no differences to draw: the study is not on blocks, has no results yet, or asks for the m best"
        )
    shown = sorted(result.differences.items(), key=lambda one: (one[1][0], one[1][1]), reverse=True)[-_MOST_ARMS:]
    finite = _central([ends for _, ends in shown])
    margin = 0.05 * (max(finite) - min(finite)) or 1.0
    reach = min(0.0, *finite) - margin, max(0.0, *finite) + margin
    figure, (axes,) = canvas(1, width=6.4)
    figure.set_size_inches(6.4, 1.3 + 0.3 * max(3, len(shown)))
    for height, (arm, (low, high)) in enumerate(shown):
        ends = max(low, reach[0]), min(high, reach[1])
        # An arm can be beaten although the bounds of all differences at once reach below 0.
        beaten = low > 0.0 if result.goal is not None else arm not in result.left
        colour = BEST if beaten else OTHER
        axes.plot(ends, [height, height], color=colour, linewidth=5, solid_capstyle="round", alpha=0.85)
        for edge, arrow in zip(reach, "<>", strict=True):
            if low < edge < high:  # the bar goes on
                axes.plot([edge], [height], arrow, color=colour, markersize=8)
    axes.axvline(0.0, color=INK, linewidth=0.8)
    names = [*(arm for arm, _ in shown), result.reference or ""]
    *labels, first = short_labels(names)
    axes.set_yticks(range(len(shown)), labels)
    axes.set_ylim(-0.7, len(shown) - 0.3)
    axes.set_xlim(*reach)
    meant = "more than 0" if result.goal is not None else "not better"
    axes.set_xlabel(f"{first}\nis ahead by (in colour: {meant})")
    axes.grid(True, axis="x", color="#e6e6e6", linewidth=0.7)
    axes.set_axisbelow(True)
    left_out = len(result.differences) - len(shown)
    set_title(axes, title + (f" ({left_out} more arms are not shown)" if left_out else ""))
    return figure


def _central(bounds: Sequence[tuple[float, float]]) -> list[float]:
    """The ends that decide which part of the axis is worth showing: not those of bars many times as wide as others."""
    widths = sorted(high - low for low, high in bounds if math.isfinite(high - low))
    widest = _WIDE * widths[len(widths) // 2] if widths else 0.0
    return [end for low, high in bounds if high - low <= widest for end in (low, high)] or [0.0, 1.0]


def spend(result: Result, problem: Problem, *, title: str = "") -> Figure:
    """Draw what was spent at each fidelity, and on how many pulls.

    Parameters
    ----------
    result : Result
        The answer of a study.
    problem : Problem
        The problem of the study, which knows the costs.
    title : str
        What stands above.

    Returns
    -------
    matplotlib.figure.Figure
    """
    costs, counts = [], []
    for fidelity in problem.fidelities:
        pulls = [arm.pulls[fidelity.name] for arm in result.arms]
        counts.append(sum(pulls))
        costs.append(sum(arm.costs.get(fidelity.name, 0.0) for arm in result.arms))
    figure, (axes,) = canvas(1, width=6.4)
    figure.set_size_inches(6.4, 1.1 + 0.42 * max(2, len(costs)))
    heights = range(len(costs))[::-1]
    colours = [BEST if m == problem.truest else OTHER for m in range(len(costs))]
    axes.barh(heights, costs, color=colours, height=0.62)
    axes.set_yticks(heights, [short_label(fidelity.name) for fidelity in problem.fidelities])
    axes.set_xlim(0, 1.35 * max(max(costs), 1e-12))
    total = sum(costs)
    for height, cost, count in zip(heights, costs, counts, strict=True):
        share = f" ({cost / total:.0%})" if total else ""
        text = f"  {amount(cost, 3)}{share} in {count:,} pull{'' if count == 1 else 's'}"
        axes.text(cost, height, text, va="center", fontsize=11, color=INK)
    axes.set_xlabel("cost")
    set_title(axes, title)
    return figure


def confidence_over_cost(moments: Sequence[Moment], *, delta: float | None = None, title: str = "") -> Figure:
    """Draw how the confidence in the answer grew while the study spent.

    Parameters
    ----------
    moments : sequence of Moment
        What `mfbandit.study._history.history` found.
    delta : float, optional
        Draws the line 1 - delta.
    title : str
        What stands above.

    Returns
    -------
    matplotlib.figure.Figure
    """
    if not moments:
        raise InvalidInput("there are no moments to draw: the study has no results yet")
    figure, (axes,) = canvas(1, width=6.4)
    figure.set_size_inches(6.4, 3.1)
    cost = [moment.cost for moment in moments]
    axes.plot(cost, [moment.confidence for moment in moments], color=BEST, linewidth=1.8, drawstyle="steps-post")
    if delta is not None:
        axes.axhline(1.0 - delta, color=PALE, linestyle=(0, (5, 3)), linewidth=1.1)
        axes.annotate(
            f"{1.0 - delta:.4g} asked for",
            (0.0, 1.0 - delta),
            xycoords=("axes fraction", "data"),
            xytext=(4, -11),
            textcoords="offset points",
            color=INK,
            fontsize=11,
        )
    for before, after in itertools.pairwise(moments):
        if before.best != after.best:
            axes.axvline(after.cost, color=PALE, linewidth=0.7, linestyle=":")
    axes.set_ylim(0.0, 1.04)
    axes.set_xlim(0.0, max(cost) * 1.01)
    axes.set_xlabel("cost spent (dotted: the leading arm changed)")
    axes.set_ylabel("confidence")
    set_title(axes, title)
    return figure


def _reach(arms: Sequence[ArmResult]) -> tuple[float, float]:
    """The part of the axis that is worth showing; bounds may be infinite."""
    ends = [end for arm in arms for end in (arm.low, arm.high) if math.isfinite(end)]
    means = [mean for arm in arms for mean in arm.means.values() if mean is not None]
    if not ends and not means:
        return 0.0, 1.0
    low, high = min(ends + means), max(ends + means)
    margin = 0.05 * (high - low)
    infinite = any(math.isinf(arm.low) or math.isinf(arm.high) for arm in arms)
    return (low - margin, high + margin) if infinite else (low, high)


def _mark_best(axes: Axes, arms: Sequence[ArmResult], best: str | None) -> None:
    for label, arm in zip(axes.get_yticklabels(), arms, strict=True):
        if arm.arm == best:
            label.set_fontweight("bold")
            label.set_color(BEST)
