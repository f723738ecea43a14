"""A study as a notebook shows it: a few numbers and the arms that matter, with styles of its own."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from mfbandit.formatting import amount, floored, shown, told_apart
from mfbandit.study.report._snapshot import snapshot

if TYPE_CHECKING:
    from mfbandit.study._study import Study

__all__ = ["study_html"]

_MOST_ARMS = 10
_CELL = "padding:.25em .7em;text-align:left;vertical-align:middle"
_BEST, _OTHER = "#0072B2", "#9aa5b1"


def study_html(study: Study) -> str:
    """A study as HTML that can stand in any page.

    Examples
    --------
    >>> import mfbandit as mf
    >>> study = mf.create_study(mf.Problem(["<b>", "c"], [("exact", 1.0)]), name="x & y")
    >>> page = study_html(study)
    >>> "x &amp; y" in page, "&lt;b&gt;" in page, "<b>" in page
    (True, True, False)
    """
    found = snapshot(study)
    facts = [
        f"status {found['status']}",
        f"confidence {floored(found['confidence']) if found['best'] is not None else '-'}",
        f"cost {amount(found['cost'])}",
        f"{found['pulls']:,} pulls",
    ]
    if found["remaining_cost"] is not None:
        facts.append(f"about {amount(found['remaining_cost'], 2)} to go")
    arms = [arm for arm in found["arms"] if arm["retired"] is None][:_MOST_ARMS]
    scale = _scale([end for arm in arms for end in _ends(arm, found["on_blocks"]) or ()])
    labels = told_apart(arm["arm"] for arm in found["arms"])
    rows = "".join(_row({**arm, "arm": labels[arm["arm"]]}, found["on_blocks"], scale) for arm in arms)
    title = "the leader is ahead by" if found["on_blocks"] else "true mean"
    more = found["n_arms"] - len(arms)
    rest = f"<p style='opacity:.7;margin:.3em 0'>{more:,} more arms are not shown.</p>" if more > 0 else ""
    return (
        f"<div><p style='margin:.2em 0;opacity:.7'>Study {escape(shown(found['study'], 80))}: "
        f"{escape(', '.join(facts))}</p><p style='margin:.2em 0 .6em;font-weight:600'>{escape(found['sentence'])}</p>"
        "<table><thead><tr>"
        f"<th style='{_CELL}'>arm</th><th style='{_CELL}'>{title}</th><th style='{_CELL}'>at least</th>"
        f"<th style='{_CELL}'>at most</th><th style='{_CELL}'>pulls</th></tr></thead><tbody>{rows}</tbody></table>"
        f"{rest}</div>"
    )


def _ends(arm: dict[str, Any], on_blocks: bool) -> tuple[float, float] | None:
    """The bounds of an arm that are drawn."""
    return arm["ahead"] if on_blocks else (arm["low"], arm["high"])


def _scale(ends: list[float]) -> tuple[float, float]:
    finite = [end for end in ends if abs(end) < float("inf")] or [0.0, 1.0]
    return min(finite), max(finite)


def _row(arm: dict[str, Any], on_blocks: bool, scale: tuple[float, float]) -> str:
    ends, (low, high) = _ends(arm, on_blocks), scale
    picture, numbers = "", ("-", "-")
    if ends is not None:
        span = (high - low) or 1.0
        start, end = (min(1.0, max(0.0, (one - low) / span)) for one in ends)
        colour = _BEST if arm["best"] else _OTHER
        picture = (
            f"<svg width='180' height='10' role='img'><line x1='{4 + 172 * start:.1f}' x2='{4 + 172 * end:.1f}' y1='5' "
            f"y2='5' stroke='{colour}' stroke-width='5' stroke-linecap='round'/></svg>"
        )
        numbers = amount(ends[0]), amount(ends[1])
    weight = ";font-weight:600" if arm["best"] else "" if arm["left"] else ";opacity:.6"
    cells = [escape(arm["arm"]), picture, *numbers, f"{sum(arm['pulls']):,}"]
    return "<tr>" + "".join(f"<td style='{_CELL}{weight}'>{cell}</td>" for cell in cells) + "</tr>"
