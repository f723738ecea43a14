"""Server-sent events: what browsers listen to."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from sse_starlette import EventSourceResponse
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mfbandit.serve._open_studies import OpenStudies, UnknownStudy
from mfbandit.serve.live._live_study import LiveStudies
from mfbandit.serve.live._overview import Overview
from mfbandit.serve.web._answers import refusal

__all__ = ["live_routes", "stream"]

#: So many pages may be open.
MOST_WATCHERS = 1000
_PING_SECONDS, _SEND_SECONDS = 15, 30


def stream(events: AsyncIterator[bytes]) -> Response:
    """Events as an answer that does not end."""
    # Types of the package say that text is wanted; bytes go out as they are.
    content: Any = events
    return EventSourceResponse(content, ping=_PING_SECONDS, send_timeout=_SEND_SECONDS)


def live_routes(studies: OpenStudies, live: LiveStudies) -> list[Route]:
    """The routes of what goes on."""
    overview = Overview(studies)

    def full() -> Response | None:
        if live.watchers + overview.watchers < MOST_WATCHERS:
            return None
        return refusal(503, f"{MOST_WATCHERS} pages are open, and no more can be served")

    async def study(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in await run_in_threadpool(studies.names):
            raise UnknownStudy(f"there is no study named {name!r}")
        return full() or stream(live.watch(name))

    async def every(request: Request) -> Response:
        return full() or stream(overview.watch())

    return [Route("/api/overview/events", every), Route("/api/studies/{name:path}/events", study)]
