"""The evidence of races on blocks, from raw rewards."""

from mfbandit.confidence.race._bets import bet, capital, impossible, null_mean, outcome, start
from mfbandit.confidence.race._bounded_paths import contradicts_range, leader_paths, pair_paths
from mfbandit.confidence.race._cells import LaneCells
from mfbandit.confidence.race._guards import Guards
from mfbandit.confidence.race._lane import Lane
from mfbandit.confidence.race._race import Race
from mfbandit.confidence.race._rules import (
    BETS,
    BLOCKS_WITHOUT_NOISE,
    LEAST_SQUARES,
    STUDENT_LED,
    OpenArms,
    bet_count,
    blocks_at_least,
    lane_shares,
    weights,
)
from mfbandit.confidence.race._student import ascending, at_most, log_student, lower_median
from mfbandit.confidence.race._student_paths import student_peaks

__all__ = [
    "BETS",
    "BLOCKS_WITHOUT_NOISE",
    "LEAST_SQUARES",
    "STUDENT_LED",
    "Guards",
    "Lane",
    "LaneCells",
    "OpenArms",
    "Race",
    "ascending",
    "at_most",
    "bet",
    "bet_count",
    "blocks_at_least",
    "capital",
    "contradicts_range",
    "impossible",
    "lane_shares",
    "leader_paths",
    "log_student",
    "lower_median",
    "null_mean",
    "outcome",
    "pair_paths",
    "start",
    "student_peaks",
    "weights",
]
