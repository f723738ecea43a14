"""Answers to other questions than which arm is the best, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mfbandit.formatting import amount, floored, shown
from mfbandit.model import BetterThan, CheapestWithin, Question, TopM

__all__ = ["GoalAnswer", "goal_answer"]

#: So many names are said.
_MOST_NAMED = 8


class GoalAnswer(NamedTuple):
    """What can be said of an answer."""

    settled: str
    """What is claimed once all is shown."""
    so_far: str
    """What it seems to be, before that."""
    open: tuple[str, ...]
    """The arms that are not settled."""
    sure_so_far: bool = False
    """Whether that is claimed already, since each arm is settled by itself."""

    def in_words(self, status: str, confidence: float) -> str:
        """The answer of a study with that status, and how sure it is."""
        said = self.settled if status == "certified" else self.so_far
        sure = f"with a confidence of {'at least ' if status == 'certified' else ''}{floored(confidence)}"
        if self.sure_so_far and status != "certified":
            sure = f"open: {_listed(self.open)}"
        return f"{said[:1].upper()}{said[1:]}, {sure}"

    def what_is_left(self, arms: int, remaining_cost: float | None) -> list[str]:
        """Say how many of some arms are settled, which are not, and what it takes."""
        said = [f"{arms - len(self.open)} of {arms} arms are settled."]
        if self.open:
            said.append(f"Open: {_listed(self.open)}.")
        if remaining_cost is not None:
            said.append(f"About {amount(remaining_cost, 2)} more would settle it, at the pace so far.")
        return said


def _listed(names: Sequence[str]) -> str:
    known = [repr(shown(name)) for name in names[:_MOST_NAMED]]
    if len(names) > _MOST_NAMED:
        known.append(f"{len(names) - _MOST_NAMED} more")
    return "none" if not known else known[0] if len(known) == 1 else f"{', '.join(known[:-1])} and {known[-1]}"


def goal_answer(question: Question, epsilon: float, answer: Sequence[str], verdicts: Mapping[str, str]) -> GoalAnswer:
    """Say what was found, where it is not the best arm.

    Examples
    --------
    >>> goal_answer(TopM(2), 0.0, ("a", "b"), {"a": "in", "b": "open", "c": "out"}).settled
    "'a' and 'b' are the 2 best"
    >>> goal_answer(BetterThan("old"), 0.1, ("new",), {"new": "better", "odd": "not better"}).settled
    "better than 'old': 'new'; not better by more than 0.1: 'odd'"
    """
    left = tuple(arm for arm, word in verdicts.items() if word == "open")
    names = _listed(answer)
    if isinstance(question, TopM):
        are = "is the best" if question.m == 1 else f"are the {question.m} best"
        near = f" up to {amount(epsilon)}" if epsilon else ""
        return GoalAnswer(f"{names} {are}{near}", f"{names} {are} so far", left)
    if isinstance(question, BetterThan):
        by = f" by more than {amount(epsilon)}" if epsilon else ""
        sides = [[arm for arm, one in verdicts.items() if one == word] for word in ("better", "not better")]
        said = f"better than {shown(question.control)!r}: {_listed(sides[0])}; not better{by}: {_listed(sides[1])}"
        return GoalAnswer(said, said, left, sure_so_far=True)
    if isinstance(question, CheapestWithin):
        what = f"the cheapest to use within {amount(epsilon)} of the best"
        return GoalAnswer(f"{names} is {what}", f"{names} is {what} so far", left)
    raise TypeError(f"nothing is known of {question!r}")
