"""Optuna itself, or a word on how to get it, and what is better in a study of it: more or less."""

from __future__ import annotations

from mfbandit.errors import InvalidInput, MissingExtra

try:
    from optuna.pruners import BasePruner
    from optuna.study import Study, StudyDirection
    from optuna.trial import FrozenTrial, TrialState
except ImportError as error:
    raise MissingExtra("mfbandit.optuna needs Optuna 4 or later: pip install 'mfbandit[optuna]'") from error

__all__ = ["BasePruner", "FrozenTrial", "Study", "TrialState", "sign_of"]


def sign_of(study: Study) -> float:
    """1 where more is better, -1 where less is; refuses studies with several objectives."""
    directions = study.directions
    if len(directions) != 1:
        raise InvalidInput(f"study {study.study_name!r} has {len(directions)} objectives: there is no best trial of it")
    return 1.0 if directions[0] == StudyDirection.MAXIMIZE else -1.0
