"""Where two problems differ, in words."""

from __future__ import annotations

from typing import Any

from mfbandit.model._problem import Problem

__all__ = ["first_difference"]

_MISSING = None
#: How what may change in a study is changed.
_HOW = {
    **dict.fromkeys(("bias", "pair_bias"), " (study.widen makes a bound wider from now on)"),
    "cost": " (study.reprice changes a price from now on, and the problem stays as it was declared)",
}


def first_difference(mine: Problem, theirs: Problem) -> str:
    """Say where two problems differ: the first place, and both values.

    Examples
    --------
    >>> mine, theirs = (Problem(["a"], [("judge", 1.0, 0.1), ("human", cost, 0.0)]) for cost in (3.0, 4.0))
    >>> first_difference(mine, theirs)
    "its fidelity 'human' has cost 3.0, not 4.0 (study.reprice changes a price from now on, ...)"
    """
    if mine.arms != theirs.arms:
        return _of_lists("arms", list(mine.arms), list(theirs.arms))
    names, others = ([fidelity.name for fidelity in one.fidelities] for one in (mine, theirs))
    if names != others:
        return _of_lists("fidelities", names, others)
    for name, one, other in zip(names, mine.fidelities, theirs.fidelities, strict=True):
        for key, value, instead in _unequal(one.to_json(), other.to_json()):
            return f"its fidelity {name!r} has {key} {value!r}, not {instead!r}{_HOW.get(key, '')}"
    for key, value, instead in _unequal(mine.to_json(), theirs.to_json()):
        return f"its {key} is {value!r}, not {instead!r}"
    return "they differ"


def _of_lists(what: str, mine: list[str], theirs: list[str]) -> str:
    """Say which names are on one list only, or that their order is another."""
    gone = [name for name in mine if name not in theirs]
    new = [name for name in theirs if name not in mine]
    if not gone and not new:
        return f"its {what} are in another order"
    said = [f"it has {gone[0]!r}, which is not there now"] if gone else []
    said += [f"it has no {new[0]!r}"] if new else []
    return f"of {what}, " + " and ".join(said)


def _unequal(mine: dict[str, Any], theirs: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """What differs, and how, key by key."""
    keys = [*mine, *(key for key in theirs if key not in mine)]
    pairs = [(key, mine.get(key, _MISSING), theirs.get(key, _MISSING)) for key in keys]
    return [(key, one, other) for key, one, other in pairs if one != other]
