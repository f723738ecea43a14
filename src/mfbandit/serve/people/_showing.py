"""What people are shown for a pull, and which grades they can give."""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from mfbandit._checks import is_number
from mfbandit.errors import InvalidInput
from mfbandit.model import Bernoulli, Pull, RewardKind

__all__ = ["CaseFile", "Show", "Shown", "as_show", "shown_for"]

#: Makes what is shown for a pull: an object with "item", "answer" or "answers", and perhaps "format" and "grades".
Show = Callable[[Pull], Mapping[str, Any]]

#: Longer texts are cut: nobody reads them, and pages must stay usable.
_LONGEST = 200_000
_MOST_GRADES = 10
_KEYS = ("item", "answer", "answers", "format", "grades")


class Shown(NamedTuple):
    """What is shown for a pull."""

    item: str
    answers: tuple[str, ...]
    """One answer, or two of which the better one is to be named; the first is that of the pull's arm."""
    markdown: bool
    grades: tuple[tuple[str, float], ...]
    """What can be said, and the reward that it stands for."""

    @property
    def key(self) -> str:
        """Names what is shown: who has graded it is not asked again."""
        return hashlib.sha256(json.dumps([self.item, *self.answers]).encode()).hexdigest()[:16]


def shown_for(show: Show, pull: Pull, kind: RewardKind) -> Shown:
    """What is shown for a pull.

    Examples
    --------
    >>> import mfbandit as mf
    >>> pull = mf.create_study(mf.Problem(["a", "b"], [("human", 1.0)])).ask()[0]
    >>> found = shown_for(lambda pull: {"item": "2 + 2", "answer": "4"}, pull, mf.Bernoulli())
    >>> found.answers, found.grades
    (('4',), (('bad', 0.0), ('good', 1.0)))
    """
    found = show(pull)
    if not isinstance(found, Mapping) or not set(found) <= set(_KEYS):
        raise InvalidInput(f"show must return an object with some of {', '.join(_KEYS)}, got {str(found)[:60]!r}")
    answers = found.get("answers", [found["answer"]] if "answer" in found else [])
    if not isinstance(answers, list | tuple) or len(answers) > 2:
        raise InvalidInput("show must return one answer, or a list of two")
    style = found.get("format", "text")
    if style not in ("text", "markdown"):
        raise InvalidInput(f"format must be 'text' or 'markdown', got {str(style)[:40]!r}")
    texts = [_text(one) for one in answers]
    grades = _grades(found["grades"], kind) if "grades" in found else _usual_grades(kind, len(texts))
    return Shown(_text(found.get("item", "")), tuple(texts), style == "markdown", grades)


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2, default=str)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _grades(found: Any, kind: RewardKind) -> tuple[tuple[str, float], ...]:
    """Grades as pairs of a label and a reward, which a study must be able to take."""
    if not isinstance(found, Mapping | list | tuple):
        found = ()
    listed = list(found.items()) if isinstance(found, Mapping) else list(found)
    pairs = [tuple(one) for one in listed if isinstance(one, list | tuple)]
    if not 2 <= len(pairs) <= _MOST_GRADES or not all(len(pair) == 2 and is_number(pair[1]) for pair in pairs):
        raise InvalidInput(f"grades must be 2 to {_MOST_GRADES} labels with their rewards, got {str(found)[:60]!r}")
    low, high = (-math.inf if kind.low is None else kind.low), (math.inf if kind.high is None else kind.high)
    if not all(low <= reward <= high and math.isfinite(reward) for _, reward in pairs):
        raise InvalidInput(f"grades must stand for rewards from {low:g} to {high:g}, got {str(found)[:60]!r}")
    return tuple((str(label), float(reward)) for label, reward in pairs)


def _usual_grades(kind: RewardKind, answers: int) -> tuple[tuple[str, float], ...]:
    """Two buttons for yes or no and for two answers, whole numbers where the range has them, else 0 to 9."""
    low, high = kind.low, kind.high
    if low is None or high is None:
        raise InvalidInput("rewards without a range need grades: let show return them, such as {'bad': 0, 'good': 1}")
    if answers == 2:
        tie = () if isinstance(kind, Bernoulli) else (("no difference", 0.5 * (low + high)),)
        return (("the first is better", high), *tie, ("the second is better", low))
    if isinstance(kind, Bernoulli):
        return (("bad", low), ("good", high))
    if 1 < high - low <= 9 and low >= 0 and high <= 9 and low == int(low) and high == int(high):
        return tuple((str(grade), float(grade)) for grade in range(int(low), int(high) + 1))
    return tuple((str(grade), low + (high - low) * grade / 9) for grade in range(10))


class CaseFile:
    """What is shown, from a file of JSON lines.

    A line with "block" is about that block, and with "arm" about that arm alone; lines that suit a pull are put
    together, so that an item is written once. Lines without "block" are test cases: one of those of the arm is drawn
    by the seed of the pull.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._blocks: dict[tuple[int, str | None], dict[str, Any]] = {}
        self._cases: dict[str | None, list[dict[str, Any]]] = {}
        try:
            with open(path, encoding="utf-8") as lines:
                for number, line in enumerate(lines, 1):
                    if line.strip():
                        self._add(line, number)
        except (OSError, UnicodeError) as error:
            raise InvalidInput(f"what to show cannot be read from {os.fspath(path)!r}: {error}") from error

    def _add(self, line: str, number: int) -> None:
        try:
            found = json.loads(line)
        except ValueError:
            found = None
        if not isinstance(found, dict) or not set(found) <= {*_KEYS, "block", "arm"}:
            raise InvalidInput(f"line {number} of what to show must be an object of block, arm, {', '.join(_KEYS)}")
        block, arm = found.pop("block", None), found.pop("arm", None)
        if block is None:
            self._cases.setdefault(arm, []).append(found)
        else:
            self._blocks[block, arm] = found

    def __call__(self, pull: Pull) -> Mapping[str, Any]:
        """What to show for a pull."""
        found: dict[str, Any] = {}
        if pull.block is not None:
            parts = [self._blocks.get((pull.block, arm), {}) for arm in (None, pull.arm)]
            found = {**parts[0], **parts[1]}
        cases = self._cases.get(pull.arm) or self._cases.get(None)
        if not found and cases:
            found = random.Random(pull.seed).choice(cases)
        if not found:
            where = "" if pull.block is None else f" on block {pull.block}"
            raise InvalidInput(f"there is nothing to show for arm {pull.arm!r}{where}")
        return found


def as_show(show: Any) -> Show | None:
    """A function, or what a file says."""
    if show is None or callable(show):
        return show  # type: ignore[no-any-return]
    return CaseFile(show)
