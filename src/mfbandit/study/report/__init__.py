"""The answer of a study as one page, its pictures, and what a live page shows: loaded when one is asked for."""

from mfbandit.study.report._log_totals import log_totals
from mfbandit.study.report._page_style import STYLE
from mfbandit.study.report._result_notes import ResultWithNote, results_with_notes
from mfbandit.study.report._snapshot import latest_activity, moments, progress, snapshot, summary
from mfbandit.study.report._study_plots import confidence_over_cost, differences, intervals, spend

__all__ = [
    "STYLE",
    "ResultWithNote",
    "confidence_over_cost",
    "differences",
    "intervals",
    "latest_activity",
    "log_totals",
    "moments",
    "progress",
    "results_with_notes",
    "snapshot",
    "spend",
    "summary",
]
