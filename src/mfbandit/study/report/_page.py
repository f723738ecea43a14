"""The answer of a study as one page: self-contained HTML, pictures included, nothing from a network."""

from __future__ import annotations

import base64
import io
import json
import math
import os
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from mfbandit._plot_style import matplotlib_or_explain
from mfbandit.files import complete_file
from mfbandit.formatting import amount, floored
from mfbandit.study._history import history
from mfbandit.study.report._goal_words import GoalAnswer
from mfbandit.study.report._page_style import STYLE
from mfbandit.study.report._result_words import BELOW_ZERO, OVERLAP, no_better_by, shown_so_far
from mfbandit.study.report._study_plots import confidence_over_cost, differences, intervals, spend
from mfbandit.version import __version__

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mfbandit.study._result import ArmResult, Result
    from mfbandit.study._study import Study

__all__ = ["Answered", "answer", "render", "write_report"]

_STATUS = {
    "certified": "is certified",
    "running": "is still running",
    "max_cost": "ended at its maximal cost",
    "budget": "spent its budget",
    "answered": "stopped by itself, without a guarantee",
    "violation": "stopped because the data contradict a bias bound",
    "failed": "failed",
    "cancelled": "was cancelled",
}
_MEANS = "the mean of its rewards and the number of pulls"
_NO_MEANS = "the number of pulls (no means: where all that were left agreed, nobody was asked)"
_BOUNDS = "<th>lower bound</th><th>upper bound</th>"


def write_report(result: Result, path: str | os.PathLike[str], study: Study | None = None) -> None:
    """Write the page of a result; the file appears when it is complete.

    Parameters
    ----------
    result : Result
        The answer of a study.
    path : str or path
        Where to write it.
    study : Study, optional
        The study itself, for costs, history and settings; without it the page says what the result alone
        knows.
    """
    page = render(result, study)
    with complete_file(path) as file:
        file.write(page)


class Answered(NamedTuple):
    """What the sentence of an answer is made of; results have it all."""

    status: str
    best: str | None
    confidence: float
    cost: float
    pulls: int
    epsilon: float
    goal_answer: GoalAnswer | None = None
    tied: tuple[str, ...] = ()
    delta: float = 0.0


def answer(result: Result | Answered) -> str:
    """The answer and its confidence in a sentence.

    Examples
    --------
    >>> import mfbandit as mf
    >>> from mfbandit.study import create_study
    >>> study = create_study(mf.Problem(["a", "b"], [("exact", 1.0, 0.0)]))
    >>> answer(study.result())
    'There is no answer yet: the study is still running.'
    """
    status = _STATUS.get(result.status, f"is {result.status}")
    spent = f"{amount(result.cost)}, in {result.pulls:,} pull{'' if result.pulls == 1 else 's'}"
    if result.goal_answer is not None:
        return f"{result.goal_answer.in_words(result.status, result.confidence)}; the study {status}. It cost {spent}."
    if result.best is None:
        return f"There is no answer yet: the study {status}."
    near = f" or within {result.epsilon:g} of the best" if result.epsilon else ""
    near += f", and {len(result.tied)} other{'s are' if len(result.tied) > 1 else ' is'} equal" if result.tied else ""
    if result.status == "certified":
        sure = floored(result.confidence)
        sure += f" ({1.0 - result.delta:.4g} was asked for)"
        return f"{result.best!r} is the best{near}, with a confidence of at least {sure}. It cost {spent}."
    if result.status == "budget":
        return f"{result.best!r} did best while a budget was spent: {spent}."
    return (
        f"{result.best!r} leads with a confidence of {floored(result.confidence)}; the study {status}. It cost {spent}."
    )


def render(result: Result, study: Study | None = None) -> str:
    """The page as text."""
    parts = [_header(result)]
    parts += [_list("The data contradict the model", result.violations), _list("What failed", result.reasons)]
    parts += _pictures(result, study)
    parts.append(_certificate(result, study))
    parts.append(_settings(result, study))
    title = escape(f"mfbandit: {result.study}")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{STYLE}</style>
