"""A study as one process knows it: the state of the study that its log amounts to, kept up to date.

Should a step be cut off half-way, or the log have lost its end with a server that crashed, the study is read
again from the log.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

from mfbandit.errors import StudyError
from mfbandit.storage import Decide, Interrupted, Log, LogChanged, Record, Storage, digest_of
from mfbandit.study._settings import Settings, read_header
from mfbandit.study.state._replay import replay
from mfbandit.study.state._study_state import StudyState

__all__ = ["Replica"]

_logger = logging.getLogger("mfbandit")

#: How often a step that was cut off is done again.
_ATTEMPTS = 10


class Replica:
    """Follows the log of a study, and writes to it."""

    def __init__(self, storage: Storage, name: str, settings: Settings, identity: str) -> None:
        self.name = name
        self.storage = storage
        #: What the study was made with; `settings` follows what was changed since.
        self.made_with = settings
        self.identity = identity
        #: Whether the storage was opened for this study, and is closed with it.
        self.closes_storage = False
        #: A temporary folder of what evaluations leave for others, if there is one.
        self.folders: str | None = None
        self._closed = False
        #: Whether the log was read again: it may have lost what this process knew before.
        self.was_read_again = False
        self._log: Log = storage.log(name)
        self._lock = threading.RLock()
        #: Whether the state of the study may not be what the log amounts to.
        self._stale = True
        self._load()
        self.was_read_again = False

    def current(self) -> StudyState:
        """The state of the study with all that others have written."""
        with self._lock:
            self._check_open()
            for attempt in range(_ATTEMPTS):
                if self._stale:
                    self._load()
                # Should what is new not fit, half of it may have been taken in.
                self._stale = True
                try:
                    study_state = self._apply_news(self._log.read(self._seen))
                except Interrupted as error:
                    if attempt == _ATTEMPTS - 1:
                        raise
                    self._lost(error)
                else:
                    self._stale = False
                    return study_state
        raise AssertionError("a step either returns or raises")

    @property
    def settings(self) -> Settings:
        """The problem and all that decides how the study goes, as far as this process knows."""
        return self._study_state.settings

    @property
    def known_end(self) -> str:
        """How the study ended, as far as this process knows without a look at the log; empty while it goes on."""
        return "" if self._stale else self._study_state.ended

    @property
    def known_length(self) -> int:
        """How many records of the log this process has read or written; whoever sees it unchanged missed nothing."""
        return self._seen

    def log_digest(self) -> str:
        """The SHA-256 of all that has counted in this study, as 64 hexadecimal digits.

        It is that of the lines of an exported file after the first one, so anybody can compute it:
        ``tail -n +2 study.jsonl | sha256sum``. It changes when any round, result or failure does.

        Returns
        -------
        str
        """
        with self._lock:
            self.current()
            return self.known_digest()

    def known_digest(self) -> str:
        """The same of what this process has read so far, without a look at what others wrote since."""
        return digest_of(self._log, self._seen)

    def hurry(self, wanted: bool) -> None:
        """Wait no longer for a storage that does not answer, since somebody wants to end; or be patient again."""
        if hasattr(self.storage, "hurry"):
            self.storage.hurry = wanted

    def close(self) -> None:
        """Let go of files and connections; the study itself stays where it is stored.

        A storage that you opened yourself stays open. Closing twice does no harm.
        """
        with self._lock:
            self._closed = True
            if self.closes_storage:
                self.storage.close()

    @property
    def closed(self) -> bool:
        """Whether it was closed; then it can only be opened anew, by `load_study`."""
        return self._closed

    def _check_open(self) -> None:
        if self._closed:
            raise StudyError(f"study {self.name!r} is closed: open it again with load_study")

    def _load(self) -> None:
        self._seen, self._study_state = replay(self.made_with, self._log)
        self._stale = False
        self.was_read_again = True

    def _apply_news(self, news: Sequence[Record]) -> StudyState:
        if news:
            self._study_state.apply(news)
            self._seen += len(news)
        return self._study_state

    def _exchange(self, decide: Decide, safe: bool) -> None:
        """Read what is new, decide and write, as one step."""
        self._check_open()
        for attempt in range(_ATTEMPTS):
            if self._stale:
                self._load()
            # Until the step is through, the state of the study may be ahead of the log; if it fails, it is read again.
            self._stale = True
            try:
                self._seen = self._log.exchange(self._seen, decide, safe=safe)
            except Interrupted as error:
                if attempt == _ATTEMPTS - 1:
                    raise
                if self._was_written(error):
                    return
            else:
                self._stale = False
                return

    def _was_written(self, error: Interrupted) -> bool:
        """Whether the log has what a step wanted to write when it was cut off; deciding again would write it twice."""
        self._lost(error)
        if not error.records:
            return False
        self._load()
        found = self._log.read(error.position)[: len(error.records)]
        return [tuple(record) for record in found] == [tuple(record) for record in error.records]

    def _lost(self, error: Interrupted) -> None:
        """Say that the log has lost its end, and make sure that it is the log of this study still."""
        if not isinstance(error, LogChanged):
            return
        header = self.storage.headers().get(self.name)
        if header is None or read_header(header, self.name).identity != self.identity:
            raise StudyError(f"study {self.name!r} was deleted or replaced while it was open") from error
        _logger.warning("%s; reading the study again", error)
