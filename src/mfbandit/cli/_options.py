"""Options and arguments that several commands share."""

from __future__ import annotations

import math
from typing import Annotated, TypeAlias

import typer

from mfbandit.errors import InvalidInput

__all__ = ["AllowChangedPolicy", "Delta", "InstanceName", "Json", "Seed", "check_finite"]

InstanceName: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="INSTANCE",
        help="A built-in instance (see 'mfbandit instances') or a TOML file.",
        show_default=False,
    ),
]
Delta: TypeAlias = Annotated[float, typer.Option(help="Allowed probability of a wrong answer.")]
Seed: TypeAlias = Annotated[int, typer.Option(help="Seed of the rewards.")]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else there.")]

AllowChangedPolicy: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--allow-changed-policy",
        help="Go on although the code of the policy has changed since the study was made.",
    ),
]


def check_finite(name: str, value: float | None) -> None:
    """Refuse a number that is NaN or infinite; None is no number and passes."""
    if value is not None and not math.isfinite(value):
        raise InvalidInput(f"{name} must be a finite number, got {value!r}")
