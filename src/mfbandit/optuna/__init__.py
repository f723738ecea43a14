"""Optuna: which of its trials is truly the best, and a pruner that says how often it errs.

The package has the name of the library it serves; inside it, ``optuna`` is Optuna. See docs/optuna.md.

What stands here is for other rooms; modules with an underscore are private to this one, which imports only from the
rooms above it in CONTRIBUTING.md.
"""

from mfbandit.optuna._arrivals import race
from mfbandit.optuna._confirm import Confirmation, confirm
from mfbandit.optuna._evidence_pruner import EvidencePruner

__all__ = ["Confirmation", "EvidencePruner", "confirm", "race"]
