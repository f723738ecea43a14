"""Answers as JSON, and errors as sentences that say nothing about the server."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from mfbandit.errors import InvalidInput, MfbanditError, StorageError, StudyError
from mfbandit.serve._open_studies import UnknownStudy

__all__ = ["Json", "plain", "read_json", "refusal", "whole_text"]

_logger = logging.getLogger("mfbandit")


class Json(Response):
    """An answer as JSON: what is not finite is null, and letters are written so that any reader takes them."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The text of it."""
        return whole_text(content).encode("ascii")


def whole_text(content: Any) -> str:
    """A value as JSON in ASCII."""
    return json.dumps(plain(content), allow_nan=False, separators=(",", ":"))


def plain(value: Any) -> Any:
    """A value as JSON has it: no NumPy, and null for what is not finite.

    Examples
    --------
    >>> plain({"bounds": (0.0, math.inf)})
    {'bounds': [0.0, None]}
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def refusal(status: int, sentence: str) -> Json:
    """The answer to a request that is not granted."""
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
    return Json({"error": sentence}, status_code=status, headers=headers)


async def read_json(request: Request) -> dict[str, Any]:
    """The JSON object that was sent; nothing at all is an empty one."""
    body = await request.body()
    if not body.strip():
        return {}
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise InvalidInput("the body of a request must be a JSON object") from None
    if not isinstance(found, dict):
        raise InvalidInput("the body of a request must be a JSON object")
    return found


async def answer_error(request: Request, error: Exception) -> Response:
    """What a request is told that raised an error of this package."""
    if isinstance(error, UnknownStudy):
        return refusal(404, str(error))
    if isinstance(error, StorageError):
        # Its sentence names files and servers.
        _logger.warning("%s %s: %s", request.method, request.url.path, error)
        return refusal(503, "the storage of the studies failed: the page's own log says why")
    if isinstance(error, InvalidInput):
        return refusal(400, str(error))
    if isinstance(error, StudyError):
        return refusal(409, str(error))
    assert isinstance(error, MfbanditError)
    _logger.warning("%s %s: %s", request.method, request.url.path, error)
    return refusal(500, "the page failed: its own log says why")
