"""Confidence processes, one file each, as kernels that plug into policies by name.

A process is three kernels: ``level(problem, log_factor, time)`` (what the radius has to pay at a
time), and ``above`` and ``below``, the confidence bounds of one stream of rewards.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from mfbandit.confidence import paper
from mfbandit.errors import PolicyError

__all__ = ["BOUNDS", "bound_kernels"]

#: Confidence bounds by the name that policies take as ``bound=``.
BOUNDS: dict[str, ModuleType] = {"paper": paper}


def bound_kernels(name: str) -> dict[str, Callable[..., Any]]:
    """The kernels of a confidence bound, ready to fill a policy's slots."""
    try:
        module = BOUNDS[name]
    except KeyError:
        known = ", ".join(BOUNDS)
        raise PolicyError(f"bound must be one of {known}, got {name!r}") from None
    return {part: getattr(module, part) for part in ("level", "above", "below")}
