"""``mfbandit serve`` and ``mfbandit report``: studies in the browser, while they run and afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mfbandit.cli._options import AllowChangedPolicy
from mfbandit.cli.commands._study_commands import Patience, StorageUrl, StudyName
from mfbandit.errors import InvalidInput
from mfbandit.serve import app, check_address, new_token, run
from mfbandit.storage import PATIENCE_SECONDS, open_storage
from mfbandit.study import load_study

__all__ = ["report", "serve"]


def serve(
    storage: StorageUrl,
    host: Annotated[str, typer.Option(help="The address to listen on; others than this machine's need a token.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(help="The port; 0 is any that is free.")] = 8321,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="MFBANDIT_TOKEN",
            help="What writing needs, and on other addresses reading, too. Others on this machine may see arguments of "
            "commands: prefer the variable.",
            show_default="a new one",
            show_envvar=True,
        ),
    ] = None,
    show: Annotated[
        Path | None,
        typer.Option(help="JSON lines that say what people are shown who grade pulls.", show_default=False),
    ] = None,
    allow_changed_policy: AllowChangedPolicy = False,
    patience: Patience = PATIENCE_SECONDS,
) -> None:
    """Show the studies of a storage in the browser while they run, and let workers ask and tell over HTTP.

    On this machine everybody may read; writing needs the token that is printed. Ctrl-C ends it; studies are not
    touched by that.

    Example: [bold]mfbandit serve judges.db[/bold]
    """
    here = check_address(host, token)
    given = new_token() if token is None else token
    store = open_storage(storage, existing=True, patience=patience)
    reading = "open" if here else "token"
    page = app(store, token=given, reading=reading, show=show, allow_changed_policy=allow_changed_policy)

    def ready(taken: int) -> None:
        shown = f"[{host}]" if ":" in host else host
        # Behind a # it is sent to no server, and gets into no log.
        link = f"http://{shown}:{taken}/" + (f"#token={given}" if token is None else "")
        typer.echo(
            f"Open {link}\nWorkers send the header 'Authorization: Bearer {given if token is None else 'TOKEN'}'."
        )

    try:
        run(page, host, port, ready)
    except KeyboardInterrupt:
        return
    finally:
        store.close()


def report(
    storage: StorageUrl,
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to write the page.", show_default=False)],
    study: StudyName = None,
    patience: Patience = PATIENCE_SECONDS,
) -> None:
    """Write a study as one HTML page that needs nothing else: the answer, pictures, certificate and settings.

    Example: [bold]mfbandit report judges.db -o judges.html[/bold]
    """
    if not output.absolute().parent.is_dir():
        raise InvalidInput(f"there is no folder {str(output.parent)!r} to write {output.name!r} in")
    with load_study(storage, study, patience=patience) as opened:
        opened.result().report(output)
