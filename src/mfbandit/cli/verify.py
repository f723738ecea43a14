"""``mfbandit verify``: check a certificate from its own numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mfbandit.cli.options import Json
from mfbandit.cli.output import print_json

__all__ = ["verify"]


def verify(
    certificate: Annotated[
        Path, typer.Argument(metavar="CERTIFICATE.json", help="A certificate, or a result that holds one.")
    ],
    json: Json = False,
) -> None:
    """Check a certificate: whether what it holds proves what it claims.

    Nothing but the file is used: the threshold and the evidence of every beaten arm are computed anew from
    the statistics in it. Exit code 0 if the claim is proven, 1 if not.

    Example: [bold]mfbandit best study.db --json > result.json && mfbandit verify result.json[/bold]
    """
    from mfbandit.certificate import load_certificate
    from mfbandit.certificate import verify as check

    found = load_certificate(certificate)
    verdict = check(found)
    if json:
        print_json({"valid": verdict.valid, "claim": verdict.claim, "reasons": list(verdict.reasons)})
    else:
        print(verdict.claim)
        print("Verified: the statistics in the certificate prove it." if verdict.valid else "Not proven:")
        for reason in verdict.reasons:
            print(f"  - {reason}")
    if not verdict.valid:
        raise typer.Exit(1)
