"""Something that is looked at once for all who watch it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import NamedTuple

from mfbandit.serve.web._answers import whole_text

__all__ = ["Watched", "event"]

_logger = logging.getLogger("mfbandit")

#: Seconds between two looks, at least; and how many times as long as a look takes there is none.
_PAUSE_SECONDS, _REST = 0.5, 4.0
#: To tell everybody takes time that those who work need: the more watch, the longer is the pause.
_SECONDS_PER_WATCHER = 0.005


def event(name: str, content: object) -> bytes:
    r"""A server-sent event, as it goes over the wire.

    Examples
    --------
    >>> event("study", {"pulls": 3})
    b'event: study\ndata: {"pulls":3}\n\n'
    """
    return f"event: {name}\ndata: {whole_text(content)}\n\n".encode("ascii")


class _Topic(NamedTuple):
    version: int
    text: Callable[[], bytes]


class Watched:
    """Is looked at again and again while somebody watches; whoever watches gets the latest of each topic.

    Nobody waits for anybody: who is slow is told less often, and always the latest in the end.
    """

    def __init__(self) -> None:
        self.watchers = 0
        #: Whether a look has not seen all there is, so that the next one follows soon.
        self.unfinished = False
        self._topics: dict[str, _Topic] = {}
        self._trouble = ""
        self._news = asyncio.Event()
        self._following: asyncio.Task[None] | None = None

    async def look(self) -> None:
        """See what is new, and `say` it."""
        raise NotImplementedError

    def say(self, topic: str, text: Callable[[], bytes]) -> None:
        """Have something new to say; `text` is called when somebody is told."""
        before = self._topics.get(topic)
        self._topics[topic] = _Topic(1 if before is None else before.version + 1, text)
        self._news.set()
        self._news = asyncio.Event()

    def say_trouble(self, sentence: str, reason: str = "") -> None:
        """Say what is wrong, or by "" that nothing is, and log the reason; once, not at every look."""
        if sentence != self._trouble:
            self._trouble = sentence
            self.say("trouble", lambda: event("trouble", {"error": sentence}))
            if reason:
                _logger.warning(reason)

    async def watch(self) -> AsyncIterator[bytes]:
        """Events, as they come, until whoever watches leaves."""
        self.watchers += 1
        if self._following is None or self._following.done():
            self._following = asyncio.create_task(self._follow())
        seen: dict[str, int] = {}
        try:
            while True:
                news = self._news
                fresh = [name for name, topic in self._topics.items() if topic.version != seen.get(name)]
                for name in fresh:
                    topic = self._topics[name]
                    seen[name] = topic.version
                    yield topic.text()
                if not fresh:
                    await news.wait()
        finally:
            self.watchers -= 1
            if not self.watchers:
                self.stop()

    def stop(self) -> None:
        """Look no more until somebody watches again."""
        if self._following is not None:
            self._following.cancel()
            self._following = None

    async def _follow(self) -> None:
        with suppress(asyncio.CancelledError):
            before = 0.0
            while True:
                started = time.monotonic()
                await self.look()
                took = time.monotonic() - started
                # One look that takes long, as when something is compiled for it, says nothing of the next.
                pause = max(_PAUSE_SECONDS, _SECONDS_PER_WATCHER * self.watchers)
                await asyncio.sleep(pause if self.unfinished else max(pause, _REST * min(took, before)))
                before = took
