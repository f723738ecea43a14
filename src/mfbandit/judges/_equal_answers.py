"""Questions that need no grader: all candidates that are left give the same answer.

Two equal answers to an item have one grade, whoever gave them. So where all candidates that are, or may yet be,
measured on a block answer alike, every difference on it is 0 whatever the grade is, and nobody need be asked. The block
is not passed over: all of them get the low end of the range for it. Sums and means of a candidate then lack the same
amount as those of all others, and every difference is what it would be with the grade.

What makes this right is that a block is either graded for all who are measured on it, or for nobody:

- Who may be measured is fixed when the block is opened (`Study.arms_on_block`): those who had not lost by then. Nobody
  joins later, and candidates that pause are asked for their answers ahead of their turn.
- What was found is kept, and whoever says it first counts. So it is the same in all processes, after a restart, and
  after an answer could not be made at first.
"""

from __future__ import annotations

import asyncio
import inspect
import reprlib
import sys
import types
import warnings
from collections.abc import Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from mfbandit.errors import InvalidInput, MfbanditError, StudyError
from mfbandit.judges.kept import Subject, content_key
from mfbandit.study import load_study
from mfbandit.study.api import DEFAULT_NAME

if TYPE_CHECKING:
    from mfbandit.judges._grading import Grading
    from mfbandit.model import Pull
    from mfbandit.study import Study

__all__ = ["EqualAnswers", "equal", "guarded", "refuse_return", "same_digest"]

#: Where a cache keeps the digest of `same`, beside what was found by it: no grader has an empty name.
_SAME = ("", 0)


def equal(first: Any, second: Any) -> bool:
    """Whether two answers are equal, and of one kind: 1 and True are not, nor things that do not say so in one word.

    Examples
    --------
    >>> equal("yes", "yes"), equal(1, True)
    (True, False)
    """
    if type(first) is not type(second):
        return False
    try:
        return bool(first == second)
    except Exception:  # arrays compare their entries, and say of each
        return False


def refuse_return(storage: Any, name: str | None, wanted: Mapping[str, Any]) -> None:
    """Refuse what would let candidates return to a study that exists, which had lost when answers were compared.

    They would be measured on items that all others answered alike, of which nobody knows the grade.
    """
    if storage is None:
        return
    try:
        study = load_study(storage, DEFAULT_NAME if name is None else name)
    except MfbanditError:
        return  # there is none, or whoever goes on with it is told why not
    with study:
        made, now = study.made_with, study.settings
    for key in ("delta", "epsilon"):
        first, last = getattr(made, key), wanted.get(key)
        for value in (getattr(now, key), last):
            if value is not None and value != first:
                raise StudyError(
                    f"study {study.name!r} was made with {key}={first!r}, and cannot go on with {value!r}: candidates "
                    "that had lost might return, and nobody knows the grades of items that all others answered alike; "
                    "pass same=None to Judging for studies that are to be extended"
                )
    if made.judged_by != now.judged_by:
        raise StudyError(
            f"a bias bound was widened in study {study.name!r}: candidates that had lost might return, and nobody "
            "knows the grades of items that all others answered alike; pass same=None to Judging for studies that are "
            "to be extended"
        )


def guarded(same: Any) -> Any:
    """A function that says whether two answers are the same, with a sentence for what it raises."""

    @wraps(same, assigned=(), updated=())
    def asked(first: Any, second: Any) -> bool:
        try:
            found = same(first, second)
        except Exception as error:
            raise StudyError(f"same raised {type(error).__name__}: {error}") from error
        if not isinstance(found, bool | np.bool_):
            # A text such as "no" would count as yes, and nobody would be asked.
            raise StudyError(f"same must return True or False, got {reprlib.repr(found)}")
        return bool(found)

    return asked


def same_digest(same: Any) -> str:
    """A digest of what a function does, as far as its code and what it has closed over can tell.

    Examples
    --------
    >>> same_digest(lambda x, y: x == y) == same_digest(lambda x, y: x == y)
    True
    >>> same_digest(lambda x, y: x == y) == same_digest(lambda x, y: x.lower() == y.lower())
    False
    """
    # Other versions of Python put the same code otherwise, and say nothing about a change.
    version = ".".join(map(str, sys.version_info[:2]))
    return f"{version} {content_key('same', _told(inspect.unwrap(same)))}"


