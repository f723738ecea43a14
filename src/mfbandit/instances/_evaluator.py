"""Evaluators: functions that stand in for real evaluations, with rewards drawn from an instance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from mfbandit._checks import closest
from mfbandit.core import bits, trial_key
from mfbandit.errors import InvalidInput
from mfbandit.instances._block_draws import row_of
from mfbandit.instances._block_laws import BlockTableLaw

if TYPE_CHECKING:
    from mfbandit.instances._instance import Instance

__all__ = ["Evaluator", "PullLike"]


class PullLike(Protocol):
    """What an evaluator looks at: names of the arm and the fidelity, and a seed."""

    @property
    def arm(self) -> str:
        """Name of the arm."""

    @property
    def fidelity(self) -> str:
        """Name of the fidelity."""

    @property
    def seed(self) -> int:
        """What the reward is drawn by."""


@dataclass(frozen=True, eq=False)
class Evaluator:
    """A stand-in for a real evaluation: the reward of a pull, drawn from an instance's law.

    It is a pure function of the pull's arm, fidelity and seed (with blocks: its block), so a pull that is
    repeated gives the same reward in any thread or process. Made by :func:`evaluator`.
    """

    instance: Instance
    seed: int
    law: Any
    draw: Callable[..., float]
    arms: dict[str, int]
    fidelities: dict[str, int]

    def __call__(self, pull: PullLike) -> float:
        """Return the reward of a pull, in reward units."""
        arm = self._index(self.arms, pull.arm, "arm")
        fidelity = self._index(self.fidelities, pull.fidelity, "fidelity")
        if self.instance.problem.blocks is not None:
            return self._on_block(pull, arm, fidelity)
        key = trial_key(int(pull.seed), self.seed)
        return self._reward(self.draw(self.law, key, arm * len(self.fidelities) + fidelity, arm, fidelity, 0))

    def _on_block(self, pull: PullLike, arm: int, fidelity: int) -> float:
        """The reward of an arm on a pull's block: that of a simulated trial 0 with the seed of the study."""
        law, blocks = self.instance.law, self.instance.problem.blocks
        unlimited = blocks == "unlimited"
        # Pulls of problems without blocks have no such fields, or None in them.
        asked = getattr(pull, "block_seed" if unlimited else "block", None)
        if asked is None or not (unlimited or 0 <= asked < self.law.size):
            raise InvalidInput(f"the instance has {blocks} blocks, and the pull is on block {asked!r}")
        seed = int(asked) if self.seed == 0 else bits(trial_key(int(asked), self.seed), 0, 0, 0) & 0x7FFFFFFF
        if isinstance(law, BlockTableLaw):
            return float(law.values[arm, fidelity, row_of(seed, law.blocks) if unlimited else int(asked)])
        return self._reward(self.draw(self.law, seed, arm * len(self.fidelities) + fidelity, arm, fidelity))

    def _reward(self, unit: float) -> float:
        """A draw in reward units; rounding does not lead out of their range."""
        kind = self.instance.problem.reward
        reward = float(kind.from_unit(float(unit)))
        if kind.low is None or kind.high is None:
            return reward
        return min(max(reward, kind.low), kind.high)

    @staticmethod
    def _index(known: dict[str, int], name: str, what: str) -> int:
        if name not in known:
            raise InvalidInput(f"the instance has no {what} {name!r}{closest(str(name), known)}")
        return known[name]
