"""The pair certificate: proven evidence that one arm beats another, from all fidelities of both."""

from mfbandit.confidence.pair._hypothesis import Active, Chosen, Hypothesis, PairScratch
from mfbandit.confidence.pair._leaders import MOST_LEADERS, Leaders, take_leader
from mfbandit.confidence.pair._likelihood_levels import BOTH, NORMAL, TILT
from mfbandit.confidence.pair._proof import PROVEN, Guess, prove
from mfbandit.confidence.pair._victory_records import Victories, evidence_of_record, proves, record
from mfbandit.confidence.pair._weights import NEWEST, WEIGHTS

__all__ = [
    "BOTH",
    "MOST_LEADERS",
    "NEWEST",
    "NORMAL",
    "PROVEN",
    "TILT",
    "WEIGHTS",
    "Active",
    "Chosen",
    "Guess",
    "Hypothesis",
    "Leaders",
    "PairScratch",
    "Victories",
    "evidence_of_record",
    "prove",
    "proves",
    "record",
    "take_leader",
]
