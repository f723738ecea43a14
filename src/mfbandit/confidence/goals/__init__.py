"""What a race on blocks proves where another question is asked than which arm is the best."""

from mfbandit.confidence.goals._verdicts import Verdicts, settled_by

__all__ = ["Verdicts", "settled_by"]
