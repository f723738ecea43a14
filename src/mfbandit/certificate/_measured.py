"""What a certificate is made of: a study at one moment, as far as certificates look at it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from mfbandit.confidence import Victory
from mfbandit.core import State
from mfbandit.model import Problem

__all__ = ["Measured"]


class Measured(Protocol):
    """A study at one moment. `mfbandit.study.View` is one; it stands here so that certificates need no studies."""

    settings: Any
    """Problem, policy, delta, epsilon and seed."""
    state: State
    problem: Problem
    """The problem with the bias bounds that are believed by now."""
    arms: list[int]
    """Index in the problem of each arm in play."""
    retired: dict[int, str]
    retired_pulls: int
    retired_cost: float
    counted_cost: float
    """What the results cost that have counted."""
    beyond: Any
    """What pulls have cost beyond what was declared; None if nobody told."""
    added: dict[int, float]
    """What was added to bias bounds, in unit scale, by fidelity."""

    joined: tuple[tuple[int, ...], ...]
    """How many blocks of each fidelity in use were open when each arm joined a race that was not there at first."""

    @property
    def best(self) -> str | None:
        """The answer."""

    @property
    def chosen(self) -> tuple[str, ...]:
        """The arms that are the answer to another question than which is the best."""

    @property
    def victories(self) -> list[Victory]:
        """How strongly each other arm is beaten."""

    @property
    def rounds(self) -> Sequence[Mapping[str, Any]]:
        """The rounds of a race: objects with "opened" and "rows", as in a record of the log."""

    @property
    def rewards(self) -> Sequence[float | None]:
        """The rewards of a race that count, in the order of asking; None for a cell that could not be had."""
