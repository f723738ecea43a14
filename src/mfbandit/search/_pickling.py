"""Pickles of fitted searches: a study in memory travels as the text of its log."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from mfbandit.study import Study, import_study

__all__ = ["thawed", "without_study"]

_TEXT = "_study_text"


def without_study(state: dict[str, Any]) -> dict[str, Any]:
    """A copy of the state of an estimator, with its study written out."""
    study = state.get("study_")
    if not isinstance(study, Study):
        return state
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "study.jsonl"
        study.export(file)
        text = file.read_text(encoding="utf-8")
    return {**{key: value for key, value in state.items() if key != "study_"}, _TEXT: text}


def thawed(state: dict[str, Any]) -> dict[str, Any]:
    """The state with its study read back."""
    if _TEXT not in state:
        return state
    rest = {key: value for key, value in state.items() if key != _TEXT}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "study.jsonl"
        file.write_text(state[_TEXT], encoding="utf-8")
        return {**rest, "study_": import_study(file)}
