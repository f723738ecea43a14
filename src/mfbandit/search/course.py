"""A search from start to end: pilot, study, and the attributes that come of it."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples

from mfbandit.calibration import Calibration
from mfbandit.errors import InvalidInput
from mfbandit.problem import Bounded, Fidelity, Gaussian, Problem, RewardKind
from mfbandit.search.candidates import Candidate, candidate_names, list_candidates, result_columns
from mfbandit.search.measure import Measured, Task, measure
from mfbandit.search.pilot import check_repeats, pilot_size, run_pilot, worth_a_pilot
from mfbandit.search.rungs import SAMPLES, Rung, list_rungs, read_biases, with_costs
from mfbandit.search.splits import check_split, classes_of, make_splitter
from mfbandit.study import Pull, Study, create_study

__all__ = ["Search"]

#: The default policy asks for several fits at a time, so that they can run at once.
_POLICY = "mf-toptwo:batch=4"
#: More than any policy plans in one round for its few leading arms; joblib deals with what is too much.
_AT_ONCE = 1024


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
        self.task = self._task(X, y, groups, fit_params, scorer)
        self.candidates = list_candidates(chosen.param_grid, chosen.param_distributions, chosen.n_candidates, random)
        self.names = candidate_names(self.candidates)
        self.rungs = self._rungs()
        self.costs = with_costs(self.rungs, chosen.costs)
        self.calibration: Calibration | None = None
        self.pilot_cost = 0.0
        self.fits = 0
        self.samples = 0
        if chosen.score_range == "normal":
            self.reward = Gaussian(self._noise())
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

    def _noise(self) -> float:
        """The largest standard deviation of scores in the better half of some candidates."""
        repeats = check_repeats(self.chosen.pilot_repeats)
        size = min(len(self.candidates), pilot_size(self.chosen.bias_confidence))
        drawn = self.random.choice(len(self.candidates), size=size, replace=False)
        seeds = np.random.SeedSequence([self.seed, 2]).generate_state(size * repeats).reshape(size, repeats)
        jobs = [
            (self.candidates[k], self.names[k], self.rungs[-1], int(seeds[place, turn] >> 1))
            for place, k in enumerate(drawn)
            for turn in range(repeats)
        ]
        measured = self._measure_all(jobs)
        self.pilot_cost += len(jobs) * self.costs[-1]
        self._count(measured)
        scores = np.array([one.score for one in measured]).reshape(size, repeats)
        # Poor candidates vary most, and are told from the best whatever their noise.
        better = np.argsort(-scores.mean(axis=1), kind="stable")[: (size + 1) // 2]
        sigma = float(scores[better].std(axis=1, ddof=1).max())
        if not sigma > 0.0:
            raise InvalidInput(
                "scores do not vary between splits, so their noise cannot be estimated: state a score_range"
            )
        self._say(1, f"scores vary with a standard deviation of up to {sigma:.3g}")
        return sigma

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
        size = pilot_size(chosen.bias_confidence) if chosen.pilot is None else chosen.pilot
        whole = isinstance(size, int | np.integer) and not isinstance(size, bool)
        if not whole or size < pilot_size(chosen.bias_confidence):
            raise InvalidInput(
                f"pilot must be a whole number >= {pilot_size(chosen.bias_confidence)} to promise a "
                f"bias_confidence of {chosen.bias_confidence:g}, got {size!r}"
            )
        useless = [*[math.inf] * (len(self.rungs) - 1), 0.0]
        if len(self.rungs) == 1 or not worth_a_pilot(len(self.candidates), size):
            self._say(1, f"{len(self.candidates)} candidates are too few for a pilot of {size} to pay")
            return useless
        drawn = self.random.choice(len(self.candidates), size=size, replace=False)
        cost = size * chosen.pilot_repeats * sum(self.costs)
        if chosen.max_cost is not None and cost > chosen.max_cost / 2:
            self._say(1, f"a pilot would cost {cost:g}, more than half of max_cost={chosen.max_cost:g}")
            return useless
        self.calibration, measured = run_pilot(
            [self.candidates[k] for k in drawn],
            self.rungs,
            chosen.pilot_repeats,
            self.seed,
            chosen.bias_confidence,
            self.reward,
            lambda jobs: self._measure_all([(one, "of the pilot", rung, seed) for one, rung, seed in jobs]),
        )
        self.pilot_cost += cost
        self._count(measured)
        self._say(1, self.calibration.statement)
        return list(self.calibration.biases)

    def _keep_what_helps(self) -> None:
        """Drop fidelities that may be off by so much that they tell next to nothing.

        That is half the range of scores. Of normal scores it is five standard deviations: two candidates
        that differ by more are told apart by a fit or two at the truest fidelity.
        """
        useless = 5 * self.reward.scale if isinstance(self.reward, Gaussian) else self.reward.span / 2
        kept = [m for m, bias in enumerate(self.biases) if bias < useless or m == len(self.rungs) - 1]
        self.rungs = [self.rungs[m] for m in kept]
        self.costs = [self.costs[m] for m in kept]
        self.biases = [self.biases[m] for m in kept]

    # The study

    def run(self) -> None:
        """Search."""
        self.study = self._new_study()
        arms = dict(zip(self.names, self.candidates, strict=True))
        rungs = {rung.name: rung for rung in self.rungs}
        told = 1
        with Parallel(n_jobs=self.chosen.n_jobs) as parallel:
            while not self.study.done:
                pulls = self.study.ask(_AT_ONCE)
                jobs = [(arms[pull.arm], pull.arm, rungs[pull.fidelity], pull.seed) for pull in pulls]
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
        fidelities = [
            Fidelity(rung.name, cost, bias)
            for rung, cost, bias in zip(self.rungs, self.costs, self.biases, strict=True)
        ]
        left = None if chosen.max_cost is None else chosen.max_cost - self.pilot_cost
        return create_study(
            Problem(self.names, fidelities, self.reward),
            delta=chosen.delta,
            epsilon=self._epsilon(),
            max_cost=left,
            policy=_POLICY if chosen.policy is None else chosen.policy,
            seed=self.seed,
            name="search",
        )

    def _epsilon(self) -> float:
        if self.chosen.epsilon is not None:
            return float(self.chosen.epsilon)
        return self.reward.scale / 2 if isinstance(self.reward, Gaussian) else self.reward.span / 100

    def _tell(self, pulls: list[Pull], measured: list[Measured]) -> None:
        for pull, one in zip(pulls, measured, strict=True):
            self.study.tell(pull, one.score)
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
        table = self._table(best)
        score = table["mean_test_score"][best]
        if math.isnan(score) and self.result.pulls:
            score = (table["lower_bound"][best] + table["upper_bound"][best]) / 2
        return {
            "best_index_": best,
            "best_params_": self.candidates[best],
            "best_score_": float(score),
            "best_confidence_": 1.0 if len(self.names) == 1 else self.result.confidence,
            "cv_results_": table,
            "cost_": self.result.cost + self.pilot_cost,
            "n_fits_": self.fits,
            "n_samples_fitted_": self.samples,
            "study_": self.study,
            "result_": self.result,
            "calibration_": self.calibration,
            "rungs_": self.rungs,
            "biases_": self.biases,
        }

    def _table(self, best: int) -> dict[str, Any]:
        arms, truth = self.result.arms, self.rungs[-1].name
        low, high = np.array([arm.low for arm in arms]), np.array([arm.high for arm in arms])
        table: dict[str, Any] = dict(result_columns(self.candidates))
        table["params"] = self.candidates
        table["mean_test_score"] = _filled([arm.means[truth] for arm in arms])
        table["lower_bound"], table["upper_bound"] = low, high
        table["rank_test_score"] = _ranks(best, (low + high) / 2)
        table["cost"] = np.array([arm.cost for arm in arms])
        for rung in self.rungs:
            table[f"n_fits at {rung.name}"] = np.array([arm.pulls[rung.name] for arm in arms])
            table[f"mean_score at {rung.name}"] = _filled([arm.means[rung.name] for arm in arms])
        return table


def _filled(values: list[float | None]) -> Any:
    return np.array([math.nan if value is None else value for value in values])


def _ranks(best: int, middles: Any) -> Any:
    """The answer is first; others follow by the middle of their interval."""
    order = [best, *(int(k) for k in np.argsort(-middles, kind="stable") if k != best)]
    ranks = np.empty(len(order), dtype=np.int32)
    ranks[order] = np.arange(1, len(order) + 1)
    return ranks


def _reward_kind(score_range: Any) -> RewardKind:
    if score_range is None:
        return Bounded()
    if isinstance(score_range, str) and score_range == "normal":
        return Gaussian(1.0)  # until the noise is measured
    if isinstance(score_range, Bounded | Gaussian):
        return score_range
    if not isinstance(score_range, tuple | list) or len(score_range) != 2:
        raise InvalidInput(f"score_range must be (low, high), 'normal' or Gaussian(sigma), got {score_range!r}")
    return Bounded(*score_range)


def _error_score(value: Any) -> Any:
    if value == "raise":
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not math.isfinite(value):
        raise InvalidInput(f"error_score must be 'raise' or a finite number, got {value!r}")
    return float(value)
