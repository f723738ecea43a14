"""Which truth a judging is about, as a problem with blocks: every item is a block that all candidates share.

All candidates answer the same items, and what makes an item hard makes it hard for everybody. So candidates are
compared item by item, and all graders go through the items in one order: an answer is made once, and whoever
grades it grades the same. Preferences have an opponent on each block, too, the same for all candidates.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mfbandit.errors import InvalidInput
from mfbandit.judges.kept import content_key
from mfbandit.model import Fidelity, Problem, RewardKind

if TYPE_CHECKING:
    from mfbandit.model import Pull

__all__ = ["EXPECTED", "KEPT", "Conditions", "judged_problem", "with_words"]

KEPT, EXPECTED = "these grades", "expected grade"

#: What the true score of a candidate can be, and how a certificate says it.
_WORDS = {
    KEPT: "the mean over {items} of the grades by {truest!r}, each made once and kept",
    EXPECTED: "the mean over {items} of the grade that {truest!r} is expected to give",
}
#: The same for preferences.
_PREFERENCES = {
    KEPT: "the mean over {items} of how often {truest!r} prefers the answer to that of {whom}, each pair judged once",
    EXPECTED: "the mean over {items} of how often {truest!r} is expected to prefer the answer to that of {whom}",
}


@dataclass(frozen=True)
class Conditions:
    """What blocks are: items, and for preferences the opponents that answers are compared with.

    Kept grades are a finite set of numbers, one for each item, or each item and opponent. Expected grades are a mean
    over draws, of which there is no end.

    Examples
    --------
    >>> Conditions("these grades", ["x", "y"]).blocks, Conditions("these grades", ["x", "y"], ("a", "b", "c")).blocks
    (2, 6)
    """

    truth: str
    items: Sequence[Any]
    opponents: tuple[str, ...] = ()
    """Empty for scores; a baseline, or all candidates."""

    def __post_init__(self) -> None:
        if self.truth not in _WORDS:
            raise InvalidInput(f"truth must be {' or '.join(map(repr, _WORDS))}, got {self.truth!r}")

    @property
    def blocks(self) -> int | str:
        """How many blocks there are."""
        return len(self.items) * max(1, len(self.opponents)) if self.truth == KEPT else "unlimited"

    def of(self, pull: Pull) -> tuple[int, str | None]:
        """The position of the item that a pull is about, and the opponent.

        Where grades are kept its block says both. Where they are made anew they are drawn by the seed of its block.
        Pulls of a problem without blocks draw their own.
        """
        rivals = max(1, len(self.opponents))
        if self.truth == KEPT and pull.block is not None:
            item, rival = divmod(pull.block, rivals)
        else:
            chance = random.Random(pull.seed if pull.block_seed is None else pull.block_seed)
            item, rival = chance.randrange(len(self.items)), chance.randrange(rivals)
        return item, self.opponents[rival] if self.opponents else None

    def words(self, truest: str) -> str:
        """What the true score of a candidate is."""
        items = _in_words(self.items)
        if not self.opponents:
            return _WORDS[self.truth].format(items=items, truest=truest)
        whom = repr(self.opponents[0]) if len(self.opponents) == 1 else "every candidate in turn"
        return _PREFERENCES[self.truth].format(items=items, truest=truest, whom=whom)


def judged_problem(
    candidates: Iterable[str], fidelities: Sequence[Fidelity], reward: str | RewardKind, conditions: Conditions
) -> Problem:
    """The problem of a judging.

    Examples
    --------
    >>> conditions = Conditions("these grades", ["x", "y"])
    >>> problem = judged_problem(["a", "b"], [Fidelity("human", 2.0)], "bounded", conditions)
    >>> problem.blocks, problem.order
    (2, 'shared')
    >>> problem.truth
    "the mean over 2 items (content cf38fde6) of the grades by 'human', each made once and kept"
    """
    plain = Problem(list(candidates), list(fidelities), reward, blocks=conditions.blocks, order="shared")
    return with_words(plain, conditions.words(plain.fidelities[plain.truest].name))


def with_words(problem: Problem, words: str) -> Problem:
    """The problem with other words for its truth."""
    blocks, order = problem.blocks, problem.order
    return Problem(problem.arms, problem.fidelities, problem.reward, truth=words, blocks=blocks, order=order)


def _in_words(items: Sequence[Any]) -> str:
    """How many items, and which: a study must not go on with others."""
    many = f"{len(items)} item{'' if len(items) == 1 else 's'}"
    try:
        return f"{many} (content {content_key('items', list(items))[:8]})"
    except InvalidInput:  # things whose content cannot be told
        return many
