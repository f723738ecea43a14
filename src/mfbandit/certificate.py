"""Certificates: a plain JSON object from which a stranger can check the answer of a study again.

A certificate holds the problem, the claim in one sentence, the threshold that evidence has to reach, the
statistics of every (arm, fidelity), and for every beaten arm who beat it, with both arms' statistics at
that moment, since the final statistics alone need not prove it again. All statistics are in unit scale
(rewards of a range mapped to [0, 1]; Gaussian rewards as they are).

There are two kinds of evidence, both valid at any time: ``pairs``, the joint evidence of
`mfbandit.confidence.evidence` by which `mf-toptwo` and
`mf-grad:threshold=ours` stop, and ``arms``, the product of two arms' own
e-processes (`mfbandit.confidence.arm`), computed for the answers of all other policies.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mfbandit.algorithms import policy as read_policy
from mfbandit.confidence.pair_records import beaten_records, proves
from mfbandit.core import GAUSSIAN, Arrays, Goal, State, arrays, new_state
from mfbandit.errors import InvalidInput, MfbanditError
from mfbandit.problem import Problem

if TYPE_CHECKING:
    from mfbandit.study.view import View

__all__ = ["Verdict", "certificate", "load_certificate", "verify"]

FORMAT, VERSION = "mfbandit certificate", 1
_STATISTICS = ("pulls", "sums", "squares", "deviations")
#: Rounding that recomputed evidence may differ by.
_SLACK = 1e-6


@dataclass(frozen=True)
class Verdict:
    """Whether a certificate holds, and if not, why."""

    valid: bool
    claim: str
    reasons: tuple[str, ...] = ()


def certificate(view: View) -> dict[str, Any]:
    """The certificate of a study as it stands.

    Parameters
    ----------
    view : View
        A study at one moment, `Study.view`.

    Returns
    -------
    dict
        Plain JSON; `verify` checks it.
    """
    settings, problem = view.settings, view.problem
    names = problem.arms
    threshold = _threshold(len(view.arms), settings.delta)
    kind = view.stops_by
    evidence = _pair_evidence(view) if kind == "pairs" else _arm_evidence(view)
    return {
        "format": FORMAT,
        "version": VERSION,
        "claim": _claim(view, threshold),
        "answer": view.best,
        "status": view.status,
        "confidence": view.confidence,
        "delta": settings.delta,
        "epsilon": settings.epsilon,
        "threshold": threshold,
        "cost": view.cost,
        "pulls": view.pulls,
        "policy": settings.policy.to_json(),
        "problem": problem.to_json(),
        "arms": [names[arm] for arm in view.arms],
        "fidelities": [problem.fidelities[column].name for column in view.columns],
        "retired": {names[arm]: reason for arm, reason in view.retired.items()},
        "statistics": {
            names[arm]: {part: getattr(view.state, part)[place].tolist() for part in _STATISTICS}
            for place, arm in enumerate(view.arms)
        },
        "kind": kind,
        "evidence": evidence,
    }


def _threshold(n_arms: int, delta: float) -> float:
    return math.log(max(1, n_arms - 1)) - math.log(delta)


def _claim(view: View, threshold: float) -> str:
    """The claim in one sentence."""
    settings = view.settings
    if view.best is None:
        return "Nothing is claimed: there is no result yet."
    others = f"the {len(view.arms)} arms" if not view.retired else f"the {len(view.arms)} arms not retired"
    what = f"{view.best!r} has the highest true mean of {others}"
    if settings.epsilon > 0:
        what = f"the true mean of {view.best!r} is within {settings.epsilon:g} of the highest of {others}"
    if view.status == "certified":
        return f"With probability at least {1 - settings.delta:g}, {what}, provided the bounds on the biases hold."
    return (
        f"Not certified ({view.status}): {what} with confidence {view.confidence:.4g} so far, "
        f"of {1 - settings.delta:g} wanted."
    )


def _pair_evidence(view: View) -> list[dict[str, Any]]:
    """Who beat whom, in the words of a certificate."""
    names = [view.settings.problem.arms[arm] for arm in view.arms]
    return [
        {**entry, "arm": names[entry["arm"]], "by": names[entry["by"]]}
        for entry in beaten_records(view.arrays, view.params, view.state)
    ]


def _arm_evidence(view: View) -> list[dict[str, Any]]:
    """How strongly the answer beats each other arm, from the statistics as they are."""
    from mfbandit.study.evidence import beats

    if view.best is None:
        return []
    answer = view.arms.index(view.answer)
    epsilon = view.settings.epsilon / view.settings.problem.reward.span
    names = [view.settings.problem.arms[arm] for arm in view.arms]
    return [
        {"arm": names[b], "by": names[answer], "evidence": beats(view.arrays, view.state, answer, b, epsilon)}
        for b in range(len(names))
        if b != answer
    ]


def load_certificate(path: str | Path) -> dict[str, Any]:
    """Read a certificate, alone or inside a result, from a JSON file."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"cannot read the certificate {str(path)!r}: {error}") from error
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"{str(path)!r} is not JSON: {error}") from error
    if isinstance(found, dict) and isinstance(found.get("certificate"), dict):
        found = found["certificate"]
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise InvalidInput(f"{str(path)!r} holds no certificate (no object with format {FORMAT!r})")
    if not isinstance(found.get("version"), int) or found["version"] > VERSION:
        raise InvalidInput(
            f"the certificate has version {found.get('version')!r}, newer than {VERSION}, which this mfbandit reads"
        )
    return found


