"""How strongly each other arm is beaten, by the evidence that an algorithm stops by.

`Algorithm.evidence` names one of three kinds, all valid at any time and whatever chose the pulls:

- ``"pairs"``: the joint evidence of two arms (`mfbandit.confidence.pair._mixture`). An arm that was beaten stays
  beaten, so the statistics of that moment are kept and are its proof.
- ``"leaders"``: the same, and what declared leaders have shown: one process for every arm b, against "b is the best".
- ``"arms"``: the product of two arms' own e-processes (`mfbandit.confidence._two_arms`), from the statistics
  as they are now. It is there for every policy.

A victory of a over b proves "b is not the best arm" once its evidence reaches `threshold`: the best arm is
ever beaten by one of its K - 1 rivals with probability at most delta. With leaders there is one chance, not K - 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

from mfbandit.confidence._arm import arm_interval
from mfbandit.confidence._two_arms import MOST, least_evidence
from mfbandit.confidence.pair._victory_records import beaten_records, evidence_of_record, record_now
from mfbandit.confidence.processes._by_name import process_kernels
from mfbandit.core import BERNOULLI, GAUSSIAN, Algorithm, Arrays, State, bind, compiled
from mfbandit.errors import MissingExtra

__all__ = ["Victory", "arm_evidence", "chances", "confidence", "interval", "is_proven", "threshold", "victories"]

#: Rounding that may separate evidence from the threshold that it reached.
ROUNDING = 1e-9
#: From so many streams on, evidence is worth compiling.
_MANY = 200


class Victory(NamedTuple):
    """What speaks against one arm."""

    arm: int
    """The arm that is beaten, or is to be."""
    by: int
    evidence: float
    """Logarithm of the evidence."""
    record: dict[str, Any] | None = None
    """For pairs: both arms' statistics at that moment, and those of leaders."""


def chances(evidence: str, arms: int) -> int:
    """In how many ways the best of so many arms can be beaten wrongly, by the kind of evidence.

    Examples
    --------
    >>> chances("pairs", 5), chances("leaders", 5)
    (4, 1)
    """
    return 1 if evidence == "leaders" else arms - 1


def threshold(ways: int, delta: float) -> float:
    """The evidence that beats an arm, where there are so many `chances`: log(ways / delta)."""
    return math.log(max(1, ways)) - math.log(delta)


@cache
def _with_process(kernel: Callable[..., Any], kind: int) -> Callable[..., Any]:
    """A kernel with the confidence process that suits a kind of reward."""
    process = "gaussian" if kind == GAUSSIAN else "kl" if kind == BERNOULLI else "mixed"
    return bind(kernel, **process_kernels(process))


@cache
def _fast(kernel: Callable[..., Any], kind: int) -> Callable[..., Any]:
    """The same compiled, where that can be had."""
    try:
        return compiled(_with_process(kernel, kind))
    except MissingExtra:
        return _with_process(kernel, kind)


def _found(kernel: Callable[..., Any], problem: Arrays) -> Callable[..., Any]:
    """A kernel for the rewards of a problem, compiled if it has many arms."""
    return (_fast if problem.cost.size >= _MANY else _with_process)(kernel, problem.reward_code)


def interval(problem: Arrays, state: State, arm: int, alpha: float) -> tuple[float, float]:
    """Bounds of an arm's true mean, in unit scale, that ever fail with probability at most `alpha`."""
    low, high = _found(arm_interval, problem)(problem, state, arm, -math.log(alpha))
    return float(low), float(high)


def arm_evidence(problem: Arrays, state: State, better: int, worse: int, epsilon: float) -> float:
    """Evidence of the kind "arms" that `better` is better than `worse`, or within `epsilon` of it (unit scale)."""
    return float(_found(least_evidence, problem)(problem, state, better, worse, float(epsilon)))


def victories(problem: Arrays, algorithm: Algorithm, state: State, answer: int, epsilon: float) -> Iterator[Victory]:
    """How strongly each arm but the answer is beaten: by whom it was, else by the answer.

    Parameters
    ----------
    problem, algorithm, state
        As a study or a simulation has them.
    answer : int
        The arm that is to be the best.
    epsilon : float
        In unit scale. Above 0 only victories of the answer itself count.
    """
    arms = range(problem.cost.shape[0])
    if algorithm.evidence == "arms":
        for arm in arms:
            if arm != answer:
                yield Victory(arm, answer, arm_evidence(problem, state, answer, arm, epsilon))
        return
    params = algorithm.params
    known = {
        entry["arm"]: entry
        for entry in beaten_records(problem, params, state)
        if entry["arm"] != answer and (epsilon == 0.0 or entry["by"] == answer)
    }
    for arm in arms:
        entry = known.get(arm)
        if entry is not None:
            yield Victory(arm, entry["by"], entry["evidence"], entry)
        elif arm != answer:
            record = record_now(problem, params, state, answer, arm)
            pulled = state.pulls[answer].any() and state.pulls[arm].any()
            value = evidence_of_record(problem, params, record) if pulled else 0.0
            yield Victory(arm, answer, min(MOST, max(0.0, value)), record)


def confidence(ways: int, delta: float, least: float) -> float:
    """How sure an answer is whose least victory has this evidence: 1 - ways exp(-least), at least 0.

    `ways` are the `chances` of an error. Evidence at the threshold gives 1 - delta, without rounding.
    """
    if ways < 1:
        return 1.0
    sure = max(0.0, 1.0 - ways * math.exp(-min(MOST, least)))
    return max(sure, 1.0 - delta) if is_proven(ways, delta, least) else min(sure, math.nextafter(1.0 - delta, 0.0))


def is_proven(ways: int, delta: float, least: float) -> bool:
    """Whether evidence reaches the threshold."""
    return ways < 1 or least >= threshold(ways, delta) - ROUNDING
