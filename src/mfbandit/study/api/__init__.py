"""How studies are made, opened, copied and run from beginning to end."""

from mfbandit.study.api._identify import allocate, identify, identify_async, study_for
from mfbandit.study.api._import import import_study
from mfbandit.study.api._open_study import DEFAULT_NAME, create_study, load_study
from mfbandit.study.report._export import logged_pulls

__all__ = [
    "DEFAULT_NAME",
    "allocate",
    "create_study",
    "identify",
    "identify_async",
    "import_study",
    "load_study",
    "logged_pulls",
    "study_for",
]
