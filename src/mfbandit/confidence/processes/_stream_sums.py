"""What confidence processes know of one stream of rewards."""

from __future__ import annotations

from typing import NamedTuple

from mfbandit.core import State, kernel

__all__ = ["StreamSums", "sums_of"]


class StreamSums(NamedTuple):
    """The rewards of one arm at one fidelity, as far as confidence processes look at them."""

    n: int
    """Number of rewards."""
    total: float
    """Their sum."""
    deviation: float
    """Sum of the squared distances of each from a forecast made before it: see `mfbandit.core.observe`."""


@kernel
def sums_of(state: State, arm: int, fidelity: int) -> StreamSums:
    """The sums of one stream."""
    return StreamSums(state.pulls[arm, fidelity], state.sums[arm, fidelity], state.deviations[arm, fidelity])
