"""What a study is: a name, how much work it is, and the function that does it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mfbandit.reproduce._section import Section
from mfbandit.reproduce._steps import Steps

__all__ = ["Experiment", "Request"]


@dataclass(frozen=True)
class Request:
    """What a study is asked for.

    Attributes
    ----------
    trials, seed : int
        How many runs of each policy, and the seed of their rewards.
    out : Path
        Folder for pictures.
    steps : Steps
        Where to report progress.
    """

    trials: int
    seed: int
    out: Path
    steps: Steps


@dataclass(frozen=True)
class Experiment:
    """A study of the reproduction.

    Attributes
    ----------
    name : str
        What it is called on the command line.
    trials : int
        Runs of each policy by default.
    work : callable
        Pulls that it takes with so many trials, roughly.
    run : callable
        Does it.
    """

    name: str
    trials: int
    work: Callable[[int], float]
    run: Callable[[Request], Section]
