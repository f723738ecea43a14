"""What the log of a study amounts to: arms in play, statistics, the round being played."""

from mfbandit.study.state._study_blocks import BlockBook
from mfbandit.study.state._study_state import StudyState

__all__ = ["BlockBook", "StudyState"]