def _told(thing: Any) -> Any:
    """What a function or a value is, as far as can be told."""
    if isinstance(thing, types.CodeType):
        return thing.co_code, list(thing.co_names), [_told(one) for one in thing.co_consts]
    if isinstance(thing, types.FunctionType):
        inner = [_told(cell.cell_contents) for cell in thing.__closure__ or ()]
        return _told(thing.__code__), [_told(one) for one in thing.__defaults__ or ()], inner
    try:
        return content_key("same", thing)
    except InvalidInput:
        return type(thing).__qualname__, getattr(thing, "__qualname__", "")


class EqualAnswers:
    """Says of which blocks of a race all answers are the same."""

    def __init__(self, study: Study, grading: Grading) -> None:
        self._study, self._grading = study, grading
        self._warn_of_change()

    def _warn_of_change(self) -> None:
        """Say so if answers were compared by another function so far."""
        if not self._study.storage.url:
            return
        digest, key = same_digest(self._grading.answering.same), (self._study.identity, *_SAME)
        before = self._grading.cache.equal(*key) or self._grading.cache.keep_equal(*key, digest)
        if before != digest and before.split()[0] == digest.split()[0]:
            warnings.warn(
                f"same is not the function by which study {self._study.name!r} has compared answers so far: what it "
                "found the same stays so; if it was wrong, begin a new study (name=)",
                stacklevel=6,
            )

    def worth(self, pull: Pull) -> list[str]:
        """The candidates whose answers to compare for a pull; none if they may cost more than a grade does.

        Two are compared anyway, since both will be measured. More may pause, and be beaten before their turn.
        """
        grading = self._grading
        names = self._study.arms_on_block(pull)
        more = grading.answering.price * (len(names) - 2)
        return list(names) if more <= grading.graders[pull.fidelity].full_price else []

    def known(self, pull: Pull) -> str | None:
        """The one answer on the block of a pull, if it was found out; empty if answers differ."""
        return self._grading.cache.equal(*_key(pull))

    async def on(self, pull: Pull, subject: Subject) -> str:
        """The one answer of all who are measured on the block of a pull, who need no grade; empty if they differ."""
        deciding = self._grading.calls.deciding
        while (found := self.known(pull)) is None:
            if self._differs(pull, subject):
                return self._say(pull, "")
            if _key(pull) not in deciding:
                return await self._decide(pull, subject)
            await deciding[_key(pull)].wait()
        return found

    def _differs(self, pull: Pull, subject: Subject) -> bool:
        """Whether an answer that is there differs, so that there is no need to wait for others."""
        own = self._grading.kept_as(subject, True).like
        others = (subject._replace(candidate=name) for name in self.worth(pull))
        return any(self._grading.kept_as(one, True).like != own for one in others if self._grading.made(one))

    def _say(self, pull: Pull, same: str) -> str:
        """Say what was found, to those who wait for it, too; returns what counts."""
        kept = self._grading.cache.keep_equal(*_key(pull), same)
        waiting = self._grading.calls.deciding.get(_key(pull))
        if waiting is not None:
            waiting.set()
        return kept

    async def _decide(self, pull: Pull, subject: Subject) -> str:
        """Compare all answers, until somebody else has seen two that differ."""
        calls = self._grading.calls
        said = calls.deciding[_key(pull)] = asyncio.Event()
        compared = calls.keep(asyncio.ensure_future(self._all_same(pull, subject)))
        heard: asyncio.Future[Any] = asyncio.ensure_future(said.wait())
        try:
            # Answers that are being made are needed anyway: they are not called off.
            waiting: set[asyncio.Future[Any]] = {compared, heard}
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            found = self.known(pull)
            return self._say(pull, compared.result()) if found is None else found
        finally:
            heard.cancel()
            calls.deciding.pop(_key(pull), None)
            said.set()

    async def _all_same(self, pull: Pull, subject: Subject) -> str:
        grading, names = self._grading, self.worth(pull)
        own = grading.kept_as(subject, True).like
        others = [subject._replace(candidate=name) for name in names if name != subject.candidate]
        # Those that are known cost nothing, and often settle it.
        for other in sorted(others, key=lambda one: not grading.made(one)):
            try:
                await grading.answer(other, pull.study)
            except MfbanditError:
                # Its own pull will say so; whoever does not answer does not answer alike.
                return ""
            if grading.kept_as(other, True).like != own:
                return ""
            if self.known(pull) is not None:
                break
        return own if others else ""


def _key(pull: Pull) -> tuple[str, str, int]:
    return pull.study, pull.fidelity, pull.index
