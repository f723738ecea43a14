"""Why a study hands out no pull although it goes on."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["HoldUp"]


class HoldUp(NamedTuple):
    """What a study waits for."""

    kind: str = ""
    """Empty if it waits for nothing; "round": all results of a round; "width": as many pulls are out as may be;
    "lag": plans are as far ahead of the results that have counted as they may be; "expected": what is out ends the
    study if it comes back as expected; "limit": nothing more can be paid for; "at_most": a fidelity has as many
    pulls out as it may have."""
    pull: int = -1
    """The first pull without a result, where that is what it waits for."""
    fidelity: int = -1
    """The fidelity, for "at_most"."""
