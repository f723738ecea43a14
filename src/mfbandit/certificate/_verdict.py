"""What checking a certificate comes to, and where a file says something else than what follows from its numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mfbandit.certificate._document import Certificate
from mfbandit.certificate._race_document import RaceCertificate
from mfbandit.formatting import shortened

__all__ = ["Verdict", "differences"]

#: By which part numbers that are computed anew may differ.
_ROUNDING = 1e-9
#: Values are cut after so many letters.
_LONGEST = 80


@dataclass(frozen=True)
class Verdict:
    """Whether a certificate holds, and if not, why."""

    valid: bool
    claim: str
    """What the numbers claim, in words of this program; empty if the file cannot be read."""
    reasons: tuple[str, ...] = ()
    fingerprint: str = ""
    """Digest of what the claim is about; empty if the file cannot be read."""


def differences(found: Mapping[str, Any], certificate: Certificate | RaceCertificate) -> Iterator[str]:
    """Where the file says something else than what follows from its numbers; its claim may be in older words."""
    rebuilt = certificate.to_json()
    if found.get("claim") == certificate.older_claim:
        rebuilt["claim"] = certificate.older_claim
    for key in found:
        if key not in rebuilt:
            yield f"{key!r} is no part of a certificate"
    for key, value in rebuilt.items():
        if key not in found:
            yield f"{key!r} is missing"
        elif not _same(found[key], value):
            yield f"{key} must be {shortened(repr(value), _LONGEST)}, not {shortened(repr(found[key]), _LONGEST)}"


def _same(x: Any, y: Any) -> bool:
    """Whether two JSON values are the same, numbers up to rounding, and of the same type."""
    if isinstance(x, bool) or isinstance(y, bool) or x is None or y is None or isinstance(x, str):
        return type(x) is type(y) and bool(x == y)
    if isinstance(x, (int, float)) and isinstance(y, (int, float)):
        return math.isclose(x, y, rel_tol=_ROUNDING)
    if isinstance(x, Mapping) and isinstance(y, Mapping):
        return set(x) == set(y) and all(_same(x[key], y[key]) for key in x)
    if isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
        return len(x) == len(y) and all(_same(one, other) for one, other in zip(x, y, strict=True))
    return False
