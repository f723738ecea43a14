"""Logs that people already have: which of several systems is best, from scores on the same items.

>>> from mfbandit import logs
>>> logs.compare("no_such_file.csv")
Traceback (most recent call last):
mfbandit.errors.InvalidInput: there is no file 'no_such_file.csv'

What stands here is for other rooms; modules with an underscore are private to this one, which imports only from the
rooms above it in CONTRIBUTING.md.
"""

from mfbandit.logs._control import Challenger, ControlComparison, compare_with_control, control_table
from mfbandit.logs._items_needed import ItemsNeeded
from mfbandit.logs._log_comparison import LogComparison, Rival, compare, compare_table
from mfbandit.logs._model_race import ModelRace
from mfbandit.logs._open_logs import read_logs
from mfbandit.logs._rows import LogRow
from mfbandit.logs._score_table import Reading, ScoreTable, score_table

__all__ = [
    "Challenger",
    "ControlComparison",
    "ItemsNeeded",
    "LogComparison",
    "LogRow",
    "ModelRace",
    "Reading",
    "Rival",
    "ScoreTable",
    "compare",
    "compare_table",
    "compare_with_control",
    "control_table",
    "read_logs",
    "score_table",
]
