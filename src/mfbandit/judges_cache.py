"""Grades that were given, so that none is paid for twice; in memory, and in a file if there is one."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mfbandit.errors import StorageError

__all__ = ["GradeCache"]


class GradeCache:
    """Grades by candidate, item and grader.

    In a file a grade is kept with a fingerprint of the candidate and the item, so that a changed prompt or
    another list of items is graded anew.

    Examples
    --------
    >>> cache = GradeCache(None, {"a": "x"}, ["one", "two"])
    >>> cache.put("a", 1, "human", 0.5)
    >>> cache.get("a", 1, "human"), cache.get("a", 0, "human")
    (0.5, None)
    """

    def __init__(
        self, path: str | os.PathLike[str] | None, candidates: Mapping[str, Any], items: Sequence[Any]
    ) -> None:
        self._path = None if path is None else Path(path)
        self._known: dict[tuple[str, str, str], float] = {}
        self._candidates = {name: _digest(name, value) for name, value in candidates.items()}
        self._items = [_digest("", item) for item in items]
        if self._path is not None and self._path.exists():
            self._read(self._path)

    def get(self, candidate: str, item: int, grader: str) -> float | None:
        """The grade, if it was given before."""
        return self._known.get((self._candidates[candidate], self._items[item], grader))

    def put(self, candidate: str, item: int, grader: str, score: float) -> None:
        """Keep a grade."""
        key = (self._candidates[candidate], self._items[item], grader)
        self._known[key] = score
        if self._path is None:
            return
        line = {"candidate": key[0], "item": key[1], "grader": grader, "score": score}
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def _read(self, path: Path) -> None:
        for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            try:
                line = json.loads(text)
                self._known[line["candidate"], line["item"], line["grader"]] = float(line["score"])
            except (ValueError, KeyError, TypeError):
                raise StorageError(f"line {number} of {str(path)!r} is not a grade: {text[:60]!r}") from None


def _digest(name: str, value: Any) -> str:
    return hashlib.sha256(f"{name}\0{value!r}".encode("utf-8", "replace")).hexdigest()[:24]
