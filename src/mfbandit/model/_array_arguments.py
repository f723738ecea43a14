"""Reading a problem from arrays: what they say of names and numbers of arms and fidelities."""

from __future__ import annotations

from mfbandit._checks import FloatArray, as_names, as_numbers
from mfbandit.errors import ProblemError

__all__ = ["count_arms", "fidelity_columns", "fidelity_names"]


def fidelity_names(names: object, count: int) -> tuple[str, ...]:
    """Return the names of the columns, which may be given or not."""
    if names is None:
        return tuple(f"fidelity {m}" for m in range(count))
    given = as_names(names, "fidelities", ProblemError)
    if len(given) != count:
        raise ProblemError(f"there are {len(given)} fidelity names for {count} columns of costs")
    return given


def fidelity_columns(values: object, what: str, arms: tuple[str, ...] | None) -> FloatArray:
    """Return costs or biases, one per fidelity or one row of them per arm."""
    table = as_numbers(values, what, ProblemError, arms)
    if table.ndim not in (1, 2):
        raise ProblemError(f"{what} have shape {table.shape}; they must be one number per fidelity, or one row per arm")
    if table.ndim == 2 and arms is not None and len(table) != len(arms):
        raise ProblemError(f"{what} have {len(table)} rows for {len(arms)} arms")
    return table


def count_arms(*tables: FloatArray) -> int:
    """Return how many arms there are, by the rows of the tables."""
    counts = {len(table) for table in tables if table.ndim == 2}
    if not counts:
        raise ProblemError("the number of arms is unknown: pass arms=, or costs or biases with one row per arm")
    if len(counts) > 1:
        rows, others = (len(table) for table in tables)
        raise ProblemError(f"costs have {rows} rows and biases {others}; there is one row per arm")
    return counts.pop()
