"""Studies: real evaluations, durable, in parallel, on one machine or many.

What stands here is for other rooms; modules with an underscore are private to this one, which imports only from
the rooms above it in CONTRIBUTING.md.
"""

from mfbandit.model import Pull
from mfbandit.study._result import ArmResult, Result
from mfbandit.study._settings import Header
from mfbandit.study._study import Study
from mfbandit.study._study_options import BiasAlarm, Failures
from mfbandit.study._verify_with_study import verify_with_study
from mfbandit.study._view import View
from mfbandit.study.api._import import import_study
from mfbandit.study.api._open_study import create_study, load_study
from mfbandit.study.run import Folders
from mfbandit.study.state.rounds._pulls import Seeds

__all__ = [
    "ArmResult",
    "BiasAlarm",
    "Failures",
    "Folders",
    "Header",
    "Pull",
    "Result",
    "Seeds",
    "Study",
    "View",
    "create_study",
    "import_study",
    "load_study",
    "verify_with_study",
]
