"""Rungs: how much of the resource each fidelity takes, what it costs and how far it may be off."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mfbandit._checks import as_list, as_numbers, is_number
from mfbandit.errors import InvalidInput

__all__ = ["Rung", "list_rungs", "read_biases", "with_costs"]

SAMPLES = "n_samples"


@dataclass(frozen=True)
class Rung:
    """One fidelity of a search.

    Attributes
    ----------
    amount
        How much of the resource: a number of samples, a share of them (a float up to 1), or a value of the
        estimator's parameter.
    size
        The amount as a number of samples or the value itself; costs are in proportion to it.
    name
        What people read.
    """

    amount: float
    size: float
    name: str

    def samples(self, available: int) -> int:
        """How many of the training samples of one split to use."""
        share = isinstance(self.amount, float) and self.amount <= 1.0
        return max(1, int(self.amount * available)) if share else int(self.amount)


def list_rungs(resource: str, fidelities: Any, factor: float, most: float, least: float) -> list[Rung]:
    """The rungs of a search, cheapest first; the last one is the truth.

    Parameters
    ----------
    resource
        "n_samples" or the name of a parameter.
    fidelities
        Amounts, or how many rungs to make, each `factor` times the one before.
    factor
        For a schedule that is made here.
    most
        Training samples there are, or the estimator's own value of the parameter.
    least
        The smallest amount that makes sense in a schedule.

    Examples
    --------
    >>> [rung.name for rung in list_rungs("n_samples", 3, 3, 900, 4)]
    ['100 samples', '300 samples', '900 samples']
    >>> [rung.name for rung in list_rungs("n_estimators", [10, 100], 3, 50, 1)]
    ['n_estimators=10', 'n_estimators=100']
    >>> list_rungs("n_samples", [100, 5000], 3, 900, 4)
    Traceback (most recent call last):
    mfbandit.errors.InvalidInput: fidelities ask for 5000 training samples, but a split leaves only 900 for
    training
    """
    if isinstance(fidelities, int | np.integer) and not isinstance(fidelities, bool):
        amounts = _schedule(resource, int(fidelities), factor, most, least)
    else:
        amounts = [_amount(value) for value in as_list(fidelities, "fidelities must be amounts", InvalidInput)]
    if not amounts:
        raise InvalidInput("fidelities are empty; give at least one amount, the truest")
    rungs: dict[float, Rung] = {}
    for amount in sorted(amounts, key=lambda value: _size(resource, value, most)):
        size = _size(resource, amount, most)
        if size < 1 and resource == SAMPLES:
            raise InvalidInput(f"fidelities ask for a share of {amount:g} of {most:g} samples: that is none")
        # Shares of few samples may come to the same number of them.
        rungs[size] = Rung(amount, size, _name(resource, size))
    return list(rungs.values())


def _schedule(resource: str, count: int, factor: float, most: float, least: float) -> list[float]:
    """A geometric schedule up to the largest amount."""
    if count < 1:
        raise InvalidInput(f"fidelities must be amounts, or a number >= 1 of them, got {count}")
    if not is_number(factor) or not factor > 1:
        raise InvalidInput(f"factor must be a number > 1, got {factor!r}")
    if not is_number(most) or not most > 0:
        raise InvalidInput(
            f"the estimator's own {resource} is {most!r}, so there is no schedule up to it: give the amounts "
            "as fidelities"
        )
    amounts: list[float] = []
    for step in range(count - 1, -1, -1):
        amount = most / factor**step
        whole = resource == SAMPLES or float(most).is_integer()
        amount = round(amount) if whole else amount
        if step == 0:
            # All of them, where splits differ in how many they leave for training.
            amounts.append(1.0 if resource == SAMPLES else amount)
        elif amount >= least:
            amounts.append(amount)
    return amounts


def _amount(value: Any) -> float:
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, bool) or not isinstance(plain, int | float) or not 0 < plain < math.inf:
        raise InvalidInput(f"fidelities must be amounts > 0 of the resource, got {value!r}")
    return plain


def _size(resource: str, amount: float, most: float) -> float:
    """An amount as a number of samples; the value itself for a parameter."""
    if resource != SAMPLES:
        return amount
    if isinstance(amount, float) and amount <= 1.0:
        return int(amount * most)
    if amount != int(amount):
        raise InvalidInput(
            f"fidelities ask for {amount:g} samples; a share is at most 1.0, a number of samples is whole"
        )
    if amount > most:
        raise InvalidInput(
            f"fidelities ask for {amount:g} training samples, but a split leaves only {most:g} for training"
        )
    return amount


def _name(resource: str, size: float) -> str:
    return f"{size:g} samples" if resource == SAMPLES else f"{resource}={size:g}"


def with_costs(rungs: Sequence[Rung], costs: Any) -> list[float]:
    """The cost of a pull at each rung, in fits at the last one."""
    if costs is None:
        return [rung.size / rungs[-1].size for rung in rungs]
    given = as_numbers(costs, "costs", InvalidInput)
    if given.shape != (len(rungs),):
        raise InvalidInput(f"costs are {given.size} numbers for {len(rungs)} fidelities; give one each")
    return [float(cost) for cost in given]


def read_biases(biases: Any, rungs: Sequence[Rung]) -> list[float]:
    """Bias bounds from numbers or a function of the amount; the last is 0.

    Examples
    --------
    >>> rungs = list_rungs("n_samples", [0.25, 1.0], 3, 400, 4)
    >>> read_biases(lambda samples: 1 / samples, rungs), read_biases([0.1], rungs), read_biases(0.2, rungs)
    ([0.01, 0.0], [0.1, 0.0], [0.2, 0.0])
    """
    cheap = len(rungs) - 1
    if callable(biases):
        function: Callable[[float], Any] = biases
        return [*(_bias(function(rung.size), rung) for rung in rungs[:-1]), 0.0]
    given = np.atleast_1d(as_numbers(biases, "biases", InvalidInput))
    if np.ndim(biases) == 0:
        given = np.repeat(given, cheap)
    if given.shape == (cheap + 1,):
        if given[-1] != 0.0:
            raise InvalidInput(f"the bias of the truest fidelity, {rungs[-1].name}, is {given[-1]:g}; it must be 0")
        given = given[:-1]
    if given.shape != (cheap,):
        raise InvalidInput(
            f"biases are {given.size} numbers for {len(rungs)} fidelities; give one for each but the truest"
        )
    return [*(_bias(value, rung) for value, rung in zip(given, rungs[:-1], strict=True)), 0.0]


def _bias(value: Any, rung: Rung) -> float:
    bias = as_numbers(value, f"the bias at {rung.name}", InvalidInput)
    if bias.ndim or not 0.0 <= float(bias) < math.inf:
        raise InvalidInput(f"the bias at {rung.name} is {value!r}; it must be one number of at least 0")
    return float(bias)
