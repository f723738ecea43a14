"""Results of studies in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mfbandit.cli._output import print_table
from mfbandit.formatting import amount, percent, shown

if TYPE_CHECKING:
    from mfbandit.study import ArmResult, Result

__all__ = ["end_code", "print_result", "sentence"]

#: Reasons are cut after so many letters.
_LONGEST = 400
#: So many arms that are left are named.
_MOST_NAMED = 5
#: Exit codes by status; 1 for all others.
_CODES = {"certified": 0, "answered": 0, "budget": 0, "running": 0, "cancelled": 130}


def end_code(result: Result) -> int:
    """The exit code for a result."""
    return _CODES.get(result.status, 1)


def sentence(result: Result) -> str:
    """Say in one sentence what a study found."""
    spent = f"{result.pulls:,} pulls that cost {amount(result.cost)}"
    if result.best is None:
        found = "there is no answer yet"
    else:
        found = f"the best so far is {shown(result.best)!r}, with confidence {percent(result.confidence)}"
    if result.status == "certified":
        near = f"is within {amount(result.epsilon)} of the best" if result.epsilon else "is the best"
        sure = percent(1.0 - result.delta)
        return f"{shown(result.best or '')!r} {near}, with confidence at least {sure}, after {spent}."
    if result.status == "answered":
        return f"{result.policy} stopped by itself after {spent}, without a certificate; {found}."
    if result.status == "budget":
        return f"The budget is spent, on {spent}; {found}."
    if result.status == "max_cost":
        return f"All that may be spent is spent, on {spent}; {found}. More max_cost lets it go on."
    if result.status == "violation":
        return f"The study stopped after {spent}: {'; '.join(result.violations)}; {found}."
    if result.status == "failed":
        why = "; ".join([*result.reasons, *result.retired.values()]) or "an evaluation failed too often"
        return f"The study failed after {spent}: {shown(' '.join(why.split()), _LONGEST)}; {found}."
    if result.status == "cancelled":
        return f"Ended early, after {spent}; {found}. Run it again to go on."
    return f"Running, after {spent}; {found}."


def shown_so_far(result: Result) -> list[str]:
    """Say what is shown although the answer is not sure: who is out, who is left, and what a mistake could cost."""
    if result.status in ("certified", "budget") or result.best is None:
        return []
    racing = len(result.arms) - len(result.retired)
    out, names = racing - len(result.left), [shown(name) for name in result.left if name != result.best]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    said = []
    if names:
        listed = ", ".join(map(repr, names[:_MOST_NAMED])) + more
        said.append(f"{out} of {racing} arms are shown not to be the best. {listed} may be better than it.")
    if result.regret_bound is not None:
        said.append(f"No arm is better than {shown(result.best)!r} by more than {amount(result.regret_bound)}.")
    if result.remaining_cost is not None:
        said.append(f"About {amount(result.remaining_cost, 2)} more would settle it, at the pace so far.")
    return said


def print_result(result: Result) -> None:
    """Print a sentence, and a table with a row per arm."""
    print(sentence(result))
    if not result.pulls:
        return
    for known in shown_so_far(result):
        print(known)
    fidelities = list(result.arms[0].pulls)
    known = "the best is ahead by" if result.on_blocks else "true mean"
    headings = ("arm", known, *(shown(name, 16) for name in fidelities), "cost")
    rows = [
        (
            shown(arm.arm, 24) + (" *" if arm.arm == result.best else ""),
            _known(result, arm),
            *(f"{count:,}" for count in arm.pulls.values()),
            amount(arm.cost),
        )
        for arm in result.arms
    ]
    if result.status != "violation":
        for broken in result.violations:
            print(f"Beware: {broken}.")
    print()
    what = "How far the best is ahead of each arm" if result.on_blocks else "Bounds of the true means"
    print_table(headings, rows, title=f"{what}, and pulls by fidelity:")
    if result.tied:
        equal = ", ".join(repr(shown(arm)) for arm in result.tied)
        print(f"Exactly as good on all blocks as {shown(result.best or '')!r}: {equal}.")
    if result.unfinished:
        were = "evaluations were" if result.unfinished > 1 else "evaluation was"
        more = amount(result.unfinished_cost)
        print(f"{result.unfinished:,} {were} still running at the end, and may have cost up to {more} more.")
    if result.status != "failed":
        for arm, why in result.retired.items():
            print(f"{shown(arm)} was retired: {shown(' '.join(why.split()), _LONGEST)}")


def _known(result: Result, arm: ArmResult) -> str:
    """What is known of an arm: its true mean or, on blocks, how far the best is ahead of it."""
    if arm.retired is not None:
        return "retired"
    if not result.on_blocks:
        return _interval(arm.low, arm.high)
    if arm.arm not in result.differences:
        return ""
    low, high = result.differences[arm.arm]
    return "nothing, they are equal" if arm.arm in result.tied else f"{_end(low)} to {_end(high)}"


def _end(value: float) -> str:
    return f"{value:.3f}" if math.isfinite(value) else "unknown"


def _interval(low: float, high: float) -> str:
    if not math.isfinite(low + high):
        return "not known"
    return f"{low:.3f}..{high:.3f}"
