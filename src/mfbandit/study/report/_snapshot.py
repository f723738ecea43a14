"""A study at one moment, for a page: the arms that matter, what is out, what failed, and what comes next.

It is a plain JSON object, small however many arms and pulls there are. Words and numbers are those of the report.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mfbandit.core import PULLS
from mfbandit.formatting import shown
from mfbandit.model import counts_alike
from mfbandit.storage import LEASE
from mfbandit.study._history import views_along
from mfbandit.study._lease_owner import Owners
from mfbandit.study._view import View
from mfbandit.study.report._goal_words import goal_answer
from mfbandit.study.report._page import Answered, answer
from mfbandit.study.state.rounds._round import HoldUp

if TYPE_CHECKING:
    from mfbandit.study._study import Study
    from mfbandit.study.state._study_state import StudyState

__all__ = ["MOST_ARMS", "Out", "latest_activity", "moments", "progress", "short", "snapshot", "summary"]

#: So many arms, pulls that are out, and failures are named.
MOST_ARMS, _MOST_OUT, _MOST_FAILURES = 40, 50, 20
#: Of so many arms the way of their bounds is drawn.
_MOST_DRAWN = 12
#: The latest activity is looked for among so many records.
_LATEST = 200
#: With more arms than this, what takes a look at each of them is left out.
_MANY_ARMS = 2000
#: Reasons and names are cut after so many letters.
_LONGEST_REASON, _LONGEST_NAME = 500, 500

_WAITS = {
    "round": "all results of a round are needed for the next plan; pull {pull} is the first that is missing",
    "lag": "plans are as far ahead of the results as they may be; pull {pull} is the first that is missing",
    "expected": "what is out ends the study, if it comes back as expected",
    "limit": "nothing more can be paid for",
}


_owners = Owners()


class Out(NamedTuple):
    """A pull that is handed out and has no result yet."""

    pull: int
    arm: int
    fidelity: int
    since: float | None
    """When it was handed out, or said to be worked on, for the last time; seconds of the storage's clock."""
    by: str
    """Which process has it, if it was taken by a run."""


def summary(study: Study) -> dict[str, Any]:
    """A study in a line: where it stands, the best arm, how sure that is, and what it cost."""
    view = study.view()
    return _summary(study, view)


def progress(study: Study) -> dict[str, Any]:
    """What can be said of a study at once, however many arms it has."""
    with study._lock:
        study_state = study.current()
        pulls = int(study_state.state.clock[PULLS]) + study_state.round.loose()
        found = {"study": study.name, "status": study_state.status, "cost": study_state.cost, "pulls": pulls}
    return {**found, "n_arms": study.problem.n_arms}


def snapshot(study: Study) -> dict[str, Any]:
    """A study at this moment, as a plain JSON object.

    Parameters
    ----------
    study : Study
        The study; it is read, not changed.

    Returns
    -------
    dict

    Examples
    --------
    >>> import mfbandit as mf
    >>> study = mf.create_study(mf.Problem(["a", "b"], [("exact", 1.0, 0.0)]), max_cost=10)
    >>> pull, = study.ask()
    >>> found = snapshot(study)
    >>> found["status"], found["sentence"], [one["arm"] for one in found["out"]]
    ('running', 'There is no answer yet: the study is still running.', ['a'])
    """
    with study._lock:
        study_state = study.current()
        view = View(study_state)
        out, failures = _out(study_state), _failures(study_state)
    problem, settings = view.settings.problem, view.settings
    names, rows = problem.arms, _arms_that_matter(view)
    pulls = view.state.pulls.sum(axis=0)
    spent = _spent(view).sum(axis=0)
    columns = {column: index for index, column in enumerate(view.columns)}
    return {
        **_summary(study, view),
        "policy": settings.policy.label,
        "delta": settings.delta,
        "epsilon": settings.epsilon,
        "width": settings.width,
        "limit": settings.limit,
        "blocks": problem.blocks,
        "on_blocks": view.on_blocks,
        "rewards": [problem.reward.low, problem.reward.high],
        "fidelities": [
            {
                "name": short(fidelity.name),
                "truth": number == problem.truest,
                "pulls": int(pulls[columns[number]]) if number in columns else 0,
                "cost": float(spent[columns[number]]) if number in columns else 0.0,
            }
            for number, fidelity in enumerate(problem.fidelities)
        ],
        "arms": _arms(view, rows),
        "moment": _moment(view, rows[:_MOST_DRAWN]),
        "n_arms": problem.n_arms,
        "by_people": any(fidelity.by == "people" for fidelity in problem.fidelities),
        "n_left": len(view.left),
        "n_retired": len(view.retired),
        "regret_bound": view.regret_bound if problem.n_arms <= _MANY_ARMS else None,
        "waits": _waits(view, view.hold_up),
        "n_out": len(out),
        "out": [
            {
                "pull": one.pull,
                "arm": short(names[one.arm]),
                "fidelity": short(problem.fidelities[one.fidelity].name),
                "since": one.since,
                "by": one.by,
            }
            for one in sorted(out, key=lambda one: (one.since or 0.0, one.pull))[:_MOST_OUT]
        ],
        "n_failures": len(failures),
        "failures": [
            {
                "pull": pull,
                "arm": short(names[arm]),
                "fidelity": short(problem.fidelities[fidelity].name),
                "times": times,
                "reason": _cut(reason),
            }
            for pull, arm, fidelity, times, reason in failures[-_MOST_FAILURES:]
        ],
        "reasons": [_cut(reason) for reason in view.reasons[:_MOST_FAILURES]],
        "violations": [_cut(one) for one in view.violations()[:_MOST_FAILURES]] if _is_small(view) else [],
    }


