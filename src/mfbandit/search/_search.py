"""A search from start to end: pilot, study, and the attributes that come of it."""

from __future__ import annotations

import math
import sys
import warnings
from collections import defaultdict
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples

from mfbandit._checks import is_number, is_whole
from mfbandit.algorithms import Policy, policy
from mfbandit.algorithms.mf_race import TRIED
from mfbandit.calibration import Calibration
from mfbandit.core import Goal
from mfbandit.errors import InvalidInput, StudyError
from mfbandit.model import Bounded, Fidelity, Gaussian, Problem, Pull, RewardKind
from mfbandit.search._candidates import Candidate, candidate_names, list_candidates
from mfbandit.search._measure import Measured, Task, measure
from mfbandit.search._rungs import SAMPLES, Rung, list_rungs, read_biases, with_costs
from mfbandit.search._search_pilot import check_repeats, pilot_size, run_pilot, worth_a_pilot
from mfbandit.search._search_results import Scores, best_score, results_table
from mfbandit.search._splits import check_split, classes_of, make_splitter
from mfbandit.study import Study, create_study

__all__ = ["Search"]

#: A round of a race has a fit of every candidate left, so that they can run at once.
_POLICY = "mf-race"
#: So many fits are handed to joblib at a time, which deals with what is too much.
_AT_ONCE = 1024
#: Which difference of normal scores does not matter; right for metrics of about 0 to 1.
_EPSILON = 0.01


