"""All that a race on blocks has measured, lane by lane, and the levels and weights that its evidence is judged by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from mfbandit.confidence.race._cells import LaneCells
from mfbandit.confidence.race._guards import Guards
from mfbandit.confidence.race._lane import Lane
from mfbandit.confidence.race._rules import OpenArms, ProcessWeights, weights
from mfbandit.core import STUDENT, Arrays, State, arrays, is_led
from mfbandit.model import Problem

__all__ = ["RaceData"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

#: After so many rewards that are all 0 or 1 there is no evidence that takes them for normal.
_WHOLE = 20


@dataclass(frozen=True)
class RaceData:
    """What a race has measured, and how it is judged."""

    problem: Problem
    """With the bias bounds and the kind of reward that are believed."""
    columns: list[int]
    """The fidelities in use, the truest among them."""
    delta: float
    epsilon: float
    """In units of the reward."""
    rewards: Floats | Sequence[LaneCells]
    """In unit scale, by lane: as cells, or as tables (K, n) by position; NaN beyond what is known and for cells that
    could not be had."""
    known: Ints
    """How many positions of each arm in each lane are known, (K, M)."""
    declared: Ints
    """Leader and runner-up by position, -1 for nobody, (M, n, 2)."""
    open: OpenArms | None = None
    """Who is there, where arms may join and leave; None if they may not."""

    @classmethod
    def of_state(
        cls,
        problem: Problem,
        columns: list[int],
        delta: float,
        epsilon: float,
        state: State,
        present: Flags | None = None,
    ) -> Self:
        """The race that a state holds; `present` says who is there, where arms may join and leave."""
        known = state.pulls.copy()
        blocks = int(known.max(initial=0))
        rewards = [LaneCells.of_blocks(state.blocks, m, known[:, m]) for m in range(len(columns))]
        declared = state.blocks.declared[:, :blocks].copy()
        declared[np.arange(blocks) >= state.blocks.opened[:, None]] = -1
        arms = None if present is None else OpenArms(present, state.blocks.joined)
        return cls(problem, columns, delta, epsilon, rewards, known, declared, arms)

    @cached_property
    def _seen(self) -> Arrays:
        return arrays(self.problem, self.columns)

    @cached_property
    def _lanes(self) -> list[Lane]:
        rules = self._seen.blocks
        return [
            Lane(
                given=self.rewards[m],
                known=self.known[:, m],
                declared=self.declared[m],
                bias=self._seen.bias[:, m],
                pair_bias=float(rules.pair_bias[m]),
                size=rules.size,
                swing=rules.swing,
                joined=None if self.open is None else self.open.joined[m],
            )
            for m in range(len(self.columns))
        ]

    @property
    def _truest(self) -> Lane:
        return self._lanes[self._seen.truest]

    @property
    def _normal(self) -> bool:
        return self._seen.reward_code == STUDENT

    @cached_property
    def _guards(self) -> list[Guards]:
        rules = self._seen.blocks
        return [Guards(lane, rules.caution, rules.resolution) for lane in self._lanes]

    @cached_property
    def _mute(self) -> bool:
        """Whether rewards are declared normal and are all 0 or 1."""
        if not self._normal:
            return False
        had = [lane.cells.values[~np.isnan(lane.cells.values)] for lane in self._lanes]
        whole = [np.isin(self.problem.reward.from_unit(part), (0.0, 1.0)).all() for part in had]
        return sum(part.size for part in had) >= _WHOLE and all(whole)

    @property
    def _arms(self) -> int:
        return self.problem.n_arms

    @cached_property
    def _weights(self) -> ProcessWeights:
        return weights(self._arms, self._normal, self.open is None and is_led(self._seen))

    @property
    def _present(self) -> Flags:
        return np.ones(self._arms, dtype=bool) if self.open is None else self.open.present

    @cached_property
    def log_level(self) -> float:
        """Log of the level at which an arm is beaten.

        Where arms may join and leave, the data have a say in which of them is the best of those there: each place has
        its share of delta.
        """
        return math.log(self.delta if self.open is None else self.delta / self._arms)
