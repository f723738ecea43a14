"""All studies of a storage, watched at once: a line for each."""

from __future__ import annotations

import logging
import time
from typing import Any

from starlette.concurrency import run_in_threadpool

from mfbandit.errors import MfbanditError, StorageError
from mfbandit.serve._open_studies import OpenStudies
from mfbandit.serve.live._watched import Watched, event
from mfbandit.study.report import latest_activity, summary

__all__ = ["Overview"]

_logger = logging.getLogger("mfbandit")

#: So many of the newest studies are shown.
_MOST_STUDIES = 500
#: A study that is no longer open is looked at again after so many seconds.
_STALE_SECONDS = 60.0
#: A look at studies that were not open takes no longer than this before what is known is shown.
_LOOK_SECONDS = 0.4


class Overview(Watched):
    """Where all studies stand."""

    def __init__(self, studies: OpenStudies) -> None:
        super().__init__()
        self._studies = studies
        #: The line of each study, with the length of its log, and when that was looked at.
        self._lines: dict[str, tuple[dict[str, Any], int, float]] = {}
        self._shown: list[dict[str, Any]] | None = None

    async def look(self) -> None:
        """Tell where studies stand, if anything has changed."""
        try:
            lines = await run_in_threadpool(self._look)
        except StorageError as error:
            self.say_trouble("the storage does not answer", f"watching all studies: {error}")
            return
        self.say_trouble("")
        if lines != self._shown:
            self._shown = lines
            text = event("studies", {"studies": lines})
            self.say("studies", lambda: text)

    def _look(self) -> list[dict[str, Any]]:
        names = self._studies.names()[::-1]
        started = time.monotonic()
        # Names come at once: how sure a study is may have to wait for numba.
        seconds = 0.0 if self._shown is None else _LOOK_SECONDS
        for name in names[:_MOST_STUDIES]:
            if time.monotonic() - started >= seconds and name not in self._lines:
                break  # the others come with the next looks
            self._refresh(name, started)
        lines = [self._lines[name][0] if name in self._lines else {"study": name} for name in names[:_MOST_STUDIES]]
        self.unfinished = any("status" not in line for line in lines)
        left_out = len(names) - len(lines)
        return [*lines, {"more": left_out}] if left_out else lines

    def _refresh(self, name: str, now: float) -> None:
        """Look at a study, if it may have changed and that is quickly done."""
        line, length, looked = self._lines.get(name, ({}, -1, 0.0))
        if line and not self._studies.is_open(name) and now - looked < _STALE_SECONDS:
            return
        try:
            study = self._studies.get(name)
            study.current()
            if study.known_length != length:
                length = study.known_length
                line = {**summary(study), "active": latest_activity(study)}
        except MfbanditError as error:
            if isinstance(error, StorageError) and line.get("status") != "unreadable":
                _logger.warning("study %r cannot be shown: %s", name, error)
            self._studies.forget(name)
            line = {"study": name, "status": "unreadable"}
        self._lines[name] = line, length, now
