"""Running a study: evaluations that are out, what fails, what people see meanwhile."""

from mfbandit.study.run._folders import Folders
from mfbandit.study.run._run_async import refuse_to_block
from mfbandit.study.run._run_loop import optimize

__all__ = ["Folders", "optimize", "refuse_to_block"]
