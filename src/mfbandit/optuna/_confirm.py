"""Which of the best trials of an Optuna study is truly the best."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mfbandit._checks import whole_number
from mfbandit.errors import InvalidInput
from mfbandit.formatting import amount
from mfbandit.model import Bounded, Fidelity, Gaussian, Problem, Pull
from mfbandit.optuna._evaluating import OfTrials, RepeatedValues, check_options
from mfbandit.optuna._library import FrozenTrial, Study, TrialState, sign_of
from mfbandit.study import Result
from mfbandit.study.api import identify

__all__ = ["Confirmation", "confirm", "reward_kind"]

#: What `confirm` takes beside its own arguments.
_OPTIONS = frozenset(inspect.signature(identify).parameters) - {"problem", "evaluate"}


@dataclass(frozen=True)
class Confirmation:
    """Which trial is truly the best, by fresh evaluations."""

    result: Result
    """The result of the race: arms are called "trial 17"."""
    trials: Mapping[str, FrozenTrial]
    """The trials that took part, by the names of arms, the luckiest first."""
    sign: float
    """1 where more is better, -1 where less is."""

    @property
    def best_trial(self) -> FrozenTrial | None:
        """The trial that is the best, or the best so far; None before anything is known."""
        return None if self.result.best is None else self.trials[self.result.best]

    @property
    def best_params(self) -> dict[str, Any]:
        """Its parameters."""
        best = self.best_trial
        return {} if best is None else dict(best.params)

    @property
    def luckiest(self) -> FrozenTrial:
        """The trial with the best value in the Optuna study: its `best_trial`."""
        return next(iter(self.trials.values()))

    @property
    def values(self) -> dict[int, float]:
        """The mean of the fresh evaluations of each trial, by its number."""
        means = {arm.arm: next(iter(arm.means.values())) for arm in self.result.arms}
        return {self.trials[name].number: self.sign * mean for name, mean in means.items() if mean is not None}

    def __str__(self) -> str:
        """Say what was found."""
        lines, lucky = [str(self.result)], self.luckiest
        if self.best_trial is not None and lucky.number in self.values:
            fresh = amount(self.values[lucky.number])
            told = f"Optuna's best trial is {lucky.number}: {amount(lucky.value)} there, {fresh} on fresh blocks."
            lines.append(told)
            lines.extend(self._of_luckiest(lucky))
        return "\n".join(lines)

    def _of_luckiest(self, lucky: FrozenTrial) -> list[str]:
        """Say whether Optuna's own choice is shown to be worse than the answer."""
        best, name = self.result.best, f"trial {lucky.number}"
        if best is None or name == best or name not in self.result.differences:
            return []
        low, high = self.result.differences[name]
        said = f"{name.capitalize()} is shown to be worse than {best}, by"
        if low > 0.0:
            return [f"{said} {amount(low)} to {amount(high)}."]
        if not self.result.epsilon and name not in self.result.left:
            # What shows it is more than the bounds of all differences at once.
            return [f"{said} {amount(high)} at most."]
        behind = f"it is behind it by {amount(low)} to {amount(high)}"
        why = behind if math.isfinite(high - low) else "there is too little evidence yet"
        return [f"{name.capitalize()} is not shown to be worse than {best}: {why}."]


def confirm(
    study: Study,
    evaluate: Callable[[FrozenTrial, Pull], Any],
    top: int = 20,
    *,
    blocks: int | str = "unlimited",
    score_range: tuple[float, float] | None = None,
    **options: Any,
) -> Confirmation:
    """Find out which of the best trials of an Optuna study is truly the best, on fresh blocks.

    The best value of a study belongs to its luckiest trial. Here the `top` best ones race on blocks that none of them
    has seen, the same for all: random splits, seeds or questions. A trial that has lost is not evaluated again.

    Parameters
    ----------
    study : optuna.Study
        It has one objective; completed trials take part, and of those with the same parameters the first one.
    evaluate : callable
        Gets a trial (``trial.params``) and a `Pull`, and returns a score in the unit of the objective. All trials must
        be measured alike on one block: take the split or the seed from ``pull.block_seed`` or, with a finite number of
        blocks, the question from ``pull.block``. It may return an `Outcome`.
    top : int
        How many trials take part at most.
    blocks : int or "unlimited"
        Conditions that are drawn anew, or how many items a finite set has.
    score_range : (float, float), optional
        The range of scores. With it, nothing is assumed of them but that; without it, differences of two trials on a
        block are taken for normal. A finite set needs it.
    **options
        What `mfbandit.identify` takes: `delta`, `epsilon`, `max_cost`, `storage`, `name`, `workers` and so on. Without
        `epsilon` the answer is the very best, which takes many evaluations where two are nearly as good.

    Returns
    -------
    Confirmation

    Raises
    ------
    InvalidInput
        Among others, if each trial has one value on all of its blocks: nothing is certified from repeated values.
    StudyError
        If no evaluation succeeded; the last error is its cause.

    Examples
    --------
    >>> import numpy as np, optuna
    >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
    >>> def score(x, seed):
    ...     return -(x - 0.3) ** 2 + np.random.default_rng(seed).normal(0, 0.05)
    >>> study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=0))
    >>> study.optimize(lambda trial: score(trial.suggest_float("x", 0, 1), trial.number), n_trials=20)
    >>> from mfbandit.optuna import confirm
    >>> found = confirm(study, lambda trial, pull: score(trial.params["x"], pull.block_seed), 5, progress=False)
    >>> found.result.status, len(found.trials)
    ('certified', 5)
    """
    sign = sign_of(study)
    check_options("confirm", options, _OPTIONS)
    trials = best_trials(study, whole_number("top", top, 2))
    if score_range is None and blocks != "unlimited":
        raise InvalidInput(f"blocks={blocks} is a finite set, which needs score_range=(low, high)")
    problem = Problem(
        list(trials), [Fidelity("fresh block", cost=1.0)], blocks=blocks, reward=reward_kind(score_range, sign)
    )
    evaluated = OfTrials(trials, evaluate, sign)
    if score_range is None:
        options["callback"] = RepeatedValues(sign, options.get("callback"))
    result = identify(problem, evaluated, **options)
    evaluated.check_any(result)
    return Confirmation(result, trials, sign)


def best_trials(study: Study, top: int) -> dict[str, FrozenTrial]:
    """The best completed trials of a study with different parameters, by name."""
    sign, found, seen = sign_of(study), dict[str, FrozenTrial](), set[str]()
    complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    for trial in sorted(complete, key=lambda one: (-sign * one.values[0], one.number)):
        same = repr(sorted(trial.params.items()))
        if same not in seen and len(found) < top:
            seen.add(same)
            found[f"trial {trial.number}"] = trial
    if len(found) < 2:
        raise InvalidInput(
            f"study {study.study_name!r} has {len(complete)} completed trials and {len(found)} different ones: a "
            "comparison needs two"
        )
    return found


def reward_kind(score_range: tuple[float, float] | None, sign: float) -> Bounded | Gaussian:
    """The kind of rewards that scores are, the more the better."""
    if score_range is None:
        return Gaussian()
    low, high = sorted(sign * bound for bound in score_range)
    return Bounded(low, high)