def moments(study: Study, points: int = 60) -> list[dict[str, Any]]:
    """How a study went: moments along the way, evenly spaced by the number of results; see `history`."""
    return [_moment(view, _arms_that_matter(view)[:_MOST_DRAWN]) for _, view in views_along(study, points)]


def latest_activity(study: Study) -> float | None:
    """When a pull was last handed out, or said to be worked on, by the clock of the storage; None if not known."""
    records = study.storage.log(study.name).read(max(0, study.known_length - _LATEST))
    began = [
        _since(one.value, (one.text or "").partition(" ")[0]) for one in records if one.kind == LEASE and one.value
    ]
    return max((since for since in began if since is not None), default=None)


def _moment(view: View, rows: Sequence[int]) -> dict[str, Any]:
    """A point of the pictures: how sure it was at what cost, and what was known of the arms that matter."""
    differences, names = view.differences, view.settings.problem.arms
    bounds = []
    for row in rows:
        arm = view.arms[row]
        ends = differences.get(names[arm]) if view.on_blocks else view.interval_of(row)
        if ends is not None:
            bounds.append([arm, *ends])
    return {"cost": view.cost, "confidence": view.confidence, "best": view.answer, "bounds": bounds}


def _spent(view: View) -> Any:
    """What pulls have cost, by arm and fidelity in play; see `ArmResult.costs`."""
    cells, problem = np.ix_(view.arms, view.columns), view.settings.problem
    spent = view.state.pulls * view.settings.seen.costs[cells]
    if view.on_blocks:
        spent = spent + (view.openings * np.array([fidelity.block_cost for fidelity in problem.fidelities]))[cells]
    return spent if view.beyond is None else spent + view.beyond[cells]


def _summary(study: Study, view: View) -> dict[str, Any]:
    best, confidence, asked = view.best, view.confidence, view.settings.question
    facts = Answered(view.status, best, confidence, view.cost, view.pulls, view.settings.epsilon)
    facts = facts._replace(delta=view.settings.delta, tied=view.tied if view.status == "certified" else ())
    if asked is not None and view.verdicts is not None:
        names = view.settings.problem.arms
        words = {names[arm]: word for arm, word in view.verdicts.words.items()}
        facts = facts._replace(goal_answer=goal_answer(asked, facts.epsilon, view.chosen, words))
        best = ", ".join(view.chosen) or "none"
    return {
        "study": study.name,
        "status": view.status,
        "best": None if best is None else short(best),
        "confidence": confidence,
        "wanted": 1.0 - view.settings.delta,
        "cost": view.cost,
        "pulls": view.pulls,
        "remaining_cost": view.remaining_cost,
        "sentence": answer(facts._replace(best=None if best is None else shown(best, 80))),
    }


def _is_small(view: View) -> bool:
    return view.settings.problem.n_arms <= _MANY_ARMS


def _arms_that_matter(view: View) -> list[int]:
    """Rows in the statistics of the answer and of the arms that are closest to being the best."""
    if view.best is None or view.settings.question is not None:
        return list(range(min(len(view.arms), MOST_ARMS)))
    answer_row = view.arms.index(view.answer)
    if view.on_blocks:
        against = -np.asarray(view.race.log_wrong(view.answer), dtype=float)[view.arms]
    else:
        against = np.full(len(view.arms), math.inf)
        for one in view.victories:
            against[one.arm] = one.evidence
    against[answer_row] = -math.inf
    means = _means(view, view.columns.index(view.settings.problem.truest)) if _has_truth(view) else None
    order = np.argsort(against, kind="stable") if means is None else np.lexsort((-np.nan_to_num(means), against))
    return [int(row) for row in order[:MOST_ARMS]]


