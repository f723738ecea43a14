"""Blocks in a study: which block each pull is on, what it costs to open one, and the rounds of a race so far.

A round's record says the block of each pull (``"blocks"``, one list per row) and what was opened and declared in it
(``"opened"``: fidelity, block, leader, runner-up). Whoever follows a log takes both from there and plans nothing
again; both must be what the study's seed gives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from mfbandit.core import (
    NOBODY,
    STUDENT,
    Ints,
    State,
    block_order,
    block_seed,
    clear_rest,
    enlarged,
    open_block,
    own_block,
    trial_key,
    with_deep_rows,
)
from mfbandit.errors import StorageError, StudyError
from mfbandit.storage import FAILURE
from mfbandit.study._settings import Settings
from mfbandit.study.state._planner import Planner
from mfbandit.study.state.rounds._continuing import Continuing
from mfbandit.study.state.rounds._costs import Costs
from mfbandit.study.state.rounds._round import PlannedRow
from mfbandit.study.state.rounds._round_rows import list_rows

if TYPE_CHECKING:
    from mfbandit.confidence.race import Race

__all__ = ["BlockBook", "RaceLog", "arms_on_block", "missing_cells", "return_unbeaten", "write_blocks"]

#: A plan opens at most so many blocks of a lane in one round, or this share of those that are open, or a batch.
_MOST_OPENED, _SHARE_OPENED = 8, 0.03
#: Room for blocks grows by doubling from here.
_LEAST_ROOM = 64
#: Normal rewards are refused when so many are all 0 or 1.
_ZERO_ONE = 20
#: What rounding may do to the logarithm of evidence.
_SLACK = 1e-9


@lru_cache(maxsize=8)
def _order(seed: int, lanes: int, size: int, shared: bool) -> Ints:
    """The order of blocks, which takes long to make for a large set and is needed whenever a log is read."""
    order = block_order(seed, lanes, size, shared)
    order.flags.writeable = False
    return order


class BlockBook:
    """Which block each pull of a study is on, and what it costs."""

    def __init__(self, settings: Settings, costs: Costs | None = None) -> None:
        problem = settings.problem
        self._seed = settings.seed
        self._lanes = problem.n_fidelities
        self._size = 0 if problem.blocks == "unlimited" else int(problem.blocks or 0)
        self._shared = problem.order == "shared"
        #: Whether every pull draws a block of its own.
        self.independent = settings.seen.blocks is None
        self._costs = Costs(settings) if costs is None else costs
        self.continuing = Continuing(settings.seen, self._costs)
        self._opening = [fidelity.block_cost for fidelity in problem.fidelities]
        self._key = trial_key(settings.seed, 0)
        #: The item at each position of each fidelity, for a race on a finite set.
        self.order: Ints | None = None
        if self._size and not self.independent:
            self.order = _order(settings.seed, self._lanes, self._size, self._shared)

    def blocks(self, arm: int, fidelity: int, start: int, size: int) -> tuple[int, ...]:
        """The blocks of so many pulls of an arm at a fidelity, after `start` others."""
        if self.order is not None:
            return tuple(self.order[fidelity, start : start + size].tolist())
        if not self.independent:
            return tuple(range(start, start + size))
        stream = arm * self._lanes + fidelity
        return tuple(own_block(self._key, stream, start + i, self._size) for i in range(size))

    def seed(self, fidelity: int, block: int, pull_seed: int) -> int:
        """The seed of whatever is drawn on a block."""
        if self.independent:
            return pull_seed
        return block_seed(self._seed, "shared" if self._shared else fidelity, block)

    def rows_with_starts(self, planner: Planner, state: State, rows: Sequence[Sequence[int]]) -> list[PlannedRow]:
        """The rows of a round, with their blocks and what one pull costs.

        One that measures an arm on blocks that are paid for and on others becomes two. A policy plans such a row where
        a limit has cut the round that opened the blocks, and somebody else leads when the study goes on.
        """
        paid: dict[int, int] = {}
        found = []
        for row in list_rows(planner, self._costs, state, rows):
            if self.independent:
                found.append(row._replace(blocks=self.blocks(row.arm, row.fidelity, row.start, row.size)))
                continue
            # A block is opened by the round that first measures anybody on it: those before are all paid for.
            column = row.cell[1]
            known = paid.setdefault(column, int(state.pulls[:, column].max()))
            self._check(row.start + row.size, int(state.blocks.opened[column]))
            before = max(0, min(row.size, known - row.start))
            if before or not row.size:
                found.append(self._part(row, 0, before, False))
            if before < row.size:
                found.append(self._part(row, before, row.size, True))
                paid[column] = row.start + row.size
        return self._split(planner, state, found) if self.continuing.before else found

    def _split(self, planner: Planner, state: State, rows: Sequence[PlannedRow]) -> list[PlannedRow]:
        """The parts of rows that go on from something else."""
        found: list[PlannedRow] = []
        for row in rows:
            pulls = dict(zip(planner.columns, state.pulls[row.cell[0]].tolist(), strict=True))
            found += self.continuing.split(row, pulls)
        return found

    def _part(self, row: PlannedRow, first: int, end: int, opens: bool) -> PlannedRow:
        """A part of a row, on blocks that it opens or that are paid for."""
        start, opening = row.start + first, self._opening[row.fidelity] if opens else 0.0
        blocks = self.blocks(row.arm, row.fidelity, start, end - first)
        cost, price = row.cost + opening, row.price + opening
        return row._replace(size=end - first, start=start, cost=cost, price=price, blocks=blocks, opens=opens)

    @staticmethod
    def _check(end: int, opened: int) -> None:
        """Refuse a row that a policy must not plan."""
        if end > opened:
            raise StudyError(f"a round measures block {end - 1} of a fidelity that has opened {opened} so far")

    def check(self, rows: Sequence[PlannedRow], stored: Any) -> None:
        """Refuse a round whose record has other blocks than the seed gives."""
        if [list(row.blocks) for row in rows] != (stored or []):
            raise StorageError("the log holds a round on other blocks than the seed of the study gives: it is damaged")


class RaceLog:
    """The rounds of a race so far, what was opened in them, and all rewards in the order of asking."""

    def __init__(self, settings: Settings, planner: Planner, book: BlockBook) -> None:
        self.book, self._columns = book, planner.columns
        self._batch = int(getattr(settings.policy, "batch", 1))
        self._unscaled = planner.problem.reward_code == STUDENT
        self._arms = settings.problem.n_arms
        #: ``{"opened": [[fidelity, block, leader, runner-up], ...], "rows": [[arm, fidelity, pulls], ...]}``.
        self.rounds: list[dict[str, list[list[int]]]] = []
        #: What was opened for a round without pulls.
        self._unused: list[list[int]] = []
        #: In units of the reward; NaN for a cell that could not be had.
        self.rewards: list[float] = []
        #: How many pulls of each arm at each fidelity have opened a block.
        self.openings = np.zeros(settings.problem.costs.shape, dtype=np.int64)
        self._other_rewards, self._looked_at, self._known = False, 0, 0

    def begin(self, state: State) -> None:
        """Enter the order of blocks into a new state."""
        if self.book.order is not None:
            state.blocks.order[:] = self.book.order[self._columns]

    def with_room(self, state: State) -> State:
        """The state with room for all that the next round may open."""
        opened = int(state.blocks.opened.max())
        return self._roomy(state, opened + max(_MOST_OPENED, int(_SHARE_OPENED * opened) + 1, self._batch))

    def _roomy(self, state: State, wanted: int) -> State:
        # How much room there is depends on what is open alone, so that it is the same in all processes.
        held = state.blocks.declared.shape[1]
        if self.book.order is not None or wanted <= held:
            return state
        room = max(held, _LEAST_ROOM)
        while room < wanted:
            room *= 2
        return state._replace(blocks=enlarged(state.blocks, room))

    def with_rows(self, state: State, rows: Sequence[PlannedRow]) -> State:
        """The state with room for the rewards of the rows of a round."""
        held = state.blocks.rewards.shape[2]
        if held == state.blocks.declared.shape[1]:
            return state
        far = [row.cell for row in rows if row.start + row.size > held]
        return state._replace(blocks=with_deep_rows(state.blocks, far)) if far else state

    def opened(self, state: State, before: Sequence[int]) -> list[list[int]]:
        """What `plan` has opened since so many blocks of each lane were open, as a record says it."""
        found = []
        for lane, column in enumerate(self._columns):
            for position in range(before[lane], int(state.blocks.opened[lane])):
                leader, runner_up = state.blocks.declared[lane, position].tolist()
                found.append([column, self._item(column, position), leader, runner_up])
        return found

    def _item(self, column: int, position: int) -> int:
        """The item at a position; -1 where there is none."""
        order = self.book.order
        if order is None:
            return position
        return int(order[column, position]) if position < order.shape[1] else -1

    def follow(self, state: State, opened: Sequence[Sequence[int]]) -> State:
        """Open the blocks that the record of a round says were opened."""
        for column, item, leader, runner_up in opened:
            lane = self._columns.index(column)
            position = int(state.blocks.opened[lane])
            names = leader, runner_up
            if item != self._item(column, position) or not all(NOBODY <= arm < self._arms for arm in names):
                raise StorageError(f"the log opens {[column, item, leader, runner_up]} out of turn: it is damaged")
            state = self._roomy(state, position + 1)
            open_block(state.blocks, lane, leader, runner_up)
        return state

    def enter(self, opened: Sequence[Sequence[int]], rows: Sequence[PlannedRow]) -> None:
        """Note a round that was planned.

        One that nothing was left to pay for has no pulls. Should the study go on, the next one has the blocks that
        were opened for it.
        """
        self._unused += [list(one) for one in opened]
        if not rows:
            return
        plain = [[row.arm, row.fidelity, row.size] for row in rows]
        self.rounds.append({"opened": self._unused, "rows": plain})
        self._unused = []

    def count(self, row: PlannedRow, reward: float) -> None:
        """Note a reward whose turn it is."""
        self.rewards.append(reward)
        self.openings[row.arm, row.fidelity] += row.opens

    @property
    def refusal(self) -> str:
        """Why no more rounds are planned; empty if there is no reason."""
        if not self._unscaled or self._other_rewards:
            return ""
        for reward in self.rewards[self._looked_at :]:
            self._known += reward == reward
            self._other_rewards |= reward == reward and reward not in (0.0, 1.0)
        self._looked_at = len(self.rewards)
        if self._other_rewards or self._known < _ZERO_ONE:
            return ""
        return (
            f"{self._known} rewards so far are all 0 or 1, and nothing can be proven as if they were normal: "
            "declare reward='bernoulli' and start anew"
        )


def arms_on_block(state: State, lane: int, position: int) -> list[int]:
    """Who is or may yet be measured on a block that is open, those first who come farthest.

    They are all arms that had not been beaten when it was opened. So it is the same whenever one looks.
    """
    own = state.own
    found = np.flatnonzero((own.beaten == 0) | (own.last[lane] > position)).tolist()
    return sorted(found, key=lambda arm: -int(state.pulls[arm, lane] + own.flying[arm, lane]))


def return_unbeaten(race: Race, state: State) -> None:
    """Let those arms race again that were beaten before, and are not by what a race is judged by now.

    All evidence so far is looked at, in every lane. Capitals and sums are made again from the first block on.
    """
    own = state.own
    if not hasattr(own, "held"):
        # Other goals than the best arm: the next plan says who is settled, from all evidence there is.
        own.beaten[:] = 0
        own.last[:] = 0
        clear_rest(own)
        return
    if race.open is not None:
        # Who has left is beaten for good, and nobody's comparator.
        gone = ~race.open.present & (own.beaten == 0)
        own.beaten[gone] = 1
        own.last[:, gone] = state.blocks.opened[:, np.newaxis]
        own.held[np.isin(own.held, 1 + np.flatnonzero(~race.open.present))] = 0
    returning = (own.beaten == 1) & (race.log_p > race.log_level - _SLACK)
    own.beaten[returning] = 0
    own.last[:, returning] = 0
    own.paused[:] = 0
    clear_rest(own)


def missing_cells(settings: Settings, records: Iterable[Sequence[Any]]) -> list[int]:
    """The pulls of a race that failed too often, by the records of rounds that are over."""
    if settings.on_failure != "worst":
        return []
    failures = Counter(record[1] for record in records if record[0] == FAILURE)
    return [pull for pull, count in failures.items() if count > settings.retries]


def write_blocks(opened: Sequence[Sequence[int]], rows: Sequence[PlannedRow]) -> dict[str, list[list[int]]]:
    """What the record of a round says of blocks."""
    parts = {"opened": [list(one) for one in opened], "blocks": [list(row.blocks) for row in rows]}
    return {name: listed for name, listed in parts.items() if listed}
