"""How a study went: its confidence at moments along the way, read back from its log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mfbandit._checks import whole_number
from mfbandit.storage import RESULT, kept_records
from mfbandit.study._view import View
from mfbandit.study.state._wide_state import study_state_of

if TYPE_CHECKING:
    from mfbandit.study._study import Study

__all__ = ["Moment", "history", "views_along"]


@dataclass(frozen=True)
class Moment:
    """A study as it stood once."""

    cost: float
    pulls: int
    best: str | None
    confidence: float


def history(study: Study, points: int = 60, *, pulls: int | None = None) -> list[Moment]:
    """What a study would have answered along the way, and how sure it was.

    Parameters
    ----------
    study : Study
        The study; it is read, not changed.
    points : int
        How many moments, evenly spaced by the number of results; the last one is the latest.
    pulls : int, optional
        Look only at the first so many results.

    Returns
    -------
    list of Moment

    Examples
    --------
    >>> import mfbandit as mf
    >>> from mfbandit.study import create_study
    >>> problem = mf.Problem(["a", "b"], [("exact", 1.0, 0.0)])
    >>> study = create_study(problem, policy="lucb-top", max_cost=100)
    >>> while not study.done:
    ...     for pull in study.ask():
    ...         _ = study.tell(pull, 0.1 if pull.arm == "a" else 0.9)
    >>> moments = history(study, 4)
    >>> [moment.pulls for moment in moments], moments[-1].best
    ([25, 50, 75, 100], 'b')
    """
    return [
        Moment(cost=view.cost, pulls=seen, best=view.best, confidence=view.confidence)
        for seen, view in views_along(study, points, pulls=pulls)
    ]


def views_along(study: Study, points: int = 60, *, pulls: int | None = None) -> Iterator[tuple[int, View]]:
    """Views of a study as it stood along the way, each with how many results there were; see `history`."""
    whole_number("points", points, 1)
    records = list(kept_records(study.storage.log(study.name)))
    results = sum(record.kind == RESULT for record in records)
    results = results if pulls is None else min(results, pulls)
    if not results:
        return
    wanted = {max(1, round(results * point / points)) for point in range(1, points + 1)}
    study_state = study_state_of(study.made_with)
    seen = 0
    for record in records:
        if seen == results and record.kind == RESULT:
            break
        study_state.apply([record])
        if record.kind == RESULT:
            seen += 1
            if seen in wanted and seen < results:
                yield seen, View(study_state)
    # What came after the last result, such as the proof that ends a study, belongs to it.
    yield seen, View(study_state)
