"""The typer application, made of the list of commands."""

from __future__ import annotations

import functools
import inspect
from typing import Annotated

import typer

from mfbandit.cli.commands._all import COMMANDS
from mfbandit.version import __version__

__all__ = ["application"]


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"mfbandit {__version__}")
        raise typer.Exit


@functools.cache
def application() -> typer.Typer:
    """Build the application once."""
    app = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback(invoke_without_command=True)
    def start(
        context: typer.Context,
        version: Annotated[
            bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
        ] = False,
    ) -> None:
        """Find the best of several alternatives from cheap biased and expensive true measurements.

        Every command has an example in its own help: [bold]mfbandit simulate --help[/bold].
        """
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())

    for command in COMMANDS:
        text = _paragraphs(command.function.__doc__ or "")
        app.command(name=command.name, help=text, rich_help_panel=command.panel, context_settings=command.settings)(
            command.function
        )
    return app


def _paragraphs(docstring: str) -> str:
    r"""Join the lines of each paragraph, so that the help breaks lines where the terminal ends.

    Examples
    --------
    >>> _paragraphs("Do it.\n\n    All of\n    it.")
    'Do it.\n\nAll of it.'
    """
    paragraphs = inspect.cleandoc(docstring).split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
