"""Making and opening studies."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import Any

from mfbandit._checks import given_once, whole_number
from mfbandit.algorithms import Policy
from mfbandit.errors import InvalidInput, StudyError
from mfbandit.model import Problem, Question, read_question
from mfbandit.storage import PATIENCE_SECONDS, Storage
from mfbandit.study._policy_digest import policy_digest
from mfbandit.study._reward_check import plain_text
from mfbandit.study._settings import Header, Settings, check_same_for_all, write_header
from mfbandit.study._study import Study, open_study, opened_storage
from mfbandit.study._study_options import BiasAlarm, Failures

__all__ = ["DEFAULT_NAME", "NameTaken", "check_name", "create_study", "load_study"]

DEFAULT_NAME = "study"


class NameTaken(StudyError):
    """A study of this name exists already."""


def create_study(
    problem: Problem,
    *,
    delta: float | None = None,
    policy: Policy | str | None = None,
    epsilon: float | None = None,
    max_cost: float | None = None,
    storage: str | Storage | None = None,
    name: str | None = None,
    seed: int = 0,
    load_if_exists: bool = False,
    budget: float | None = None,
    failures: Failures | None = None,
    bias_alarm: BiasAlarm | None = None,
    retries: int = 2,
    on_failure: str = "stop",
    lease_seconds: float = 3600.0,
    durable: bool = True,
    on_violation: str = "ignore",
    alarm_level: float = 0.05,
    patience: float = PATIENCE_SECONDS,
    allow_changed_policy: bool = False,
    width: int | None = None,
    most_arms: int | None = None,
    goal: Question | str | None = None,
    m: int | None = None,
    control: str | None = None,
    use_costs: Any = None,
) -> Study:
    """Start a study.

    Parameters
    ----------
    problem, delta, policy, epsilon, max_cost, storage, name, seed
        As for `identify`.
    load_if_exists : bool
        Go on with a study of this name if there is one; it must have the same settings, apart from `max_cost`,
        `delta` and `epsilon`, which then hold from now on (see `Study.extend`).
    budget : float, optional
        What to spend, for policies that minimise regret.
    failures : Failures, optional
        `retries` and `on_failure` as one object.
    bias_alarm : BiasAlarm, optional
        `on_violation` and `alarm_level` as one object.
    retries : int
        How often a failed pull is tried again.
    on_failure : {"stop", "retire", "worst"}
        What happens when a pull has failed too often: the study stops, or goes on without the arm. On blocks no
        arm can be retired; with "worst" the study goes on, and what failed counts as the worst for whatever it
        would prove (normal rewards have no worst: nothing more is concluded about that arm).
    lease_seconds : float
        How long a pull that was handed out may take before it is handed out again.
    durable : bool
        Whether results survive a loss of power; without it, they survive the death of the process only,
        and are written faster.
    on_violation : {"ignore", "stop", "drop", "widen"}
        What happens when the data contradict a bias bound: nothing but a sentence in the result, or the
        study stops, or takes no more notice of that fidelity, or widens its bound and goes on. Only an arm
        that was measured at two fidelities can contradict a bound: the default policy may have no need to,
        and a wrong bound then goes unnoticed.
    alarm_level : float
        The probability that the data of bounds that hold are ever taken to contradict them.
    patience : float
        For how many seconds a PostgreSQL server that does not answer is tried again, and a locked file is
        waited for. It is no setting of the study: each process that opens it has its own. A storage object
        keeps the patience that it was opened with.
    allow_changed_policy : bool
        Go on with a study although the code of its policy has changed since the study was made, so that
        decisions may differ from those it would have taken.
    width : int, optional
        How many pulls may be out at once, 1 by default: pulls are planned while others are out, as if these had
        come back as expected. It is a setting of the study, so decisions do not depend on how many workers there
        are later. With 1, and with policies that plan rounds of many pulls, a round is planned when the one
        before is complete. A study that exists keeps its width.
    most_arms : int, optional
        For problems with blocks whose arms may join and leave (`Study.add_arm`, `Study.retire`): how many there are at
        most, over all time. Each of these places has its share of delta, whether it is taken or not.
    goal, m, control, use_costs
        As for `identify`. They are stored with the study: one that exists with another goal is refused.

    Returns
    -------
    Study

    Examples
    --------
    >>> import mfbandit as mf
    >>> problem = mf.Problem(["a", "b"], [("quick", 1.0, 0.1), ("exact", 9.0, 0.0)])
    >>> create_study(problem, max_cost=100).ask(4)[0].fidelity
    'quick'

    More pulls are out at once where the study is wide, and the more so once the first have come back:

    >>> len(create_study(problem).ask(8)), len(create_study(problem, width=8).ask(8))
    (2, 4)
    """
    if isinstance(failures, Failures) and (failures.patience, failures.timeout) != (
        Failures.patience,
        Failures.timeout,
    ):
        raise InvalidInput(
            "timeout and patience of failures are for identify, allocate and Study.optimize: a study runs nothing"
        )
    failing = given_once(
        "failures", failures, Failures, {"retries": ("retries", retries), "then": ("on_failure", on_failure)}
    )
    alarm = given_once(
        "bias_alarm",
        bias_alarm,
        BiasAlarm,
        {"level": ("alarm_level", alarm_level), "then": ("on_violation", on_violation)},
    )
    settings = Settings(
        problem=problem if most_arms is None else _with_places(problem, most_arms),
        policy=policy,  # type: ignore[arg-type]
        delta=Settings.delta if delta is None else delta,
        epsilon=Settings.epsilon if epsilon is None else epsilon,
        budget=budget,
        max_cost=max_cost,
        seed=seed,
        retries=failing["retries"],
        on_failure=failing["then"],
        lease_seconds=lease_seconds,
        on_violation=alarm["then"],
        alarm_level=alarm["level"],
        width=1 if width is None else width,
        arms_there=0 if most_arms is None else problem.n_arms,
        question=read_question(goal, m, control, use_costs),
    )
    chosen = check_name(DEFAULT_NAME if name is None else name)
    # The digest makes the policy ready: one that does not suit the problem says so before anything is stored.
    header = Header(settings, secrets.token_hex(8), policy_digest(settings))
    with opened_storage(storage, False, patience) as store:
        if store.create(chosen, write_header(header)):
            study = Study(store, chosen, header, durable)
            study.code.take_as_unchanged()
        elif load_if_exists:
            study = open_study(store, chosen, durable, allow_changed_policy)
            stored = study.settings
            given = _as_joined(settings, stored)
            stored.check_same(given if width is not None else replace(given, width=stored.width), chosen)
            _follow(study, {"max_cost": max_cost, "delta": delta, "epsilon": epsilon})
            if not study.current().ended:
                study.code.check()
        else:
            raise NameTaken(
                f"a study named {chosen!r} exists already: pass load_if_exists=True to go on with it, or another name"
            )
        study.closes_storage = store is not storage
        return study


def _with_places(problem: Problem, most: int) -> Problem:
    """The problem with places for arms that join later."""
    if not isinstance(problem, Problem):
        raise InvalidInput(f"problem must be a Problem, got {problem!r}")
    whole_number("most_arms", most, problem.n_arms)
    check_same_for_all(problem)
    free = [f"(place {number} is free)" for number in range(problem.n_arms + 1, most + 1)]
    return problem.with_arms([*problem.arms, *free])


def _as_joined(given: Settings, stored: Settings) -> Settings:
    """The settings with the arms that have joined since, if they have those that were there before."""
    there, mine, theirs = given.arms_there, stored.problem.arms, given.problem.arms
    joined = 0 < there <= stored.arms_there and mine[:there] == theirs[:there] and len(mine) == len(theirs)
    return replace(given, problem=given.problem.with_arms(mine)) if joined else given


def _follow(study: Study, wanted: dict[str, float | None]) -> None:
    """Let a study that exists cost as much, and be as sure, as whoever goes on with it says."""
    known = study.current().settings
    for name in ("delta", "epsilon"):
        here, usual = getattr(known, name), getattr(Settings, name)
        if wanted[name] is None and here != usual:
            raise StudyError(
                f"study {study.name!r} exists with {name}={here!r}, not {usual!r}: say so to go on with it"
            )
    if wanted["max_cost"] is None and known.max_cost is not None:
        raise StudyError(
            f"study {study.name!r} exists with max_cost={known.max_cost:g}: say so to go on with it, or say another "
            "number, or math.inf for no limit"
        )
    said = {name: value for name, value in wanted.items() if value is not None}
    if said:
        study.extend(**said)


def load_study(
    storage: str | Storage,
    name: str | None = None,
    durable: bool = True,
    patience: float = PATIENCE_SECONDS,
    *,
    allow_changed_policy: bool = False,
) -> Study:
    """Open a study that exists.

    It can always be read. If the code of its policy has changed since it was made, it takes results, but asks
    for nothing new unless `allow_changed_policy` is given.

    Parameters
    ----------
    storage : str or Storage
        Where it is: a URL, a path of a SQLite file, or a storage object.
    name : str, optional
        Its name; not needed if the storage holds one study only.
    durable, patience
        As for `create_study`.
    allow_changed_policy : bool
        As for `create_study`.

    Returns
    -------
    Study
    """
    with opened_storage(storage, True, patience) as store:
        study = open_study(
            store, _only_name(store) if name is None else check_name(name), durable, allow_changed_policy
        )
        study.closes_storage = store is not storage
        return study


def _only_name(storage: Storage) -> str:
    """The name of the one study that a storage holds."""
    names = list(storage.headers())
    if len(names) != 1:
        held = "no study" if not names else f"{len(names)} studies: {', '.join(map(repr, names[:10]))}"
        raise StudyError(f"the storage holds {held}; a name is needed to tell which one to open")
    return names[0]


def check_name(name: Any) -> str:
    """Refuse what cannot be the name of a study."""
    if not isinstance(name, str) or not name.strip() or plain_text(name) != name:
        raise InvalidInput(f"the name of a study must be a text that is not blank, got {name!r}")
    return name
