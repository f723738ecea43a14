"""The routes of people who grade. They have a link of their own, which opens nothing else."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mfbandit.errors import MfbanditError, StudyError
from mfbandit.serve._keys import Keys
from mfbandit.serve._open_studies import OpenStudies
from mfbandit.serve.live._watched import event
from mfbandit.serve.people._agreement import agreement
from mfbandit.serve.people._grading_session import GradingSession, Person, person_name
from mfbandit.serve.people._showing import Show
from mfbandit.serve.web._answers import Json, read_json, refusal
from mfbandit.serve.web._live_routes import stream
from mfbandit.study.report import results_with_notes

__all__ = ["grade_routes"]

_logger = logging.getLogger("mfbandit")

#: Whoever waits is looked after so often.
_PAUSE_SECONDS = 0.5


class _Sessions:
    """The sessions of all studies."""

    def __init__(self, studies: OpenStudies, show: Show | None) -> None:
        self.studies, self._show = studies, show
        self._sessions: dict[str, GradingSession] = {}

    def get(self, name: str) -> GradingSession:
        """The session of a study."""
        study = self.studies.get(name)
        found = self._sessions.get(study.identity)
        if found is None:
            if self._show is None:
                raise StudyError("nobody has said what to show for a pull: start the page with show=, or --show FILE")
            if not any(fidelity.by == "people" for fidelity in study.problem.fidelities):
                raise StudyError(f"study {name!r} has no fidelity by='people': there is nothing for people to grade")
            found = self._sessions.setdefault(study.identity, GradingSession(study, self._show))
        return found

    def known(self, name: str) -> GradingSession | None:
        """The session of a study, if anybody was there yet."""
        return self._sessions.get(self.studies.get(name).identity)


def grade_routes(studies: OpenStudies, keys: Keys, show: Show | None) -> list[Route]:
    """The routes of people who grade, and what the owner sees of them."""
    sessions = _Sessions(studies, show)

    def may_grade(request: Request) -> Response | None:
        name = request.path_params["name"]
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        cookie = request.cookies.get(keys.grade_cookie_name(name))
        if request.state.is_owner or keys.is_grader(name, given if kind.lower() == "bearer" else None, cookie):
            return None
        return refusal(401, "this needs the link for people who grade: ask for it where the study is run")

    async def login(request: Request) -> Response:
        name, token = request.path_params["name"], (await read_json(request)).get("token")
        if not isinstance(token, str) or not keys.is_grader(name, token, None):
            return refusal(401, "this is not the link for people who grade this study")
        answer = Json({"grades": True})
        path = request.scope.get("root_path", "") or "/"
        value = keys.grade_cookie(name)
        secure = request.url.scheme == "https"
        answer.set_cookie(
            keys.grade_cookie_name(name), value, path=path, secure=secure, httponly=True, samesite="strict"
        )
        return answer

    async def events(request: Request) -> Response:
        refused = may_grade(request)
        if refused is not None:
            return refused
        session = await run_in_threadpool(sessions.get, request.path_params["name"])
        return stream(_attend(session, person_name(request.query_params.get("person"))))

    def action(work: Callable[[GradingSession, Person, dict[str, Any]], None]) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            refused = may_grade(request)
            if refused is not None:
                return refused
            sent = await read_json(request)

            def step() -> dict[str, Any]:
                session = sessions.get(request.path_params["name"])
                person = session.person(sent.get("person"))
                work(session, person, sent)
                return session.state(person)

            return Json(await run_in_threadpool(step))

        return endpoint

    async def owner(request: Request) -> Response:
        if not request.state.is_owner:
            return refusal(401, "only whoever has the token of the page sees who said what")

        def found() -> dict[str, Any]:
            name = request.path_params["name"]
            study, session = studies.get(name), sessions.known(name)
            link = f"/grade/{quote(name, safe='')}#token={keys.grade_token(name)}"
            said = agreement(results_with_notes(study))
            return {"link": link, "there": [] if session is None else session.names(), **said}

        return Json(await run_in_threadpool(found))

    at = "/api/grade/{name:path}"
    works = {
        "give": lambda session, person, sent: session.grade(person, sent.get("task"), sent.get("grade")),
        "skip": lambda session, person, sent: session.skip(person, sent.get("task")),
        "undo": lambda session, person, sent: session.undo(person),
    }
    return [
        Route(f"{at}/login", login, methods=["POST"]),
        Route(f"{at}/events", events),
        Route(f"{at}/owner", owner),
        *(Route(f"{at}/{name}", action(work), methods=["POST"]) for name, work in works.items()),
    ]


async def _attend(session: GradingSession, name: str) -> AsyncIterator[bytes]:
    """What somebody sees, as it changes, while the page is open; when it is closed, what was open is given back."""
    try:
        person = session.join(name)
    except StudyError as error:
        yield event("trouble", {"error": str(error)})
        return
    last: dict[str, Any] | None = None
    try:
        while True:
            try:
                state = await run_in_threadpool(session.state, person)
            except MfbanditError as error:
                _logger.warning("people who grade study %r: %s", session.study.name, error)
                yield event("trouble", {"error": "the study cannot be reached now"})
                return
            if state != last:
                last = state
                yield event("state", state)
            await asyncio.sleep(_PAUSE_SECONDS)
    finally:
        # Not awaited: whoever is cancelled cannot wait for anything.
        asyncio.get_running_loop().run_in_executor(None, session.leave, person)
