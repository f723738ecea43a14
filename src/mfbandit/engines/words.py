"""Names and amounts in lines for people."""

from __future__ import annotations

__all__ = ["percent", "shown"]

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
