"""Candidates of a search: parameter settings, and names for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid, ParameterSampler

from mfbandit._checks import is_whole
from mfbandit.errors import InvalidInput
from mfbandit.formatting import shortened

__all__ = ["Candidate", "candidate_names", "list_candidates", "result_columns"]

Candidate = dict[str, Any]

_LONGEST = 60


def list_candidates(
    param_grid: Any, param_distributions: Any, n_candidates: Any, random: np.random.RandomState
) -> list[Candidate]:
    """All settings of a grid, or so many drawn from distributions, without those that come twice.

    Examples
    --------
    >>> list_candidates({"C": [1, 10]}, None, None, np.random.RandomState(0))
    [{'C': 1}, {'C': 10}]
    >>> list_candidates({"C": []}, None, None, np.random.RandomState(0))
    Traceback (most recent call last):
    mfbandit.errors.InvalidInput: param_grid cannot be used: Parameter grid for parameter 'C' need to be a
    non-empty sequence, got: []
    """
    if (param_grid is None) == (param_distributions is None):
        given = "neither" if param_grid is None else "both"
        raise InvalidInput(f"give either param_grid or param_distributions, got {given}")
    if param_grid is not None:
        if n_candidates is not None:
            raise InvalidInput(
                f"n_candidates={n_candidates!r} goes with param_distributions; a grid says itself how many"
            )
        found = _listed("param_grid", lambda: list(ParameterGrid(param_grid)))
    else:
        count = _count(n_candidates)
        found = _listed(
            "param_distributions",
            lambda: list(ParameterSampler(param_distributions, count, random_state=random)),
        )
    if not found:
        raise InvalidInput("there are no candidates: the grid is empty")
    return _distinct(found)


def _count(n_candidates: Any) -> int:
    if not is_whole(n_candidates) or n_candidates < 1:
        raise InvalidInput(
            f"param_distributions need n_candidates, a whole number >= 1: how many to draw; got {n_candidates!r}"
        )
    return int(n_candidates)


def _listed(what: str, make: Callable[[], list[Candidate]]) -> list[Candidate]:
    try:
        return make()
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{what} cannot be used: {error}") from error


def _distinct(candidates: list[Candidate]) -> list[Candidate]:
    """Leave out what was there before: two equal candidates are an eternal tie."""
    seen: dict[str, Candidate] = {}
    for one in candidates:
        key = repr(sorted(one.items(), key=lambda item: item[0]))
        seen.setdefault(key, one)
    return list(seen.values())


def candidate_names(candidates: list[Candidate]) -> list[str]:
    """Short distinct names of candidates.

    Examples
    --------
    >>> candidate_names([{"C": 1, "kernel": "rbf"}, {"C": 10, "kernel": "rbf"}, {}])
    ["C=1, kernel='rbf'", "C=10, kernel='rbf'", 'as it is']
    """
    names: list[str] = []
    for one in candidates:
        name = ", ".join(f"{key}={_short(value)}" for key, value in one.items()) or "as it is"
        twin = 2
        unique = name
        while unique in names:
            unique, twin = f"{name} ({twin})", twin + 1
        names.append(unique)
    return names


def _short(value: Any) -> str:
    plain = value.item() if isinstance(value, np.generic) else value
    return shortened(repr(plain), _LONGEST)


def result_columns(candidates: list[Candidate]) -> dict[str, Any]:
    """The ``param_*`` columns of ``cv_results_``: masked where a candidate does not set the parameter."""
    keys = list(dict.fromkeys(key for one in candidates for key in one))
    columns = {}
    for key in keys:
        column = np.ma.MaskedArray(np.empty(len(candidates), dtype=object), mask=True)
        for position, one in enumerate(candidates):
            if key in one:
                column[position] = one[key]
        columns[f"param_{key}"] = column
    return columns
