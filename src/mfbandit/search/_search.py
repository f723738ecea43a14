"""A search from start to end: the study, who makes its fits, and the attributes that come of it."""

from __future__ import annotations

import math
import sys
import warnings
from collections import defaultdict
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _num_samples

from mfbandit._checks import whole_number
from mfbandit.algorithms import Policy, policy
from mfbandit.core import Goal
from mfbandit.errors import InvalidInput, StudyError
from mfbandit.formatting import amount
from mfbandit.model import Bounded, Fidelity, Gaussian, Problem, Pull
from mfbandit.search._candidates import Candidate, candidate_names, list_candidates
from mfbandit.search._lanes import Lanes, choose_lanes
from mfbandit.search._measure import FitScore, Job, Task
from mfbandit.search._rungs import SAMPLES, Rung, list_rungs, with_costs
from mfbandit.search._scorers import EVERYTHING, error_score, good_enough, reward_kind, score_limits
from mfbandit.search._search_results import Fits, best_score, how_it_ended, results_table, spread, standing
from mfbandit.search._splits import classes_of, make_splits
from mfbandit.search._workers import FitWorkers, default_width, fit_all
from mfbandit.study import Result, Study, create_study

__all__ = ["SearchRun"]

#: A round of a race has a fit of every candidate left, so that they can run at once.
_POLICY = "mf-race"
#: Who has fidelities of samples that end below this part of them may have meant another resource.
_FEW_SAMPLES = 0.5
#: After so many fits for each candidate it is looked whether epsilon goes with the scores; it should if scores differ
#: from split to split by at most so many times as much.
_LOOK, _TOO_FINE = 3, 100.0
#: How many fidelities a schedule has, unless stated.
_RUNGS = 3
#: Fits may take days.
_LEASE_SECONDS = 1e9


