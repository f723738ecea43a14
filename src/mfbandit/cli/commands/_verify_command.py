"""``mfbandit verify``: check a certificate from its own numbers, and against its study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mfbandit.certificate import load_certificate
from mfbandit.certificate import verify as check
from mfbandit.cli._options import Json
from mfbandit.cli._output import print_json
from mfbandit.formatting import shown
from mfbandit.storage import open_storage
from mfbandit.study import Study, import_study, load_study, verify_with_study

__all__ = ["verify"]

#: Reasons are cut after so many letters.
_WIDEST = 400


def verify(
    certificate: Annotated[
        Path, typer.Argument(metavar="CERTIFICATE.json", help="A certificate, or a result that holds one.")
    ],
    study: Annotated[
        str | None,
        typer.Option(
            metavar="STORAGE",
            help="Where its study is: a SQLite file, a URL, or a file of 'mfbandit export'. The policy then plays "
            "again from the raw results, so that invented statistics are found.",
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="The name of the study, where a storage holds several.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Check a certificate: whether what it holds proves what it claims.

    Without --study nothing but the file is used. Statistics must be possible, every victory is proven again, and
    the claim is made anew from the numbers (of a race on blocks: from all raw rewards). Exit code 0 if it is
    proven, 1 if not.

    That the rewards were really observed no file can show. With --study the raw results must give the
    statistics, and the policy must have asked for just these pulls.

    Example: [bold]mfbandit best study.db --json > result.json && mfbandit verify result.json[/bold]

    Example: [bold]mfbandit verify result.json --study study.db[/bold]
    """
    found = load_certificate(certificate)
    verdict = check(found) if study is None else verify_with_study(found, _open(study, name))
    if json:
        print_json(
            {
                "valid": verdict.valid,
                "claim": verdict.claim,
                "fingerprint": verdict.fingerprint,
                "reasons": list(verdict.reasons),
            }
        )
    elif verdict.valid:
        print(verdict.claim)
        held = "rewards" if found.get("kind") == "blocks" else "statistics"
        source = f"the {held} in the certificate prove it" if study is None else "the results of the study prove it"
        print(f"Verified: {source}.")
        print(f"Fingerprint of what is claimed: {verdict.fingerprint}")
    else:
        # A claim that is not proven is not repeated: somebody might read no further.
        print("Not proven:")
        for reason in verdict.reasons:
            print(f"  - {shown(reason, _WIDEST)}")
    if not verdict.valid:
        raise typer.Exit(1)


def _open(storage: str, name: str | None) -> Study:
    """The study in a storage or in an exported file."""
    path = Path(storage)
    if path.is_file() and path.read_bytes()[:1] == b"{":
        return import_study(path, name=name)
    return load_study(open_storage(storage, existing=True), name)
