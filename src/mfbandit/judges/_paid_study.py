"""A study of graders: a limit on money that is really paid, and the grades that its log holds.

A study plans with the price of every pull, and is told afterwards what it has really cost: a grade that is there
already costs nothing. Whether a pull can be paid for depends on that. So a limit on money is kept beside the study: a
pull that cannot be paid for is given back, and the study ends there.

Where grades are kept, all of them may be known at some time. Then draws are free, and the answer is known
without them: the study goes on for some time, to reach its certificate, and ends if it is out of reach.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from mfbandit.model import Pull
from mfbandit.study import Seeds
from mfbandit.study.api import logged_pulls
from mfbandit.study.state import BlockBook

if TYPE_CHECKING:
    from mfbandit.study import Result, Study

__all__ = ["PaidStudy", "told_pulls"]

#: Rounding that sums of prices may differ by.
_SLACK = 1e-9


class PaidStudy:
    """A study whose pulls are handed out as long as there is money for them; else just the study.

    Parameters
    ----------
    study
        The study; it has no limit of its own.
    owed
        What is to be paid for a pull now, by what it is for: two pulls may need the same answer.
    paid
        What was paid for the study so far.
    limit
        What may be paid in all.
    known
        Whether every grade that the answer depends on is known.
    free_draws
        How many more draws to make then.
    """

    def __init__(
        self,
        study: Study,
        owed: Callable[[Pull], Mapping[Any, float]],
        paid: Callable[[], float],
        limit: float,
        known: Callable[[], bool],
        free_draws: int,
    ) -> None:
        self._study = study
        self._owed, self._paid, self._known = owed, paid, known
        self._limit = limit * (1.0 + _SLACK)
        self._free_draws = free_draws
        self._reserved: dict[int, Mapping[Any, float]] = {}
        #: Whether the next pull has to wait until it is known what those under way cost.
        self._waits = False
        #: How it ended, if not by itself.
        self._ended: str | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._study, name)

    @property
    def status(self) -> str:
        """Where it stands; "max_cost" if a pull could not be paid for, "complete" if all grades are known."""
        found = self._study.status
        return self._ended if self._ended and found == "running" else found

    @property
    def done(self) -> bool:
        """Whether there is nothing more to ask for."""
        return self.status != "running"

    def ask(self, n: int = 1, **options: Any) -> list[Pull]:
        """Get up to `n` pulls that can be paid for."""
        if self._ended or self._waits:
            return []
        pulls = self._study.ask(n, **options)
        if pulls and self._known():
            self._free_draws -= len(pulls)
            if self._free_draws < 0:
                self._study.release(pulls)
                self._ended = "complete"
                return []
        for position, pull in enumerate(pulls):
            owed = self._owed(pull) if self._limit < math.inf else {}
            if owed and self._paid() + self._sum_with(owed) > self._limit:
                self._study.release(pulls[position:])
                self._waits = bool(self._reserved)
                self._ended = None if self._waits else "max_cost"
                return pulls[:position]
            self._reserved[pull.id] = owed
        return pulls

    def _sum_with(self, owed: Mapping[Any, float]) -> float:
        """What all that is under way costs, with something more."""
        everything = dict(owed)
        for one in self._reserved.values():
            everything.update(one)
        return math.fsum(everything.values())

    def tell(self, pull: Pull, *arguments: Any, **options: Any) -> bool:
        """Report the reward of a pull."""
        self._unreserve([pull])
        return self._study.tell(pull, *arguments, **options)

    def tell_all(self, rewards: Iterable[tuple[Pull, float]]) -> list[bool]:
        """Report many rewards in one step, as runs do."""
        told = list(rewards)
        self._unreserve(pull for pull, _ in told)
        return self._study.tell_all(told)

    def fail(self, pull: Pull, *arguments: Any, **options: Any) -> bool:
        """Report that the evaluation of a pull failed."""
        self._unreserve([pull])
        return self._study.fail(pull, *arguments, **options)

    def release(self, pulls: Iterable[Pull]) -> None:
        """Give back pulls that nobody will evaluate."""
        given = list(pulls)
        self._unreserve(given)
        self._study.release(given)

    def heartbeat(self, pulls: Iterable[Pull], **options: Any) -> list[Pull]:
        """Say that pulls are still being worked on; returns those that are still wanted."""
        given = list(pulls)
        wanted = self._study.heartbeat(given, **options)
        kept = {pull.id for pull in wanted}
        self._unreserve(pull for pull in given if pull.id not in kept)
        return wanted

    def result(self, status: str | None = None) -> Result:
        """The answer so far."""
        return self._study.result(self.status if self.status == self._ended else status)

    def _unreserve(self, pulls: Iterable[Pull]) -> None:
        """Keep no more money for these pulls: what they cost is known now."""
        for pull in pulls:
            self._reserved.pop(pull.id, None)
            self._waits = False


def told_pulls(study: Study) -> Iterator[tuple[Pull, float]]:
    """The pulls of a study that have a reward, with it, in the order of asking."""
    problem, seeds = study.problem, Seeds(study.settings.seed)
    book = None if problem.blocks is None else BlockBook(study.settings)
    for asked, reward in logged_pulls(study):
        seed = seeds.seed(asked.arm * problem.n_fidelities + asked.fidelity, asked.before)
        if not math.isnan(reward):
            pull = Pull(
                id=asked.pull,
                arm=problem.arms[asked.arm],
                fidelity=problem.fidelities[asked.fidelity].name,
                cost=asked.cost,
                seed=seed,
                index=asked.before,
                arm_index=asked.arm,
                fidelity_index=asked.fidelity,
                study=study.identity,
                block=asked.block,
                block_seed=None if book is None else book.seed(asked.fidelity, asked.block or 0, seed),
            )
            yield pull, reward
