"""Names and numbers for people: in lines of a terminal, on pages and in pictures."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import takewhile

__all__ = ["amount", "duration", "floored", "percent", "shortened", "shown", "told_apart"]

_WIDEST = 40


def shown(name: str, widest: int = _WIDEST) -> str:
    r"""A name as it can stand in one line of a terminal: no control characters, not too long.

    Examples
    --------
    >>> shown("two\nlines"), shown("it's <b>bold</b>"), shown("x" * 50, 8)
    ('two\\nlines', "it's <b>bold</b>", 'xxxxxxx…')
    """
    plain = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in name)
    return plain if len(plain) <= widest else plain[: widest - 1] + "…"


def told_apart(names: Iterable[str], widest: int = _WIDEST) -> dict[str, str]:
    """Names as they can stand in one line each, by name: those that begin alike without their common beginning.

    Examples
    --------
    >>> told_apart(["You are helpful. Say yes or no.", "You are helpful. Be brief.", "short"], 16)
    {'You are helpful. Say yes or no.': '…Say yes or no.', 'You are helpful. Be brief.': '…Be brief.', 'short': 'short'}
    """
    found = {name: shown(name, widest) for name in names}
    alike: dict[str, list[str]] = {}
    for name, label in found.items():
        alike.setdefault(label, []).append(name)
    for same in alike.values():
        common = sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, zip(*same, strict=False)))
        if len(same) > 1 and common:
            # From the beginning of a word on, if that is near.
            word = same[0][:common].rfind(" ") + 1
            start = word if 2 * word > common else common
            rests = told_apart([name[start:] for name in same], widest - 1)
            found |= {name: f"…{rests[name[start:]]}" for name in same}
    return found


def percent(value: float) -> str:
    """A confidence in percent, never rounded up.

    Examples
    --------
    >>> percent(0.95), percent(0.99987), percent(0.123), percent(1.0 - 1e-9)
    ('95%', '99.98%', '12.3%', 'over 99.99%')
    """
    if value > 0.9999:
        return "over 99.99%"
    digits = 2 if value > 0.99 else 1
    scale = 10**digits
    # What is a round number of percent up to rounding errors stays one.
    return f"{int(value * 100 * scale + 1e-9) / scale:g}%"


def amount(value: float | None, digits: int = 4) -> str:
    """Write a number for people: thousands separated, a few digits, words for what is no number.

    Examples
    --------
    >>> amount(57657.62), amount(0.1263920), amount(8986407.3), amount(None), amount(math.inf)
    ('57,658', '0.1264', '8,986,407', '-', 'infinite')
    """
    if value is None or math.isnan(value):
        return "-"
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def duration(seconds: float) -> str:
    """A time in the unit that suits it.

    Examples
    --------
    >>> duration(0.2), duration(12.4), duration(200.0), duration(20_000.0), duration(400_000.0)
    ('0 s', '12 s', '3 min', '5.6 h', '4.6 days')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 2 * 86400 else f"{seconds / 86400:.1f} days"


def floored(confidence: float) -> str:
    """A confidence in as many digits as it deserves, never rounded up.

    Examples
    --------
    >>> floored(0.95), floored(0.99987), floored(1.0), floored(0.9999999)
    ('0.95', '0.9998', '1', '0.9999')
    """
    if confidence >= 1.0:
        return "1"
    return f"{math.floor(confidence * 1e4 + 1e-9) / 1e4:g}"


def shortened(text: str, longest: int) -> str:
    r"""A text on one line, cut where it is too long.

    Examples
    --------
    >>> shortened("two\nlines", 20), shortened("a long story", 7)
    ('two lines', 'a long…')
    """
    plain = " ".join(text.split())
    return plain if len(plain) <= longest else f"{plain[: longest - 1]}…"
