"""Search of hyperparameters: a scikit-learn estimator beside GridSearchCV and HalvingGridSearchCV.

The module has the name of the library it serves; inside it, ``sklearn`` is scikit-learn.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from mfbandit.errors import InvalidInput, MissingExtra

try:
    from sklearn.base import BaseEstimator, MetaEstimatorMixin
    from sklearn.metrics import check_scoring
    from sklearn.utils import check_random_state, get_tags, indexable
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.validation import check_is_fitted
except ImportError as error:
    raise MissingExtra("mfbandit.sklearn needs scikit-learn 1.6 or later: pip install 'mfbandit[sklearn]'") from error

from mfbandit.search import SearchRun, thawed, without_study

__all__ = ["MultiFidelitySearchCV"]


def _delegated(name: str) -> Callable[[Any], bool]:
    """Whether the best estimator, or the one it will be a copy of, has a method."""

    def there(search: Any) -> bool:
        if hasattr(search, "best_estimator_"):
            getattr(search.best_estimator_, name)
        else:
            getattr(search.estimator, name)
        return True

    return there


class MultiFidelitySearchCV(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Find the best setting of an estimator, with a stated confidence.

    A candidate's true score is its mean score over splits when it is fitted at the truest fidelity: on all training
    samples of the split, or with the largest value of the resource. All candidates are fitted and scored on the same
    splits, one split after the other, and whoever is shown not to be the best is not fitted again. The search goes on
    until the best candidate (or one within `epsilon` of it) is known with probability 1 - `delta`. Where it ends
    before, by `max_cost` or Ctrl-C, a ConvergenceWarning says what is shown so far.

    With random splits, the default, that rests on an assumption: the difference of two candidates on a random split
    is normal, with a variance that nobody needs to know. State a `score_range` to do without it, for many more fits.
    With a list of splits (`cv` as a splitter), it rests on the range of the metric alone.

    Parameters
    ----------
    estimator
        What to tune.
    param_grid
        As for GridSearchCV.
    param_distributions, n_candidates
        As for RandomizedSearchCV: candidates are drawn; `n_candidates` says how many.
    resource
        ``"n_samples"``, or a parameter of the estimator such as ``"n_estimators"``.
    fidelities, factor
        Amounts of the resource, the largest being the truth: numbers of training samples, shares of
        them (floats up to 1.0), or values of the parameter. A whole number, 3 by default, makes a schedule of so many,
        each `factor` times the one before, up to all training samples or the estimator's own value.
    biases
        How far the mean score at a fidelity may be from the true one: one number per fidelity but
        the last, one for all of them, a function of the amount, or a `Calibration` from past tasks.
        ``"calibrate"`` measures some candidates at all fidelities first and bounds, with probability `bias_confidence`
        for each pair of others, what one gains on the other. With too few candidates for that to pay, or if a forecast
        says that little is saved, the truest fidelity alone is used. Fidelities that cost more than a twentieth of the
        truest do not pay on shared splits: they are left out before anything is spent.
    costs
        The cost of a fit at each fidelity; in proportion to the amounts by default, so that the unit is
        one fit at the truest fidelity.
    delta
        Probability of a wrong answer that is allowed.
    epsilon
        A candidate within this of the best is good enough, in units of the score: a hundredth of the score range
        by default, 0.01 if there is none. State your own for metrics on another scale than 0 to 1.
    max_cost
        What the search may cost in all, its pilot included.
    policy
        Which policy searches, ``"mf-race"`` by default. All others take scores for independent, so they must be told to
        draw a split of its own for every fit, and need a `score_range`: ``"mf-toptwo:independent=true"``.
    scoring
        A name or a function, as for GridSearchCV; one metric.
    score_range
        What is known of scores. With random splits, by default and as ``"normal"``, that differences of candidates
        on a split are normal; ``mf.Gaussian(caution=..., resolution=...)`` says how far to trust in that. The
        resolution is 1/n for the accuracy on n samples, unless stated, and for other metrics the least difference
        that was seen. With a list of splits, the range of the metric where it is known (0 to 1 for an accuracy). Where
        it is not, as for r2, all candidates are fitted on all splits, and the answer is exact. ``(low, high)``, the
        smallest and the largest value of the metric, needs no other assumption and takes many more fits. The
        narrower, the fewer; with `clip`, ``(0.9, 1.0)`` tells good candidates apart and calls all below 0.9 equally
        bad. ``mf.Bounded(low, high, swing=R)`` says that no difference strays more than R from its mean.
    clip
        Whether scores beyond the range count as its ends; otherwise they are errors.
    cv
        On which splits to compare. A whole number k: random splits without end, independent of each other, that leave
        one part in k for scoring (with every class in its share, for classifiers). A splitter of scikit-learn (KFold,
        GroupKFold, RepeatedKFold, ...) or pairs of indices: these splits and no others. The mean over them is then
        the true score, and it is known exactly when all were used. ShuffleSplit is such a list, too, of `n_splits`.
    test_size, splitter
        In place of `cv`, for random splits without end: a share for scoring (0.25 by default), or a splitter that
        shuffles (the first of its splits is used, with a new seed for every split), or a function
        ``(X, y, groups, seed)`` that returns the indices for training and scoring.
    bias_confidence, pilot, pilot_repeats
        For ``biases="calibrate"``: what is promised of each bound, on how many candidates (the fewest
        that can promise it, by default), measured how often each.
    error_score
        ``"raise"``, or the score of a fit that fails.
    return_train_score
        Whether `cv_results_` has scores on the training samples, too.
    n_jobs
        Fits that run at once, by joblib. Whoever is free is handed the next fit.
    width
        How many fits are planned without each other's scores: by default two for each worker less one. Decisions depend
        on it and on `random_state`, not on `n_jobs`: state it for the same search on any machine. 1 takes fewest fits.
    refit
        Whether to fit the best candidate on all data in the end: True or False.
    random_state
        Seeds the candidates that are drawn, the splits and so all decisions.
    verbose
        1 says where the search stands from time to time; 2 says it more often.

    Attributes
    ----------
    best_params_, best_index_, best_score_, best_estimator_
        As for GridSearchCV. `best_score_` is the mean score at the truest fidelity at which the candidate was
        measured; NaN if nothing was measured, as with a single candidate.
    best_confidence_
        How sure it is that no candidate is better by more than `epsilon`, provided that scores are what
        `score_range` says and that the biases hold.
    cv_results_
        One row per candidate, with GridSearchCV's columns: scores by split (NaN where it was not fitted), their mean
        and standard deviation, times, all at the truest fidelity, and its rank (the answer first, then by how long it
        stayed in the race). Beside them fits and cost; ``confidence``, how sure it is that the candidate is not better
        than the best by more than `epsilon`; ``difference``, by how much the best is ahead of it on the splits of
        both; ``difference_low`` and ``difference_high``, between which all true ones lie with probability 1 - `delta`.
    cost_, n_fits_, n_splits_, samples_fitted_, refit_time_
        What it took, the pilot included; `n_samples_fitted_` is another name of the fourth. Fits that were running when
        the answer was known count in `n_fits_`, and not in `cost_`.
    study_, result_
        The study and its result.
    calibration_
        What the pilot found; None if there was none.
    rungs_, biases_
        The fidelities and their bias bounds.
    scorer_, n_features_in_, feature_names_in_, classes_
        As for GridSearchCV.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from mfbandit.sklearn import MultiFidelitySearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> grid = {"max_depth": [1, 3]}
    >>> search = MultiFidelitySearchCV(DecisionTreeClassifier(), grid, random_state=0)
    >>> search.fit(X, y).best_params_
    {'max_depth': 3}
    >>> search.best_confidence_ >= 0.95
    True
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any = None,
        *,
        param_distributions: Any = None,
        n_candidates: int | None = None,
        resource: str = "n_samples",
        fidelities: Any = None,
        factor: float = 3,
        biases: Any = "calibrate",
        costs: Any = None,
        delta: float = 0.05,
        epsilon: float | None = None,
        max_cost: float | None = None,
        policy: Any = None,
        scoring: Any = None,
        score_range: Any = None,
        clip: bool = False,
        cv: Any = None,
        test_size: float | None = None,
        splitter: Any = None,
        bias_confidence: float = 0.9,
        pilot: int | None = None,
        pilot_repeats: int = 4,
        error_score: Any = "raise",
        return_train_score: bool = False,
        n_jobs: int | None = None,
        width: int | None = None,
        refit: bool = True,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.param_distributions = param_distributions
        self.n_candidates = n_candidates
        self.resource = resource
        self.fidelities = fidelities
        self.factor = factor
        self.biases = biases
        self.costs = costs
        self.delta = delta
        self.epsilon = epsilon
        self.max_cost = max_cost
        self.policy = policy
        self.scoring = scoring
        self.score_range = score_range
        self.clip = clip
        self.cv = cv
        self.test_size = test_size
        self.splitter = splitter
        self.bias_confidence = bias_confidence
        self.pilot = pilot
        self.pilot_repeats = pilot_repeats
        self.error_score = error_score
        self.return_train_score = return_train_score
        self.n_jobs = n_jobs
        self.width = width
        self.refit = refit
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, **fit_params: Any) -> MultiFidelitySearchCV:
        """Search for the best candidate.

        Parameters
        ----------
        X, y
            The data, as the estimator takes them.
        groups
            For a splitter that keeps groups together; refused where splits are drawn without them.
        **fit_params
            Passed to the estimator's `fit`; what has one entry per sample is split with the samples.

        Returns
        -------
        MultiFidelitySearchCV
        """
        if isinstance(self.scoring, list | tuple | set | dict):
            raise InvalidInput(f"scoring must be one metric, got {self.scoring!r}")
        if y is None and get_tags(self.estimator).target_tags.required:
            raise InvalidInput("the estimator requires y to be passed, but the target y is None")
        self.scorer_ = check_scoring(self.estimator, scoring=self.scoring)
        X, y, groups = indexable(X, y, groups)
        search = SearchRun(self, X, y, groups, fit_params, self.scorer_, check_random_state(self.random_state))
        search.run()
        for name, value in search.attributes().items():
            setattr(self, name, value)
        if self.refit:
            self.best_estimator_ = search.copy_of(self.best_params_)
            data = (X,) if y is None else (X, y)
            began = time.perf_counter()
            self.best_estimator_.fit(*data, **fit_params)
            self.refit_time_ = time.perf_counter() - began
            if hasattr(self.best_estimator_, "feature_names_in_"):
                self.feature_names_in_ = self.best_estimator_.feature_names_in_
        return self

    def score(self, X: Any, y: Any = None) -> float:
        """The score of the best estimator on these data, by `scoring`."""
        self._check_refitted("score")
        data = (X,) if y is None else (X, y)
        return float(self.scorer_(self.best_estimator_, *data))

    @available_if(_delegated("predict"))  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> Any:
        """Predict by the best estimator."""
        return self._best("predict")(X)

    @available_if(_delegated("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Predict probabilities of classes by the best estimator."""
        return self._best("predict_proba")(X)

    @available_if(_delegated("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Any:
        """Predict log probabilities of classes by the best estimator."""
        return self._best("predict_log_proba")(X)

    @available_if(_delegated("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Call the decision function of the best estimator."""
        return self._best("decision_function")(X)

    @available_if(_delegated("score_samples"))  # type: ignore[untyped-decorator]
    def score_samples(self, X: Any) -> Any:
        """Score single samples by the best estimator."""
        return self._best("score_samples")(X)

    @available_if(_delegated("transform"))  # type: ignore[untyped-decorator]
    def transform(self, X: Any) -> Any:
        """Transform by the best estimator."""
        return self._best("transform")(X)

    @available_if(_delegated("inverse_transform"))  # type: ignore[untyped-decorator]
    def inverse_transform(self, X: Any) -> Any:
        """Undo the transformation of the best estimator."""
        return self._best("inverse_transform")(X)

    @property
    def classes_(self) -> Any:
        """The classes that the best estimator knows."""
        return self._best("classes_")

    @property
    def n_features_in_(self) -> int:
        """How many features there were in `fit`."""
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(f"{type(self).__name__} has no n_features_in_ before it is fitted and refitted")
        return int(self.best_estimator_.n_features_in_)

    def _best(self, name: str) -> Any:
        self._check_refitted(name)
        return getattr(self.best_estimator_, name)

    def _check_refitted(self, name: str) -> None:
        check_is_fitted(self)
        if not self.refit:
            raise AttributeError(
                f"{name} is there only after fit with refit=True; best_params_ say what to fit yourself"
            )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_params_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = inner.classifier_tags
        tags.regressor_tags = inner.regressor_tags
        tags.input_tags.pairwise = inner.input_tags.pairwise
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.target_tags = inner.target_tags
        return tags

    def __getstate__(self) -> dict[str, Any]:
        return without_study(super().__getstate__())

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(thawed(state))
