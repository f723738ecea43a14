"""One evaluation that a study asks for."""

from __future__ import annotations

from mfbandit.core import bits, trial_key

__all__ = ["Seeds"]


_MASK = (1 << 31) - 1


class Seeds:
    """The seeds of the pulls of a study.

    The seeds of one arm at one fidelity never repeat within 2^31 pulls: they number the pulls through
    a permutation of the 31-bit numbers.
    """

    def __init__(self, seed: int) -> None:
        self._key = trial_key(seed, 0)
        self._starts: dict[int, tuple[int, int]] = {}

    def seed(self, stream: int, index: int) -> int:
        """The seed of the pull number `index` of a stream (an arm at a fidelity)."""
        known = self._starts.get(stream)
        if known is None:
            known = (bits(self._key, stream, 0, 0) & _MASK, bits(self._key, stream, 1, 0) & _MASK)
            self._starts[stream] = known
        word = ((index + known[0]) * 0x2C1B3C6D) & _MASK
        word = ((word ^ (word >> 12)) * 0x297A2D39) & _MASK
        return (word ^ (word >> 15)) ^ known[1]
