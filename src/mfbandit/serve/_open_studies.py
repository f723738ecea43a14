"""The studies of a storage, each opened once for everybody who looks at it or works on it."""

from __future__ import annotations

import threading
from collections import OrderedDict

from mfbandit.errors import StorageError, StudyError
from mfbandit.storage import Storage
from mfbandit.study import Study, load_study

__all__ = ["OpenStudies", "UnknownStudy"]

#: So many studies stay open; the one that was not used for the longest time is let go.
_MOST_OPEN = 64


class UnknownStudy(StudyError):
    """The storage holds no study of this name."""


class OpenStudies:
    """Opens studies when they are wanted, and keeps them open.

    Examples
    --------
    >>> import mfbandit as mf
    >>> from mfbandit.storage import MemoryStorage
    >>> storage = MemoryStorage()
    >>> _ = mf.create_study(mf.Problem(["a", "b"], [("exact", 1.0)]), storage=storage, name="mine")
    >>> studies = OpenStudies(storage)
    >>> studies.names(), studies.get("mine") is studies.get("mine")
    (['mine'], True)
    """

    def __init__(self, storage: Storage, allow_changed_policy: bool = False) -> None:
        self.storage = storage
        self._allow_changed_policy = allow_changed_policy
        self._open: OrderedDict[str, Study] = OrderedDict()
        self._opening: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def names(self) -> list[str]:
        """The names of all studies, oldest first."""
        return list(self.storage.headers())

    def get(self, name: str) -> Study:
        """A study, opened if it is not open yet; large ones take a moment, during which others can be had."""
        with self._lock:
            found = self._open.get(name)
            if found is not None:
                self._open.move_to_end(name)
                return found
            opening = self._opening.setdefault(name, threading.Lock())
        with opening:
            found = self._open.get(name)
            if found is None:
                found = self._load(name)
                with self._lock:
                    self._open[name] = found
                    while len(self._open) > _MOST_OPEN:
                        # It is not closed: somebody may be in the middle of a step.
                        self._open.popitem(last=False)
        with self._lock:
            self._opening.pop(name, None)
        return found

    def is_open(self, name: str) -> bool:
        """Whether a study is open already."""
        return name in self._open

    def forget(self, name: str) -> None:
        """Open a study anew when it is wanted next: it was deleted, replaced or damaged."""
        with self._lock:
            self._open.pop(name, None)

    def _load(self, name: str) -> Study:
        if name not in self.storage.headers():
            raise UnknownStudy(f"there is no study named {name!r}")
        try:
            return load_study(self.storage, name, allow_changed_policy=self._allow_changed_policy)
        except StorageError:
            raise
        except StudyError as error:  # it was deleted in this very moment
            raise UnknownStudy(f"there is no study named {name!r}") from error
