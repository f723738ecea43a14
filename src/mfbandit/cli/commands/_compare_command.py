"""``mfbandit compare``: which of several systems is best, from logs of their scores."""

from __future__ import annotations

from typing import Annotated

import typer

from mfbandit.cli._options import Delta, Json
from mfbandit.cli._output import print_json, print_table
from mfbandit.errors import InvalidInput
from mfbandit.formatting import percent, shown
from mfbandit.logs import ControlComparison, LogComparison, Reading, compare_with_control
from mfbandit.logs import compare as compare_all

__all__ = ["compare"]


def compare(
    logs: Annotated[
        list[str],
        typer.Argument(
            metavar="LOGS...", help="Files and folders of scores; NAME=FILE names a system.", show_default=False
        ),
    ],
    metric: Annotated[
        str | None,
        typer.Option(
            help="The score to compare by, where logs hold several; in a CSV file its column.", show_default=False
        ),
    ] = None,
    delta: Delta = 0.05,
    epsilon: Annotated[float, typer.Option(help="A system this close to the best is good enough.")] = 0.0,
    once: Annotated[
        bool,
        typer.Option(
            "--once",
            help="The number of items was fixed before anybody looked, and this is the only look: shows more where "
            "answers are right or wrong.",
        ),
    ] = False,
    range_: Annotated[
        str | None,
        typer.Option(
            "--range", metavar="LOW,HIGH", help="What a score can be at least and at most.", show_default="0,1"
        ),
    ] = None,
    lower: Annotated[bool, typer.Option("--lower-is-better", help="Smaller scores are better.")] = False,
    missing: Annotated[
        str,
        typer.Option(help="Items with a missing score: 'out' leaves them out, 'worst' counts the worst score."),
    ] = "out",
    control: Annotated[
        str | None,
        typer.Option(
            help="Instead of the best: which systems are better than this one, and which are not.", show_default=False
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Say which system is best by the scores that you have, by how much, how sure, and how many items would settle it.

    Reads logs of Inspect (.eval, .json), samples of lm-evaluation-harness (samples_*.jsonl), outputs of promptfoo
    (.json), and CSV or JSON lines with item, system and score (or CSV with a column for every system). Exit code 0 if
    it is settled, 1 if not.

    Example: [bold]mfbandit compare scores.csv[/bold]

    Example: [bold]mfbandit compare old=logs/monday.eval new=logs/tuesday.eval --epsilon 0.01[/bold]

    Example: [bold]mfbandit compare scores.csv --control old[/bold]
    """
    reading = Reading(metric, _read_range(range_), lower, missing)
    found: LogComparison | ControlComparison
    if control is None:
        found = compare_all(logs, delta=delta, epsilon=epsilon, once=once, reading=reading)
        rows = _best_rows(found)
    else:
        found = compare_with_control(logs, control, delta=delta, epsilon=epsilon, once=once, reading=reading)
        rows = _control_rows(found)
    if json:
        print_json(found.to_json())
    else:
        print_table(rows[0], rows[1:])
        print()
        for sentence in found.sentences:
            print(sentence)
    if not found.settled:
        raise typer.Exit(1)


def _read_range(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise InvalidInput(f"the range must be LOW,HIGH, such as 0,10, got {text!r}") from None
    return low, high


def _best_rows(found: LogComparison) -> list[list[str]]:
    rows = [["system", f"mean {shown(found.metric)}", "behind by", "at least", "at most", "not the best"]]
    rows += [[shown(found.best), f"{found.mean:.4g}", "", "", "", ""]]
    for rival in found.rivals:
        numbers = [f"{value:.4g}" for value in (rival.mean, rival.ahead, rival.at_least, rival.at_most)]
        rows.append([shown(rival.system), *numbers, percent(rival.confidence)])
    return rows


def _control_rows(found: ControlComparison) -> list[list[str]]:
    rows = [["system", f"mean {shown(found.metric)}", "ahead by", "at least", "at most", "verdict", "confidence"]]
    rows += [[shown(found.control), f"{found.mean:.4g}", "", "", "", "control", ""]]
    for one in found.challengers:
        numbers = [f"{value:.4g}" for value in (one.mean, one.ahead, one.at_least, one.at_most)]
        rows.append([shown(one.system), *numbers, one.verdict, percent(one.confidence)])
    return rows
