"""Every command, in the order that ``mfbandit --help`` shows them. Adding one is one line here.

Modules of commands import typer and the standard library only; what they need else they import when
they run, so that the help is there at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from mfbandit.cli._change_commands import add_arm, extend, reprice, retire, widen
from mfbandit.cli.commands._bounds import bounds
from mfbandit.cli.commands._catalogue import instances, policies
from mfbandit.cli.commands._compare_command import compare
from mfbandit.cli.commands._demo import demo
from mfbandit.cli.commands._forecast_command import forecast
from mfbandit.cli.commands._page_commands import report, serve
from mfbandit.cli.commands._reproduce_command import reproduce
from mfbandit.cli.commands._run_command import run
from mfbandit.cli.commands._simulate_command import simulate
from mfbandit.cli.commands._study_commands import ask, best, export, fail, import_, retry, status, tell
from mfbandit.cli.commands._verify_command import verify

__all__ = ["COMMANDS", "Subcommand"]

LOOK, LOGS, STUDIES, RESEARCH = "Look around", "Logs", "Studies", "Simulations and theory"


class Subcommand(NamedTuple):
    """A command: its function, the panel of the help it stands in, its name if not the function's.

    Settings are those of the parser of its arguments.
    """

    function: Callable[..., Any]
    panel: str
    name: str | None = None
    settings: dict[str, Any] | None = None


#: A reward may be negative: what is no option is an argument.
_NUMBERS = {"ignore_unknown_options": True}

COMMANDS: list[Subcommand] = [
    Subcommand(demo, LOOK),
    Subcommand(instances, LOOK),
    Subcommand(policies, LOOK),
    Subcommand(compare, LOGS),
    Subcommand(run, STUDIES),
    Subcommand(status, STUDIES),
    Subcommand(best, STUDIES),
    Subcommand(ask, STUDIES),
    Subcommand(tell, STUDIES, settings=_NUMBERS),
    Subcommand(fail, STUDIES),
    Subcommand(retry, STUDIES),
    Subcommand(extend, STUDIES),
    Subcommand(reprice, STUDIES),
    Subcommand(widen, STUDIES),
    Subcommand(add_arm, STUDIES, "add-arm"),
    Subcommand(retire, STUDIES),
    Subcommand(serve, STUDIES),
    Subcommand(report, STUDIES),
    Subcommand(verify, STUDIES),
    Subcommand(export, STUDIES),
    Subcommand(import_, STUDIES, "import"),
    Subcommand(simulate, RESEARCH),
    Subcommand(forecast, RESEARCH),
    Subcommand(bounds, RESEARCH),
    Subcommand(reproduce, RESEARCH),
]
