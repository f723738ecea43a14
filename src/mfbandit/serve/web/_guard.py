"""What stands before every request: who may do what, from where, and how much they may send.

- Without a token for reading, the page answers only under names of this machine itself. A site whose name is made to
  lead to 127.0.0.1 (DNS rebinding) has another name.
- Writing needs the token, or its cookie. The cookie counts only with an `Origin` that is this page: other sites, and
  other ports of this machine, cannot write with it. A token in a header is no cookie, so no origin is needed, but a
  foreign one is refused.
- What is sent is read here, up to a limit of size and time, before anybody looks at it.
"""

from __future__ import annotations

import asyncio
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mfbandit.serve._keys import Keys, is_loopback
from mfbandit.serve.web._answers import refusal

__all__ = ["LARGEST_BODY", "Guard"]

LARGEST_BODY = 256 * 1024
_BODY_SECONDS = 20.0
_READS = ("GET", "HEAD")

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class _TooLarge(Exception):
    """More was sent than is read."""


class _Gone(Exception):
    """Nobody waits for the answer any more."""


class Guard:
    """An ASGI middleware that lets through what may pass."""

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self.app, self.keys = app, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, and hand it on with all that was sent."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # a websocket: there are none here
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = Headers(scope=scope)

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                answered = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    answered[name] = value
                answered.setdefault("Cache-Control", "no-cache" if _path(scope).startswith("/static/") else "no-store")
            await send(message)

        scope.setdefault("state", {})["is_owner"] = self._is_owner(headers)
        refused = self._refusal(scope, headers)
        if refused is not None:
            await refusal(*refused)(scope, receive, guarded)
            return
        if scope["method"] not in _READS:
            try:
                async with asyncio.timeout(_BODY_SECONDS):
                    receive = _again(await _body(headers, receive), receive)
            except _TooLarge:
                await refusal(413, f"a request may have at most {LARGEST_BODY} bytes")(scope, receive, guarded)
                return
            except TimeoutError:
                await refusal(408, "the request did not arrive in time")(scope, receive, guarded)
                return
            except _Gone:
                return
        await self.app(scope, receive, guarded)

    def _is_owner(self, headers: Headers) -> bool:
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return self.keys.is_owner(given.strip())
        return self.keys.is_owners_cookie(_cookie(headers, self.keys.cookie_name))

    def _refusal(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        """Why a request may not pass, if it may not: a status and a sentence."""
        reads, is_owner, path = scope["method"] in _READS, scope["state"]["is_owner"], _path(scope)
        if self.keys.reading_is_open and not is_loopback(_host(headers)):
            return 421, "this page answers only under names of its own machine, such as 127.0.0.1 and localhost"
        if not reads and not _own_origin(headers):
            return 403, "this request comes from another site"
        if path.startswith("/api/") and headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            # It could not read the answer, but it could keep the server busy.
            return 403, "this request comes from another site"
        if not path.startswith("/api/") or path in ("/api/login", "/api/me", "/api/openapi.json"):
            return None  # what is the same for all, and what asks for the token itself
        if path.startswith("/api/grade/") and self.keys.exist:
            return None  # people who grade have a token of their own, which is asked for there
        if reads and (self.keys.reading_is_open or is_owner):
            return None
        if not self.keys.exist:
            return 403, "this page was started without a token, so that nobody can write"
        if not is_owner:
            return 401, "this needs the token that was printed when the page was started"
        return None


def _path(scope: Scope) -> str:
    """The path within this application, wherever it is mounted."""
    path, root = str(scope["path"]), str(scope.get("root_path", ""))
    return path.removeprefix(root) if root else path


def _host(headers: Headers) -> str:
    """The name by which a request reached the page, without its port."""
    try:
        return urlsplit(f"//{headers.get('host', '')}").hostname or ""
    except ValueError:
        return ""


def _own_origin(headers: Headers) -> bool:
    """Whether a request comes from this page, or from no page at all."""
    origin = headers.get("origin")
    if origin is None:
        # Browsers send an origin with whatever writes; a worker has its token in a header.
        return "cookie" not in headers and headers.get("sec-fetch-site", "none") in ("same-origin", "none")
    try:
        return urlsplit(origin).netloc.lower() == headers.get("host", "").lower() != ""
    except ValueError:
        return False


def _cookie(headers: Headers, name: str) -> str | None:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return None
    return None if found is None else found.value


async def _body(headers: Headers, receive: Receive) -> bytes:
    """All that was sent, or `_TooLarge`."""
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > LARGEST_BODY:
        raise _TooLarge
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Gone
        body += message.get("body", b"")
        if len(body) > LARGEST_BODY:
            raise _TooLarge
        if not message.get("more_body", False):
            return bytes(body)


def _again(body: bytes, receive: Receive) -> Receive:
    """Hand a body out that was read already."""
    messages: list[dict[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return messages.pop() if messages else await receive()

    return next_message
