"""Reading certificates from files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mfbandit.certificate._document import FORMAT, VERSION, WEIGHED
from mfbandit.errors import InvalidInput

__all__ = ["load_certificate"]


def load_certificate(path: str | Path) -> dict[str, Any]:
    """Read a certificate, alone or inside a result, from a JSON file.

    Numbers that are not JSON (NaN, Infinity) and keys that occur twice are refused: two readers could take such
    a file for two different things.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"cannot read the certificate {str(path)!r}: {error}") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{str(path)!r} is no text, so no certificate; if it is a storage, "
            "`mfbandit best STORAGE --json > result.json` writes one"
        ) from error
    try:
        found = json.loads(text, parse_constant=_refuse, object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{str(path)!r} is not JSON: {error}") from error
    if isinstance(found, dict) and "format" not in found and isinstance(found.get("certificate"), dict):
        _compare(found, found["certificate"])
        found = found["certificate"]
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise InvalidInput(f"{str(path)!r} holds no certificate (no object with format {FORMAT!r})")
    version = found.get("version")
    if not isinstance(version, int) or version > WEIGHED:
        raise InvalidInput(f"the certificate has version {version!r}, newer than {WEIGHED}, which this mfbandit reads")
    if version < VERSION:
        raise InvalidInput(
            f"the certificate has version {version}, which holds too little to be checked; "
            f"make it again from its study (version {VERSION})"
        )
    return found


def _compare(result: dict[str, Any], certificate: dict[str, Any]) -> None:
    """Refuse a result that says something else than the certificate in it."""
    answer = ("best", "answer") if "goal" not in certificate else ("answer", "answer")
    for outside, inside in (answer, ("confidence",) * 2, ("delta",) * 2, ("epsilon",) * 2, ("verdicts",) * 2):
        if outside in result and result[outside] != certificate.get(inside):
            raise InvalidInput(
                f"the result says {outside} {result[outside]!r}, and its certificate {certificate.get(inside)!r}"
            )
    if result.get("status") == "certified" != certificate.get("status"):
        raise InvalidInput("the result says that it is certified, and its certificate that it is not")


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no number of JSON")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} occurs twice in one object")
    return found
