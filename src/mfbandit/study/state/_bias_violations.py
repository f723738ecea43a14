"""What a study does when its data contradict a bias bound.

The alarm of `mfbandit.confidence._bias_alarm` is looked at whenever a round is complete. If it goes off, the study
stops, or goes on with wider bounds, as its settings say. What was found, and the bounds from then on, stand
in the record of the next round, so that every process goes on alike.

Bounds that were widened are a new model: the guarantee that comes with the answer is restated for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

from mfbandit.confidence import BrokenBound, alarm
from mfbandit.core import Arrays, State
from mfbandit.model import Gaussian, Problem
from mfbandit.study.state.rounds._round_record import RoundRecord

__all__ = ["broken_bounds", "read_beliefs", "sentences", "widened", "write_beliefs"]

#: A Gaussian reward of so many standard deviations of bias tells nothing of the truth.
_HOPELESS = 1000.0


def broken_bounds(
    problem: Arrays, state: State, level: float, arms: Sequence[int], among: Iterable[int], total: int
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
    among
        The arms in play to look at: the evidence of the others has not changed.
    total
        How many arms the study started with; the level is shared by all of them.
    """
    missing = total / len(arms)
    found = alarm(problem, state, level / missing, among=among)
    return [replace(one, arm=arms[one.arm], false_alarm=min(1.0, one.false_alarm * missing)) for one in found]


def widened(problem: Problem, added: dict[int, float], found: Sequence[BrokenBound], action: str) -> dict[int, float]:
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
                more[m] = _HOPELESS * problem.reward.scale if isinstance(problem.reward, Gaussian) else 1.0
            else:
                step = 2.0 * (broken.difference - broken.allowed) / len(cheap)
                more[m] = max(more.get(m, 0.0), added.get(m, 0.0) + step)
    return more


def write_beliefs(broken: Sequence[BrokenBound], added: dict[int, float]) -> dict[str, Any]:
    """What the record of a round says of broken bounds and wider ones."""
    if not broken:
        return {}
    return {"broken": [{**asdict(one), "fidelities": list(one.fidelities)} for one in broken], "added": added}


def read_beliefs(body: RoundRecord) -> tuple[list[BrokenBound], dict[int, float]]:
    """Read back what `write_beliefs` wrote."""
    broken = [BrokenBound(**{**one, "fidelities": tuple(one["fidelities"])}) for one in body["broken"]]
    return broken, {int(m): float(more) for m, more in body["added"].items()}


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
