"""A pruner of Optuna that compares trials step by step, and whose errors are bounded."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mfbandit._checks import fraction
from mfbandit.confidence.race import BETS, blocks_at_least, log_student
from mfbandit.errors import InvalidInput
from mfbandit.model import Bounded, Gaussian
from mfbandit.optuna._library import BasePruner, FrozenTrial, Study, TrialState, sign_of

__all__ = ["EvidencePruner", "student_evidence"]

Floats = npt.NDArray[np.float64]


class EvidencePruner(BasePruner):
    """Prunes a trial when it is shown, at any look, to be worse than the best one.

    Steps of trials are blocks: fold, split or case number `step`, the same for all trials. A trial is compared with the
    best completed trial on the steps that both have, as often as you like.

    A trial that is truly as good as all completed ones is pruned with probability `level` at most, as long as it lives.
    The best trial is the luckiest on these very blocks, so evidence must also pay for the choice of it among all
    earlier trials: it must reach ``trial.number / level``. The level is that of a trial whose parameters were not
    chosen by how earlier ones did on single steps.

    Parameters
    ----------
    level : float
        How often a trial as good as the best may be pruned.
    score_range : (float, float), optional
        The range of the values reported. With it, nothing is assumed but that steps are independent draws; without
        it, differences of two trials on a step are taken for normal, with a variance that nobody needs to know.
    caution : float
        Without `score_range`: how large a bad step that was not seen is allowed for, in standard deviations.

    Examples
    --------
    >>> import numpy as np, optuna
    >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
    >>> def objective(trial):
    ...     x, values = trial.suggest_float("x", 0, 1), []
    ...     for fold in range(30):
    ...         shared, own = np.random.default_rng(fold), np.random.default_rng([fold, trial.number])
    ...         values.append(shared.normal(0, 0.3) + own.normal(0, 0.05) - x)
    ...         trial.report(values[-1], fold)
    ...         if trial.should_prune():
    ...             raise optuna.TrialPruned
    ...     return sum(values) / len(values)
    >>> study = optuna.create_study(
    ...     direction="maximize", sampler=optuna.samplers.RandomSampler(seed=1), pruner=EvidencePruner(0.05)
    ... )
    >>> study.optimize(objective, n_trials=12)
    >>> states = [trial.state.name for trial in study.trials]
    >>> states.count("PRUNED") > 4, study.best_trial.number == min(study.trials, key=lambda one: one.params["x"]).number
    (True, True)
    """

    def __init__(
        self, level: float = 0.05, *, score_range: tuple[float, float] | None = None, caution: float = 1.0
    ) -> None:
        self._level = fraction("level", level)
        self._range = None if score_range is None else Bounded(*score_range)
        self._caution = Gaussian(caution=caution).caution

    def prune(self, study: Study, trial: FrozenTrial) -> bool:
        """Whether a trial is shown to be worse than the best completed one."""
        sign = sign_of(study)
        complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        if not complete:
            return False
        best = max(complete, key=lambda one: (sign * one.values[0], -one.number))
        steps = [step for step in trial.intermediate_values if step in best.intermediate_values]
        mine, other = (np.array([one.intermediate_values[step] for step in steps]) for one in (trial, best))
        if not np.isfinite(mine).all() or not np.isfinite(other).all():
            return False
        return self.log_evidence(sign * (other - mine)) >= math.log(max(1, trial.number) / self._level)

    def log_evidence(self, differences: Sequence[float] | Floats) -> float:
        """The logarithm of the evidence that differences of two trials, one per step, have a positive mean."""
        ahead = np.asarray(differences, dtype=float)
        if self._range is not None:
            if np.abs(ahead).max(initial=0.0) > self._range.span * (1 + 1e-9):
                raise InvalidInput(
                    f"two values differ by {np.abs(ahead).max():g}, more than score_range={self._range.low:g} to "
                    f"{self._range.high:g} allows"
                )
            capitals = np.log1p(BETS[:, None] * np.clip(ahead / self._range.span, -1.0, 1.0)).sum(axis=1)
            return float(np.logaddexp.reduce(capitals) - math.log(BETS.size))
        return student_evidence(ahead, self._caution)


def student_evidence(ahead: Floats, caution: float) -> float:
    """Student's evidence that normal differences have a positive mean, lowered as that of races is."""
    n = ahead.size
    if n < max(2, blocks_at_least(caution)):
        return 0.0
    spread = caution * float(ahead.std(ddof=1))
    apart = np.abs(ahead[np.abs(ahead) > 1e-9 * np.abs(ahead).max()])
    step = float(apart.min()) if apart.size else 0.0
    power = float(ahead @ ahead) + spread**2 + n * step**2 / 12.0
    total = float(ahead.sum()) - spread
    if total <= 0.0 or power <= 1e-280:
        return 0.0
    return float(log_student(n, min(total / math.sqrt(power), math.sqrt(n))))
