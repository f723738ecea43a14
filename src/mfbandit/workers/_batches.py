"""Evaluators that take many pulls at once, for evaluations that take less time than handing one out."""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple

from mfbandit._checks import whole_number
from mfbandit.errors import InvalidInput
from mfbandit.model import Pull

__all__ = ["Batch", "Batches"]


class Batch(NamedTuple):
    """Some pulls that are evaluated together; an engine takes it for one pull."""

    pulls: tuple[Pull, ...]

    @property
    def id(self) -> int:
        """The number of its first pull."""
        return self.pulls[0].id

    @property
    def fidelity(self) -> str:
        """The fidelity of all its pulls."""
        return self.pulls[0].fidelity


class NoReward:
    """What an evaluator of batches returned in place of rewards.

    To return it is no failure, which would be tried again, but a mistake that ends the run.
    """

    def __init__(self, said: str) -> None:
        self.said = said

    def __repr__(self) -> str:
        """Say what it was."""
        return self.said


class Batches:
    """An evaluator that takes many pulls at once.

    A study evaluates pulls one by one. That is right for evaluations that take long, and a waste for those that take
    microseconds, or that share work: a simulator that draws the random numbers of a block once for all arms, a model
    that answers a hundred questions at the price of one. Pulls of a batch have one fidelity. They run as one task,
    wherever the engine runs tasks, and fail together.

    Parameters
    ----------
    evaluate : callable
        Gets a list of `Pull` and returns as many rewards, in the same order. No coroutine function.
    size : int
        How many pulls it is given at most; fewer where that keeps more workers busy.

    Examples
    --------
    >>> import mfbandit as mf
    >>> from mfbandit.engines import Batches
    >>> rewards = {"a": 0.2, "b": 0.9}
    >>> problem = mf.Problem(["a", "b"], [("exact", 1.0, 0.0)])
    >>> evaluate = Batches(lambda pulls: [rewards[pull.arm] for pull in pulls], size=50)
    >>> mf.identify(problem, evaluate, progress=False).best
    'b'
    """

    def __init__(self, evaluate: Callable[[list[Pull]], Sequence[float]], size: int) -> None:
        if not callable(evaluate) or inspect.iscoroutinefunction(evaluate):
            raise InvalidInput(f"evaluate must be a plain function of a list of pulls, got {evaluate!r}")
        self.evaluate = evaluate
        self.size = whole_number("size", size, 1)

    def __call__(self, batch: Batch) -> list[Any]:
        """The rewards of a batch, or as many things that are none, which end the run."""
        found, count = self.evaluate(list(batch.pulls)), len(batch.pulls)
        if isinstance(found, str | bytes | Mapping | Set) or not isinstance(found, Iterable):
            return [NoReward(f"{reprlib.repr(found)} for {count} pulls: Batches takes a list of rewards")] * count
        rewards = list(found)
        if len(rewards) != count:
            return [NoReward(f"{len(rewards)} rewards for {count} pulls")] * count
        return rewards

    def __repr__(self) -> str:
        """Show what it calls."""
        return f"Batches({self.evaluate!r}, {self.size})"