def _has_truth(view: View) -> bool:
    return view.settings.problem.truest in view.columns


def _means(view: View, column: int) -> Any:
    """Mean rewards at a fidelity, in unit scale; NaN where there is none."""
    pulls = view.state.pulls[:, column]
    if view.on_blocks:
        pulls = pulls - view.state.blocks.missing[:, column]
    return np.where(pulls > 0, view.state.sums[:, column] / np.maximum(pulls, 1), math.nan)


def _arms(view: View, rows: Sequence[int]) -> list[dict[str, Any]]:
    """What is known of some arms; those that were given up come last."""
    problem, left = view.settings.problem, set(view.left)
    differences = view.differences
    evidence = {one.arm: one.evidence for one in view.victories}
    means = [_means(view, column) for column in range(len(view.columns))]
    columns = {column: index for index, column in enumerate(view.columns)}
    found: list[dict[str, Any]] = []
    for row in rows:
        name = problem.arms[view.arms[row]]
        low, high = view.interval_of(row)
        by_fidelity = [columns.get(number) for number in range(problem.n_fidelities)]
        found.append(
            {
                "arm": short(name),
                "index": view.arms[row],
                "best": name in view.chosen or (view.arms[row] == view.answer and name == view.best),
                **({} if view.verdicts is None else {"verdict": view.verdicts.words.get(row, "the control")}),
                "left": name in left,
                "low": low,
                "high": high,
                "ahead": differences.get(name),
                "evidence": evidence.get(row),
                "pulls": [0 if column is None else int(view.state.pulls[row, column]) for column in by_fidelity],
                "means": [None if column is None else _mean(view, means[column][row]) for column in by_fidelity],
                "retired": None,
            }
        )
    for arm, why in list(view.retired.items())[: max(0, MOST_ARMS - len(found)) + 5]:
        nothing: dict[str, Any] = {"index": arm, "best": False, "left": False}
        nothing |= dict.fromkeys(("low", "high", "ahead", "evidence"))
        empty = {"pulls": [], "means": [], "retired": _cut(why)}
        found.append({"arm": short(problem.arms[arm]), **nothing, **empty})
    return found


def _mean(view: View, unit: float) -> float | None:
    # Where blocks on which all arms agreed were not measured, means lack them.
    unknown = math.isnan(unit) or counts_alike(view.settings.problem.truth)
    return None if unknown else float(view.problem.reward.from_unit(unit))


def _out(study_state: StudyState) -> list[Out]:
    playing, found = study_state.round, []
    for position, (until, note) in playing.leases.items():
        row = playing.row_of(position)
        term, _, owner = (note or "").partition(" ")
        found.append(Out(playing.first + position, row.arm, row.fidelity, _since(until, term), _owner(owner)))
    return found


def _since(until: float, term: str) -> float | None:
    try:
        return until - float(term)
    except ValueError:
        return None  # older versions wrote no term


def _owner(owner: str) -> str:
    """A process as people call it, and whether it is known to have ended."""
    parts = owner.split("/")
    if len(parts) != 5:
        return owner
    return f"process {parts[2]} on {parts[0]}" + (", which is gone" if _owners.is_gone(owner) else "")


def _failures(study_state: StudyState) -> list[tuple[int, int, int, int, str]]:
    """Pulls that failed and have no result yet: pull, arm, fidelity, how often, and the last reason."""
    playing, found = study_state.round, []
    for pull, reasons in study_state.failures.items():
        row = playing.row_of(pull - playing.first)
        found.append((pull, row.arm, row.fidelity, len(reasons), reasons[-1]))
    return found


def _waits(view: View, held: HoldUp) -> str:
    """Why no pull can be handed out, if none can."""
    if held.kind == "width":
        return f"as many pulls are out as may be, {view.settings.width}"
    if held.kind == "at_most":
        fidelity = view.settings.problem.fidelities[held.fidelity]
        return f"{shown(fidelity.name)!r} has as many pulls out as it may have, {fidelity.at_most}"
    if held.kind == "people":
        return f"pulls at {shown(view.settings.problem.fidelities[held.fidelity].name)!r} wait for people"
    return _WAITS.get(held.kind, "").format(pull=held.pull)


def short(name: str) -> str:
    """A name that may be as long as a book."""
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def _cut(reason: str) -> str:
    return reason if len(reason) <= _LONGEST_REASON else f"{reason[: _LONGEST_REASON - 1]}…"
