"""One evaluation that a study asks for."""

from __future__ import annotations

from dataclasses import dataclass

from mfbandit.rewards import bits, trial_key

__all__ = ["Pull", "Seeds", "make_pull"]

_MASK = (1 << 31) - 1


@dataclass(frozen=True)
class Pull:
    """One evaluation: which arm to measure, and how.

    Examples
    --------
    >>> import mfbandit as mf
    >>> from mfbandit.study import create_study
    >>> problem = mf.Problem(["a", "b"], [("quick", 1.0, 0.1), ("exact", 9.0, 0.0)])
    >>> pull = create_study(problem).ask()[0]
    >>> pull.id, pull.arm, pull.fidelity, pull.cost, pull.index
    (0, 'a', 'quick', 1.0, 0)
    """

    id: int
    """Its number in the study, in the order of asking."""
    arm: str
    fidelity: str
    cost: float
    seed: int
    """A function of the study's seed, the arm, the fidelity and the index; below 2^31, so that every
    library takes it. Draw your test case from it: ``random.Random(pull.seed).choice(cases)``."""
    index: int
    """How many pulls of this arm at this fidelity were asked for before. Never choose test cases by it, but
    draw them from the seed: arms that share their cases share their luck, and certificates take rewards
    of different arms for independent."""
    arm_index: int
    fidelity_index: int
    study: str
    """Tells the pulls of one study from those of another."""
    block: int | None = None
    """The condition to measure it on, for a problem with blocks: the item of a finite set, counted from 0, or the
    number of a block. All arms are measured on the same ones."""
    block_seed: int | None = None
    """A seed for whatever is drawn on that block (its split, its random numbers), the same for all arms; below
    2^31."""


def make_pull(fields: dict[str, object]) -> Pull:
    """Make a pull from all its fields; three times as fast as a frozen class makes it."""
    pull = object.__new__(Pull)
    object.__setattr__(pull, "__dict__", fields)
    return pull


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
