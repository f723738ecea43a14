"""How pictures look: colours and markers, a bare canvas, labels at the ends of curves."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mfbandit._optional import optional
from mfbandit.formatting import shortened, told_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "INK",
    "PALE",
    "assign_looks",
    "canvas",
    "label_ends",
    "matplotlib_or_explain",
    "set_title",
    "short_label",
    "short_labels",
    "short_names",
    "spread",
]

INK, PALE = "#333333", "#8a8a8a"
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


def matplotlib_or_explain() -> Any:
    """Import matplotlib, or say what to install."""
    return optional("matplotlib", "pictures need matplotlib")


def canvas(panels: int, width: float) -> tuple[Figure, list[Axes]]:
    """Make a figure of its own, without a window or global state, that can be read at 400 pixels."""
    matplotlib_or_explain()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, 4.0 * panels), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    axes = [figure.add_subplot(panels, 1, panel + 1) for panel in range(panels)]
    for one in axes:
        one.spines[["top", "right"]].set_visible(False)
        one.spines[["left", "bottom"]].set_color(PALE)
        one.tick_params(colors=INK, labelsize=11, which="both", length=3)
        for label in (one.xaxis.label, one.yaxis.label):
            label.set_color(INK)
            label.set_fontsize(12)
    return figure, axes


def set_title(axes: Axes, title: str) -> None:
    """Write a title above the left end of a panel."""
    if title:
        axes.set_title(title, loc="left", fontsize=12, color=INK, pad=10)


def short_names(labels: Sequence[str]) -> dict[str, str]:
    """Leave out the options of a policy that is the only one of its name.

    Examples
    --------
    >>> short_names(["lucb-a:top=0.9,second=0.8", "lucb-c", "lucb-c:batch=2"])
    {'lucb-a:top=0.9,second=0.8': 'lucb-a', 'lucb-c': 'lucb-c', 'lucb-c:batch=2': 'lucb-c, batch=2'}
    """
    names = [label.partition(":")[0] for label in labels]
    return {
        label: name if names.count(name) == 1 else label.replace(":", ", ", 1)
        for label, name in zip(labels, names, strict=True)
    }


def assign_looks(labels: Sequence[str]) -> dict[str, tuple[str, str]]:
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


def label_ends(axes: Axes, ends: Sequence[tuple[str, str, float, float]]) -> None:
    """Write each label beside the end of its curve, moved apart where two would overlap."""
    figure: Any = axes.figure
    figure.draw_without_rendering()
    height = axes.get_window_extent().height
    need = 15.0 / height * figure.dpi / 72.0
    to_share = axes.transData + axes.transAxes.inverted()
    heights = [float(to_share.transform((x, y))[1]) for _, _, x, y in ends]
    for (label, colour, x, y), height in zip(ends, spread(heights, need), strict=True):
        axes.annotate(
            label,
            xy=(x, y),
            xytext=(1.02, height),
            textcoords="axes fraction",
            color=INK if colour == PALE else colour,
            fontsize=11,
            va="center",
            annotation_clip=False,
        )


def spread(heights: Sequence[float], need: float) -> list[float]:
    """Move heights apart until neighbours are `need` away, and none is above 1; keep their order.

    Examples
    --------
    >>> [round(height, 2) for height in spread([0.5, 0.52, 0.9], 0.1)]
    [0.46, 0.56, 0.9]
    """
    order = np.argsort(heights, kind="stable")
    # Blocks of labels that touch: each is centred on the mean of what it holds.
    blocks: list[list[int]] = []
    for index in order:
        blocks.append([int(index)])
        while len(blocks) > 1 and _top(heights, blocks[-2], need) > _bottom(heights, blocks[-1], need):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    found = [math.nan] * len(heights)
    for block in blocks:
        start = _bottom(heights, block, need) + need / 2
        for step, index in enumerate(block):
            found[index] = start + step * need
    return found


def _bottom(heights: Sequence[float], block: list[int], need: float) -> float:
    return float(np.mean([heights[index] for index in block]) - need * len(block) / 2)


def _top(heights: Sequence[float], block: list[int], need: float) -> float:
    return _bottom(heights, block, need) + need * len(block)


_LONGEST_LABEL = 36


def short_labels(names: Sequence[str]) -> list[str]:
    """Labels of arms that can be told apart."""
    known = told_apart([" ".join(name.split()) for name in names], _LONGEST_LABEL)
    return [short_label(known[" ".join(name.split())]) for name in names]


def short_label(text: str) -> str:
    # A dollar sign would start a formula.
    return shortened(text.replace("$", r"\$"), _LONGEST_LABEL)
