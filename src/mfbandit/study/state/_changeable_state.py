"""What becomes of the state of a study when its settings change."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from mfbandit.core import ROUNDS, clear_rest
from mfbandit.errors import StorageError
from mfbandit.study.state._study_progress import StudyProgress
from mfbandit.study.state.rounds._round import Round
from mfbandit.study.state.rounds._round_record import apply_diff
from mfbandit.study.state.rounds._window import Window

__all__ = ["ChangeableState"]


class ChangeableState(StudyProgress):
    """How far a study has come, and what other settings do to it."""

    def change(self, changes: Mapping[str, Any]) -> bool:
        """Go on with other settings; returns whether the next pull is given a number later for it.

        That is so where the study has ended with a round without pulls: the next one must not begin with its number.
        """
        self.count_up_to(changes.get("counted"))
        if "noted" in changes:
            self._diff = None
            apply_diff(self.state, changes["noted"])
            clear_rest(self.state.own)
        before = self.settings.limit
        self.follow(changes)
        skips = False
        if self.settings.limit > before:
            self.round.cut = False
            skips = self.ended == "max_cost" and self._go_on()
        if self.judges_again and self.ended in ("certified", "answered"):
            self.state.clock[ROUNDS] += 1  # the round without pulls that ended it is over
            skips = self._go_on()
        if self.settings.limit > before and self.round.barrier < math.inf:
            self._look_at_limit()
            self._fold()
        return skips

    def out_of_turn(self) -> dict[str, Any]:
        """What others may not know of: how many pulls have counted, and what a plan has noted that waited for them."""
        if not isinstance(self.round, Window):
            return {}
        noted = self._diff.changes(self.state) if self._diff is not None else {}
        return {"counted": self.round.first + self.round.folded, **({"noted": noted} if noted else {})}

    def count_up_to(self, counted: int | None) -> None:
        """Let as many pulls count as had when another process wrote a record; None if the record says nothing."""
        if counted is None:
            return
        while self.round.first + self.round.folded < counted and self._count_next():
            pass
        if self.round.first + self.round.folded != counted:
            raise StorageError(f"the log goes on from {counted} results that have counted, which it does not have")

    def _count_next(self) -> bool:
        """Let the next row count, if rows count when others are out; returns whether one could."""
        return False

    def _go_on(self) -> bool:
        """Take back that the study has ended; returns whether a number was left out."""
        self.ended = ""
        if not self.ends_empty:
            return False
        self.rounds += 1
        self.round = self.empty_round(self.asked + 1)
        return True

    def empty_round(self, first: int) -> Round:
        """No pulls, and the next one to be planned has this number."""
        return Round(first, (), False)

    def _fold(self) -> None:
        """Let the results count whose turn it is."""
        raise NotImplementedError
