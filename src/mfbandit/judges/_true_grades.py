"""Which truth a judging is about, as a problem with blocks: every item is a block that all candidates share.

All candidates answer the same items, and what makes an item hard makes it hard for everybody. So candidates are
compared item by item, and all graders go through the items in one order: an answer is made once, and whoever
grades it grades the same.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from mfbandit.errors import InvalidInput
from mfbandit.judges._grade_keys import content_key
from mfbandit.model import Fidelity, Problem, RewardKind

if TYPE_CHECKING:
    from mfbandit.model import Pull

__all__ = ["EXPECTED", "KEPT", "item_of", "judged_problem"]

KEPT, EXPECTED = "these grades", "expected grade"

#: What the true score of a candidate can be, and how a certificate says it.
_WORDS = {
    KEPT: "the mean over {items} of the grades by {truest!r}, each made once and kept",
    EXPECTED: "the mean over {items} of the grade that {truest!r} is expected to give",
}


def judged_problem(
    candidates: Iterable[str],
    items: Sequence[Any],
    fidelities: Sequence[Fidelity],
    reward: str | RewardKind,
    truth: str,
) -> Problem:
    """The problem of a judging.

    Kept grades are a finite set of numbers, one for each item. Expected grades are a mean over draws of an item
    and a grade, of which there is no end.

    Examples
    --------
    >>> problem = judged_problem(["a", "b"], ["x", "y"], [Fidelity("human", 2.0)], "bounded", "these grades")
    >>> problem.blocks, problem.order
    (2, 'shared')
    >>> problem.truth
    "the mean over 2 items (content cf38fde6) of the grades by 'human', each made once and kept"
    """
    if truth not in _WORDS:
        raise InvalidInput(f"truth must be {' or '.join(map(repr, _WORDS))}, got {truth!r}")
    blocks = len(items) if truth == KEPT else "unlimited"
    plain = Problem(list(candidates), list(fidelities), reward, blocks=blocks, order="shared")
    words = _WORDS[truth].format(items=_in_words(items), truest=plain.fidelities[plain.truest].name)
    return Problem(plain.arms, plain.fidelities, plain.reward, truth=words, blocks=blocks, order="shared")


def item_of(pull: Pull, truth: str, items: int) -> int:
    """The position of the item that a pull is about, of so many.

    Where grades are kept it is the pull's block. Where they are made anew it is drawn by the seed of its block.
    Pulls of a problem without blocks draw their own.
    """
    if truth == KEPT and pull.block is not None:
        return pull.block
    seed = pull.seed if pull.block_seed is None else pull.block_seed
    return random.Random(seed).randrange(items)


def _in_words(items: Sequence[Any]) -> str:
    """How many items, and which: a study must not go on with others."""
    many = f"{len(items)} item{'' if len(items) == 1 else 's'}"
    try:
        return f"{many} (content {content_key('items', list(items))[:8]})"
    except InvalidInput:  # things whose content cannot be told
        return many
