"""On which splits a search compares, who fits, and what its table of results has in common with a grid search's."""

import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'mfbandit[sklearn]'")

from joblib import parallel_config
from sklearn.datasets import load_diabetes
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    PredefinedSplit,
    RepeatedStratifiedKFold,
    ShuffleSplit,
)
from sklearn.tree import DecisionTreeClassifier

import mfbandit as mf
from mfbandit.certificate import verify
from mfbandit.errors import InvalidInput
from mfbandit.search._measure import FitScore, Job, Task
from mfbandit.search._workers import FitWorkers, fit_all
from mfbandit.sklearn import MultiFidelitySearchCV

#: Tests end early, and say so on every line.
pytestmark = pytest.mark.filterwarnings("ignore:the answer is not certified")

TREE = DecisionTreeClassifier(random_state=0)
DEPTHS = {"max_depth": [1, 2, 3, 5]}
ALPHAS = {"alpha": [0.01, 0.1, 1.0, 10.0]}
FOLDS = KFold(5, shuffle=True, random_state=0)


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


def race(estimator=TREE, grid=None, **settings):
    return MultiFidelitySearchCV(estimator, DEPTHS if grid is None else grid, **{"random_state": 0, **settings})


def test_folds_are_a_finite_set_and_the_answer_is_that_of_a_grid_search(iris):
    found = race(cv=FOLDS).fit(*iris)
    grid = GridSearchCV(TREE, DEPTHS, cv=FOLDS).fit(*iris)
    assert found.study_.problem.blocks == 5
    assert found.study_.problem.reward == mf.Bounded(0, 1)
    assert found.result_.status == "certified"
    assert found.best_confidence_ == 1.0
    assert found.best_params_ == grid.best_params_
    assert found.best_score_ == pytest.approx(grid.best_score_)
    assert found.n_splits_ == 5
    assert verify(found.result_.certificate).valid
    for split in range(5):
        mine, others = (one.cv_results_[f"split{split}_test_score"] for one in (found, grid))
        fitted = ~np.isnan(mine)
        assert mine[fitted] == pytest.approx(others[fitted])


def test_many_splits_of_a_list_are_used_for_good_candidates_only(iris):
    found = race(cv=RepeatedStratifiedKFold(n_splits=5, n_repeats=12, random_state=0), epsilon=0.1).fit(*iris)
    fits = found.cv_results_["n_fits"]
    assert found.result_.status == "certified"
    assert fits[0] < fits.max() <= 60
    assert found.best_confidence_ >= 0.95


def test_scores_without_a_known_range_are_all_measured(diabetes):
    found = race(Ridge(), ALPHAS, cv=FOLDS, return_train_score=True).fit(*diabetes)
    grid = GridSearchCV(Ridge(), ALPHAS, cv=FOLDS, return_train_score=True).fit(*diabetes)
    assert found.best_params_ == grid.best_params_
    assert found.best_confidence_ == 1.0
    assert found.n_fits_ == found.result_.pulls == 20
    assert found.cost_ == 20
    assert set(grid.cv_results_) <= set(found.cv_results_)
    for column, values in grid.cv_results_.items():
        if column.endswith("_score"):
            assert found.cv_results_[column] == pytest.approx(values), column
    # The true mean of each is known, and so are the differences.
    table = found.cv_results_
    assert table["difference_low"] == pytest.approx(table["difference"])
    assert table["difference_high"] == pytest.approx(table["difference"])
    ranged = race(Ridge(), ALPHAS, cv=FOLDS, score_range=(-1, 1)).fit(*diabetes)
    assert ranged.study_.problem.reward == mf.Bounded(-1, 1)
    assert ranged.best_params_ == grid.best_params_


def test_whoever_is_equal_on_all_splits_is_named(iris):
    found = race(DummyClassifier(), {"strategy": ["prior", "most_frequent"]}, cv=FOLDS, epsilon=0).fit(*iris)
    assert found.best_confidence_ == 1.0
    assert len(found.result_.tied) == 1


def test_every_kind_of_list(iris):
    X, y = iris
    thirds = np.arange(len(y)) % 3
    everything = {
        "groups": GroupKFold(3),
        "predefined": PredefinedSplit(thirds),
        "pairs": [(np.flatnonzero(thirds != k), np.flatnonzero(thirds == k)) for k in range(3)],
        "random": ShuffleSplit(3, random_state=0),
    }
    for name, cv in everything.items():
        found = race(cv=cv).fit(X, y, groups=thirds if name == "groups" else None)
        assert (found.study_.problem.blocks, found.n_splits_, found.best_confidence_) == (3, 3, 1.0)