class Search:
    """One call of `MultiFidelitySearchCV.fit`."""

    def __init__(
        self,
        chosen: Any,
        X: Any,
        y: Any,
        groups: Any,
        fit_params: dict[str, Any],
        scorer: Any,
        random: np.random.RandomState,
    ) -> None:
        self.chosen = chosen
        self.count = _num_samples(X)
        if self.count < 2:
            raise InvalidInput(f"a search splits the data, which takes 2 samples or more; got {self.count} sample")
        self.random = random
        self.seed = int(random.randint(np.iinfo(np.int32).max))
        self.reward = _reward_kind(chosen.score_range)
        self.policy: Policy = policy(_POLICY if chosen.policy is None else chosen.policy)
        self.task = self._task(X, y, groups, fit_params, scorer)
        self.candidates = list_candidates(chosen.param_grid, chosen.param_distributions, chosen.n_candidates, random)
        self.names = candidate_names(self.candidates)
        self.rungs = self._rungs()
        self.costs = with_costs(self.rungs, chosen.costs)
        self.calibration: Calibration | None = None
        self.pilot_cost = 0.0
        self.fits = 0
        self.samples = 0
        self.scores: Scores = defaultdict(dict)
        # Before a pilot costs anything.
        self.policy.check(self._problem([0.0]), Goal())
        self.biases = self._biases()
        self._keep_what_helps()

    def _task(self, X: Any, y: Any, groups: Any, fit_params: dict[str, Any], scorer: Any) -> Task:
        chosen = self.chosen
        ranged = not isinstance(self.reward, Gaussian)
        return Task(
            estimator=chosen.estimator,
            X=X,
            y=y,
            groups=groups,
            fit_params=fit_params,
            scorer=scorer,
            splitter=make_splitter(chosen.splitter, chosen.test_size, chosen.estimator, y),
            resource=chosen.resource,
            keep_classes=classes_of(chosen.estimator, y) is not None,
            low=float(self.reward.low or 0.0) if ranged else -math.inf,
            high=float(self.reward.high or 0.0) if ranged else math.inf,
            clip=bool(chosen.clip) and ranged,
            error_score=_error_score(chosen.error_score),
        )

    def _rungs(self) -> list[Rung]:
        chosen, task = self.chosen, self.task
        if chosen.resource == SAMPLES:
            train, test = task.splitter(task.X, task.y, task.groups, 0)
            check_split(train, test)
            classes = classes_of(chosen.estimator, task.y)
            least = 2 if classes is None else 2 * len(classes)
            return list_rungs(SAMPLES, chosen.fidelities, chosen.factor, len(train), least)
        known = chosen.estimator.get_params()
        if chosen.resource not in known:
            raise InvalidInput(f"resource must be 'n_samples' or a parameter of the estimator, got {chosen.resource!r}")
        if any(chosen.resource in one for one in self.candidates):
            raise InvalidInput(f"resource {chosen.resource!r} is among the parameters to search; it cannot be both")
        return list_rungs(chosen.resource, chosen.fidelities, chosen.factor, known[chosen.resource], 1)

    # Biases

    def _biases(self) -> list[float]:
        wanted = self.chosen.biases
        if isinstance(wanted, Calibration):
            return self._from_calibration(wanted)
        if isinstance(wanted, str):
            if wanted != "calibrate":
                raise InvalidInput(f"biases must be numbers, a function, a Calibration or 'calibrate', got {wanted!r}")
            return self._calibrated()
        return read_biases(wanted, self.rungs)

    def _from_calibration(self, known: Calibration) -> list[float]:
        if len(known.biases) != len(self.rungs) or known.truest != len(self.rungs) - 1:
            raise InvalidInput(
                f"the calibration is for {len(known.biases)} fidelities with the truth at place "
                f"{known.truest}; the search has {len(self.rungs)} with the truth at the end"
            )
        if any(known.offsets):
            raise InvalidInput("a calibration with a common offset shifts scores; a search takes them as they are")
        return list(known.biases)

    def _calibrated(self) -> list[float]:
        chosen = self.chosen
        repeats = check_repeats(chosen.pilot_repeats)
        size = pilot_size(chosen.bias_confidence) if chosen.pilot is None else chosen.pilot
        if not is_whole(size) or size < pilot_size(chosen.bias_confidence):
            raise InvalidInput(
                f"pilot must be a whole number >= {pilot_size(chosen.bias_confidence)} to promise a "
                f"bias_confidence of {chosen.bias_confidence:g}, got {size!r}"
            )
        self._keep([m for m in range(len(self.rungs)) if self._is_tried(m)])
        useless = [*[math.inf] * (len(self.rungs) - 1), 0.0]
        if len(self.rungs) == 1:
            return useless
        if not worth_a_pilot(len(self.candidates), size):
            self._say(1, f"{len(self.candidates)} candidates are too few for a pilot of {size} to pay")
            return useless
        drawn = self.random.choice(len(self.candidates), size=size, replace=False)
        cost = size * repeats * sum(self.costs)
        if chosen.max_cost is not None and cost > chosen.max_cost / 2:
            self._say(1, f"a pilot would cost {cost:g}, more than half of max_cost={chosen.max_cost:g}")
            return useless
        self.calibration, measured = run_pilot(
            [self.candidates[k] for k in drawn],
            self.rungs,
            repeats,
            self.seed,
            chosen.bias_confidence,
            self.reward,
            lambda jobs: self._measure_all([(one, "of the pilot", rung, seed) for one, rung, seed in jobs]),
        )
        self.pilot_cost += cost
        self._count(measured)
        self._say(1, self.calibration.statement)
        return list(self.calibration.biases)

    def _is_tried(self, rung: int) -> bool:
        """Whether fits at a rung can pay: a race of few candidates tries only what costs next to nothing."""
        return not self.policy.on_blocks or rung == len(self.rungs) - 1 or self.costs[rung] <= TRIED * self.costs[-1]

    def _keep_what_helps(self) -> None:
        """Drop fidelities that are never used, or may be off by so much (half the range) that they tell nothing."""
        useless = math.inf if isinstance(self.reward, Gaussian) else self.reward.span / 2
        last = len(self.rungs) - 1
        kept = [m for m, bias in enumerate(self.biases) if m == last or (bias < useless and self._is_tried(m))]
        self.biases = [self.biases[m] for m in kept]
        self._keep(kept)

    def _keep(self, kept: list[int]) -> None:
        """Keep some rungs, and say so if others are too expensive to pay."""
        costly = [rung.name for m, rung in enumerate(self.rungs) if not self._is_tried(m)]
        if costly:
            self._say(
                1,
                f"fits at {', '.join(costly)} cost more than {TRIED:g} of one at {self.rungs[-1].name}: they would not "
                "pay, and are left out",
            )
        self.rungs = [self.rungs[m] for m in kept]
        self.costs = [self.costs[m] for m in kept]

    # The study

    def run(self) -> None:
        """Search."""
        self.study = self._new_study()
        arms = dict(zip(self.names, self.candidates, strict=True))
        rungs = {rung.name: rung for rung in self.rungs}
        told = 1
        with Parallel(n_jobs=self.chosen.n_jobs) as parallel:
            while not self.study.done:
                pulls = self._ask()
                if not pulls:
                    break
                # Fits of all candidates on one block have one seed, and so one split and one part of it.
                jobs = [(arms[pull.arm], pull.arm, rungs[pull.fidelity], int(pull.block_seed or 0)) for pull in pulls]
                measured = self._measure_all(jobs, parallel)
                self._tell(pulls, measured)
                if self.chosen.verbose and self.fits >= told:
                    told = self.fits * 2 if self.chosen.verbose < 2 else self.fits + 1
                    self._say(
                        1,
                        f"{self.fits} fits, cost {self.study.cost:g}: {self.study.best} leads, "
                        f"confidence {self.study.confidence:.3g}",
                    )
        self.result = self.study.result()

    def _new_study(self) -> Study:
        chosen = self.chosen
        left = None if chosen.max_cost is None else chosen.max_cost - self.pilot_cost
        return create_study(
            self._problem(self.biases),
            delta=chosen.delta,
            epsilon=self._epsilon(),
            max_cost=left,
            policy=self.policy,
            seed=self.seed,
            name="search",
        )

    def _problem(self, biases: list[float]) -> Problem:
        """The problem with as many of the truest rungs as there are biases."""
        used = zip(self.rungs[-len(biases) :], self.costs[-len(biases) :], biases, strict=True)
        fidelities = [Fidelity(rung.name, cost, bias) for rung, cost, bias in used]
        return Problem(self.names, fidelities, self.reward, blocks="unlimited")

    def _epsilon(self) -> float:
        if self.chosen.epsilon is not None:
            return float(self.chosen.epsilon)
        return _EPSILON if isinstance(self.reward, Gaussian) else self.reward.span / 100

    def _ask(self) -> list[Pull]:
        """The next pulls; none, with a warning, if scores turn out not to be normal at all."""
        try:
            return self.study.ask(_AT_ONCE)
        except StudyError:
            seen = {score for scores in self.scores.values() for score in scores.values()}
            if not isinstance(self.reward, Gaussian) or not seen <= {0.0, 1.0}:
                raise
        warnings.warn(
            f"the scores of {self.fits} fits are all 0 or 1, and nothing can be shown as if they were normal: the "
            "search ends here, with no confidence in its answer; score_range=(0, 1) goes on",
            stacklevel=4,
        )
        return []

    def _tell(self, pulls: list[Pull], measured: list[Measured]) -> None:
        for pull, one in zip(pulls, measured, strict=True):
            self.study.tell(pull, one.score)
            # A block is shared, or else of this pull alone.
            self.scores[pull.arm, pull.fidelity][pull.id if self.policy.independent else int(pull.block or 0)] = (
                one.score
            )
        self._count(measured)

    def _measure_all(self, jobs: list[tuple[Candidate, str, Rung, int]], parallel: Any = None) -> list[Measured]:
        if len(jobs) == 1:
            return [measure(self.task, *jobs[0])]
        workers = Parallel(n_jobs=self.chosen.n_jobs) if parallel is None else parallel
        return list(workers(delayed(measure)(self.task, *job) for job in jobs))

    def _count(self, measured: list[Measured]) -> None:
        self.fits += len(measured)
        self.samples += sum(one.samples for one in measured)

    def _say(self, level: int, sentence: str) -> None:
        if self.chosen.verbose >= level:
            print(f"[MultiFidelitySearchCV] {sentence}", file=sys.stderr, flush=True)

    # What comes of it

    def copy_of(self, candidate: Candidate) -> Any:
        """A new estimator with the settings of a candidate at the truest fidelity."""
        params = dict(candidate)
        if self.chosen.resource != SAMPLES:
            params[self.chosen.resource] = self.rungs[-1].amount
        copies = {key: clone(value, safe=False) for key, value in params.items()}
        return clone(self.chosen.estimator).set_params(**copies)

    def attributes(self) -> dict[str, Any]:
        """The attributes of a fitted search."""
        answer = self.result.best
        best = 0 if answer is None else self.names.index(answer)
        return {
            "best_index_": best,
            "best_params_": self.candidates[best],
            "best_score_": best_score(self.names[best], self.rungs, self.scores),
            "best_confidence_": 1.0 if len(self.names) == 1 else self.result.confidence,
            "cv_results_": results_table(self.candidates, self.result, self.rungs, self.scores),
            "cost_": self.result.cost + self.pilot_cost,
            "n_fits_": self.fits,
            "n_samples_fitted_": self.samples,
            "study_": self.study,
            "result_": self.result,
            "calibration_": self.calibration,
            "rungs_": self.rungs,
            "biases_": self.biases,
        }


def _reward_kind(score_range: Any) -> RewardKind:
    if score_range is None or (isinstance(score_range, str) and score_range == "normal"):
        return Gaussian()
    if isinstance(score_range, Gaussian) and score_range.sigma is not None:
        raise InvalidInput(
            f"score_range is {score_range}, but candidates are compared on the same splits, where the noise of single "
            "scores is not what counts: leave sigma out"
        )
    if isinstance(score_range, Bounded | Gaussian):
        return score_range
    if not isinstance(score_range, tuple | list) or len(score_range) != 2:
        raise InvalidInput(
            f"score_range must be (low, high), 'normal', Bounded(...) or Gaussian(...), got {score_range!r}"
        )
    return Bounded(*score_range)


def _error_score(value: Any) -> Any:
    if value == "raise":
        return value
    if not is_number(value) or not math.isfinite(value):
        raise InvalidInput(f"error_score must be 'raise' or a finite number, got {value!r}")
    return float(value)
