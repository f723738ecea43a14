"""A race whose candidates come from an Optuna sampler while it runs."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from mfbandit._checks import whole_number
from mfbandit.errors import InvalidInput, StudyError
from mfbandit.model import Fidelity, Problem, Pull
from mfbandit.optuna._confirm import Confirmation, reward_kind
from mfbandit.optuna._evaluating import OfTrials, RepeatedValues, check_options
from mfbandit.optuna._library import FrozenTrial, Study, sign_of
from mfbandit.study import Study as Race
from mfbandit.study import View
from mfbandit.study.api import create_study, load_study

__all__ = ["race"]

#: What may be said of the race itself; the rest is about how it is run.
_SETTINGS = ("delta", "epsilon", "max_cost", "seed", "width", "retries", "on_failure")
#: What `race` takes beside its own arguments.
_OPTIONS = {*_SETTINGS, *inspect.signature(Race.optimize).parameters} - {"self", "evaluate", "callback"}
#: How a race is called in a storage.
_NAME = "race"


def race(
    study: Study,
    evaluate: Callable[[FrozenTrial, Pull], Any],
    n_arms: int,
    space: Mapping[str, Any] | Callable[[Any], Any],
    *,
    score_range: tuple[float, float] | None = None,
    at_once: int = 5,
    blocks: int | str = "unlimited",
    storage: Any = None,
    name: str = _NAME,
    **options: Any,
) -> Confirmation:
    """Race candidates of an Optuna sampler: as soon as one is beaten, the sampler is told of it, and sends another.

    The answer is the best of all `n_arms` candidates, or within `epsilon` of it, with probability 1 - `delta`. A
    candidate that joins later was made by what is known already, so it counts on later blocks only, and every place of
    the race has its share of delta, taken or not.

    Parameters
    ----------
    study : optuna.Study
        Where candidates come from, by ``study.ask``, and where they are told, by ``study.tell``: with the mean of their
        scores when they are out, or at the end.
    evaluate : callable
        As for `confirm`.
    n_arms : int
        How many candidates take part in all.
    space : mapping or callable
        What to sample: ``{"x": optuna.distributions.FloatDistribution(0, 1)}``, or a function that gets a trial and
        calls ``trial.suggest_float("x", 0, 1)`` and the like.
    score_range : (float, float), optional
        The range of scores. Without it, differences of two candidates on a block are taken for normal, with a variance
        that nobody needs to know.
    at_once : int
        How many race at a time; the next one comes when fewer are left.
    blocks : int or "unlimited"
        As for `confirm`.
    storage, name : optional
        Where the race is kept, as for `mfbandit.identify`: called again with the same Optuna study and settings, it
        goes on where it stopped. The Optuna study must be kept, too. By default the race is in memory.
    **options
        `delta`, `epsilon`, `max_cost`, `seed` and others of `mfbandit.create_study`; `workers`, `engine`, `progress`,
        `timeout` and others of `Study.optimize`.

    Returns
    -------
    Confirmation
        Its `result` has the status "certified" if all candidates took part and the answer is sure.

    Examples
    --------
    >>> import numpy as np, optuna
    >>> from mfbandit.optuna import race
    >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
    >>> study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
    >>> def evaluate(trial, pull):
    ...     noise = np.random.default_rng([pull.block_seed, trial.number]).uniform(-0.05, 0.05)
    ...     return 0.9 - (trial.params["x"] - 0.3) ** 2 + noise
    >>> space = {"x": optuna.distributions.FloatDistribution(0, 1)}
    >>> found = race(study, evaluate, 6, space, score_range=(0, 1), epsilon=0.1, progress=False)
    >>> found.result.status, len(study.trials), abs(found.best_params["x"] - 0.3) < 0.3
    ('certified', 6, True)
    """
    check_options("race", options, _OPTIONS)
    sign, most_arms = sign_of(study), whole_number("n_arms", n_arms, 2)
    first = min(whole_number("at_once", at_once, 2), most_arms)
    if score_range is None and blocks != "unlimited":
        raise InvalidInput(f"blocks={blocks} is a finite set, which needs score_range=(low, high)")
    trials = _joined_before(study, storage, name)

    def arrival() -> str:
        trial = study.ask() if callable(space) else study.ask(dict(space))
        if callable(space):
            space(trial)
        frozen = next(one for one in study.get_trials(deepcopy=False) if one.number == trial.number)
        trials[f"trial {trial.number}"] = copy.deepcopy(frozen)
        return f"trial {trial.number}"

    names = [*trials, *(arrival() for _ in range(first - len(trials)))][:first]
    problem = Problem(names, [Fidelity("fresh block", cost=1.0)], blocks=blocks, reward=reward_kind(score_range, sign))
    settings = {key: options.pop(key) for key in _SETTINGS if key in options}
    evaluated, told = OfTrials(trials, evaluate, sign), _finished(study)
    settings |= {"most_arms": most_arms, "storage": storage, "name": name, "load_if_exists": True}
    watch = RepeatedValues(sign) if score_range is None else None
    with create_study(problem, **settings) as running:
        while True:
            few = _WhenFew(first if len(trials) < most_arms else 0)
            result = running.optimize(evaluated, callback=_both(watch, few), **options)
            evaluated.check_any(result)
            found = Confirmation(result, trials, sign)
            _tell(study, found, [one for one in trials if one not in result.left], told)
            if len(trials) == most_arms or not (result.status == "certified" or few.ended):
                break
            for _ in range(max(1, min(first - len(result.left), most_arms - len(trials)))):
                running.add_arm(arrival())
    # Those of a race that can go on are told when it has ended.
    if storage is None or result.status in ("certified", "answered"):
        _tell(study, found, list(trials), told)
    return found


def _joined_before(study: Study, storage: Any, name: str) -> dict[str, FrozenTrial]:
    """The candidates of a race that is stored already; none if there is none."""
    if storage is None:
        return {}
    try:
        with load_study(storage, name) as stored:
            names = stored.problem.arms[: stored.settings.arms_there]
    except StudyError:
        return {}
    known = {f"trial {trial.number}": trial for trial in study.get_trials(deepcopy=True)}
    for one in names:
        if one not in known:
            raise InvalidInput(f"race {name!r} is between trials of another Optuna study: this one has no {one}")
    return {one: known[one] for one in names}


def _finished(study: Study) -> set[str]:
    """The candidates that Optuna was told of."""
    return {f"trial {trial.number}" for trial in study.get_trials(deepcopy=False) if trial.state.is_finished()}


def _both(watch: RepeatedValues | None, few: _WhenFew) -> Callable[[View], None]:
    """A callback that watches scores first, where they are watched."""

    def look(view: View) -> None:
        if watch is not None:
            watch(view)
        few(view)

    return look


class _WhenFew:
    """Ends a run when fewer arms are left than are wanted."""

    def __init__(self, wanted: int) -> None:
        self._wanted, self._looked, self.ended = wanted, 0, False

    def __call__(self, view: View) -> None:
        # To work out who is left takes as long as many cheap evaluations, and the longer the more there were.
        if self._wanted and view.pulls >= 1.1 * self._looked + self._wanted:
            self._looked = view.pulls
            if len(view.left) < self._wanted:
                self.ended = True
                raise StopIteration


def _tell(study: Study, found: Confirmation, names: list[str], told: set[str]) -> None:
    """Tell Optuna how candidates did."""
    values = found.values
    for name in names:
        number = found.trials[name].number
        if name not in told and number in values:
            study.tell(number, values[number])
            told.add(name)
