"""What confidence processes know of one stream of rewards, and slots for what each of them says about it."""

from __future__ import annotations

from typing import NamedTuple

from mfbandit.core import Arrays, State, kernel, slot

__all__ = ["StreamSums", "above", "below", "log_e_above", "log_e_below", "sums_of"]


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


@slot
def above(problem: Arrays, width: float, stream: StreamSums) -> float:
    """Upper confidence bound on the mean; width = log(1/alpha)."""


@slot
def below(problem: Arrays, width: float, stream: StreamSums) -> float:
    """Lower confidence bound on the mean; width = log(1/alpha)."""


@slot
def log_e_above(problem: Arrays, stream: StreamSums, q: float) -> float:
    """Log e-value against "mean <= q"."""


@slot
def log_e_below(problem: Arrays, stream: StreamSums, q: float) -> float:
    """Log e-value against "mean >= q"."""
