"""The pages themselves: empty shells, the same for all, which scripts fill; and the files that they need."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from html import escape
from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from mfbandit.study.report import STYLE

__all__ = ["STATIC", "shell_routes"]

STATIC = Path(__file__).parents[1] / "static"

#: The pages, by the beginning of their path: their titles, and the scripts that fill them.
_PAGES = {
    "/": ("Studies", "overview.js"),
    "/study/{name:path}": ("A study", "study.js"),
    "/grade/{name:path}": ("Grading", "grade.js"),
}

_SHELL = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="root" content="{root}">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{root}/look.css">
<link rel="stylesheet" href="{root}/static/uplot/uPlot.min.css">
<link rel="stylesheet" href="{root}/static/page.css">
<title>{title} · mfbandit</title>
<script type="module" src="{root}/static/{script}"></script>
</head>
<body><main id="main"><noscript>This page needs JavaScript.</noscript></main></body>
</html>
"""


def shell_routes() -> list[BaseRoute]:
    """The routes of pages and of their files."""

    async def look(request: Request) -> Response:
        # One look for the page and the report.
        return Response(STYLE, media_type="text/css")

    pages = [Route(path, _shell(title, script)) for path, (title, script) in _PAGES.items()]
    return [Route("/look.css", look), Mount("/static", StaticFiles(directory=STATIC)), *pages]


def _shell(title: str, script: str) -> Callable[[Request], Awaitable[Response]]:
    async def page(request: Request) -> Response:
        root = escape(str(request.scope.get("root_path", "")))
        return HTMLResponse(_SHELL.format(root=root, title=escape(title), script=script))

    return page