def test_a_number_draws_splits_without_end(iris):
    X, y = iris
    found = race(cv=5, max_cost=20).fit(X, y)
    old = race(test_size=0.2, max_cost=20).fit(X, y)
    assert found.study_.problem.blocks == "unlimited"
    # The least step of an accuracy on 30 samples.
    assert found.study_.problem.reward == mf.Gaussian(resolution=1 / 30)
    assert found.rungs_[-1].size == 120
    assert found.result_ == old.result_
    bold = race(cv=5, max_cost=9, score_range=mf.Gaussian(caution=0, resolution=0.5)).fit(X, y)
    assert bold.study_.problem.reward == mf.Gaussian(caution=0, resolution=0.5)
    assert race(cv=5, max_cost=9, scoring="roc_auc_ovr").fit(X, y).study_.problem.reward == mf.Gaussian()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"cv": 1}, "cv must be a whole number >= 2, .*; got 1"),
        ({"cv": "five"}, "cv must be a whole number, a splitter .* got 'five'"),
        ({"cv": []}, r"cv=\[\] gives no splits"),
        ({"cv": KFold(500)}, "gives no splits of these data: Cannot have number of splits"),
        ({"cv": [(1, 2, 3)]}, "gives no splits of these data"),
        ({"cv": [(1, 2)]}, "pairs of lists of whole numbers, one for training and one for testing: 1"),
        ({"cv": [([0.5, 1.0], [2])]}, "pairs of lists of whole numbers"),
        ({"cv": [(range(20), [20, 9999])]}, "a split with sample 9999, and there are"),
        ({"cv": [([True, False], [False, True])]}, "says of 2 samples whether to take them"),
        ({"cv": [([], [1])]}, "a split gives 0 samples for training and 1 for testing"),
        ({"cv": 5, "test_size": 0.3}, "cv=5 and test_size=0.3 both say how to split"),
        ({"cv": 5, "splitter": FOLDS}, "cv=5 and splitter=KFold.* both say how to split"),
        ({"cv": FOLDS, "score_range": "normal"}, "the 5 splits of cv=KFold.* are a fixed list, not independent draws"),
        ({"cv": FOLDS, "scoring": "neg_log_loss", "max_cost": 3}, "all 5 splits of cv, which costs 20, .* score_range"),
        (
            {"cv": FOLDS, "scoring": "neg_log_loss", "policy": "mf-toptwo:independent=true"},
            "needs the range of the scores: state score_range",
        ),
        ({"width": 0}, "width must be a whole number >= 1, got 0"),
    ],
)
def test_splits_that_cannot_be_are_refused_in_a_sentence(iris, settings, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        race(**settings).fit(*iris)


def test_the_table_is_a_frame_with_what_a_grid_search_has(iris):
    pandas = pytest.importorskip("pandas")
    found = race(cv=5, max_cost=None, epsilon=0.05).fit(*iris)
    grid = GridSearchCV(TREE, DEPTHS, cv=5).fit(*iris)
    frame = pandas.DataFrame(found.cv_results_)
    assert set(grid.cv_results_) <= set(frame.columns)
    splits = frame[[f"split{split}_test_score" for split in range(found.n_splits_)]]
    assert (splits.notna().sum(axis=1) == frame["n_fits"]).all()
    assert splits.mean(axis=1).to_numpy() == pytest.approx(frame["mean_test_score"])
    assert splits.loc[0].isna().any()
    assert frame["confidence"].between(0.95, 1.0).all()
    assert frame.loc[found.best_index_, "confidence"] == frame["confidence"].min() == found.best_confidence_
    assert (frame["mean_fit_time"] > 0).all()
    assert found.samples_fitted_ == found.n_samples_fitted_ == 120 * frame["n_fits"].sum()


def log_of(found):
    return found.study_.view().rounds, found.study_.view().rewards, found.result_


def test_the_width_decides_and_not_the_number_of_jobs(iris):
    one, two = (race(width=3, n_jobs=jobs, max_cost=40).fit(*iris) for jobs in (None, 2))
    with parallel_config(backend="threading"):
        threads = race(n_jobs=2, max_cost=40).fit(*iris)
    assert log_of(one) == log_of(two) == log_of(threads)
    assert two.study_.settings.width == threads.study_.settings.width == 3
    assert race(max_cost=3).fit(*iris).study_.settings.width == 1
    # Fits that nobody waits for any more do not count.
    for found in (one, two, threads):
        table = found.cv_results_
        assert (table["mean_test_score"] == one.cv_results_["mean_test_score"]).all()
        scores = np.array([table[f"split{split}_test_score"] for split in range(found.n_splits_)])
        assert (np.isfinite(scores).sum(axis=0) == table["n_fits"]).all()
        assert found.n_fits_ >= table["n_fits"].sum()


def test_large_data_reach_workers_and_errors_come_back(iris):
    X, y = np.tile(iris[0], (300, 1)), np.tile(iris[1], 300)
    searches = [race(n_jobs=2, max_cost=6).fit(X, y) for _ in range(2)]
    assert searches[0].result_ == searches[1].result_
    with pytest.raises(ValueError, match="max_depth"):
        race(grid={"max_depth": [-1, -2]}, n_jobs=2).fit(*iris)


class Warner(DecisionTreeClassifier):
    def fit(self, X, y, check_input=True):  # which scikit-learn 1.6 expects
        warnings.warn("a warning of a fit", stacklevel=1)
        return super().fit(X, y)


def test_workers_heed_the_filters_of_warnings(iris):
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="a warning of a fit")
        with pytest.raises(UserWarning, match="a warning of a fit"):
            race(Warner(), n_jobs=2, max_cost=4).fit(*iris)


def test_a_backend_that_cannot_be_fed_gets_batches(iris, monkeypatch):
    monkeypatch.setattr("mfbandit.search._workers._can_be_fed", lambda parallel: False)
    batches = race(width=2, n_jobs=2, max_cost=40).fit(*iris)
    monkeypatch.undo()
    assert log_of(batches) == log_of(race(width=2, max_cost=40).fit(*iris))


def test_fits_keep_their_order():
    workers = FitWorkers(Task(*[None] * 13), 1)
    jobs = [Job({}, str(k), None, k) for k in range(5)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mfbandit.search._workers.measure", lambda task, job: FitScore(float(job.seed), 1))
        assert [one.score for one in fit_all(workers, jobs)] == [0.0, 1.0, 2.0, 3.0, 4.0]
