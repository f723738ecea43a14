"""What a study does when its data contradict a bias bound.

The alarm of `mfbandit.confidence.alarm` is looked at whenever a round is complete. If it goes off, the study
stops, or goes on with wider bounds, as its settings say. What was found, and the bounds from then on, stand
in the record of the next round, so that every process goes on alike.

Bounds that were widened are a new model: the guarantee that comes with the answer is restated for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from mfbandit.confidence.alarm import BrokenBound, alarm, alarm_threshold
from mfbandit.core import Arrays, State
from mfbandit.fidelity import Fidelity, PerArm
from mfbandit.problem import Gaussian, Problem

__all__ = ["ON_VIOLATION", "broken_bounds", "read_broken", "sentences", "write_broken", "widened", "wider"]

ON_VIOLATION = ("ignore", "stop", "drop", "widen")
#: A Gaussian reward of so many standard deviations of bias tells nothing of the truth.
_HOPELESS = 1000.0


def broken_bounds(
    problem: Arrays, state: State, level: float, arms: Sequence[int], places: Iterable[int], total: int
) -> list[BrokenBound]:
    """The bounds that the data of some arms contradict, in indices of the user's problem.

    Parameters
    ----------
    problem, state
        What kernels see, of the arms in play.
    level
        The probability of a false alarm, ever.
    arms
        Which arm of the user's problem each one in play is.
    places
        The arms in play to look at: the evidence of the others has not changed.
    total
        How many arms the study started with; the level is shared by all of them.
    """
    found = []
    # The threshold is that of all arms, so what is looked at one by one must pay for the others.
    share = level * len(arms) / total
    for place in places:
        seen = problem._replace(
            cost=problem.cost[[place]], bias=problem.bias[[place]], rate=problem.rate[[place]]
        )
        row = state._replace(**{name: getattr(state, name)[[place]] for name in _ROWS})
        single = share / len(arms)
        if 0.0 < single < 1.0:
            found += [_of(broken, arms[place], total) for broken in alarm(seen, row, single)]
    return sorted(found, key=lambda broken: -broken.evidence)


_ROWS = ("pulls", "sums", "squares", "deviations")


def _of(broken: BrokenBound, arm: int, total: int) -> BrokenBound:
    """A finding about a single arm as one about an arm of the problem."""
    return BrokenBound(
        arm=arm,
        fidelities=broken.fidelities,
        difference=broken.difference,
        allowed=broken.allowed,
        evidence=broken.evidence,
        false_alarm=min(1.0, broken.false_alarm * total),
    )


def widened(
    problem: Problem, added: dict[int, float], found: Sequence[BrokenBound], action: str
) -> dict[int, float]:
    """What has to be added to the bounds of each fidelity, in unit scale, so that the data keep them.

    "drop" makes the bound of a cheap fidelity so wide that it tells nothing. "widen" adds twice what the
    measured difference is too large by: the alarm goes off when that excess is beyond doubt above 0, so that
    twice of it is a fair upper bound; should it not be enough, the alarm goes off again.
    """
    more = dict(added)
    for broken in found:
        cheap = [m for m in broken.fidelities if m != problem.truest]
        for m in cheap:
            if action == "drop":
                more[m] = _HOPELESS * problem.reward.sigma if isinstance(problem.reward, Gaussian) else 1.0
            else:
                step = 2.0 * (broken.difference - broken.allowed) / len(cheap)
                more[m] = max(more.get(m, 0.0), added.get(m, 0.0) + step)
    return more


def wider(problem: Problem, added: dict[int, float]) -> Problem:
    """The problem with so much added to the bounds of its fidelities, up to the width of the range."""
    if not added:
        return problem
    span = problem.reward.span
    most = np.inf if isinstance(problem.reward, Gaussian) else span
    fidelities = [
        Fidelity(one.name, one.cost, _more(one.bias, added[m] * span, most)) if m in added else one
        for m, one in enumerate(problem.fidelities)
    ]
    return Problem(problem.arms, fidelities, problem.reward)


def _more(bias: PerArm, step: float, most: float) -> PerArm:
    if isinstance(bias, tuple):
        return tuple(min(one + step, max(one, most)) for one in bias)
    return min(bias + step, max(bias, most))


def write_broken(found: Sequence[BrokenBound]) -> list[dict[str, Any]]:
    """Broken bounds as plain JSON."""
    return [{**asdict(one), "fidelities": list(one.fidelities)} for one in found]


def read_broken(plain: Sequence[dict[str, Any]]) -> list[BrokenBound]:
    """Read back what `write_broken` wrote."""
    return [BrokenBound(**{**one, "fidelities": tuple(one["fidelities"])}) for one in plain]


def sentences(problem: Problem, found: Sequence[BrokenBound], action: str) -> list[str]:
    """What was found and what was done about it, in words."""
    said = []
    for broken in found:
        cheap = " and ".join(repr(problem.fidelities[m].name) for m in broken.fidelities if m != problem.truest)
        done = {
            "stop": "; the study stopped",
            "drop": f"; from then on {cheap} counted for nothing",
            "widen": f"; the bound of {cheap} was widened",
        }.get(action, "")
        said.append(broken.sentence(problem) + done)
    return said


def threshold(problem: Arrays, level: float) -> float:
    """The evidence at which the alarm of a study goes off."""
    return alarm_threshold(problem, level)
