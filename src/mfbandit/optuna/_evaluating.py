"""How trials are evaluated: by a function of a trial and a pull, and what shows that it is not such a function."""

from __future__ import annotations

import inspect
import itertools
import warnings
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from mfbandit._checks import is_number
from mfbandit.errors import InvalidInput, ModelWarning, StudyError
from mfbandit.formatting import amount
from mfbandit.model import Outcome, Pull
from mfbandit.optuna._library import FrozenTrial
from mfbandit.study import Result, View

__all__ = ["OfTrials", "RepeatedValues", "check_options"]

#: What arguments are called elsewhere.
_ELSEWHERE = {"n_jobs": "workers", "random_state": "seed"}
#: On so many blocks all trials may have one value each, and on so many a single one.
_ALL, _ONE = 3, 5


def check_options(function: str, options: Mapping[str, Any], known: Collection[str]) -> None:
    """Refuse arguments that nobody takes, by the name of the function that was called.

    Examples
    --------
    >>> check_options("confirm", {"n_jobs": 2}, {"workers"})
    Traceback (most recent call last):
    TypeError: confirm() got an unexpected keyword argument 'n_jobs'; it is called workers here
    """
    for name in options:
        if name not in known:
            here = f"; it is called {_ELSEWHERE[name]} here" if name in _ELSEWHERE else ""
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{here}")


class OfTrials:
    """Evaluates pulls by the trials that their arms are named after; more is better."""

    def __init__(self, trials: Mapping[str, FrozenTrial], evaluate: Callable[..., Any], sign: float) -> None:
        _check_function(evaluate)
        self._trials, self._evaluate, self._sign = trials, evaluate, sign
        self._last: Exception | None = None

    def __call__(self, pull: Pull) -> Any:
        try:
            found = self._evaluate(self._trials[pull.arm], pull)
        except Exception as error:
            self._last = error
            raise
        return self._when_known(found) if inspect.isawaitable(found) else self._reward(found)

    async def _when_known(self, found: Awaitable[Any]) -> Any:
        try:
            return self._reward(await found)
        except Exception as error:
            self._last = error
            raise

    def check_any(self, result: Result) -> None:
        """Raise what went wrong if no evaluation succeeded: there is no answer to return."""
        if result.status == "failed" and not result.pulls:
            raise StudyError(result.sentence) from self._last

    def _reward(self, found: Any) -> Any:
        if isinstance(found, Outcome):
            return replace(found, reward=self._reward(found.reward))
        # What is no number is refused in the words of the study.
        return self._sign * found if is_number(found) else found


def _check_function(evaluate: Any) -> None:
    """Refuse what cannot be called with a trial and a pull."""
    wanted = "evaluate must be a function of a trial and a pull"
    if not callable(evaluate):
        raise InvalidInput(f"{wanted}, got {evaluate!r}")
    try:
        expected = inspect.signature(evaluate)
    except (TypeError, ValueError):  # some functions that are written in C do not say
        return
    try:
        expected.bind("trial", "pull")
    except TypeError as failure:
        raise InvalidInput(f"{wanted}, in this order: {failure}") from None


class RepeatedValues:
    """A callback that refuses scores that do not depend on the block, as of a function that ignores the pull.

    Equal scores look as if there were no noise, and as if everything were known.
    """

    def __init__(self, sign: float, callback: Callable[[View], Any] | None = None) -> None:
        if callback is not None and not callable(callback):
            raise InvalidInput(f"callback must be a function of a view of the study, got {callback!r}")
        self._sign, self._callback = sign, callback
        self._varied = self._warned = False
        self._looked = 0

    def __call__(self, view: View) -> None:
        # Once some scores have differed only a single trial can still repeat itself, and there is no hurry.
        if not self._warned and view.pulls >= self._looked * (1.5 if self._varied else 1.0):
            self._looked = view.pulls
            self._look(view)
        if self._callback is not None:
            self._callback(view)

    def _look(self, view: View) -> None:
        scores = _scores(view)
        self._varied = self._varied or any(len(set(mine)) > 1 for mine in scores.values())
        there = view.settings.arms_there or view.settings.problem.n_arms
        if not self._varied and len(scores) == there and min(map(len, scores.values())) >= _ALL:
            name, mine = next(iter(scores.items()))
            raise InvalidInput(
                f"each of the {there} trials has one value on all of its blocks, {name} {self._said(mine)} on "
                f"{len(mine)}: does your function use pull.block_seed? Nothing is certified from repeated values"
            )
        for name, mine in scores.items():
            if self._varied and len(mine) >= _ONE and len(set(mine)) == 1:
                self._warned = True
                warnings.warn(
                    f"{name} scored {self._said(mine)} on each of {len(mine)} blocks: does your function use "
                    "pull.block_seed? Repeated values are no evidence",
                    ModelWarning,
                    stacklevel=2,
                )
                return

    def _said(self, mine: list[float]) -> str:
        return amount(self._sign * mine[0])


def _scores(view: View) -> dict[str, list[float]]:
    """The rewards of each arm that has some."""
    names, rewards = view.settings.problem.arms, iter(view.rewards)
    found: dict[str, list[float]] = {}
    for one in view.rounds:
        for arm, _, count in one["rows"]:
            known = [reward for reward in itertools.islice(rewards, count) if reward is not None]
            if known:
                found.setdefault(names[arm], []).extend(known)
    return found