</head>
<body><main>
{"".join(parts)}
<footer>Written by mfbandit {escape(__version__)}. This page is complete in itself.</footer>
</main></body>
</html>
"""


def _header(result: Result) -> str:
    certified = result.status == "certified"
    badge = f'<span class="badge {"good" if certified else "open"}">{escape(result.status)}</span>'
    facts = [
        ("best" if result.goal is None else "answer", result.best or ", ".join(result.answer) or "none yet"),
        ("confidence", floored(result.confidence)),
        ("cost", amount(result.cost)),
        ("pulls", f"{result.pulls:,}"),
    ]
    tiles = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts)
    return (
        f"<header><p class='kicker'>Study {escape(repr(result.study))} {badge}</p>"
        f"<h1>{escape(answer(result))}</h1><p>{escape(' '.join(shown_so_far(result)))}</p>"
        f"<dl class='tiles'>{tiles}</dl></header>"
    )


def _list(title: str, sentences: Sequence[str]) -> str:
    """A section of sentences; nothing if there are none."""
    if not sentences:
        return ""
    listed = "".join(f"<li>{escape(one[:1].upper() + one[1:])}.</li>" for one in sentences)
    return f"<section class='wrong'><h2>{escape(title)}</h2><ul>{listed}</ul></section>"


def _pictures(result: Result, study: Study | None) -> list[str]:
    problem = None if study is None else study.problem
    parts = [_known(result, None if problem is None else problem.fidelities[problem.truest].name)]
    if problem is not None:
        parts.append(
            _section(
                "What was spent where",
                "The truest fidelity is in colour.",
                spend(result, problem),
                "Cost and pulls per fidelity",
            )
        )
    moments = [] if study is None else history(study, pulls=result.pulls)
    if moments:
        parts.append(
            _section(
                "How sure it became",
                "The confidence that the leading arm is the best, as the study saw it at the time.",
                confidence_over_cost(moments, delta=result.delta),
                "Confidence over cost",
            )
        )
    return parts


def _known(result: Result, truth: str | None) -> str:
    """What is known of each arm: bounds of its true mean or, on blocks, how far the best is ahead of it."""
    at_once = f"All of them hold at once, whenever one looks, with probability {1.0 - result.delta:g}, provided that"
    holds = f"{at_once} the bias bounds hold."
    if not result.on_blocks:
        title, alternative = "What is known of each arm", "Bounds of every arm's true mean"
        least = next((one.low for one in result.arms if one.arm == result.best), math.inf)
        out = [one for one in result.arms if one.retired is None and one.arm not in (*result.left, result.best)]
        overlap = [OVERLAP] if any(one.high >= least for one in out) else []
        facts = ["Bounds of the true means.", holds, *no_better_by(result), *overlap]
        return _section(title, " ".join(facts), intervals(result, truth=truth), alternative)
    if not result.differences:
        return ""
    first = "best" if result.best is not None else "control"
    facts = [
        f"Bounds of the true mean of the {first} less that of the arm. {at_once} what the certificate assumes holds."
    ]
    if any(low <= 0.0 for low, _ in result.differences.values()):
        facts.append(BELOW_ZERO)
    if result.tied:
        facts.append(f"Exactly as good on all blocks: {', '.join(map(repr, result.tied))}.")
    facts += no_better_by(result)
    title = f"How far the {first} is ahead of each arm"
    return _section(title, " ".join(facts), differences(result), f"By how much the {first} is ahead of every other arm")


def _section(title: str, text: str, figure: Figure, alternative: str) -> str:
    picture = f'<img alt="{escape(alternative)}" src="{_data(figure)}">'
    return f"<section><h2>{escape(title)}</h2><p>{escape(text)}</p><figure>{picture}</figure></section>"


def _data(figure: Figure) -> str:
    """A figure as the address of an image that holds itself."""
    matplotlib = matplotlib_or_explain()
    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "mfbandit", "svg.fonttype": "path"}):
        empty = {"Date": None, "Creator": None, "Format": None, "Type": None}
        figure.savefig(buffer, format="svg", metadata=empty)
    return f"data:image/svg+xml;base64,{base64.b64encode(buffer.getvalue()).decode()}"


def _certificate(result: Result, study: Study | None) -> str:
    """One row per arm: the bounds that tell it from the others, and the means that they come from."""
    names = list(result.arms[0].pulls) if result.arms else []
    biases = result.certificate.get("biases", {})
    beaten = {entry["arm"]: entry for entry in result.certificate.get("evidence", [])}
    threshold = -math.log(result.delta) if result.on_blocks else result.certificate.get("threshold")
    head = "".join(f"<th>{escape(name)}{_bias(biases.get(name))}</th>" for name in names)
    first = {result.best, *result.answer}
    ordered = sorted(result.arms, key=lambda arm: (arm.arm not in first, *_closeness(arm, result)))
    rows = "".join(_arm_row(arm, result, names, beaten.get(arm.arm)) for arm in ordered)
    needed = "" if threshold is None else f"<small>needed: {threshold:.2f}</small>"
    bounds = "<th>ahead by at least</th><th>at most</th>" if result.on_blocks else _BOUNDS
    about = "the bounds of its true mean, who beat it and by how much evidence (its logarithm)"
    if result.on_blocks:
        about = (
            "the evidence that it is not better than the answer (its logarithm), by how much the best is ahead of it"
            if result.goal is None
            else "what is shown of it, the evidence for that (its logarithm), by how much the best or the control is "
            "ahead of it"
        )
    return (
        f"<section><h2>The certificate</h2><p><b>{escape(str(result.certificate.get('claim', '')))}</b></p>"
        f"<p>For each arm {about}, and, at each fidelity, {_MEANS if result.has_means else _NO_MEANS}.</p>"
        "<div class='scroll'><table><thead><tr><th class='text'>arm</th><th class='text'>verdict</th>"
        f"<th>evidence{needed}</th>{bounds}"
        f"{head}<th>cost</th></tr></thead><tbody>{rows}</tbody></table></div>{_checkable(result)}</section>"
    )


def _checkable(result: Result) -> str:
    """The certificate itself, to be kept and checked by others."""
    if not result.certificate:
        return ""
    text = json.dumps(result.certificate, ensure_ascii=False)
    data = base64.b64encode(text.encode("utf-8")).decode()
    return (
        f"<p><a download='certificate.json' href='data:application/json;base64,{data}'>certificate.json</a> "
        "holds all numbers; <code>mfbandit verify certificate.json</code> checks them again.</p>"
    )


def _bias(bias: Any) -> str:
    if bias is None:
        return ""
    if isinstance(bias, list):
        return "<small>bias per arm</small>"
    return f"<small>bias ≤ {bias:.4g}</small>" if bias else "<small>the truth</small>"


def _closeness(arm: ArmResult, result: Result) -> tuple[float, float]:
    """What arms are ordered by, those that are or may be the closest to the best first."""
    if not result.on_blocks:
        return -arm.high, -arm.low
    low, high = result.differences.get(arm.arm, (math.inf, math.inf))
    return high, low


def _arm_row(arm: ArmResult, result: Result, names: list[str], beaten: dict[str, Any] | None) -> str:
    evidence = "" if beaten is None else _evidence(beaten)
    best = arm.arm == result.best or arm.arm in result.answer
    cells = "".join(f"<td>{_cell(arm, name)}</td>" for name in names)
    ends: tuple[float, float] | None = (arm.low, arm.high)
    if result.on_blocks:
        ends = result.differences.get(arm.arm)
    low, high = ("&ndash;", "&ndash;") if ends is None else map(_number, ends)
    return (
        f"<tr{' class=best' if best else ''}><td class='text'>{escape(arm.arm)}</td>"
        f"<td class='text'>{escape(_verdict(arm, result, beaten))}</td><td>{evidence}</td>"
        f"<td>{low}</td><td>{high}</td>{cells}<td>{amount(arm.cost)}</td></tr>"
    )


def _evidence(beaten: dict[str, Any]) -> str:
    """The logarithm of the evidence against an arm; races say the level at which it is beaten."""
    if "level" not in beaten:
        return f"{beaten['evidence']:.2f}"
    return f"{-math.log(beaten['level']):.2f}" if beaten["level"] > 0.0 else "certain"


def _verdict(arm: ArmResult, result: Result, beaten: dict[str, Any] | None) -> str:
    if arm.retired is not None:
        return f"given up: {arm.retired}"
    if result.goal is not None:
        return result.verdicts.get(arm.arm, "the control" if arm.arm == result.reference else "open")
    certified = result.status == "certified"
    if arm.arm == result.best:
        return "best" if certified else "leads"
    if arm.arm in result.tied:
        return "equal"
    if certified and result.epsilon and result.differences.get(arm.arm, (1.0, 1.0))[0] <= 0.0:
        # It may be beaten or only within epsilon: the evidence of both is one number.
        return f"at most {result.epsilon:g} better"
    winner = result.best if beaten is None else beaten.get("by", result.best)
    by = f" by {winner}" if winner != result.best else ""
    return f"beaten{by}" if certified else "open"


def _cell(arm: ArmResult, name: str) -> str:
    mean = arm.means[name]
    if mean is None:
        return f"&ndash; <small>{arm.pulls[name]:,}</small>" if arm.pulls[name] else "&ndash;"
    return f"{mean:.4g} <small>{arm.pulls[name]:,}</small>"


def _settings(result: Result, study: Study | None) -> str:
    """All that it takes to run the study again."""
    if study is None:
        plain: dict[str, Any] = {
            name: getattr(result, name) for name in ("study", "policy", "delta", "epsilon", "seed")
        }
    else:
        plain = {"name": study.name, "mfbandit": __version__, **study.settings.to_json()}
    text = escape(json.dumps(plain, indent=2, ensure_ascii=False))
    return (
        "<section><h2>To reproduce it</h2><p>The settings of the study. With the same seed every pull gets "
        f"the same seed again.</p><details open><summary>settings</summary><pre>{text}</pre></details>"
        "</section>"
    )


def _number(value: float) -> str:
    # Without the sign of a zero.
    return f"{value + 0.0:.4g}" if math.isfinite(value) else "unknown"
