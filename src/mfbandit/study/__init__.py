"""Studies: real evaluations, durable, in parallel, on one machine or many."""

from mfbandit.study.open import create_study, load_study
from mfbandit.study.options import BiasAlarm, Failures
from mfbandit.study.pull import Pull
from mfbandit.study.result import ArmResult, Result
from mfbandit.study.study import Study
from mfbandit.study.transfer import import_study
from mfbandit.study.view import View

__all__ = [
    "ArmResult",
    "BiasAlarm",
    "Failures",
    "Pull",
    "Result",
    "Study",
    "View",
    "create_study",
    "import_study",
    "load_study",
]
