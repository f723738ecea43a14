"""Results of studies in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mfbandit.formatting import amount, percent, shown, told_apart

if TYPE_CHECKING:
    from mfbandit.study._result import Result

__all__ = ["BELOW_ZERO", "OVERLAP", "no_better_by", "sentence", "shown_so_far"]

#: Why a certificate does not contradict what is said of differences or of single arms; the live page says the same.
BELOW_ZERO = (
    "An arm can be shown not to be the best although its bounds reach below 0: these hold for all pairs of arms at "
    "once, which takes more evidence."
)
OVERLAP = (
    "An arm can be shown not to be the best although its bounds overlap those of the best: all results of two arms "
    "together prove more than the bounds of each."
)
#: Reasons are cut after so many letters.
_LONGEST = 400
#: So many arms that are left are named.
_MOST_NAMED = 5


def sentence(result: Result) -> str:
    """Say in one sentence what a study found."""
    spent = f"{result.pulls:,} pulls that cost {amount(result.cost)}"
    goal, labels = result.goal_answer, told_apart(arm.arm for arm in result.arms)
    if goal is not None:
        sure = f"at least {percent(1.0 - result.delta)}" if goal.sure_so_far else percent(result.confidence)
        found = f"{goal.so_far}, with confidence {sure}"
    elif result.best is None:
        found = "there is no answer yet"
    else:
        found = f"the best so far is {labels[result.best]!r}, with confidence {percent(result.confidence)}"
    if result.status == "certified" and goal is not None:
        said = goal.settled[:1].upper() + goal.settled[1:]
        return f"{said}, with confidence at least {percent(1.0 - result.delta)}, after {spent}."
    if result.status == "certified":
        near = f"is within {amount(result.epsilon)} of the best" if result.epsilon else "is the best"
        near = f"is as good as any, and exactly equal to {_listed(result.tied, labels)}" if result.tied else near
        sure = percent(1.0 - result.delta)
        return f"{labels[result.best or '']!r} {near}, with confidence at least {sure}, after {spent}."
    if result.status == "answered":
        return f"{result.policy} stopped by itself after {spent}, without a certificate; {found}."
    if result.status == "budget":
        return f"The budget is spent, on {spent}; {found}."
    if result.status == "max_cost":
        return f"All that may be spent is spent, on {spent}; {found}. More max_cost lets a study in a storage go on."
    if result.status == "violation":
        return f"The study stopped after {spent}: {'; '.join(result.violations)}; {found}."
    if result.status == "failed":
        why = "; ".join([*result.reasons, *result.retired.values()]) or "an evaluation failed too often"
        return f"The study failed after {spent}: {shown(' '.join(why.split()), _LONGEST)}; {found}."
    if result.status == "cancelled":
        return f"Ended early, after {spent}; {found}. A study in a storage goes on when it is run again."
    return f"Running, after {spent}; {found}."


def shown_so_far(result: Result) -> list[str]:
    """Say what is shown although the answer is not sure: who is out, who is left, and what a mistake could cost."""
    goal = result.goal_answer
    if result.status in ("certified", "budget"):
        return []
    if goal is not None:
        return goal.what_is_left(len(result.verdicts), result.remaining_cost)
    if result.best is None:
        return []
    labels = told_apart(arm.arm for arm in result.arms)
    best = labels[result.best]
    racing = [arm.arm for arm in result.arms if arm.arm not in result.retired]
    out = [name for name in racing if name not in result.left]
    left = [name for name in result.left if name != result.best]
    said = []
    if left:
        named = f": {_listed(out, labels)}" if out else ""
        said.append(f"{len(out)} of {len(racing)} arms are shown not to be the best{named}.")
        said.append(f"{_listed(left, labels)} may be better than {best!r}.")
    if result.regret_bound is not None:
        said.append(f"No arm is better than {best!r} by more than {amount(result.regret_bound)}.")
    else:
        said.append("By how much another arm may be better is not known yet.")
    if result.remaining_cost is not None:
        said.append(f"About {amount(result.remaining_cost, 2)} more would settle it, at the pace so far.")
    elif left and result.status != "answered":
        said.append("There is too little evidence yet to say what it takes to settle it.")
    return said


def _listed(names: Sequence[str], labels: Mapping[str, str]) -> str:
    """Some names as they are shown, and how many more there are."""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(repr(labels[name]) for name in names[:_MOST_NAMED]) + more


def no_better_by(result: Result) -> list[str]:
    """By how much another arm can be better, in words."""
    if result.regret_bound is None:
        return []
    by = f" by more than {result.regret_bound:.4g}" if result.regret_bound > 0.0 else ""
    return [f"With the same probability no arm is better than {result.best!r}{by}."]
