"""Which statistics of rewards are possible: what a forged certificate gets wrong first.

A stream of n rewards has a sum S, a sum of squares Q, and V, the sum of squared distances of each reward
from the mean forecast before it, (1/2 + sum so far) / (count so far + 1). With
R = Q + 1/4 - (S + 1/2)^2 / (n + 1), the i-th distance enters R with weight i / (i + 1), so R <= V <= 2 R.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mfbandit.errors import InvalidInput

__all__ = [
    "ACTIVE",
    "ALL",
    "Numbers",
    "later_fault",
    "part_fault",
    "read_count",
    "read_number",
    "read_side",
    "stream_fault",
]

Numbers = Mapping[str, Sequence[Any]]
ALL = ("pulls", "sums", "squares")
ACTIVE = ("active_pulls", "active_sums", "active_squares")
#: Whole numbers beyond this are not exact as floats.
_MOST = 2**53
#: What running sums of n rewards may be off by, times n + 1 and the size of the rewards.
_ROUNDING = 1e-9


def read_number(value: Any, what: str) -> float:
    """A finite number of a JSON document."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < math.inf:
        raise InvalidInput(f"{what} must be a finite number, not {value!r}")
    return float(value)


def read_count(value: Any, what: str) -> int:
    """A whole number of a JSON document; 3.0 is one, since some records hold floats."""
    number = read_number(value, what)
    if not 0 <= number <= _MOST or number != int(number):
        raise InvalidInput(f"{what} must be a whole number from 0 to 2^53, not {value!r}")
    return int(number)


def read_side(found: Any, parts: Iterable[str], fidelities: int, what: str) -> dict[str, list[Any]]:
    """Lists of one number per fidelity, by the names of the parts; nothing more and nothing less."""
    parts = tuple(parts)
    if not isinstance(found, Mapping) or set(found) != set(parts):
        raise InvalidInput(f"{what} must hold {', '.join(parts)}")
    side: dict[str, list[Any]] = {}
    for part in parts:
        values = found[part]
        if not isinstance(values, list) or len(values) != fidelities:
            raise InvalidInput(f"{part} of {what} must be a list of {fidelities} numbers")
        read = read_count if part.endswith("pulls") else read_number
        side[part] = [read(value, f"{part} of {what}") for value in values]
    return side


def stream_fault(bounded: bool, n: int, total: float, squared: float, deviation: float | None = None) -> str:
    """Why no rewards can have these statistics; nothing if some can.

    Parameters
    ----------
    bounded : bool
        Whether rewards lie in [0, 1].
    n, total, squared, deviation
        Number, sum, sum of squares, and, unless it is None, the sum V of squared distances from forecasts.
    """
    said = f"n = {n}, sum {total:g}, sum of squares {squared:g}"
    slack = _ROUNDING * (1 + n) * max(1.0, squared / n if n else 1.0)
    if n == 0:
        wrong = bool(total or squared or deviation)
    else:
        wrong = squared < -slack or squared < total * total / n * (1.0 - _ROUNDING) - slack
        if bounded:
            wrong = wrong or not -slack <= total <= n + slack or squared > total + slack
    if not wrong and deviation is not None and n:
        said += f", deviations {deviation:g}"
        least = squared + 0.25 - (total + 0.5) ** 2 / (n + 1)
        wrong = not least - slack <= deviation <= 2.0 * least + slack
    return said if wrong else ""


def later_fault(
    bounded: bool, earlier: Numbers, later: Numbers, parts: Sequence[str] = ALL, *, one_sum: bool = True
) -> str:
    """Why the second statistics cannot be the first ones with more rewards added; nothing if they can.

    `one_sum` says that both are moments of one running sum; else each has rounding errors of its own.
    """
    counts, sums, squares = parts
    for m in range(len(earlier[counts])):
        n = later[counts][m] - earlier[counts][m]
        total, squared = later[sums][m] - earlier[sums][m], later[squares][m] - earlier[squares][m]
        if n < 0:
            return f"{earlier[counts][m]} pulls, then {later[counts][m]}"
        if n == 0 and one_sum:
            # Nothing was added, so that nothing was rounded.
            fault = total != 0.0 or squared != 0.0
        else:
            # Differences of long sums carry the rounding of the sums, a last place or less with every reward.
            size = max(abs(float(later[name][m])) for name in ("sums", "squares"))
            slack = (8.0 + (n if one_sum else later[counts][m])) * math.ulp(size)
            fault = squared < -slack or squared < total * total / max(n, 1) * (1.0 - _ROUNDING) - slack
            fault = fault or (n == 0 and max(abs(total), abs(squared)) > slack)
            if bounded:
                fault = fault or not -slack <= total <= n + slack or squared > total + slack
        if fault:
            return f"{n} rewards between would have the sum {total:g} and the sum of squares {squared:g}"
    return ""


def part_fault(bounded: bool, side: Numbers) -> str:
    """Why the active rewards cannot be a part of all rewards; nothing if they can."""
    active = dict(zip(ALL, (side[part] for part in ACTIVE), strict=True))
    for m in range(len(side["pulls"])):
        fault = stream_fault(bounded, *(active[part][m] for part in ALL))
        if fault:
            return fault
    # Active sums add up differences of sums, and are rounded once more in every round.
    return later_fault(bounded, active, side, one_sum=False)
