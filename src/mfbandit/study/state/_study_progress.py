"""How far a study has come: what is out, what has counted and been paid, and what it waits for."""

from __future__ import annotations

from collections import Counter

from mfbandit.core import PULLS
from mfbandit.study._settings import Settings
from mfbandit.study.state._state_basis import StudyStatistics
from mfbandit.study.state.rounds._round import HoldUp, Round

__all__ = ["StudyProgress"]


class StudyProgress(StudyStatistics):
    """The statistics of a study, the round being played, and how it ended, to be read."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.round = Round(0, (), False)
        self.rounds = 0
        #: How the study ended; empty while it goes on.
        self.ended = ""
        #: Whether the last round that was planned has no pulls.
        self.ends_empty = False
        #: Reasons of the failures of pulls without a result, by pull.
        self.failures: dict[int, list[str]] = {}
        #: Pulls that failed too often, where a study then stops.
        self.stuck: dict[int, str] = {}
        #: How many pulls may be out at once at fidelities that have a limit of their own.
        limits = [fidelity.at_most for fidelity in settings.problem.fidelities]
        self._at_most = {number: most for number, most in enumerate(limits) if most is not None}

    @property
    def asked(self) -> int:
        """How many pulls were planned so far."""
        return self.round.first + self.round.size

    def block_at(self, place: int, seed: int) -> tuple[int | None, int | None]:
        """The block of a place of the round being played, and its seed; `seed` is that of the pull."""
        if self.book is None:
            return None, None
        row, index = self.round.pull_at(place)
        block = row.blocks[index - row.start]
        return block, self.book.seed(row.fidelity, block, seed)

    def next_place(self) -> int:
        """The next place of a pull to hand out, or -1; fidelities with as many out as they may have wait."""
        if not self._at_most:
            return self.round.next_place()
        out = Counter(self.round.row_of(place).fidelity for place in self.round.leases)
        full = {fidelity for fidelity, most in self._at_most.items() if out[fidelity] >= most}
        return self.round.next_place_at(full) if full else self.round.next_place()

    def hold_up(self) -> HoldUp:
        """Why no pull can be handed out now."""
        if self.ended or self.stuck or self.due or self.next_place() >= 0:
            return HoldUp()
        free = self.round.next_place()
        if free >= 0:
            return HoldUp("at_most", fidelity=self.round.row_of(free).fidelity)
        return HoldUp("round", self.round.first + self.round.first_missing())

    @property
    def due(self) -> bool:
        """Whether a round has to be planned."""
        return not self.ended and self.round.folded == self.round.size

    @property
    def planned_cost(self) -> float:
        """What all pulls that were planned cost, those without a result among them."""
        past, end, total = self.round.folded, 0, self.folded_cost
        for row in self.round.rows:
            end += row.size
            total += max(0, min(row.size, end - past)) * row.cost
        return total

    @property
    def status(self) -> str:
        """Where the study stands."""
        return self.ended or ("failed" if self.stuck else "running")

    @property
    def cost(self) -> float:
        """The cost of all pulls that have a result."""
        playing = self.round
        total = self.folded_cost
        if playing.folded == playing.size:
            return total
        for place, reward in playing.waiting.items():
            if reward is not None:
                total += playing.row_of(place).cost
        return total

    @property
    def folded_pulls(self) -> int:
        """How many results have counted, those of retired arms among them."""
        return int(self.state.clock[PULLS]) + self.round.counted_in_row()[0]

    @property
    def folded_cost(self) -> float:
        """What they cost, with pulls of retired arms that were out when these were given up."""
        told, in_flight = self.round.counted_in_row()
        total = float(self.state.spent[0])
        return total + (told + in_flight) * self.round.rows[self.round.row].cost if told + in_flight else total
