"""The view of an instance that all formulas share: in unit scale, in the paper's words."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

import numpy as np

from mfbandit._checks import FloatArray
from mfbandit.errors import InvalidInput
from mfbandit.instances import GaussianLaw, Instance, load_instance

__all__ = ["Units", "by_name", "check_budget", "check_delta", "in_units", "paper_unit", "refuse_blocks"]


P = ParamSpec("P")
R = TypeVar("R")


def by_name(function: Callable[Concatenate[Instance, P], R]) -> Callable[Concatenate[Instance | str, P], R]:
    """Let a function of an instance take the name of a built-in, or a TOML file, as well.

    Examples
    --------
    >>> from mfbandit import theory
    >>> round(theory.limit("figure-1a", 0.05), 1)
    361.4
    """

    @functools.wraps(function)
    def named(instance: Instance | str, /, *args: P.args, **kwargs: P.kwargs) -> R:
        found = load_instance(instance) if isinstance(instance, str) else instance
        if not isinstance(found, Instance):
            raise InvalidInput(f"instance must be an Instance, a name or a file, got {instance!r}")
        return function(found, *args, **kwargs)

    return named


class Units(NamedTuple):
    """An instance in unit scale: rewards in [0, 1], or distances from an origin if Gaussian."""

    means: FloatArray
    biases: FloatArray
    costs: FloatArray
    truth: FloatArray
    best: int
    rivals: FloatArray
    """True means of the other arms."""

    @property
    def second(self) -> float:
        """True mean of the second-best arm; -inf when there is only one."""
        return float(self.rivals.max(initial=-math.inf))


def in_units(instance: Instance) -> Units:
    """Return the instance in unit scale."""
    refuse_blocks(instance)
    problem = instance.problem
    means = np.asarray(problem.reward.to_unit(np.asarray(instance.means, dtype=np.float64)))
    truth = means[:, problem.truest]
    return Units(
        means=means,
        biases=problem.biases / problem.reward.span,
        costs=problem.costs,
        truth=truth,
        best=instance.best,
        rivals=np.delete(truth, instance.best),
    )


def paper_unit(instance: Instance) -> float:
    """Return how many reward units are one unit of the paper's analysis.

    The paper's radius sqrt(log(.)/n) is for rewards in [0, 1]. On another range the unit is its
    width, and for Gaussian rewards sqrt(2) sigma: measured so, the same radius holds.
    """
    refuse_blocks(instance)
    if isinstance(instance.law, GaussianLaw):
        return math.sqrt(2.0) * instance.law.sigma
    return instance.problem.reward.span


def refuse_blocks(instance: Instance) -> None:
    """Refuse an instance whose arms share blocks: bounds and limits are about independent rewards."""
    if instance.problem.blocks is not None:
        raise InvalidInput(
            f"the bounds and limits are about independent rewards, but the arms of this instance share "
            f"{instance.problem.blocks} blocks, where arms can be told apart for less: no bound is known"
        )


def check_delta(delta: float) -> float:
    """Return delta if it is a probability of error, else refuse it."""
    if not 0.0 < delta < 1.0:
        raise InvalidInput(f"delta must lie strictly between 0 and 1, got {delta!r}")
    return float(delta)


def check_budget(budget: float) -> float:
    """Return the budget if it is a positive number, else refuse it."""
    if not (budget > 0.0 and math.isfinite(budget)):
        raise InvalidInput(f"the budget is {budget}; it must be a positive finite number")
    return float(budget)
