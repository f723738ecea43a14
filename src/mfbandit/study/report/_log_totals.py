"""What the log of a large study says before it is opened: what was pulled, what it cost, and means.

Rounds and results are counted as they stand in the database. Nothing is checked, and nothing is said of confidence:
that follows when the study is open, a few seconds later.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from mfbandit.core import Floats, Ints
from mfbandit.errors import StorageError
from mfbandit.model import Problem
from mfbandit.storage import Storage
from mfbandit.study._settings import Settings, read_header
from mfbandit.study.report._snapshot import MOST_ARMS, short
from mfbandit.study.state.rounds._round_rows import read_rows

__all__ = ["log_totals"]

#: Shorter logs are opened as quickly as they are counted.
_LONG = 50_000


def log_totals(storage: Storage, name: str) -> dict[str, Any] | None:
    """What can be said of a large study before it is opened; None of one that opens at once, or is not in a database.

    Parameters
    ----------
    storage : Storage
        Where it is.
    name : str
        The name of the study.

    Returns
    -------
    dict or None
        A plain JSON object: pulls, cost (None where that is not simply what was declared), and the arms with the
        highest means at the truest fidelity.
    """
    header = storage.headers().get(name)
    if header is None:
        return None
    log: Any = storage.log(name)
    found = log.totals(_LONG) if hasattr(log, "totals") else None
    if found is None:
        return None
    settings = read_header(header, name).settings
    try:
        rows = read_rows([text or "" for _, text in found.rounds])
    except StorageError:
        return None  # whoever opens it is told
    told = np.fromiter(chain.from_iterable(found.results), np.float64, 2 * len(found.results)).reshape(-1, 2)
    cells = np.repeat(rows[:, 0] * settings.problem.n_fidelities + rows[:, 1], rows[:, 2])
    pulls = told[:, 0].astype(np.int64)
    if not rows.size or rows[:, 0].max() >= settings.problem.n_arms or pulls.max(initial=0) >= cells.size:
        return None  # arms came later, or numbers were left out
    shape = settings.problem.n_arms, settings.problem.n_fidelities
    cells, size = cells[pulls], shape[0] * shape[1]
    counts = np.bincount(cells, minlength=size).reshape(shape)
    sums: Floats = np.bincount(cells, weights=told[:, 1], minlength=size).reshape(shape).astype(np.float64)
    costs = _costs(settings, counts) if found.is_plain else None
    return {"study": name, **_plain(settings.problem, counts, sums, costs)}


def _costs(settings: Settings, counts: Ints) -> Floats | None:
    """What pulls have cost, by arm and fidelity; None if blocks had to be opened."""
    if any(fidelity.block_cost for fidelity in settings.problem.fidelities):
        return None
    costs: Floats = counts * settings.seen.costs
    return costs


def _plain(problem: Problem, counts: Ints, sums: Floats, costs: Floats | None) -> dict[str, Any]:
    with np.errstate(invalid="ignore"):
        means = sums / counts
    truest = means[:, problem.truest]
    order = np.argsort(-np.nan_to_num(truest, nan=-np.inf), kind="stable")[:MOST_ARMS]
    spent = None if costs is None else costs.sum(axis=0)
    return {
        "pulls": int(counts.sum()),
        "cost": None if spent is None else float(spent.sum()),
        "n_arms": problem.n_arms,
        "fidelities": [
            {
                "name": short(fidelity.name),
                "truth": number == problem.truest,
                "pulls": int(counts[:, number].sum()),
                "cost": None if spent is None else float(spent[number]),
            }
            for number, fidelity in enumerate(problem.fidelities)
        ],
        "arms": [
            {
                "arm": short(problem.arms[arm]),
                "index": int(arm),
                "pulls": counts[arm].tolist(),
                "means": [None if np.isnan(mean) else float(mean) for mean in means[arm]],
            }
            for arm in order
        ],
    }
