"""Options and arguments that several commands share."""

from __future__ import annotations

import math
from typing import Annotated, TypeAlias

import typer

from mfbandit.errors import InvalidInput
from mfbandit.simulation import Durations

__all__ = [
    "AllowChangedPolicy",
    "Delta",
    "GoalName",
    "InstanceName",
    "Json",
    "PullDurations",
    "Seed",
    "Spread",
    "check_finite",
    "read_durations",
]

InstanceName: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="INSTANCE",
        help="A built-in instance (see 'mfbandit instances') or a TOML file.",
        show_default=False,
    ),
]
Delta: TypeAlias = Annotated[float, typer.Option(help="Allowed probability of a wrong answer.")]
GoalName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--goal",
        help="What is asked on blocks, if not the best arm: top-m:m=3, better-than:control=NAME, or "
        "cheapest-within:use_costs=2+9+5 (what it costs to use each arm, in their order).",
        show_default="best",
    ),
]
Seed: TypeAlias = Annotated[int, typer.Option(help="Seed of the rewards.")]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else there.")]

AllowChangedPolicy: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--allow-changed-policy",
        help="Go on although the code of the policy has changed since the study was made.",
    ),
]

PullDurations: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--durations",
        help="How long a pull takes on average, in any unit: 1, or by fidelity judge=1,human=3600.",
        show_default="1",
    ),
]
Spread: TypeAlias = Annotated[
    float,
    typer.Option(help="How durations differ from pull to pull: the standard deviation of their logarithm (lognormal)."),
]


def read_durations(text: str | None, spread: float) -> Durations | None:
    """Read how long pulls take; None if nothing was said of it."""
    if text is None:
        return Durations(spread=spread) if spread else None
    parts = [part.rpartition("=") for part in text.split(",")]
    try:
        numbers = [float(number) for _, _, number in parts]
    except ValueError:
        numbers = []
    names = [name.strip() for name, _, _ in parts]
    if not numbers or (any(names) and not (all(names) and len(set(names)) == len(names))):
        raise InvalidInput(f"durations must be a number, or name=number,... by fidelity, got {text!r}")
    if all(names):
        return Durations(dict(zip(names, numbers, strict=True)), spread)
    return Durations(numbers if len(numbers) > 1 else numbers[0], spread)


def check_finite(name: str, value: float | None) -> None:
    """Refuse a number that is NaN or infinite; None is no number and passes."""
    if value is not None and not math.isfinite(value):
        raise InvalidInput(f"{name} must be a finite number, got {value!r}")
