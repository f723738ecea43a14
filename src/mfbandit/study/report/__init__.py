"""The answer of a study as one page, its pictures, and what a live page shows: loaded when one is asked for."""

from mfbandit.study.report._first_look import first_look
from mfbandit.study.report._notes import Noted, noted_results
from mfbandit.study.report._page_style import STYLE
from mfbandit.study.report._snapshot import course, glance, latest_activity, snapshot, summary
from mfbandit.study.report._study_plots import confidence_over_cost, differences, intervals, spend

__all__ = [
    "STYLE",
    "Noted",
    "confidence_over_cost",
    "course",
    "differences",
    "first_look",
    "glance",
    "intervals",
    "latest_activity",
    "noted_results",
    "snapshot",
    "spend",
    "summary",
]
