"""What went wrong with an evaluation: in words, whether it will pass, and how long to wait."""

from __future__ import annotations

import contextlib
import math
import re
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from mfbandit.errors import InvalidInput, RewardError, StudyError

__all__ = [
    "BUG",
    "LASTING",
    "REFUSED",
    "TEMPORARY",
    "UNKNOWN",
    "Failure",
    "RemoteFailure",
    "TookTooLong",
    "WorkerDied",
    "describe",
    "note_seconds",
    "reason",
]

#: Whether an error will pass: it says so, it will not, or nothing is known, and it may be an answer that was cut off as
#: well as a mistake in code; or an evaluator says itself that what it got is no reward.
TEMPORARY, LASTING, UNKNOWN, BUG, REFUSED = "temporary", "lasting", "unknown", "bug", "refused"
#: Errors that waiting does not mend.
_LASTING = (NameError, SyntaxError, ImportError, NotImplementedError, MemoryError, InvalidInput, SystemExit)
#: Errors that are mistakes in code as long as nothing has worked; later they may come of a service's odd answer.
_BUGS = (TypeError, AttributeError, LookupError, AssertionError)
#: Class names by which clients of services tell that they may be asked again.
_PASSES = re.compile(r"Timeout|ConnectionError|ConnectError|RateLimit|Unavailable|Overloaded|Throttl|TooManyRequests")
#: HTTP answers below 500 that ask for another attempt, and those above that do not.
_ASK_AGAIN, _NEVER = (408, 409, 425, 429), (501, 505)
#: Where an exception says how long the evaluation took that raised it.
_SECONDS = "_mfbandit_seconds"
#: How many errors that led to one another are looked at.
_DEEPEST = 5


class WorkerDied(StudyError):
    """The process that evaluated a pull ended before the evaluation did."""


class TookTooLong(StudyError):
    """An evaluation ran longer than its timeout."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds

    def __str__(self) -> str:
        """Say how long it was allowed to take."""
        return f"the evaluation took longer than {self.seconds:g} s"


class Failure(NamedTuple):
    """What an exception says about an evaluation."""

    said: str
    kind: str
    retry_after: float | None
    """Seconds that it asks to wait, if it does."""
    cost: float | None = None
    """What the attempt has cost, if it says so."""
    seconds: float | None = None
    """How long it took, if that is known."""


class RemoteFailure(StudyError):
    """A failure in another process, described there: not every exception can be sent."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.failure = Failure(*parts)

    def __str__(self) -> str:
        """Say what was raised."""
        return self.failure.said

    @classmethod
    def of(cls, error: BaseException) -> RemoteFailure:
        """Describe an exception so that it can be sent."""
        made = cls(*describe(error))
        made.add_note("".join(traceback.format_exception(error)))
        return made


def reason(error: BaseException) -> str:
    """Say in words what an exception is.

    Examples
    --------
    >>> reason(ValueError("no answer")), reason(KeyError()), reason(StudyError("it took too long"))
    ('ValueError: no answer', 'KeyError', 'it took too long')
    """
    error = _raised(error)
    if isinstance(error, StudyError | RewardError):
        return str(error)
    text = str(error).strip()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def describe(error: BaseException) -> Failure:
    """Describe an exception, and those that led to it.

    Examples
    --------
    >>> slow_down = RuntimeError("slow down")
    >>> slow_down.retry_after = 1.5
    >>> describe(slow_down)
    Failure(said='RuntimeError: slow down', kind='temporary', retry_after=1.5, cost=None, seconds=None)
    >>> [describe(error).kind for error in (NameError("judge"), ConnectionResetError(), ValueError("?"), KeyError("C"))]
    ['lasting', 'temporary', 'unknown', 'bug']
    """
    chain = list(_chain(error))
    for one in chain:
        if isinstance(one, RemoteFailure):
            return one.failure
    waits = [wait for wait in map(_retry_after, chain) if wait is not None]
    kind = TEMPORARY if waits else next((kind for kind in map(_kind, chain) if kind != UNKNOWN), UNKNOWN)
    if isinstance(error, (*_LASTING, WorkerDied, KeyboardInterrupt)):
        kind = LASTING
    elif kind == UNKNOWN and isinstance(_raised(error), _BUGS):
        kind = BUG
    if isinstance(_raised(error), RewardError):
        kind = REFUSED
    costs, seconds = ([_amount(one, name) for one in chain] for name in ("cost", _SECONDS))
    return Failure(reason(error), kind, waits[0] if waits else None, _first(costs), _first(seconds))


