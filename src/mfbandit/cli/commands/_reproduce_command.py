"""``mfbandit reproduce``: the paper's figures and tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mfbandit.cli._options import Json, Seed
from mfbandit.cli._output import print_json, print_sentences, print_table
from mfbandit.reproduce import Section
from mfbandit.reproduce import reproduce as run

__all__ = ["reproduce"]


def reproduce(
    study: Annotated[
        str,
        typer.Argument(help="figure-1a, figure-1b, pulls, regret, termination, bounds or all."),
    ] = "all",
    trials: Annotated[
        int | None, typer.Option(help="Runs of each policy.", show_default="as in the paper: 100 for figures")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for pictures, data and index.html.")] = Path("reproduction"),
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Compute the paper's figures and tables again, and say where its claims hold and where not.

    Writes pictures (PNG, SVG), data (CSV) and one index.html that shows everything done so far in the
    folder.

    Example: [bold]mfbandit reproduce figure-1a[/bold]

    Example: [bold]mfbandit reproduce all --trials 10 --out quick-look[/bold]
    """
    sections = run(study, out, trials=trials, seed=seed, quiet=False)
    index = out / "index.html"
    if json:
        studies = {section.name: section.to_json() for section in sections}
        print_json({"out": str(out), "index": str(index), "seed": seed, "studies": studies})
        return
    for section in sections:
        _show(section)
    print(f"Pictures, data and all of this on one page: {index}")


def _show(section: Section) -> None:
    print(f"{section.title}\n")
    print(f"The paper: {section.claim}\n")
    print_sentences("Measured:", section.findings)
    for table in section.tables:
        print()
        print_table(table.headings, table.rows, title=table.caption)
    print(f"\n{section.setup}\n")
