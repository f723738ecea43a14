"""Every command, in the order that ``mfbandit --help`` shows them. Adding one is one line here.

Modules of commands import typer and the standard library only; what they need else they import when
they run, so that the help is there at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from mfbandit.cli.bounds import bounds
from mfbandit.cli.catalogue import instances, policies
from mfbandit.cli.reproduce import reproduce
from mfbandit.cli.simulate import simulate

__all__ = ["COMMANDS", "Command"]

LOOK, RESEARCH = "Look around", "Simulations and theory"


class Command(NamedTuple):
    """A command: its function, the panel of the help it stands in, its name if not the function's."""

    function: Callable[..., Any]
    panel: str
    name: str | None = None


COMMANDS: list[Command] = [
    Command(instances, LOOK),
    Command(policies, LOOK),
    Command(simulate, RESEARCH),
    Command(bounds, RESEARCH),
    Command(reproduce, RESEARCH),
]
