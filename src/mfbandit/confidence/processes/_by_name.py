"""Confidence processes, one file each, as kernels that plug into policies by name.

A process gives bounds by three kernels: ``level(problem, log_factor, time)`` (what the radius has to
pay at a time), and the confidence bounds of one stream of rewards, either ``above`` and ``below``, from
its statistics, or ``high`` and ``low``, from a state that has what they need at hand. All but the paper's
radius are e-processes and give ``log_e_above`` and ``log_e_below`` too: the log e-value against
"mean <= q" and against "mean >= q". An e-value starts at 1 and, where the null is true, ever reaches
1/alpha with probability at most alpha, whatever chooses the pulls and whenever one looks.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from mfbandit.confidence.processes import _bernstein as bernstein
from mfbandit.confidence.processes import _beta as beta
from mfbandit.confidence.processes import _gaussian as gaussian
from mfbandit.confidence.processes import _hoeffding as hoeffding
from mfbandit.confidence.processes import _mixed as mixed
from mfbandit.confidence.processes import _paper as paper
from mfbandit.confidence.processes import _stream as stream
from mfbandit.errors import PolicyError

__all__ = ["BOUNDS", "bound_kernels", "process_kernels"]

#: Confidence bounds by the name that policies take as ``bound=``.
BOUNDS: dict[str, ModuleType] = {
    "paper": paper,
    "hoeffding": hoeffding,
    "kl": beta,
    "bernstein": bernstein,
    "mixed": mixed,
    "gaussian": gaussian,
}


def _module(name: str) -> ModuleType:
    try:
        return BOUNDS[name]
    except KeyError:
        known = ", ".join(BOUNDS)
        raise PolicyError(f"bound must be one of {known}, got {name!r}") from None


def bound_kernels(name: str) -> dict[str, Callable[..., Any]]:
    """The kernels of a confidence bound, ready to fill a policy's slots."""
    module = _module(name)
    source = module if hasattr(module, "high") else stream
    parts = {"level": module.level, "high": source.high, "low": source.low, "line": source.line}
    return parts | {part: getattr(module, part) for part in ("above", "below") if hasattr(module, part)}


def process_kernels(name: str) -> dict[str, Callable[..., Any]]:
    """The kernels of an e-process, ready to fill the slots of `mfbandit.confidence._arm`.

    Examples
    --------
    >>> sorted(process_kernels("mixed"))
    ['above', 'below', 'log_e_above', 'log_e_below']
    """
    module = _module(name)
    if not hasattr(module, "log_e_above"):
        raise PolicyError(f"bound {name!r} is a radius without e-values; choose another bound")
    parts = ("above", "below", "log_e_above", "log_e_below")
    return {part: getattr(module, part) for part in parts}
