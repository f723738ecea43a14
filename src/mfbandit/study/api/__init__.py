"""How studies are made, opened, copied and run from beginning to end."""

from mfbandit.study.api._export import import_study, logged_pulls
from mfbandit.study.api._identify import allocate, identify, identify_async, study_for
from mfbandit.study.api._open_study import DEFAULT_NAME, create_study, load_study

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
