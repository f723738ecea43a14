"""One scored item of one system, as readers of logs hand it out, and what its value is as a number."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mfbandit.errors import InvalidInput

__all__ = ["LogRow", "as_score"]

#: What graders write for right and wrong; C, P, I and N are Inspect's (correct, partial, incorrect, no answer).
_WORDS = {
    "c": 1.0,
    "correct": 1.0,
    "true": 1.0,
    "yes": 1.0,
    "pass": 1.0,
    "passed": 1.0,
    "right": 1.0,
    "p": 0.5,
    "partial": 0.5,
    "i": 0.0,
    "incorrect": 0.0,
    "n": 0.0,
    "false": 0.0,
    "no": 0.0,
    "fail": 0.0,
    "failed": 0.0,
    "wrong": 0.0,
}
_MISSING = ("", "na", "n/a", "nan", "null", "none")


@dataclass(frozen=True)
class LogRow:
    """What one system got for one item, once."""

    system: str
    item: str
    scores: Mapping[str, Any]
    """Raw values by the name of the metric; None for one that could not be had. Empty if nothing was scored."""
    where: str
    """Words that find it again: "line 7 of a.csv"."""
    task: str = ""
    """The task that the item belongs to; items of different tasks may have the same name."""
    content: str = ""
    """What identifies the item's text: two items with one name must not be compared."""


def as_score(value: Any, where: str, metric: str) -> float | None:
    """A raw value as a number; None if there is none.

    Examples
    --------
    >>> [as_score(value, "line 2 of a.csv", "score") for value in ("C", "i", True, "0.25", 3, "", None)]
    [1.0, 0.0, 1.0, 0.25, 3.0, None, None]
    >>> as_score("good", "line 2 of a.csv", "score")
    Traceback (most recent call last):
    mfbandit.errors.InvalidInput: line 2 of a.csv: the score is 'good'; it must be a number, or a word such as C, I,
    true, false, pass, fail
    """
    if value is None:
        return None
    if isinstance(value, str):
        word = value.strip().lower()
        if word in _MISSING:
            return None
        if word in _WORDS:
            return _WORDS[word]
    try:
        if isinstance(value, bytes | list | tuple | Mapping) or (isinstance(value, str) and "_" in value):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"{where}: the {metric} is {reprlib.repr(value)}; it must be a number, or a word such as "
            "C, I, true, false, pass, fail"
        ) from None
    if math.isnan(number):
        return None
    if math.isinf(number):
        raise InvalidInput(f"{where}: the {metric} is {number}; it must be finite")
    return number + 0.0
