"""What exceptions say of themselves: whether they pass, and how long to wait."""

import pickle
import urllib.error
from datetime import UTC, datetime, timedelta
from email.message import Message
from email.utils import format_datetime
from types import SimpleNamespace

import pytest

from mfbandit.errors import RewardError, StudyError
from mfbandit.workers import TookTooLong, describe
from mfbandit.workers._failure import RemoteFailure, WorkerDied


def raised(kind, cause=None, **attributes):
    try:
        error = kind
        for name, value in attributes.items():
            setattr(error, name, value)
        if cause is None:
            raise error
        raise error from cause
    except BaseException as found:
        return found


def answer(status, **headers):
    return SimpleNamespace(status_code=status, headers={name.replace("_", "-"): text for name, text in headers.items()})


def http_error(status, **headers):
    said = Message()
    for name, text in headers.items():
        said[name.replace("_", "-")] = text
    return urllib.error.HTTPError("http://judge", status, "busy", said, None)


class RateLimitError(Exception):
    """As clients of models call it."""


AMAZON = {"ResponseMetadata": {"HTTPStatusCode": 503, "HTTPHeaders": {"retry-after": "4"}}}


@pytest.mark.parametrize(
    ("error", "kind", "wait"),
    [
        (raised(RuntimeError("x"), retry_after=3), "temporary", 3.0),
        (raised(RuntimeError("x"), retry_after="2.5"), "temporary", 2.5),
        (raised(RuntimeError("x"), retry_after=timedelta(seconds=9)), "temporary", 9.0),
        (raised(RuntimeError("x"), retry_after=None), "unknown", None),
        (raised(RuntimeError("x"), retry_after=float("nan")), "unknown", None),
        (raised(RuntimeError("x"), retry_after=-1), "unknown", None),
        (raised(RuntimeError("x"), retry_after=object()), "unknown", None),
        (http_error(503, Retry_After="7"), "temporary", 7.0),
        (http_error(429), "temporary", None),
        (http_error(404), "lasting", None),
        (raised(RuntimeError("x"), response=answer(503, retry_after="6")), "temporary", 6.0),
        (raised(RuntimeError("x"), response=answer(429, Retry_After_Ms="250")), "temporary", 0.25),
        (raised(RuntimeError("x"), response=answer(401)), "lasting", None),
        (raised(RuntimeError("x"), response=AMAZON), "temporary", 4.0),
        (raised(RuntimeError("x"), cause=http_error(502, Retry_After="5")), "temporary", 5.0),
        (raised(RuntimeError("x"), cause=ConnectionResetError()), "temporary", None),
        (RateLimitError(), "temporary", None),
        (TimeoutError(), "temporary", None),
        (ValueError("no number"), "unknown", None),
        (TookTooLong(3.0), "unknown", None),
        (ImportError("no module"), "lasting", None),
        (raised(StudyError("./judge could not be started"), cause=FileNotFoundError()), "lasting", None),
        (RewardError("nan"), "refused", None),
        (WorkerDied("killed"), "lasting", None),
        (SystemExit(503), "lasting", None),
    ],
)
def test_what_errors_say_of_themselves(error, kind, wait):
    found = describe(error)
    assert (found.kind, found.retry_after) == (kind, wait)
    # The same when it was sent by another process.
    sent = pickle.loads(pickle.dumps(RemoteFailure.of(error)))
    assert describe(sent) == found
    assert str(sent) == found.said


def test_a_date_says_how_long_to_wait():
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    assert 25.0 < describe(http_error(503, Retry_After=soon)).retry_after <= 30.0
    past = format_datetime(datetime.now(UTC) - timedelta(seconds=30), usegmt=True)
    assert describe(http_error(503, Retry_After=past)).retry_after == 0.0
