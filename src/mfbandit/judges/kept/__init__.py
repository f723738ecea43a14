"""Grades, answers and labels that are kept by their content, so that nothing is paid for twice."""

from mfbandit.judges.kept._grade_cache import GradeCache, Same, Subject
from mfbandit.judges.kept._grade_keys import content_key
from mfbandit.judges.kept._meter import metered

__all__ = ["GradeCache", "Same", "Subject", "content_key", "metered"]
