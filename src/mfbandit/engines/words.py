"""Names and amounts in lines for people."""

from __future__ import annotations

__all__ = ["shown"]

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