class SearchRun:
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
        if not isinstance(chosen.refit, bool | np.bool_):
            raise InvalidInput(
                f"refit must be True or False, got {chosen.refit!r}: the answer is chosen by what was shown of it"
            )
        self.count = _num_samples(X)
        if self.count < 2:
            raise InvalidInput(f"a search splits the data, which takes 2 samples or more; got {self.count} sample")
        self.random = random
        self.seed = int(random.randint(np.iinfo(np.int32).max))
        self.splits = make_splits(chosen, X, y, groups)
        self.trained, tested = (len(part) for part in self.splits.first(X, y, groups))
        self.reward = reward_kind(chosen, self.splits.blocks, tested)
        self.epsilon = good_enough(chosen.epsilon, self.reward)
        self.policy: Policy = policy(_POLICY if chosen.policy is None else chosen.policy)
        self.task = self._task(X, y, groups, fit_params, scorer)
        self.workers = FitWorkers(self.task, chosen.n_jobs)
        self.candidates = list_candidates(chosen.param_grid, chosen.param_distributions, chosen.n_candidates, random)
        self.names = candidate_names(self.candidates)
        rungs = self._rungs()
        self.lanes = Lanes(rungs, with_costs(rungs, chosen.costs), [0.0] * len(rungs))
        self.fits = 0
        self._taken = 0
        self.samples = 0
        self.measured: Fits = defaultdict(dict)
        self.asked: dict[tuple[str, str], list[int]] = defaultdict(list)
        self.known: dict[tuple[str, int], FitScore] = {}
        if self.reward is EVERYTHING and len(self.names) > 1:
            self._measure_everything()
        # Before a pilot costs anything.
        self.policy.check(self._problem(self.lanes.truest), Goal())
        self.lanes = self.lanes if self.known else choose_lanes(self)

    def _task(self, X: Any, y: Any, groups: Any, fit_params: dict[str, Any], scorer: Any) -> Task:
        chosen = self.chosen
        ranged = isinstance(self.reward, Bounded) and self.reward is not EVERYTHING
        return Task(
            estimator=chosen.estimator,
            X=X,
            y=y,
            groups=groups,
            fit_params=fit_params,
            scorer=scorer,
            splitter=self.splits.splitter,
            resource=chosen.resource,
            keep_classes=classes_of(chosen.estimator, y) is not None,
            low=float(self.reward.low or 0.0) if ranged else -math.inf,
            high=float(self.reward.high or 0.0) if ranged else math.inf,
            clip=bool(chosen.clip) and ranged,
            error_score=error_score(chosen.error_score),
            train_scores=bool(chosen.return_train_score),
        )

    @property
    def wants_fidelities(self) -> bool:
        """Whether somebody has asked for cheap fidelities."""
        return self.chosen.fidelities is not None or self.chosen.resource != SAMPLES

    def _rungs(self) -> list[Rung]:
        chosen, task = self.chosen, self.task
        wanted = _RUNGS if chosen.fidelities is None else chosen.fidelities
        if chosen.resource == SAMPLES:
            classes = classes_of(chosen.estimator, task.y)
            least = 2 if classes is None else 2 * len(classes)
            rungs = list_rungs(SAMPLES, wanted, chosen.factor, self.trained, least)
            if rungs[-1].size < _FEW_SAMPLES * self.trained:
                warnings.warn(
                    f"the truest fidelity is {rungs[-1].name} of {self.trained:g}, and the answer is about fits on so "
                    "few: end fidelities with 1.0 for all samples, or name another resource",
                    stacklevel=4,
                )
            return rungs
        known = chosen.estimator.get_params()
        if chosen.resource not in known:
            raise InvalidInput(f"resource must be 'n_samples' or a parameter of the estimator, got {chosen.resource!r}")
        if any(chosen.resource in one for one in self.candidates):
            raise InvalidInput(f"resource {chosen.resource!r} is among the parameters to search; it cannot be both")
        return list_rungs(chosen.resource, wanted, chosen.factor, known[chosen.resource], 1)

    def _measure_everything(self) -> None:
        """Measure all candidates on all splits of a list, where no range is known by which less would do.

        The range of these scores is then a fact, and the answer exact.
        """
        self.lanes = self.lanes.truest
        splits = len(self.splits.listed)
        cost, most = len(self.names) * splits * self.lanes.costs[-1], self.chosen.max_cost
        if most is not None and cost > most:
            raise InvalidInput(
                f"the range of the scores is not known, so {len(self.names)} candidates are fitted on all {splits} "
                f"splits of cv, which costs {cost:g}, more than max_cost={most:g}: state score_range=(low, high)"
            )
        if not self.policy.on_blocks:
            raise InvalidInput(
                f"policy {self.policy.label!r} needs the range of the scores: state score_range=(low, high)"
            )
        cells = [(name, split) for split in range(splits) for name in self.names]
        found = self.fit_all([self.job(name, self.lanes.rungs[-1], 0, split) for name, split in cells])
        self.known = dict(zip(cells, found, strict=True))
        low, high = (float(end) for end in (min(one.score for one in found), max(one.score for one in found)))
        self.reward = Bounded(low, high if high > low else low + max(1.0, abs(low)))
        self.policy = policy(f"{_POLICY}:batch={splits}")

    # The study

    def run(self) -> None:
        """Search."""
        self.study = self._new_study()
        self._told, status = 1, None
        try:
            self._fit()
        except KeyboardInterrupt:
            if self.study.done or not self.study.cost:
                raise
            status = "cancelled"
        self.view = self.study.view()
        self.result = Result.of(self.study, self.view, status)
        if len(self.names) == 1:
            warnings.warn("there is only one candidate, and nothing was measured", stacklevel=3)
        ended = how_it_ended(self.result, self.chosen.max_cost, self.span)
        if ended is not None:
            warnings.warn(ended, ConvergenceWarning, stacklevel=3)

    def _fit(self) -> None:
        if not self.known:
            self.workers.run(self._more, self._take)
            return
        while pulls := self.study.ask(len(self.known)):
            for pull in pulls:
                self._take(pull, self.known[pull.arm, int(pull.block or 0)])

    def _new_study(self) -> Study:
        chosen = self.chosen
        left = None if chosen.max_cost is None else chosen.max_cost - self.lanes.pilot_cost
        width = default_width(self.workers.count) if chosen.width is None else chosen.width
        return create_study(
            self._problem(self.lanes),
            delta=chosen.delta,
            epsilon=0.0 if self.known and chosen.epsilon is None else self.epsilon,
            max_cost=left,
            policy=self.policy,
            seed=self.seed,
            name="search",
            # Where everything is known already, there is nothing to plan ahead of.
            width=1 if self.known else whole_number("width", width, 1),
            lease_seconds=_LEASE_SECONDS,
        )

    @property
    def span(self) -> float:
        """How far apart two true scores can be at most."""
        limits = score_limits(self.chosen.scoring, self.chosen.estimator)
        known = math.inf if limits is None else limits[1] - limits[0]
        return min(known, self.reward.span) if isinstance(self.reward, Bounded) else known

    def _problem(self, lanes: Lanes) -> Problem:
        fidelities = [
            Fidelity(rung.name, cost, bias, pair_bias=pair)
            for rung, cost, bias, pair in zip(lanes.rungs, lanes.costs, lanes.biases, lanes.pair_biases, strict=True)
        ]
        return Problem(self.names, fidelities, self.reward, blocks=self.splits.blocks)

    def _more(self, count: int) -> list[tuple[Pull, Job]]:
        """The next fits; none, with a warning, if scores turn out not to be normal at all."""
        if count < 1 or self.study.done:
            return []
        try:
            pulls = self.study.ask(count)
        except StudyError:
            seen = {one.score for scores in self.measured.values() for one in scores.values()}
            if not isinstance(self.reward, Gaussian) or not seen <= {0.0, 1.0}:
                raise
            self._warn_of_whole_scores()
            return []
        for pull in pulls:
            self.asked[pull.arm, pull.fidelity].append(self._index(pull))
        rungs = {rung.name: rung for rung in self.lanes.rungs}
        # Fits of all candidates on one block have one seed, and so one split and one part of it.
        return [
            (pull, self.job(pull.arm, rungs[pull.fidelity], int(pull.block_seed or 0), pull.block)) for pull in pulls
        ]

    def _warn_of_whole_scores(self) -> None:
        warnings.warn(
            f"the scores of {self.fits} fits are all 0 or 1, and nothing can be shown as if they were normal: the "
            "search ends here, with no confidence in its answer; score_range=(0, 1) goes on",
            stacklevel=8,
        )

    def job(self, name: str, rung: Rung, seed: int, block: int | None) -> Job:
        """A fit of a candidate at a rung, on the split of a block."""
        split = self.splits.listed[block or 0] if self.splits.listed else None
        return Job(self.candidates[self.names.index(name)], name, rung, seed, split)

    def _take(self, pull: Pull, one: FitScore) -> None:
        # When the answer is known, fits that run need not count.
        if not self.study.done:
            self.study.tell(pull, one.score)
        self.measured[pull.arm, pull.fidelity][self._index(pull)] = one
        if not self.known:
            self._count([one])
            self._check_epsilon()
        if self.chosen.verbose and self.fits >= self._told:
            self._told = self.fits * 2 if self.chosen.verbose < 2 else self.fits + 1
            self.say(standing(self.study.view(), self.fits, self.span))

    def _check_epsilon(self) -> None:
        """Warn once if an epsilon that nobody has stated is far below what scores are like."""
        self._taken += 1
        if self._taken != _LOOK * len(self.names) or self.chosen.epsilon is not None:
            return
        typical = spread(self.measured, self.lanes.rungs[-1].name)
        if typical > _TOO_FINE * self.epsilon:
            warnings.warn(
                f"scores differ by about {amount(typical, 2)} from split to split, but epsilon is {self.epsilon:g} "
                "(the default), and the search may not end: state epsilon in units of your metric, or max_cost",
                stacklevel=8,
            )

    def _index(self, pull: Pull) -> int:
        """By what the score of a pull is kept: a block is shared, or else of this pull alone."""
        return int(pull.id) if self.policy.independent else int(pull.block or 0)

    def _counted(self) -> Fits:
        """The fits that the answer rests on: those that were still running are not, whatever the workers' speed."""
        if self.known:
            return self.measured
        pulls = {(arm.arm, rung): count for arm in self.result.arms for rung, count in arm.pulls.items()}
        return {
            cell: {index: fits[index] for index in self.asked[cell][: pulls[cell]] if index in fits}
            for cell, fits in self.measured.items()
        }

    def fit_all(self, jobs: list[Job]) -> list[FitScore]:
        """Make fits that are known beforehand, and count them."""
        found = fit_all(self.workers, jobs)
        self._count(found)
        return found

    def _count(self, measured: list[FitScore]) -> None:
        self.fits += len(measured)
        self.samples += sum(one.samples for one in measured)

    def say(self, sentence: str) -> None:
        """Say something to people who want to hear it."""
        if self.chosen.verbose >= 1:
            print(f"[MultiFidelitySearchCV] {sentence}", file=sys.stderr, flush=True)

    # What comes of it

    def copy_of(self, candidate: Candidate) -> Any:
        """A new estimator with the settings of a candidate at the truest fidelity."""
        params = dict(candidate)
        if self.chosen.resource != SAMPLES:
            params[self.chosen.resource] = self.lanes.rungs[-1].amount
        copies = {key: clone(value, safe=False) for key, value in params.items()}
        return clone(self.chosen.estimator).set_params(**copies)

    def attributes(self) -> dict[str, Any]:
        """The attributes of a fitted search."""
        answer = self.result.best
        best = 0 if answer is None else self.names.index(answer)
        lanes, fits = self.lanes, self._counted()
        table = results_table(self.candidates, self.view, self.result, lanes.rungs, fits, self.span)
        truth = lanes.rungs[-1].name
        return {
            "best_index_": best,
            "best_params_": self.candidates[best],
            "best_score_": best_score(self.names[best], lanes.rungs, fits),
            "best_confidence_": 1.0 if len(self.names) == 1 else self.result.confidence,
            "cv_results_": table,
            "n_splits_": max((len(scores) for (_, rung), scores in fits.items() if rung == truth), default=0),
            "cost_": self.result.cost + lanes.pilot_cost,
            "n_fits_": self.fits,
            "n_samples_fitted_": self.samples,
            "samples_fitted_": self.samples,
            "study_": self.study,
            "result_": self.result,
            "calibration_": lanes.calibration,
            "rungs_": list(lanes.rungs),
            "biases_": list(lanes.biases),
        }
