"""The words of claims that all kinds of certificates share, and those that older versions used."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from mfbandit.model import Problem

__all__ = ["GOAL_UNSHOWN", "UNSHOWN", "claim_of", "complement", "listed", "older_claim", "without_bias"]

#: So many names are listed in a sentence.
_FEW = 5
_SEEDS = "This certificate cannot show whether other seeds were tried first"
#: What no certificate of a race can show.
UNSHOWN = f"{_SEEDS}."
#: The same of one that answers another question.
GOAL_UNSHOWN = f"{_SEEDS}; that the goal was fixed before the results, only the study can."
#: How older versions said it.
_OLDER = {_SEEDS: "That the seed was not tried again until it pleased no certificate can show"}


def complement(delta: float) -> str:
    """1 - delta as people write it, never rounded up."""
    return f"1 - {delta!r}" if delta < 1e-6 else str(1 - Decimal(repr(delta)))


def claim_of(certificate: Any, statement: str, assumed: str) -> str:
    """What a certificate claims, with what probability and on which assumptions."""
    truth, least = certificate.problem.truth, complement(certificate.delta)
    meant = "" if truth is None else f" Its maker calls the true mean of an arm {truth!r}."
    said = f"{statement}.{meant} {assumed}"
    if certificate.certified:
        return f"With probability at least {least}, {said}"
    return f"Not certified (confidence {certificate.confidence:.4f} of {least}): {said}"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence, the first few of them."""
    shown = [*names[:_FEW], *([f"{len(names) - _FEW} others"] if len(names) > _FEW else [])]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def without_bias(problem: Problem, columns: Sequence[int]) -> list[str]:
    """Where it is assumed that there is no bias, beside at the truest fidelity: in a list of one phrase, or of none.

    Examples
    --------
    >>> without_bias(Problem(2, [("judge", 0.01), ("human", 1.0)]), [0, 1])
    ["no bias at 'judge'"]
    >>> without_bias(Problem(2, [("judge", 0.01, 0.1), ("human", 1.0)]), [0, 1])
    []
    """
    biased = np.asarray(problem.biases.any(axis=0))
    names = [repr(problem.fidelities[m].name) for m in columns if not biased[m] and m != problem.truest]
    return [f"no bias at {listed(names)}"] if names else []


def older_claim(claim: str, unbiased: Sequence[str]) -> str:
    """A claim as older versions said it, which did not say where there is no bias: their files still hold."""
    for phrase in unbiased:
        claim = claim.replace(f", {phrase}", "")
    for now, before in _OLDER.items():
        claim = claim.replace(now, before)
    return claim
