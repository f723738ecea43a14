import pickle
import re
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'mfbandit[sklearn]'")

from sklearn.base import clone, is_classifier, is_regressor
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_classification, make_regression
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupShuffleSplit, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import mfbandit as mf
from mfbandit.calibration import calibrate
from mfbandit.certificate import verify
from mfbandit.errors import InvalidInput
from mfbandit.sklearn import MultiFidelitySearchCV

#: Tests end early, and say so on every line.
pytestmark = pytest.mark.filterwarnings("ignore:the answer is not certified")

GRID = {"max_depth": [1, 3]}


def search(grid=None, **settings):
    settings = {"biases": 0.3, "random_state": 0, "max_cost": 30, **settings}
    tree = DecisionTreeClassifier(random_state=0)
    return MultiFidelitySearchCV(tree, GRID if grid is None else grid, **settings)


@parametrize_with_checks(
    [
        MultiFidelitySearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, max_cost=2),
        MultiFidelitySearchCV(Ridge(), {"alpha": [0.1, 1.0]}, max_cost=4),
    ]
)
def test_scikit_learn_takes_it_for_one_of_its_own(estimator, check):
    check(estimator)


def test_it_certifies_the_better_candidate(iris):
    found = search(max_cost=None).fit(*iris)
    assert found.best_params_ == {"max_depth": 3}
    assert found.best_index_ == 1
    assert found.result_.status == "certified"
    assert found.best_confidence_ >= 0.95
    assert 0.9 < found.best_score_ < 1.0
    assert found.best_estimator_.get_depth() == 3
    assert found.score(*iris) == found.best_estimator_.score(*iris)
    assert found.cost_ == pytest.approx(found.study_.cost)
    assert found.n_fits_ == found.result_.pulls
    assert found.n_samples_fitted_ == 112 * found.n_fits_
    assert found.study_.problem.reward == mf.Gaussian(resolution=1 / 38)  # the accuracy on 38 samples
    assert found.study_.problem.blocks == "unlimited"
    assert verify(found.result_.certificate).valid


def test_the_table_of_candidates(iris):
    table = search({"max_depth": [1, 3], "criterion": ["gini"]}).fit(*iris).cv_results_
    assert table["params"][1] == {"criterion": "gini", "max_depth": 3}
    assert table["param_max_depth"].tolist() == [1, 3]
    assert table["rank_test_score"].tolist() == [2, 1]
    assert (table["difference_low"] <= table["difference_high"]).all()
    assert [table[name][1] for name in ("difference", "difference_low", "difference_high")] == [0.0, 0.0, 0.0]
    assert 0.2 < table["difference"][0] < 0.5
    assert {len(column) for column in table.values()} == {2}
    # What the truest fidelity alone has to tell is in other columns.
    assert not [name for name in table if " at " in name]
    assert table["std_test_score"][1] > 0


GRID_OF_TEN = {"max_depth": [1, 2, 4, 6, 8], "max_features": [0.05, 1.0]}


