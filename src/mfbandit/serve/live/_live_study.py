"""A study that is watched: what it looks like now, and how it came there."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from typing import Any

from starlette.concurrency import run_in_threadpool

from mfbandit.errors import MfbanditError, StorageError
from mfbandit.serve._open_studies import OpenStudies, UnknownStudy
from mfbandit.serve.live._moments_program import moments_elsewhere
from mfbandit.serve.live._watched import Watched, event
from mfbandit.study.report import log_totals, moments, progress, snapshot

__all__ = ["LiveStudies", "LiveStudy"]

_logger = logging.getLogger("mfbandit")

#: So many moments are kept; when there are more, every other one is forgotten.
_MOST_MOMENTS = 400
#: A look that takes longer than this, at many arms, is followed by a rest of so many times as long, with counts only.
_LONG_SECONDS, _REST = 1.0, 4.0
#: Pulls that are out are looked at so often, even if nothing is new.
_CHECK_SECONDS = 5.0
#: With more results than this, how a study went is worked out by another process: that takes a while.
_MANY_RESULTS = 20_000
#: If the results have grown by more than this share while nobody watched, how that went is worked out.
_MISSED = 0.02
#: So many studies that nobody watches any more are remembered.
_MOST_KEPT = 32
#: So many are looked at when the server starts.
_MOST_PREPARED = 3


class LiveStudy(Watched):
    """Follows the log of a study while somebody watches."""

    def __init__(self, studies: OpenStudies, name: str) -> None:
        super().__init__()
        self._studies, self.name = studies, name
        self._length = -1
        self._moments: list[dict[str, Any]] = []
        #: What pages are told of it; None if it has changed since.
        self._moments_text: bytes | None = None
        #: When each pull that is out was first seen to be; a renewed lease says only when that was done last.
        self._first_seen: dict[int, float] = {}
        #: Processes that have pulls may end, which no log says: so they are looked at now and then.
        self._next_look = 0.0
        #: Until then nothing is shown but what can be said at once.
        self._next_full = 0.0
        self._filling: asyncio.Task[None] | None = None
        #: How many results there were at the last look, whether nobody has watched since, and whether too much has
        #: happened while nobody did.
        self._pulls, self._was_away, self._has_gap = 0, True, False
        self._first = dict[str, Any]()
        self._looking = asyncio.Lock()

    async def look(self) -> None:
        """Tell what has changed since the last look, if anything has."""
        async with self._looking:
            await self._look()

    async def _look(self) -> None:
        try:
            if self._length < 0:
                await self._begin()
            if time.monotonic() < self._next_full:
                self._say_first(await run_in_threadpool(lambda: progress(self._studies.get(self.name))))
                return
            started = time.monotonic()
            found = await run_in_threadpool(self._changed)
            took = time.monotonic() - started
            self._next_full = time.monotonic() + _REST * took if took > _LONG_SECONDS else 0.0
        except UnknownStudy as error:
            self.say_trouble(str(error))
            return
        except StorageError as error:
            self._studies.forget(self.name)
            reason = f"watching study {self.name!r}: {error}"
            self.say_trouble("the storage does not answer: the page's own log says why", reason)
            return
        except MfbanditError as error:
            self._studies.forget(self.name)
            self.say_trouble(str(error))
            return
        self.say_trouble("")
        if found is not None:
            self._show(found)
        if self._has_gap and self._filling is None and self._moments:
            self._filling = asyncio.create_task(self._fill(self._pulls, self._moments[-1]["cost"]))

    async def _begin(self) -> None:
        """Open the study; a large one takes seconds to open, and many arms to compare: something is shown before."""
        self._say_first({"study": self.name})
        if not self._studies.is_open(self.name):
            found = await run_in_threadpool(log_totals, self._studies.storage, self.name)
            self._say_first(found or self._first)
        study = await run_in_threadpool(self._studies.get, self.name)
        self._say_first({**self._first, **await run_in_threadpool(progress, study)})

    def stop(self) -> None:
        """Look no more; what happens meanwhile is worked out when somebody watches again."""
        super().stop()
        if self._filling is not None:
            self._filling.cancel()
            self._filling = None
        self._was_away = True

    def _show(self, found: dict[str, Any]) -> None:
        moment = found["moment"]
        if self._was_away and found["pulls"] - self._pulls > _MISSED * self._pulls:
            self._has_gap = True
        self._pulls, self._was_away = found["pulls"], False
        self._append(moment)
        text = event("study", found)
        self.say("study", lambda: text)

    def _changed(self) -> dict[str, Any] | None:
        """The study, unless it is as it was at the last look."""
        study = self._studies.get(self.name)
        study.current()
        if study.known_length == self._length and not (self._first_seen and time.monotonic() > self._next_look):
            return None
        self._next_look = time.monotonic() + _CHECK_SECONDS
        length = study.known_length
        found = snapshot(study)
        self._length = length
        now = time.time()
        out = {one["pull"]: self._first_seen.get(one["pull"], one["since"] or now) for one in found["out"]}
        self._first_seen = out
        for one in found["out"]:
            one["since"] = min(out[one["pull"]], now)
        return {**found, "now": now}

    def _append(self, moment: dict[str, Any]) -> None:
        self._moments_text = None
        if self._moments and self._moments[-1]["cost"] >= moment["cost"]:
            self._moments[-1] = moment
        else:
            self._moments.append(moment)
        if len(self._moments) > _MOST_MOMENTS:
            self._moments[:] = [*self._moments[:-1:2], self._moments[-1]]
        if len(self._moments) == 1:
            self._say_moments()

    def _say_moments(self) -> None:
        self.say("moments", self._moments_event)

    def _moments_event(self) -> bytes:
        """The moments as they are now; many pages may open at once, and are told the same text."""
        if self._moments_text is None:
            self._moments_text = event("moments", self._moments)
        return self._moments_text

    def _say_first(self, found: dict[str, Any]) -> None:
        """Say what can be said at once."""
        if found != self._first:
            self._first = found
            text = event("first", found)
            self.say("first", lambda: text)

    async def _fill(self, results: int, cost: float) -> None:
        """Work out how the study came to where it cost so much and had so many results."""
        try:
            study = await run_in_threadpool(self._studies.get, self.name)
            if results <= _MANY_RESULTS:
                past = await run_in_threadpool(moments, study)
            elif study.storage.url:
                past = await moments_elsewhere(study.storage.url, self.name)
            else:
                past = []
        except MfbanditError as error:
            _logger.warning("how study %r went could not be worked out: %s", self.name, error)
            past = []
        self._has_gap, self._filling = False, None
        before = [moment for moment in past if moment["cost"] < cost]
        if before:
            self._moments_text = None
            self._moments[:] = before + [moment for moment in self._moments if moment["cost"] >= cost]
            self._say_moments()


class LiveStudies:
    """The studies that are watched."""

    def __init__(self, studies: OpenStudies) -> None:
        self._studies = studies
        self._live: dict[str, LiveStudy] = {}

    @property
    def watchers(self) -> int:
        """How many watch any study."""
        return sum(one.watchers for one in self._live.values())

    async def prepare(self) -> None:
        """Look at the newest studies before anybody does: large ones take a while to open."""
        for name in (await run_in_threadpool(self._studies.names))[-_MOST_PREPARED:]:
            await self._live.setdefault(name, LiveStudy(self._studies, name)).look()

    def watch(self, name: str) -> AsyncIterator[bytes]:
        """Watch a study."""
        if len(self._live) > _MOST_KEPT:
            self._live = {name: one for name, one in self._live.items() if one.watchers}
        return self._live.setdefault(name, LiveStudy(self._studies, name)).watch()
