"""What commands print of a result: its words, and a table of the arms."""

from __future__ import annotations

import math

from mfbandit.cli._output import print_table
from mfbandit.formatting import amount, shown, told_apart
from mfbandit.study import ArmResult, Result

__all__ = ["end_code", "print_result"]

#: Reasons are cut after so many letters.
_LONGEST = 400
#: Exit codes by status; 1 for all others.
_CODES = {"certified": 0, "answered": 0, "budget": 0, "running": 0, "cancelled": 130}


def end_code(result: Result) -> int:
    """The exit code for a result."""
    return _CODES.get(result.status, 1)


def print_result(result: Result) -> None:
    """Print a sentence, and a table with a row per arm."""
    if not result.pulls:
        print(result.sentence)
        return
    print(result)
    fidelities = list(result.arms[0].pulls)
    known = f"the {_first(result)} is ahead by" if result.on_blocks else "true mean"
    said = ("verdict",) if result.goal is not None else ()
    ahead = (known,) if result.differences or not said else ()
    headings = ("arm", *said, *ahead, *(shown(name, 16) for name in fidelities), "cost")
    labels = told_apart([arm.arm for arm in result.arms], 24)
    rows = [
        (
            labels[arm.arm] + (" *" if arm.arm == result.best or arm.arm in result.answer else ""),
            *((result.verdicts.get(arm.arm, "the control"),) if said else ()),
            *((_known(result, arm),) if ahead else ()),
            *(f"{count:,}" for count in arm.pulls.values()),
            amount(arm.cost),
        )
        for arm in result.arms
    ]
    if result.status != "violation":
        for broken in result.violations:
            print(f"Beware: {broken}.")
    print()
    what = f"How far the {_first(result)} is ahead of each arm" if result.on_blocks else "Bounds of the true means"
    print_table(
        headings, rows, title=f"{what}, and pulls by fidelity:" if ahead else "Verdicts, and pulls by fidelity:"
    )
    if result.tied:
        named = told_apart([arm.arm for arm in result.arms])
        equal = ", ".join(repr(named[arm]) for arm in result.tied)
        print(f"Exactly as good on all blocks as {named[result.best or '']!r}: {equal}.")
    if result.unfinished:
        were = "evaluations were" if result.unfinished > 1 else "evaluation was"
        more = amount(result.unfinished_cost)
        print(f"{result.unfinished:,} {were} still running at the end, and may have cost up to {more} more.")
    if result.status != "failed":
        for arm, why in result.retired.items():
            print(f"{shown(arm)} was retired: {shown(' '.join(why.split()), _LONGEST)}")


def _first(result: Result) -> str:
    """The arm that differences are about."""
    return "best" if result.goal is None or result.best is not None else "control"


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
