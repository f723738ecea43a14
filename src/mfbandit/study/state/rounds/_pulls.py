"""The pulls that a study hands out, and their seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mfbandit.core import bits, trial_key
from mfbandit.model import Pull, make_pull
from mfbandit.study._settings import Settings

if TYPE_CHECKING:
    from mfbandit.study.state._study_progress import StudyProgress

__all__ = ["Pulls", "Seeds"]


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


class Pulls:
    """Makes the pulls of a study."""

    def __init__(self, settings: Settings, study: str) -> None:
        self._seeds, self._study = Seeds(settings.seed), study
        self._fidelities = [fidelity.name for fidelity in settings.problem.fidelities]

    def seed(self, arm: int, fidelity: int, index: int) -> int:
        """The seed of a pull, by how many of its arm at its fidelity came before."""
        return self._seeds.seed(arm * len(self._fidelities) + fidelity, index)

    def pull(self, study_state: StudyProgress, position: int, seed: int, block: tuple[int | None, int | None]) -> Pull:
        """The pull at a position of the round being played; `block` is its block and the seed of that, if there are."""
        row, index = study_state.pull_at(position)
        return make_pull(
            {
                "id": study_state.round.first + position,
                "arm": study_state.settings.problem.arms[row.arm],
                "fidelity": self._fidelities[row.fidelity],
                "cost": row.cost,
                "seed": seed,
                "index": index,
                "arm_index": row.arm,
                "fidelity_index": row.fidelity,
                "study": self._study,
                "block": block[0],
                "block_seed": block[1],
                "done": None if row.done < 0 else self._fidelities[row.done],
                "folder": None,
            }
        )
