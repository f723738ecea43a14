"""A gate for changes: whether a new candidate is not worse than the old one by more than a margin.

It is a race of the two in which the new one gets the margin as a present on every item. If it then has the higher
mean, or the same, it is not worse by more than the margin; if the old one has, it is. So one pair of candidates has all
of delta, either answer is certified, and the certificate is that of a race.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mfbandit.errors import InvalidInput
from mfbandit.judges.kept import content_key
from mfbandit.model import Bounded, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mfbandit.study import Result

__all__ = ["Comparison", "comparison_seed", "present_problem"]

_NOT_WORSE, _WORSE, _UNDECIDED = "not worse", "worse", "undecided"


@dataclass(frozen=True)
class Comparison:
    """Whether a new candidate is not worse than an old one by more than a margin; true if that was shown.

    Examples
    --------
    >>> from mfbandit.judges import Grader, Judging
    >>> grader = Grader("exact", lambda answer, item: float(answer == "good" or item % 3 == 0), price=1.0)
    >>> judging = Judging({"v1": "bad", "v2": "good"}, range(100), [grader])
    >>> gate = judging.compare("v2", "v1", margin=0.02, progress=False)
    >>> bool(gate), gate.verdict
    (True, 'not worse')
    """

    new: str
    old: str
    margin: float
    verdict: str
    """"not worse", "worse" or "undecided"."""
    difference: tuple[float, float]
    """By how much the new one is better, at least and at most. Each end holds by itself at the confidence asked for.
    The verdict bounds one of them: the levels are nested, since a null hypothesis that is farther off loses more."""
    confidence: float
    """How sure the verdict is, or that which seems right so far."""
    cost: float
    """Money that was paid."""
    result: Result = field(repr=False)
    """The race behind it, with its certificate, in which the new one has the margin as a present."""

    @classmethod
    def of(cls, new: str, old: str, margin: float, result: Result) -> Comparison:
        """What a race of the two says, in which the new one has the margin as a present."""
        ahead = result.best == new or new in result.tied
        verdict = _UNDECIDED if result.status != "certified" else _NOT_WORSE if ahead else _WORSE
        low, high = -float("inf"), float("inf")
        if result.best == new:
            low, high = result.differences[old]
        elif result.best == old:
            high, low = (-end for end in result.differences[new])
        low, high = low - margin, high - margin
        if verdict == _NOT_WORSE:
            low = max(low, -margin)
        elif verdict == _WORSE:
            high = min(high, -margin)
        return cls(new, old, margin, verdict, (low, high), result.confidence, result.cost, result)

    def __bool__(self) -> bool:
        """Whether the new one was shown not to be worse by more than the margin."""
        return self.verdict == _NOT_WORSE

    @property
    def statement(self) -> str:
        """The verdict in words."""
        least, most = self.difference
        seen = f"the difference lies between {least:+.3g} and {most:+.3g}"
        by = f"by more than {self.margin:g}" if self.margin else "at all"
        sure = f"with confidence {1.0 - self.result.delta:g}"
        if self.verdict == _NOT_WORSE:
            return f"{self.new!r} is not worse than {self.old!r} {by}, {sure}: {seen}."
        if self.verdict == _WORSE:
            return f"{self.new!r} is worse than {self.old!r} {by}, {sure}: {seen}."
        return (
            f"Nothing is shown about {self.new!r} and {self.old!r} ({self.result.status}): {seen}, {sure}. "
            "Allow more cost, a wider margin, or more items."
        )


def present_problem(problem: Problem, new: str, old: str, margin: float) -> Problem:
    """The problem of the two, in which the new one gets the margin on every block."""
    for name in (new, old):
        if name not in problem.arms:
            known = ", ".join(map(repr, problem.arms[:10]))
            raise InvalidInput(f"{name!r} is none of the candidates; they are {known}")
    if new == old:
        raise InvalidInput(f"a candidate is compared with another one, got {new!r} twice")
    reward: Any = problem.reward
    if reward.low is not None:
        if margin >= reward.high - reward.low:
            raise InvalidInput(
                f"margin must be below {reward.high - reward.low:g}, the range of the scores, got {margin:g}: "
                "nobody can be worse by more than that"
            )
        reward = Bounded(reward.low, reward.high + margin, swing=getattr(reward, "swing", None))
    words = f"{problem.truth}, and {margin:g} more for {new!r}"
    return Problem([old, new], problem.fidelities, reward, truth=words, blocks=problem.blocks, order=problem.order)


def comparison_seed(candidates: Mapping[str, Any], new: str, old: str, items: Sequence[Any], stored: bool) -> int:
    """A seed that depends on what is compared, and on nothing else.

    A new candidate is often made by somebody who saw how the last one did on the first items. So it must meet the items
    in an order of its own; and a gate that is run again must say the same again. Nobody can tell whether a candidate
    without content (a function, a model) is the one of the last run: it has a new order in every run.
    """
    compared = new, candidates[new], old, candidates[old]
    try:
        content_key("candidate", *compared)
    except InvalidInput:
        if stored:
            raise InvalidInput(
                f"a comparison in a storage draws the order of the items from the content of {new!r} and {old!r}, "
                "which cannot be told: state seed=, another one for every version of a candidate"
            ) from None
        return secrets.randbits(48)
    try:
        key = content_key("item", *compared, list(items))
    except InvalidInput:  # items that can only be counted
        key = content_key("item", *compared, len(items))
    return int(key[:12], 16)
