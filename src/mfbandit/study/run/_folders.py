"""Folders in which evaluations leave what others go on from, such as the state of a training.

Each attempt has a folder of its own, with a copy of what the fidelity before has left. If it succeeds, the folder gets
the name of its fidelity; if not, it is removed. So whoever tries again finds what the first attempt found.

    ROOT/STUDY-IDENTITY/0-arm/block-3/1-nine epochs     what that fidelity has left
    ROOT/STUDY-IDENTITY/0-arm/block-3/attempt-17-ab12cd what an attempt is working on
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mfbandit.errors import InvalidInput, StudyError
from mfbandit.model import Pull

if TYPE_CHECKING:
    from mfbandit.study._study import Study

__all__ = ["FolderStore", "Folders", "open_folders"]

_MARK = "made-by-mfbandit.txt"
_SQLITE = "sqlite:///"
#: How a study ends that has nothing more to evaluate.
_FINAL = ("certified", "answered")


@dataclass(frozen=True)
class Folders:
    """Where a run keeps what evaluations leave for those that go on from there.

    Parameters
    ----------
    path : str or path, optional
        A folder; by default one beside the SQLite file of the study, else a temporary one. Machines that share a study
        share this folder, too.
    keep : bool
        Whether they stay when the study has its answer.

    Examples
    --------
    >>> import mfbandit as mf
    >>> mf.Folders("checkpoints", keep=True)
    Folders(path='checkpoints', keep=True)
    """

    path: str | os.PathLike[str] | None = None
    keep: bool = False


def open_folders(study: Study, given: str | os.PathLike[str] | Folders | None) -> FolderStore | None:
    """The folders of a study; None if no fidelity continues others."""
    if not any(fidelity.continues for fidelity in study.problem.fidelities):
        if given is not None:
            raise InvalidInput("folders are for fidelities that continue others, and this problem has none")
        return None
    chosen = given if isinstance(given, Folders) else Folders(given)
    if chosen.path is not None and not isinstance(chosen.path, str | os.PathLike):
        raise InvalidInput(f"folders must be a path or Folders(...), got {chosen.path!r}")
    if chosen.path is None:
        return FolderStore(study, _usual_folder(study), chosen.keep, own_root=True)
    root = Path(chosen.path)
    return FolderStore(study, root, chosen.keep, own_root=not root.exists())


def _usual_folder(study: Study) -> Path:
    url = str(study.storage.url or "")
    if url.startswith(_SQLITE) and len(url) > len(_SQLITE):
        return Path(url.removeprefix(_SQLITE) + ".folders")
    # It is there as long as the study is, which may be gone on with.
    if study.folders is None:
        study.folders = tempfile.mkdtemp(prefix="mfbandit-")
        weakref.finalize(study, shutil.rmtree, study.folders, True)
    return Path(study.folders)


def _safe(name: str) -> str:
    """A name as a part of a path."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:40]


class FolderStore:
    """The folders of one study; its root is removed with the last of them if it is its own."""

    def __init__(self, study: Study, root: Path, keep: bool, *, own_root: bool) -> None:
        self._study, self._keep, self._own_root = study, keep, own_root
        self._base = root.absolute() / f"{_safe(study.name)}-{study.identity}"
        self._before = study.current().book.continuing.before  # type: ignore[union-attr]
        self._names = [f"{m}-{_safe(fidelity.name)}" for m, fidelity in enumerate(study.problem.fidelities)]
        self._attempts: dict[int, Path] = {}
        self._cleared: set[int] = set()
        try:
            root.mkdir(parents=True, exist_ok=True)
            if self._base.exists() and not (self._base / _MARK).exists():
                raise StudyError(f"the folder {str(self._base)!r} was not made by mfbandit: move it, or choose another")
            self._base.mkdir(exist_ok=True)
            (self._base / _MARK).write_text(f"What evaluations of study {study.name!r} go on from.\n", encoding="utf-8")
        except OSError as error:
            raise StudyError(f"the folder {str(self._base)!r} cannot be made: {error.strerror}") from error

    def prepare(self, pull: Pull) -> Pull:
        """The pull with a folder that has what it goes on from."""
        folder, fidelities = self._folder(pull), self._study.problem.fidelities
        # What an arm had left may be gone: it was out, or another machine has it.
        going_on = list(self._before.get(pull.fidelity_index, ())) if pull.done is not None else []
        while going_on and fidelities[going_on[0]].name != pull.done:
            going_on.pop(0)
        found = next((m for m in going_on if (folder / self._names[m]).is_dir()), None)
        attempt = folder / f"attempt-{pull.id}-{secrets.token_hex(4)}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if found is None:
                attempt.mkdir()
            else:
                shutil.copytree(folder / self._names[found], attempt, symlinks=True)
        except (OSError, shutil.Error) as error:
            shutil.rmtree(attempt, ignore_errors=True)
            raise StudyError(f"the folder of pull {pull.id}, {str(attempt)!r}, cannot be made: {error}") from error
        self.drop(pull)
        self._attempts[pull.id] = attempt
        return replace(pull, folder=str(attempt), done=None if found is None else fidelities[found].name)

    def keep(self, pull: Pull) -> None:
        """An attempt has succeeded: others can go on from what it left."""
        attempt = self._attempts.pop(pull.id, None)
        if attempt is None:
            return
        final = self._folder(pull) / self._names[pull.fidelity_index]
        try:
            if final.exists():  # by somebody whose result was lost
                old = final.with_name(f"attempt-{pull.id}-{secrets.token_hex(4)}")
                final.rename(old)
                attempt.rename(final)
                shutil.rmtree(old, ignore_errors=True)
            else:
                attempt.rename(final)
        except OSError as error:
            raise StudyError(f"the folder of pull {pull.id} cannot be kept as {str(final)!r}: {error}") from error

    def drop(self, pull: Pull) -> None:
        """Remove what an attempt has left that did not succeed."""
        attempt = self._attempts.pop(pull.id, None)
        if attempt is not None:
            shutil.rmtree(attempt, ignore_errors=True)

    def clear(self, arms: Iterable[int]) -> None:
        """Remove what arms have left that are out."""
        busy = {attempt.parent.parent for attempt in self._attempts.values()}
        for arm in set(arms) - self._cleared:
            folder = self._arm(arm)
            if not self._keep and folder not in busy:
                shutil.rmtree(folder, ignore_errors=True)
                self._cleared.add(arm)

    def close(self) -> None:
        """Remove attempts that go on, and all of it when the study has its answer."""
        for attempt in self._attempts.values():
            shutil.rmtree(attempt, ignore_errors=True)
        self._attempts.clear()
        if self._study.known_end in _FINAL and not self._keep:
            shutil.rmtree(self._base, ignore_errors=True)
            if self._own_root:
                _remove_if_empty(self._base.parent)

    def _arm(self, arm: int) -> Path:
        return self._base / f"{arm}-{_safe(self._study.problem.arms[arm])}"

    def _folder(self, pull: Pull) -> Path:
        return self._arm(pull.arm_index) / f"block-{pull.block}"


def _remove_if_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:  # others have something there
        return