def note_seconds(error: BaseException, began: float) -> None:
    """Note on an exception how long the evaluation took that began at a moment of `time.perf_counter`."""
    with contextlib.suppress(Exception):  # not every exception takes notes
        setattr(error, _SECONDS, time.perf_counter() - began)


def _first(amounts: Iterable[float | None]) -> float | None:
    return next((amount for amount in amounts if amount is not None), None)


def _amount(error: BaseException, name: str) -> float | None:
    """A number of at least 0 that an exception carries under a name."""
    with contextlib.suppress(Exception):  # whatever a foreign object does when it is looked at
        found = getattr(error, name, None)
        amount = math.nan if found is None or isinstance(found, bool | str) else float(found)
        return amount if 0.0 <= amount < math.inf else None
    return None


def _raised(error: BaseException) -> BaseException:
    """What an evaluation raised: Ray wraps what was raised on another machine."""
    cause = getattr(error, "cause", None)
    return cause if isinstance(cause, BaseException) else error


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An exception and those that led to it."""
    following: Any = error
    for _ in range(_DEEPEST):
        if not isinstance(following, BaseException):
            return
        yield following
        context = None if following.__suppress_context__ else following.__context__
        following = getattr(following, "cause", None) or following.__cause__ or context


def _kind(error: BaseException) -> str:
    """Whether an exception will pass, by its HTTP status or by its class."""
    status = _status(error)
    if status is not None:
        passes = status in _ASK_AGAIN or (status >= 500 and status not in _NEVER)
        return TEMPORARY if passes else LASTING
    if isinstance(error, (ConnectionError, TimeoutError, BlockingIOError)):
        return TEMPORARY
    if isinstance(error, (FileNotFoundError, PermissionError)):
        return LASTING
    named = any(_PASSES.search(kind.__name__) for kind in type(error).__mro__)
    return TEMPORARY if named else UNKNOWN


def _carriers(error: BaseException) -> Iterator[Any]:
    """Where clients keep the status and the headers of an answer: in the exception, or in its response."""
    yield error
    response = getattr(error, "response", None)
    if isinstance(response, Mapping):  # a cloud service
        yield response.get("ResponseMetadata", {})
    elif response is not None:
        yield response


def _status(error: BaseException) -> int | None:
    """The HTTP status of an error answer, if there is one."""
    for carrier in _carriers(error):
        for name in ("status_code", "status", "code", "HTTPStatusCode"):
            found = carrier.get(name) if isinstance(carrier, Mapping) else getattr(carrier, name, None)
            # An HTTPStatus is a whole number too.
            if isinstance(found, int) and 400 <= found <= 599:
                return int(found)
    return None


def _retry_after(error: BaseException) -> float | None:
    """How many seconds an exception asks to wait."""
    with contextlib.suppress(Exception):  # whatever a foreign object does when it is looked at
        found = _seconds(getattr(error, "retry_after", None))
        if found is not None:
            return found
        for carrier in _carriers(error):
            said = carrier.get("HTTPHeaders") if isinstance(carrier, Mapping) else getattr(carrier, "headers", None)
            headers = {str(name).lower(): value for name, value in said.items()} if said is not None else {}
            exact = _seconds(headers.get("retry-after-ms"))
            found = _seconds(headers.get("retry-after")) if exact is None else exact / 1000.0
            if found is not None:
                return found
    return None


def _seconds(said: object) -> float | None:
    """A time to wait, from a number, a text, a duration or a date; None if it is none of these."""
    if said is None or isinstance(said, bool):
        return None
    if isinstance(said, timedelta):
        said = said.total_seconds()
    elif isinstance(said, str) and not re.fullmatch(r"\s*[\d.]+\s*", said):
        said = parsedate_to_datetime(said)
    if isinstance(said, datetime):
        said = (said if said.tzinfo else said.replace(tzinfo=UTC)).timestamp() - datetime.now(UTC).timestamp()
        return max(0.0, said)
    seconds = float(said)  # type: ignore[arg-type]
    return seconds if seconds >= 0.0 and math.isfinite(seconds) else None
