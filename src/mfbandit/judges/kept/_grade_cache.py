"""Grades, answers and labels that were paid for, so that none is paid for twice; in memory, or in a file.

A file has one JSON object per line, in the order in which they were paid for. Of two grades of the same
thing the first counts, in every process that uses the file. Each line also says what it cost and which
study paid, so the file is the account of that study, too. Some lines say on which blocks of a study no grader was
asked, since all answers were the same.
"""

from __future__ import annotations

import json
import logging
import os
import reprlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from mfbandit.errors import InvalidInput, StorageError
from mfbandit.judges.kept._grade_keys import content_key
from mfbandit.judges.kept._meter import count_payment

__all__ = ["GradeCache", "Same", "Subject"]

_logger = logging.getLogger("mfbandit")

_Key = tuple[str, ...]

#: Whether two answers are the same.
Same = Callable[[Any, Any], bool]


class Subject(NamedTuple):
    """What is graded: a candidate's answer to an item, and for which draw, if every draw is graded anew."""

    candidate: str
    item: int
    draw: str = ""
    like: str = ""
    """The key under which its grades are kept; empty for that of the candidate."""


class GradeCache:
    """Grades and answers by candidate and item, and what each study paid.

    Examples
    --------
    >>> cache = GradeCache(None, {"a": "x"}, ["one", "two"])
    >>> cache.keep_grade(Subject("a", 1), "human", 0.5, study="s", price=2.0)
    0.5
    >>> cache.grade(Subject("a", 1), "human"), cache.grade(Subject("a", 0), "human"), cache.paid("s")
    (0.5, None, 2.0)
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        candidates: Mapping[str, Any],
        items: Sequence[Any],
        *,
        answered: bool = False,
    ) -> None:
        self.path = None if path is None else Path(path)
        # What is graded is the candidate itself or its answer: these are two different things.
        kind = "answer" if answered else "itself"
        self._candidates = {
            name: self._key_of(f"candidate {name!r}", kind, name, value) for name, value in candidates.items()
        }
        self._items = [self._key_of(f"item {position}", item, unkeyed=position) for position, item in enumerate(items)]
        self._grades: dict[_Key, float] = {}
        self._answers: dict[_Key, Any] = {}
        #: The candidates that answered each item, in the order of their answers, and the first who gave the same.
        self._answered: dict[str, list[str]] = {}
        self._likes: dict[_Key, str] = {}
        self._labels: dict[_Key, Any] = {}
        self._equal: dict[tuple[str, str, int], str] = {}
        self._paid: dict[str, float] = {}
        self._read_to = self._lines = self._inode = 0
        self._lock = threading.RLock()
        if self.path is not None and self.path.exists():
            if not self.path.is_file():
                raise StorageError(f"the cache {str(self.path)!r} cannot be used: it is no file")
            with self._opened(self.path) as file:
                self._repair(file)
            self._catch_up()

    def grade(self, subject: Subject, grader: str, rater: int | None = None) -> float | None:
        """The grade, or what one of several raters gave, if it was given before, by whatever process."""
        key = self.grade_key(subject, grader, rater)
        with self._lock:
            if key not in self._grades:
                self._catch_up()
            return self._grades.get(key)

    def keep_grade(
        self, subject: Subject, grader: str, score: float, *, study: str, price: float, rater: int | None = None
    ) -> float:
        """Keep a grade and what it cost; returns the grade that counts."""
        key = self.grade_key(subject, grader, rater)
        names = {name: part for name, part in zip(_GRADED, key, strict=True) if part}
        self._append({**names, "score": score, "study": study, "price": price})
        return self._grades[key]

    def answer(self, subject: Subject) -> tuple[Any] | None:
        """The answer of a candidate to an item, in a tuple; None if there is none yet."""
        key = self._answer_key(subject)
        with self._lock:
            if key not in self._answers:
                self._catch_up()
            return (self._answers[key],) if key in self._answers else None

    def keep_answer(self, subject: Subject, answer: Any, *, study: str, price: float) -> Any:
        """Keep an answer and what it cost; returns the answer that counts."""
        self._check_kept("answer", answer)
        candidate, item = key = self._answer_key(subject)
        self._append({"candidate": candidate, "item": item, "answer": answer, "study": study, "price": price})
        return self._answers[key]

    def alike(self, subject: Subject, same: Same) -> Subject:
        """The subject with the key of the first candidate that gave the same answer, under which its grades are kept.

        Answers are kept in one order, so this is the same in every process that uses the file.
        """
        candidate, item = key = self._answer_key(subject)
        with self._lock:
            if key not in self._likes:
                answer = self._answers[key]
                given = self._answered[item]
                self._likes[key] = next(
                    other for other in given if other == candidate or same(self._answers[other, item], answer)
                )
            return subject._replace(like=self._likes[key])

    def label(self, subject: Subject, grader: str, rater: int | None) -> tuple[Any] | None:
        """The label of an item by a grader, in a tuple; None if there is none yet."""
        key = self._label_key(subject, grader, rater)
        with self._lock:
            if key not in self._labels:
                self._catch_up()
            return (self._labels[key],) if key in self._labels else None

    def keep_label(
        self, subject: Subject, grader: str, rater: int | None, label: Any, *, study: str, price: float
    ) -> Any:
        """Keep the label of an item and what it cost; returns the label that counts."""
        self._check_kept("label", label)
        key = self._label_key(subject, grader, rater)
        names = {name: part for name, part in zip(_GRADED[1:], key, strict=True) if part}
        self._append({**names, "label": label, "study": study, "price": price})
        return self._labels[key]

    def equal(self, study: str, grader: str, block: int) -> str | None:
        """The one answer on a block of a study, by whose it is, so that no grader is asked.

        Empty if answers differ, None if nothing is said.
        """
        with self._lock:
            if (study, grader, block) not in self._equal:
                self._catch_up()
            return self._equal.get((study, grader, block))

    def keep_equal(self, study: str, grader: str, block: int, answer: str) -> str:
        """Say which one answer all give on a block, empty if they differ; returns what counts: who says it first."""
        self._append({"study": study, "grader": grader, "block": block, "equal": answer, "price": 0.0})
        return self._equal[study, grader, block]

    def keep_payment(self, study: str, price: float, why: str) -> None:
        """Keep account of money that bought nothing, such as a call that failed."""
        self._append({"nothing": why, "study": study, "price": price})

    def paid(self, study: str) -> float:
        """What a study paid, over all its runs that used this cache."""
        with self._lock:
            self._catch_up()
            return self._paid.get(study, 0.0)

    def _key_of(self, what: str, *values: Any, unkeyed: Any = None) -> str:
        try:
            return content_key(what, *values)
        except InvalidInput:
            if self.path is not None:
                raise
            # Within one process the place in the list, or the name, tells it from all others.
            return f"{what} {unkeyed}"

    def _answer_key(self, subject: Subject) -> tuple[str, str]:
        return self._candidates[subject.candidate], self._items[subject.item]

    def grade_key(self, subject: Subject, grader: str, rater: int | None = None) -> _Key:
        """What tells a grade from all others."""
        candidate, item = self._answer_key(subject)
        return subject.like or candidate, item, grader, subject.draw, "" if rater is None else str(rater)

    def own_key(self, subject: Subject) -> str:
        """The key of a candidate."""
        return self._candidates[subject.candidate]

    def item_key(self, subject: Subject) -> str:
        """The key of an item."""
        return self._items[subject.item]

    def _label_key(self, subject: Subject, grader: str, rater: int | None) -> _Key:
        return self.grade_key(subject, grader, rater)[1:]

    def _check_kept(self, what: str, value: Any) -> None:
        """Refuse what a file cannot give back."""
        if self.path is not None and not _is_json(value):
            raise StorageError(
                f"the {what} is {reprlib.repr(value)}, which a cache file cannot keep as it is: "
                "return a text, a number, or lists and dicts of these"
            )

    def _append(self, line: dict[str, Any]) -> None:
        count_payment(float(line["price"]))
        with self._lock:
            if self.path is None:
                self._learn(line)
                return
            try:
                with self._opened(self.path) as file:
                    # What others wrote first counts, and nothing is written behind half a line.
                    self._repair(file)
                    file.write((json.dumps(line) + "\n").encode())
            except StorageError:
                self._learn(line)  # it was paid for, even if the disk is full
                raise
            self._catch_up()

    def _learn(self, line: Mapping[str, Any]) -> None:
        """Take in a line; the first of two for one key counts, and both were paid."""
        if "equal" in line:
            self._equal.setdefault((str(line["study"]), str(line["grader"]), int(line["block"])), str(line["equal"]))
        elif "label" in line:
            self._labels.setdefault(_read_key(line)[1:], line["label"])
        elif "grader" in line:
            self._grades.setdefault(_read_key(line), float(line["score"]))
        elif "nothing" not in line:
            candidate, item = str(line["candidate"]), str(line["item"])
            if (candidate, item) not in self._answers:
                self._answers[candidate, item] = line["answer"]
                self._answered.setdefault(item, []).append(candidate)
        if "study" in line:
            study = str(line["study"])
            self._paid[study] = self._paid.get(study, 0.0) + float(line["price"])

    def _catch_up(self) -> None:
        """Read the complete lines that were written since the last look."""
        if self.path is None or not self.path.exists() or not self._grew(self.path.stat()):
            return
        with self._reporting(self.path), open(self.path, "rb") as file:
            file.seek(self._read_to)
            data = file.read()
        complete = data[: data.rfind(b"\n") + 1]
        for text in complete.splitlines():
            self._lines += 1
            try:
                self._learn(json.loads(text))
            except (ValueError, KeyError, TypeError):
                shown = text[:60].decode("utf-8", "replace")
                raise StorageError(f"line {self._lines} of {str(self.path)!r} is not a grade: {shown!r}") from None
        self._read_to += len(complete)

    def _grew(self, found: os.stat_result) -> bool:
        """Whether there is something to read; another file of that name is read from its start."""
        if found.st_ino != self._inode or found.st_size < self._read_to:
            self._inode, self._read_to, self._lines = found.st_ino, 0, 0
        return found.st_size > self._read_to

    def _repair(self, file: BinaryIO) -> None:
        """Mend a last line that was cut off: end it if it is whole, else take it away."""
        end = file.seek(0, os.SEEK_END)
        self._grew(os.fstat(file.fileno()))
        file.seek(self._read_to)
        data = file.read()
        tail = data[data.rfind(b"\n") + 1 :]
        if not tail:
            return
        if _is_whole(tail):
            file.write(b"\n")
        else:
            file.truncate(end - len(tail))
            _logger.warning("the last line of %s was cut off and is taken away: %r", self.path, tail[:60])
        file.seek(0, os.SEEK_END)

    @contextmanager
    def _opened(self, path: Path) -> Iterator[BinaryIO]:
        """The file, for this process alone."""
        with self._reporting(path), open(path, "a+b") as file:
            _lock_file(file)
            yield file

    @contextmanager
    def _reporting(self, path: Path) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StorageError(f"the cache {str(path)!r} cannot be used: {error.strerror or error}") from error


#: What a line says a grade is of; what is empty is left out.
_GRADED = ("candidate", "item", "grader", "draw", "rater")


def _read_key(line: Mapping[str, Any]) -> _Key:
    """The key of the grade or label that a line holds."""
    needed = _GRADED[1:3] if "label" in line else _GRADED[:3]
    return tuple(str(line[name]) if name in needed else str(line.get(name, "")) for name in _GRADED)


def _is_whole(text: bytes) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _is_json(value: Any) -> bool:
    """Whether a value comes back from JSON as it went in."""
    if isinstance(value, list):
        return all(map(_is_json, value))
    if isinstance(value, dict):
        return all(type(key) is str and _is_json(entry) for key, entry in value.items())
    return value is None or type(value) in (bool, int, str) or (type(value) is float and value == value)


def _lock_file(file: BinaryIO) -> None:
    """Wait until no other process writes; the lock ends when the file is closed."""
    try:
        import fcntl
    except ImportError:  # Windows: a cache file is for one process there
        return
    fcntl.flock(file, fcntl.LOCK_EX)
