"""All routes as one application."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mfbandit.certificate import verify
from mfbandit.errors import MfbanditError
from mfbandit.serve._keys import Keys
from mfbandit.serve._open_studies import OpenStudies
from mfbandit.serve.live._live_study import LiveStudies
from mfbandit.serve.people._showing import Show
from mfbandit.serve.web._answers import Json, answer_error, read_json, refusal
from mfbandit.serve.web._grade_routes import grade_routes
from mfbandit.serve.web._guard import Guard
from mfbandit.serve.web._live_routes import live_routes
from mfbandit.serve.web._shells import STATIC, shell_routes
from mfbandit.serve.web._worker_api import worker_routes
from mfbandit.study.report import snapshot

__all__ = ["make_site"]


def make_site(studies: OpenStudies, keys: Keys, show: Show | None = None) -> Starlette:
    """The application: its routes behind the guard."""
    live = LiveStudies(studies)

    @asynccontextmanager
    async def lifespan(site: Starlette) -> AsyncIterator[None]:
        preparing = asyncio.create_task(_prepare(live))
        yield
        preparing.cancel()

    return Starlette(
        routes=[
            *_login_routes(keys),
            *worker_routes(studies),
            *live_routes(studies, live),
            *grade_routes(studies, keys, show),
            *_reading_routes(studies),
            *shell_routes(),
        ],
        middleware=[Middleware(Guard, keys=keys)],
        exception_handlers={MfbanditError: answer_error},
        lifespan=lifespan,
    )


async def _prepare(live: LiveStudies) -> None:
    """Open what is likely to be wanted; whoever wants it is told if that fails."""
    with suppress(asyncio.CancelledError, MfbanditError):
        await live.prepare()


def _login_routes(keys: Keys) -> list[Route]:
    """How a browser gets its cookie: the page sends the token that stands behind the # of a link."""

    async def login(request: Request) -> Response:
        token = (await read_json(request)).get("token")
        if not isinstance(token, str) or not keys.is_owner(token):
            return refusal(401, "this is not the token that was printed when the page was started")
        answer = Json({"owner": True})
        secure = request.url.scheme == "https"
        path = request.scope.get("root_path", "") or "/"
        answer.set_cookie(keys.cookie_name, keys.cookie, path=path, secure=secure, httponly=True, samesite="strict")
        return answer

    async def me(request: Request) -> Response:
        reads = keys.reading_is_open or request.state.is_owner
        return Json({"owner": request.state.is_owner, "reads": reads, "writable": keys.exist})

    async def openapi(request: Request) -> Response:
        return Response((STATIC / "openapi.json").read_bytes(), media_type="application/json")

    return [
        Route("/api/login", login, methods=["POST"]),
        Route("/api/me", me),
        Route("/api/openapi.json", openapi),
    ]


def _reading_routes(studies: OpenStudies) -> list[Route]:
    """What can be read at once; what goes on is in `mfbandit.serve.live`."""

    async def names(request: Request) -> Response:
        return Json({"studies": await run_in_threadpool(studies.names)})

    async def one(request: Request) -> Response:
        return Json(await run_in_threadpool(lambda: snapshot(studies.get(request.path_params["name"]))))

    async def certificate(request: Request) -> Response:
        return Json(await run_in_threadpool(lambda: _certificate(studies, request)))

    async def verified(request: Request) -> Response:
        def check() -> dict[str, Any]:
            verdict = verify(_certificate(studies, request))
            found = {"valid": verdict.valid, "claim": verdict.claim, "reasons": list(verdict.reasons)}
            return {**found, "fingerprint": verdict.fingerprint}

        return Json(await run_in_threadpool(check))

    return [
        Route("/api/studies", names),
        Route("/api/studies/{name:path}/certificate", certificate),
        Route("/api/studies/{name:path}/verify", verified),
        Route("/api/studies/{name:path}", one),
    ]


def _certificate(studies: OpenStudies, request: Request) -> dict[str, Any]:
    return studies.get(request.path_params["name"]).result().certificate
