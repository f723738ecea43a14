"""How far people agree, where several have graded the same thing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import combinations
from typing import Any

from mfbandit.serve.people._grading_session import read_note
from mfbandit.study.report import ResultWithNote

__all__ = ["agreement"]


def agreement(results: Iterable[ResultWithNote]) -> dict[str, Any]:
    """What each person has graded, and how often two of them said the same of the same thing.

    Examples
    --------
    >>> said = [(0, 1.0, "Ann"), (1, 0.5, "Bo")]
    >>> notes = [ResultWithNote(n, x, f'{{"by": "{who}", "shown": "k"}}') for n, x, who in said]
    >>> agreement(notes)["pairs"]
    [{'people': ['Ann', 'Bo'], 'both': 1, 'same': 0, 'mean_difference': 0.5}]
    """
    grades: dict[str, list[float]] = defaultdict(list)
    by_key: dict[str, dict[str, float]] = defaultdict(dict)
    for noted in results:
        said = read_note(noted.note)
        if said is not None:
            person, key = said
            grades[person].append(noted.reward)
            by_key[key][person] = noted.reward
    differences: dict[tuple[str, str], list[float]] = defaultdict(list)
    for given in by_key.values():
        for one, other in combinations(sorted(given), 2):
            differences[one, other].append(abs(given[one] - given[other]))
    people = [{"person": who, "grades": len(x), "mean": sum(x) / len(x)} for who, x in sorted(grades.items())]
    pairs = [
        {
            "people": list(pair),
            "both": len(found),
            "same": sum(difference == 0.0 for difference in found),
            "mean_difference": sum(found) / len(found),
        }
        for pair, found in sorted(differences.items())
    ]
    return {"people": people, "pairs": pairs}