def verify(found: Mapping[str, Any]) -> Verdict:
    """Check a certificate from its own numbers alone.

    Everything is computed anew: the threshold from delta and the number of arms, and the evidence of every
    victory from the statistics at that moment.

    Examples
    --------
    >>> import mfbandit as mf
    >>> from mfbandit.study import create_study
    >>> study = create_study(mf.Problem(["a", "b"], [("exact", 1.0, 0.0)], reward="bernoulli"), delta=0.1)
    >>> while not study.done:
    ...     for pull in study.ask():
    ...         _ = study.tell(pull, 1.0 if pull.arm == "b" else 0.0)
    >>> verify(study.result().certificate).valid
    True
    """
    claim = str(found.get("claim", ""))
    try:
        reasons = tuple(_faults(found))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, MfbanditError) as error:
        detail = f"{error}" if not isinstance(error, KeyError) else f"{error} is missing"
        return Verdict(False, claim, (f"the certificate is malformed: {detail}",))
    return Verdict(not reasons, claim, reasons)


def _faults(found: Mapping[str, Any]) -> list[str]:
    """Everything that is wrong with a certificate."""
    problem = Problem.from_json(found["problem"])
    goal = Goal(delta=found["delta"], epsilon=found["epsilon"])
    arms, names = list(found["arms"]), list(found["fidelities"])
    threshold = _threshold(len(arms), goal.delta)
    faults = []
    if abs(threshold - float(found["threshold"])) > _SLACK:
        faults.append(f"the threshold must be log((K - 1) / delta) = {threshold:.6g}, not {found['threshold']:.6g}")
    if found["answer"] not in arms:
        return [*faults, f"the answer {found['answer']!r} is none of the arms"]
    columns = [[fidelity.name for fidelity in problem.fidelities].index(name) for name in names]
    kept = [problem.arms.index(arm) for arm in arms]
    full = arrays(problem, columns)
    seen = full._replace(
        cost=np.ascontiguousarray(full.cost[kept]),
        bias=np.ascontiguousarray(full.bias[kept]),
        rate=np.ascontiguousarray(full.rate[kept]),
    )
    state = _state(seen, found["statistics"], arms)
    faults += _impossible(seen, state, arms, names)
    beaten = {str(entry["arm"]): entry for entry in found["evidence"]}
    for arm in arms:
        if arm == found["answer"]:
            if arm in beaten:
                faults.append(f"the answer {arm!r} is itself among the beaten arms")
        elif arm not in beaten:
            faults.append(f"nothing shows that arm {arm!r} is beaten")
        elif faults == []:
            faults += _unproven(found, problem, seen, state, arms, beaten[arm], goal, threshold)
    return faults


