"""Golden-section search for the least value of a convex function, as kernels.

Whoever searches computes the values, and goes on with `left_part` or `right_part`: a smaller bracket, where the
value at one of the two inner points is known already.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from mfbandit.core import kernel

__all__ = ["Bracket", "bracket_of", "left_part", "right_part"]

_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


class Bracket(NamedTuple):
    """Where the least value lies, and two points inside with the function's values; NaN if not computed yet."""

    low: float
    left: float
    right: float
    high: float
    at_left: float
    at_right: float


@kernel
def bracket_of(low: float, high: float) -> Bracket:
    """The bracket between two ends, with no value known."""
    return Bracket(low, high - _GOLDEN * (high - low), low + _GOLDEN * (high - low), high, math.nan, math.nan)


@kernel
def left_part(bracket: Bracket) -> Bracket:
    """The bracket up to the right one of the two points: there the least value lies if the left one is lower."""
    low, high = bracket.low, bracket.right
    return Bracket(low, high - _GOLDEN * (high - low), bracket.left, high, math.nan, bracket.at_left)


@kernel
def right_part(bracket: Bracket) -> Bracket:
    """The bracket from the left one of the two points: there the least value lies if the right one is lower."""
    low, high = bracket.left, bracket.high
    return Bracket(low, bracket.right, low + _GOLDEN * (high - low), high, bracket.at_right, math.nan)
