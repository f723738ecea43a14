"""The weights that evidence is averaged with, by their number.

Any fixed weights of total 1 are valid. But evidence is of one kind from the first reward of a study to its last, since
whoever may choose between two after looking has two chances to err: so a study keeps the weights that it began with,
a certificate names them, and those that were ever in use stay here.

1. Until certificates named their weights.
2. The prior of the levels is a wide bell on even ground, since most answers that can be afforded take some to some
   thousand pulls; less is for levels of two arms that differ much, more for what leaders have shown, and for the truest
   fidelity alone.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from mfbandit.confidence.pair._likelihood_levels import LEVELS

__all__ = ["NEWEST", "WEIGHTS", "Weights", "tables"]


class Weights(NamedTuple):
    """What evidence is averaged with."""

    levels: tuple[float, ...]
    """Prior of the levels, of any total."""
    near: float
    """The two arms' levels differ by d with prior proportional to this to the power |d|."""
    leaders: float
    """The part of the evidence against an arm that rests on what declared leaders have shown; pairs share the rest."""
    led: float = 0.6
    """How much of a leader's factor rests on its rewards: one that was lucky and led for a while must not spoil all."""
    truest: float = 0.1
    """Weights of the truest fidelity alone,"""
    carried: float = 0.1
    """of one fidelity that carries the gap while others help, and the rest of the active rewards."""
    led_truest: float = 0.0
    """The part of what leaders have shown that rests on the truest fidelity alone."""
    help: float = 0.3
    """How much a fidelity that does not carry the gap may help."""
    fallback: float = 0.05
    """Prior of the fallback."""

    @property
    def prior(self) -> tuple[float, ...]:
        """The prior of the levels, of total 1 together with the fallback."""
        total = sum(self.levels)
        return tuple((1.0 - self.fallback) * one / total for one in self.levels)


WEIGHTS = (
    Weights(tuple(1.0 / (i + 6.0) for i in range(LEVELS)), near=0.55, leaders=0.8),
    Weights(
        tuple(math.exp(-0.5 * ((i - 4.5) / 5.5) ** 2) + 0.08 for i in range(LEVELS)),
        near=0.5,
        leaders=0.95,
        led=0.65,
        led_truest=0.07,
        truest=0.2,
        carried=0.05,
        fallback=0.02,
    ),
)


def tables(rows: tuple[Weights, ...]) -> dict[str, tuple[float, ...]]:
    """The weights as kernels read them: each by its number less 1, the priors of the levels one after the other."""
    return {
        "_PRIOR": tuple(part for one in rows for part in one.prior),
        "_NEAR": tuple(one.near for one in rows),
        "_OFFSET_PRIOR": tuple((1.0 - one.near) / (1.0 + one.near) for one in rows),
        "_FALLBACK_PRIOR": tuple(one.fallback for one in rows),
        "_HELP": tuple(one.help for one in rows),
        "_LED": tuple(one.led for one in rows),
        "_LED_TRUEST": tuple(one.led_truest for one in rows),
        "_TRUEST": tuple(one.truest for one in rows),
        "_CARRIED": tuple(one.carried for one in rows),
        "_ACTIVE": tuple(1.0 - one.truest - one.carried for one in rows),
    }


#: The number of the weights that new studies have.
NEWEST = len(WEIGHTS)
