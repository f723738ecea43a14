"""Checking the certificate of a race on blocks from its own raw rewards.

Nothing in the file is believed but the rewards. The log must be a possible one: blocks in the order that the seed
gives, arms measured on prefixes, leaders declared before the first cell of their block. All evidence is computed anew.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from mfbandit.certificate._goal_document import GoalCertificate
from mfbandit.certificate._race_document import RaceCertificate
from mfbandit.certificate._race_reading import log_faults, read_race_certificate
from mfbandit.certificate._verdict import Verdict, differences

__all__ = ["verify_race"]


def verify_race(found: Mapping[str, Any]) -> Verdict:
    """Check the certificate of a race; see `mfbandit.certificate.verify`."""
    certificate = read_race_certificate(found)
    reasons = tuple(log_faults(certificate))
    if reasons:
        # Nothing follows from a log that cannot be.
        return Verdict(False, "", reasons)
    reasons = tuple(differences(found, certificate)) or tuple(_unbeaten(certificate))
    return Verdict(not reasons, certificate.claim, reasons, certificate.fingerprint)


def _unbeaten(certificate: RaceCertificate) -> Iterator[str]:
    """The arms that may still be better than the answer, or about which nothing is shown."""
    if isinstance(certificate, GoalCertificate):
        if not certificate.certified:
            yield from _unsettled(certificate)
        return
    if certificate.answer is None:
        yield "there is no answer"
    elif not certificate.rewards and len(certificate.arms) > 1:
        yield "there are no results"
    elif not certificate.certified:
        for one in certificate.evidence:
            if one["level"] > math.exp(certificate.race.log_level):
                yield f"nothing shows that arm {one['arm']!r} is beaten: its level is {one['level']:.4g}"


def _unsettled(certificate: GoalCertificate) -> Iterator[str]:
    """Why what was asked is not shown."""
    open_arms = [one for one in certificate.evidence if one["level"] > certificate.delta]
    for one in open_arms:
        said = f"nothing shows where arm {one['arm']!r} stands by {certificate.asked.name!r}"
        yield f"{said}: its level is {one['level']:.4g}"
    if not open_arms:
        yield "there are no results" if not certificate.rewards else "the answer is not what was asked for"
