"""``mfbandit run``: a study described by a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from mfbandit.cli._options import AllowChangedPolicy, GoalName, Json
from mfbandit.cli._output import complain, print_json
from mfbandit.cli._result_text import end_code, print_result
from mfbandit.cli._study_file import read_study_file
from mfbandit.study.api import study_for

__all__ = ["run"]

#: What a study file says of its goal, beside its name.
_OF_GOALS = ("m", "control", "use_costs")


def run(
    study: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="The study file.", show_default=False)],
    workers: Annotated[
        int | None, typer.Option(help="Evaluations at once.", show_default="what the file says, or 1")
    ] = None,
    width: Annotated[
        int | None,
        typer.Option(
            help="Pulls that may be out at once.",
            show_default="what the study has; for a new one, what its file says, or its workers",
        ),
    ] = None,
    goal: GoalName = None,
    allow_changed_policy: AllowChangedPolicy = False,
    json: Json = False,
) -> None:
    """Run a study: find the best arm by real evaluations, with a function or a command of yours.

    The file names the problem, the settings and an evaluator: a Python function, a command that prints a
    reward, or recorded rewards. Without an evaluator the study is only made, and its pulls are handed out
    by [bold]mfbandit ask[/bold]. Ctrl-C ends with the answer so far, SIGTERM and SIGHUP without one; run
    it again and it goes on. Exit code 1 if it ends without a certified answer.

    A study file runs code with your rights: run only those that you trust. A command is started without a
    shell. In a script of a shell use "$MFBANDIT_ARM", never {arm}: there, a name could run as code.

    Example: [bold]mfbandit run examples/command.toml --workers 4[/bold]

    Example: [bold]mfbandit run study.toml --goal top-m:m=3[/bold]
    """
    file = read_study_file(study)
    running: dict[str, Any] = file.running if workers is None else {**file.running, "workers": workers}
    settings = file.settings if width is None else {**file.settings, "width": width}
    if goal is not None:
        # One that says all of it stands for all that the file says.
        whole = ":" in goal or goal == "best"
        kept = {key: value for key, value in settings.items() if not whole or key not in _OF_GOALS}
        settings = {**kept, "goal": goal}
    settings = {"storage": file.storage, "allow_changed_policy": allow_changed_policy, **settings}
    opened = study_for(file.problem, settings, running.get("workers", 1))
    if file.evaluate is None:
        # The URL of a server may hold a password.
        where = file.storage.removeprefix("sqlite:///") if file.storage.startswith("sqlite") else "STORAGE"
        complain(f"{study} has no evaluator: the study is made; hand out its pulls by 'mfbandit ask {where}'")
        result = opened.result()
    else:
        result = opened.optimize(file.evaluate, **running)
    if json:
        print_json(result.to_json())
    else:
        print_result(result)
    raise typer.Exit(end_code(result))
