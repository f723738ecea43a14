"""What is paid for one pull: by whatever runs for it, in whichever tasks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

__all__ = ["Meter", "count_payment", "metered"]


@dataclass
class Meter:
    """What was paid so far."""

    paid: float = 0.0


#: Tasks that are started for a pull have a copy of this, with the same meter: who starts a call pays for it.
_METER: ContextVar[Meter | None] = ContextVar("mfbandit_meter", default=None)


def count_payment(price: float) -> None:
    """Count what was paid just now."""
    meter = _METER.get()
    if meter is not None:
        meter.paid += price


@contextmanager
def metered() -> Iterator[Meter]:
    """Count what is paid meanwhile.

    Examples
    --------
    >>> with metered() as meter:
    ...     count_payment(0.5)
    >>> count_payment(2.0)
    >>> meter.paid
    0.5
    """
    meter = Meter()
    token = _METER.set(meter)
    try:
        yield meter
    finally:
        _METER.reset(token)