def _state(seen: Arrays, statistics: Mapping[str, Any], arms: list[str]) -> State:
    state = new_state(seen)
    for place, arm in enumerate(arms):
        for part in _STATISTICS:
            getattr(state, part)[place] = statistics[arm][part]
    return state


def _impossible(seen: Arrays, state: State, arms: list[str], names: list[str]) -> list[str]:
    """Statistics that no rewards can have."""
    faults = []
    bounded = seen.kind != GAUSSIAN
    for k, m in np.ndindex(*state.pulls.shape):
        n, total, squared = int(state.pulls[k, m]), float(state.sums[k, m]), float(state.squares[k, m])
        slack = 1e-9 * (1 + n)
        wrong = n < 0 or not math.isfinite(total) or squared * n < total * total * (1 - 1e-9) - slack
        if bounded:
            wrong = wrong or not -slack <= squared <= total + slack or total > n + slack
        if wrong:
            faults.append(
                f"no rewards can have these statistics, arm {arms[k]!r} at fidelity {names[m]!r}: "
                f"n = {n}, sum {total:g}, sum of squares {squared:g}"
            )
    return faults


def _passive_fault(seen: Arrays, side: Mapping[str, Any]) -> str:
    """Why active statistics cannot be a part of all statistics; nothing if they can."""
    for m in range(seen.cost.shape[1]):
        n = side["pulls"][m] - side["active_pulls"][m]
        total = side["sums"][m] - side["active_sums"][m]
        squared = side["squares"][m] - side["active_squares"][m]
        slack = 1e-7 * (1 + abs(side["pulls"][m]))
        if n < 0 or squared < -slack or (n == 0 and abs(total) > slack):
            return "hold active rewards that are no part of all rewards"
        if seen.kind != GAUSSIAN and not (-slack <= total <= n + slack and squared <= total + slack):
            return "hold active rewards that are no part of all rewards"
    return ""


def _unproven(
    found: Mapping[str, Any],
    problem: Problem,
    seen: Arrays,
    state: State,
    arms: list[str],
    entry: Mapping[str, Any],
    goal: Goal,
    threshold: float,
) -> list[str]:
    """What is wrong with one victory."""
    loser, winner = arms.index(entry["arm"]), arms.index(entry["by"])
    if goal.epsilon > 0 and entry["by"] != found["answer"]:
        return [f"with epsilon > 0 the answer itself must beat arm {entry['arm']!r}, not {entry['by']!r}"]
    if found["kind"] == "arms":
        from mfbandit.study.evidence import beats

        value = beats(seen, state, winner, loser, goal.epsilon / problem.reward.span)
        if value + _SLACK < threshold:
            return [f"the evidence that {entry['by']!r} beats {entry['arm']!r} is {value:.4g}, under {threshold:.4g}"]
        return []
    for part in ("winner", "loser"):
        fault = _passive_fault(seen, entry[part])
        if fault:
            return [f"the statistics of the {part} over arm {entry['arm']!r} {fault}"]
    later = [
        part
        for part, arm in (("winner", winner), ("loser", loser))
        if (np.asarray(entry[part]["pulls"]) > state.pulls[arm]).any()
    ]
    if later:
        return [f"the statistics of the {later[0]} over arm {entry['arm']!r} are of more pulls than were made"]
    algorithm = read_policy(found["policy"]).ready(problem, seen, goal)
    record = {**entry, "arm": loser, "by": winner}
    if not proves(seen, algorithm.params, record, threshold):
        return [f"the statistics do not prove that {entry['by']!r} beats {entry['arm']!r} at {threshold:.4g}"]
    return []