def by_split(X, y, groups, seed):
    """A split whose test part says which one it is."""
    order = np.random.RandomState(seed).permutation(len(y))
    return order[: len(y) // 2], order[len(y) // 2 :]


def test_candidates_are_compared_on_the_same_splits(iris):
    X, y = iris
    seen = []

    def note(estimator, held_out, truth):
        seen.append((estimator.max_depth, held_out.tobytes()))
        return estimator.score(held_out, truth)

    found = search({"max_depth": [1, 3, 5]}, splitter=by_split, scoring=note, max_cost=12).fit(X, y)
    splits = {depth: [split for one, split in seen if one == depth] for depth in (1, 3, 5)}
    most = splits[found.best_params_["max_depth"]]
    assert len(set(most)) == len(most) >= 4
    for mine in splits.values():
        # In the same order, and no split is passed over.
        assert sorted(mine) == sorted(most[: len(mine)])

    seen.clear()
    alone = search(splitter=by_split, scoring=note, score_range=(0, 1), policy="mf-toptwo:independent=true")
    alone.set_params(max_cost=3).fit(X, y)
    assert len(seen) >= 3
    assert len({split for _, split in seen}) == len(seen)


def test_whoever_has_lost_is_not_fitted_again_and_ten_candidates_take_few_fits():
    X, y = load_digits(return_X_y=True)
    found = search(GRID_OF_TEN, max_cost=None, width=1).fit(X, y)
    fits = found.cv_results_["n_fits"]
    assert found.result_.status == "certified"
    assert found.best_confidence_ >= 0.95
    assert found.best_params_["max_features"] == 1.0
    assert found.n_fits_ == fits.sum() <= 20 * 10
    assert fits.min() < fits.max() == fits[found.best_index_]
    assert (found.cv_results_["rank_test_score"][fits == fits.min()] > 3).all()
    # In the log, too, nobody comes back after a round without them.
    rounds = [{row[0] for row in one["rows"]} for one in found.study_.view().rounds]
    assert all(later <= earlier for earlier, later in pairwise(rounds))
    assert verify(found.result_.certificate).valid


def test_scores_with_a_range_assume_nothing_else(iris):
    settings = {"max_cost": 400, "epsilon": 0.0}
    ranged = search(score_range=(0, 1), **settings).fit(*iris)
    swing = search(score_range=mf.Bounded(0, 1, swing=0.5), **settings).fit(*iris)
    normal = search(**settings).fit(*iris)
    assert {one.result_.status for one in (ranged, swing, normal)} == {"certified"}
    assert {one.best_index_ for one in (ranged, swing, normal)} == {1}
    assert normal.n_fits_ < swing.n_fits_ < ranged.n_fits_
    assert all(verify(one.result_.certificate).valid for one in (ranged, swing))


def test_perfect_scores_end_the_search_with_a_warning():
    X, y = np.arange(80.0).reshape(-1, 1), np.arange(80) // 40
    far = X + 1000 * y[:, None]
    with pytest.warns(UserWarning, match=r"are all 0 or 1, .* score_range=\(0, 1\) goes on"):
        found = search({"max_depth": [1, 2, 3, 4, 5]}).fit(far, y)
    assert found.best_score_ == 1.0
    assert found.best_confidence_ == 0.0


def log_of(found):
    return found.study_.view().rounds, found.study_.view().rewards


def test_the_same_seed_gives_the_same_search_whatever_the_number_of_jobs(iris):
    one, two = (search(n_jobs=jobs, width=1).fit(*iris) for jobs in (None, 2))
    other = search(random_state=1).fit(*iris)
    assert log_of(one) == log_of(two)
    assert log_of(one) != log_of(other)


def test_a_copy_of_a_fitted_search_has_its_study(iris):
    found = search().fit(*iris)
    copy = pickle.loads(pickle.dumps(found))
    assert log_of(copy) == log_of(found)
    assert copy.result_ == found.result_
    assert (copy.predict(iris[0]) == found.predict(iris[0])).all()
    assert not hasattr(clone(found), "best_params_")


def test_pipelines_and_nested_parameters(iris):
    pipeline = make_pipeline(StandardScaler(), SVC())
    found = MultiFidelitySearchCV(pipeline, {"svc__C": [1e-4, 1.0]}, biases=0.3, max_cost=60, random_state=0)
    found.set_params(estimator__svc__gamma=0.5, delta=0.2).fit(*iris)
    assert found.best_params_ == {"svc__C": 1.0}
    assert found.best_estimator_["svc"].gamma == 0.5
    scores = cross_val_score(make_pipeline(PCA(2), search(max_cost=10)), *iris, cv=2)
    assert scores.mean() > 0.8


def test_a_parameter_can_be_the_resource(iris):
    forest = RandomForestClassifier(random_state=0)
    found = MultiFidelitySearchCV(
        forest, GRID, resource="n_estimators", fidelities=[1, 20], biases=0.1, max_cost=8, random_state=0
    ).fit(*iris)
    assert [rung.name for rung in found.rungs_] == ["n_estimators=1", "n_estimators=20"]
    assert len(found.best_estimator_.estimators_) == 20
    schedule = found.set_params(fidelities=2, factor=25, max_cost=2).fit(*iris)
    assert [rung.size for rung in schedule.rungs_] == [4, 100]


def test_candidates_can_be_drawn(iris):
    grid = {"max_depth": range(1, 9), "min_samples_leaf": [1, 2, 3]}
    found = MultiFidelitySearchCV(
        DecisionTreeClassifier(random_state=0),
        param_distributions=grid,
        n_candidates=5,
        biases=0.2,
        max_cost=20,
        random_state=0,
    ).fit(*iris)
    assert len(found.cv_results_["params"]) == 5


def test_one_candidate_needs_no_search(iris):
    with pytest.warns(UserWarning, match="there is only one candidate, and nothing was measured"):
        found = search({"max_depth": [2]}).fit(*iris)
    assert found.best_params_ == {"max_depth": 2}
    assert found.best_confidence_ == 1.0
    assert np.isnan(found.best_score_)
    assert found.predict(iris[0]).shape == (150,)


#: Below a twentieth of a fit on all 112 samples, and all of them.
CHEAP = [5, 112]


def test_fidelities_that_would_not_pay_are_left_out_for_nothing(iris):
    many = {"max_depth": range(1, 7), "min_samples_leaf": range(1, 6)}
    found = search(many, biases="calibrate", max_cost=100).fit(*iris)
    assert [rung.size for rung in found.rungs_] == [112]
    assert found.calibration_ is None
    assert found.cost_ == found.study_.cost


def test_a_pilot_bounds_the_biases(iris):
    grid = {"max_depth": [1, 2, 3, 4, 5, 6], "min_samples_leaf": [1, 2, 3, 4]}
    found = search(grid, biases="calibrate", bias_confidence=0.8, pilot_repeats=2, max_cost=60, fidelities=CHEAP)
    found.fit(*iris)
    assert found.calibration_.arms == 11
    assert found.calibration_.confidence == 0.8
    assert found.calibration_.common_offset
    assert found.biases_[-1] == 0.0
    # A tree of 5 samples says nothing, as the pilot found out.
    assert [rung.size for rung in found.rungs_] == [112]
    assert found.cost_ == pytest.approx(11 * 2 * (1 + 5 / 112) + found.study_.cost)
    assert found.cost_ <= 60


def test_biases_from_past_tasks_or_a_function(iris):
    means = np.array([[0.6, 0.8], [0.8, 0.9]] * 10)
    known = calibrate(means, noise="none")
    assert search(biases=known, fidelities=CHEAP).fit(*iris).biases_ == pytest.approx([0.2, 0.0])
    # What a fidelity takes from everybody cancels in differences.
    shifted = search(biases=calibrate(means, noise="none", common_offset=True), fidelities=CHEAP).fit(*iris)
    assert shifted.biases_ == pytest.approx([0.2, 0.0])
    assert shifted.study_.problem.fidelities[0].pair_bias == pytest.approx(0.1)
    found = search(biases=lambda samples: 1 / samples, fidelities=CHEAP).fit(*iris)
    assert found.biases_ == [1 / 5, 0.0]
    assert found.cv_results_["n_fits at 5 samples"].sum() > 0
    assert len(search(biases=0.6, fidelities=CHEAP, score_range=(0, 1)).fit(*iris).rungs_) == 1


def test_scores_may_be_of_any_size():
    X, y = make_regression(80, 5, noise=5.0, random_state=0)
    settings = {"scoring": "neg_root_mean_squared_error", "random_state": 0, "epsilon": 0.5}
    found = MultiFidelitySearchCV(Ridge(), {"alpha": [0.01, 1000.0]}, score_range="normal", **settings).fit(X, y)
    assert found.best_params_ == {"alpha": 0.01}
    assert found.best_score_ < 0.0
    assert is_regressor(found)
    bold = found.set_params(score_range=mf.Gaussian(caution=0)).fit(X, y)
    assert bold.study_.problem.reward.caution == 0.0


def test_another_policy_draws_its_own_splits(iris):
    found = search(policy="mf-toptwo:independent=true", score_range=(0, 1), max_cost=100).fit(*iris)
    assert [rung.size for rung in found.rungs_] == [12, 37, 112]
    assert found.best_params_ == {"max_depth": 3}
    table = found.cv_results_
    assert table["rank_test_score"].tolist() == [2, 1]
    assert table["difference_low"][0] < 0.4 < table["difference_high"][0]


def test_splitters(iris):
    X, y = iris
    groups = np.arange(len(y)) % 10
    assert search(splitter=GroupShuffleSplit(test_size=0.3), max_cost=5).fit(X, y, groups=groups)
    assert search(splitter=KFold(3, shuffle=True), max_cost=5).fit(X, y)

    def by_hand(X, y, groups, seed):
        order = np.random.RandomState(seed).permutation(len(y))
        return order[:100], order[100:]

    assert [rung.size for rung in search(splitter=by_hand, max_cost=5).fit(X, y).rungs_] == [100]
    with pytest.raises(InvalidInput, match=r"KFold.* splits the same way each time"):
        search(splitter=KFold(3)).fit(X, y)
    with pytest.raises(InvalidInput, match="splitter must be None"):
        search(splitter=3).fit(X, y)


def test_arguments_of_fit_are_split_with_the_samples(iris):
    X, y = iris
    weights = (y == 2).astype(float) + 1e-9
    found = MultiFidelitySearchCV(Weighed(), GRID, biases=0.3, max_cost=5, random_state=0)
    found.fit(X, y, sample_weight=weights, note="of another length")
    assert found.best_estimator_.weight == pytest.approx(50.0)


def test_without_targets():
    X, _ = make_classification(60, random_state=0)
    found = MultiFidelitySearchCV(
        PCA(), {"n_components": [1, 4]}, score_range=(-100, 0), fidelities=1, max_cost=6, random_state=0
    ).fit(X)
    assert found.transform(X).shape == (60, found.best_params_["n_components"])
    assert not hasattr(found, "predict")
    clusters = MultiFidelitySearchCV(
        KMeans(n_init=1),
        {"n_clusters": [2, 3]},
        score_range=(-1e4, 0),
        fidelities=1,
        max_cost=4,
        random_state=0,
    ).fit(X)
    assert clusters.predict(X).max() < 3


def test_without_refit(iris):
    found = search(refit=False).fit(*iris)
    assert found.best_params_ == {"max_depth": 3}
    with pytest.raises(AttributeError, match="only after fit with refit=True"):
        found.predict(iris[0])
    with pytest.raises(NotFittedError):
        search().score(*iris)


def test_it_says_where_it_stands(iris, capsys):
    search(verbose=1, biases="calibrate").fit(*iris)
    lines = capsys.readouterr().err.splitlines()
    # Nothing is said of fidelities that nobody has asked for.
    assert "1 fit, cost 1: max_depth=1 leads, 2 of 2 still in, how much better another is, is not known" in lines[0]
    assert re.search(r"max_depth=3 leads, 1 of 2 still in, none better by more than 0.*, confidence 0.9", lines[-1])
    search(verbose=1, biases="calibrate", fidelities=3).fit(*iris)
    assert "fits at 12 samples, 37 samples cost more than 0.05 of one at 112" in capsys.readouterr().err
    search(verbose=1, biases="calibrate", fidelities=CHEAP).fit(*iris)
    assert "too few for a pilot" in capsys.readouterr().err.splitlines()[0]


def test_it_is_what_its_estimator_is():
    assert is_classifier(search())
    assert hasattr(search(), "predict_proba")
    assert not hasattr(search(), "transform")
    assert not hasattr(search(), "n_features_in_")


class Weighed(DecisionTreeClassifier):
    def fit(self, X, y, sample_weight, note, check_input=True):  # which scikit-learn 1.6 expects
        assert len(sample_weight) == len(y)
        assert ((sample_weight > 0.5) == (y == 2)).all()
        self.weight = sample_weight.sum()
        return super().fit(X, y)
